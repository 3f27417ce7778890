"""What follows from a log is the same whether or not it is known that each job has one row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.audit.case import Servers
from gpusched.audit.log import LoggedRun

FOLLOWS = (
    "is_in_order", "first", "job", "start_us", "end_us", "opens", "closes", "ran", "has_run",
    "first_start_us", "last_end_us", "is_resize", "num_resizes", "resumed", "since_us", "waits",
    "num_intervals", "num_breaks", "last_rows", "held_us",
)  # fmt: skip


@dataclass
class Logged(LoggedRun):
    """A log alone."""

    trace: gs.Trace
    log: Mapping[str, Any]


# Whether a job runs, how long it waits and how long it runs.
JOBS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6
)


@given(JOBS)
def test_one_row_for_each_job_is_read_as_any_other_log(drawn):
    jobs = np.flatnonzero([runs for runs, _, _ in drawn])
    assume(len(jobs))
    _, wait_us, run_us = np.array(drawn, dtype=np.int64).T
    trace = gs.Trace.from_columns(*[[1.0] * len(drawn)] * 2, gpus=[1] * len(drawn))
    start_us = trace.submit_us[jobs] + wait_us[jobs]
    log = {
        "job": jobs,
        "start_us": start_us,
        "end_us": start_us + run_us[jobs],
        "server": jobs % 2,
        "mask": np.ones(len(jobs), np.uint64),
    }
    quick, plain = Logged(trace, log), Logged(trace, log)
    assert quick.has_one_row_each
    plain.has_one_row_each = False
    for name in FOLLOWS:
        one, other = getattr(quick, name), getattr(plain, name)
        assert np.array_equal(one, other), name
        assert np.asarray(one).dtype == np.asarray(other).dtype, name


def test_a_second_row_of_a_job_is_seen_wherever_it_stands():
    trace = gs.Trace.from_columns([0, 0, 0], [1, 1, 1], [1, 1, 1])
    for jobs in ([0, 1, 1], [0, 0, 1], [1, 0, 2]):
        log = dict.fromkeys(("start_us", "end_us", "server", "mask"), np.zeros(3, np.int64))
        assert not Logged(trace, {"job": np.array(jobs), **log}).has_one_row_each


places = st.lists(
    st.tuples(
        st.sampled_from([-(2**63), -2, -1, 0, 1, 2, 3, 2**62, 2**63 - 1]),
        st.sampled_from([0, 1, 2, 3, 7, 8, 15, 2**63, 2**64 - 1]),
    ),
    max_size=8,
)


@given(places)
def test_masks_are_held_against_the_servers_that_there_are(drawn):
    groups = [gs.ServerGroup(1, gpus) for gpus in (3, 1, 64)]
    servers = Servers.of(gs.Cluster(tuple(groups)))
    sizes = dict(enumerate((3, 1, 64)))
    lacks = servers.lack(
        np.array([server for server, _ in drawn], np.int64),
        np.array([mask for _, mask in drawn], np.uint64),
    )
    assert lacks.tolist() == [
        server not in sizes or not 0 < mask < 2 ** sizes[server] for server, mask in drawn
    ]
