"""The longest times are legal, and beyond them both engines refuse a replay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched import _core
from gpusched.reference import Job, replay
from gpusched.reference.model import MAX_HORIZON_US, MAX_SERVICE_US, MAX_SUBMIT_US
from tests.examples import examples
from tests.parity.native import run_native

SECOND = 1_000_000
LAST_S, LONGEST_S = MAX_SUBMIT_US // SECOND, MAX_SERVICE_US // SECOND


def outcome_of(run: Any) -> Any:
    """What a run gives, or that it was refused."""
    try:
        return run()
    except ValueError:
        return "refused"


def run_both(submits_s: list[int], services_s: list[int]) -> tuple[Any, Any]:
    """The finishes in the readable engine and in the core, on one GPU; whole seconds are exact."""
    jobs = [Job(s * SECOND, t * SECOND, 1) for s, t in zip(submits_s, services_s, strict=True)]

    def core() -> list[int]:
        trace = gs.Trace.from_columns(submits_s, services_s, [1] * len(jobs))
        cluster = gs.Cluster.uniform(servers=1, gpus=1)
        return gs.simulate(trace, cluster, policy="sjf").schedule.finish_us.tolist()

    return outcome_of(lambda: replay(jobs, [(1, "gpu")], "sjf").finish_us), outcome_of(core)


near = st.integers(-3, 3)


@examples(60)
@given(st.lists(st.tuples(near, near), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_both_engines_agree_on_which_times_are_too_long(offsets, is_late, is_long):
    submits_s = [max(0, (LAST_S if is_late else 0) + offset) for offset, _ in offsets]
    services_s = [max(1, (LONGEST_S if is_long else 1) + offset) for _, offset in offsets]
    expected, actual = run_both(submits_s, services_s)
    assert actual == expected
    is_legal = max(submits_s) <= LAST_S and max(services_s) <= LONGEST_S
    assert (expected != "refused") == is_legal


@pytest.mark.parametrize("is_beyond", [False, True])
def test_the_last_submit_plus_all_services_must_lie_before_the_horizon(is_beyond):
    num_longest, rest_s = divmod(MAX_HORIZON_US // SECOND - LAST_S, LONGEST_S)
    services_s = [LONGEST_S] * num_longest + [rest_s + is_beyond]
    expected, actual = run_both([LAST_S] * len(services_s), services_s)
    assert actual == expected
    assert (expected == "refused") == is_beyond


LAST = 2**62 - 1
"""No instant of a run may be later."""


def test_deadlines_a_tick_apart_are_told_apart_wherever_they_lie():
    for deadline in (2**53 + 2, 2**60 + 1, LAST):
        jobs = [Job(0, 1, 1), *(Job(0, 5, 1, deadline_us=deadline - i) for i in range(3))]
        core = run_native(jobs, [(1, "gpu")], "edf", "count")
        assert core.finish_us == [16, 15, 10, 5]


def test_predictions_may_not_queue_up_beyond_the_greatest_time():
    def table(predicted_us: int, num_jobs: int) -> _core.JobTable:
        return _core.JobTable(
            np.zeros(num_jobs, np.int64),
            np.ones(num_jobs, np.int64),
            np.ones(num_jobs, np.int32),
            predicted_us=np.full(num_jobs, predicted_us, np.int64),
        )

    table(2**53, 500)
    with pytest.raises(ValueError, match=r"predicted_us: row 511 is 9007199254740992; .* 2\^62"):
        table(2**53, 600)
