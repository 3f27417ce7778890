"""Times from one microsecond to the greatest that a run may have: the core equals the reference."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched import _core
from gpusched.reference import BY_DEADLINE, POLICIES, Job, orders, replay
from tests.examples import examples
from tests.parity.core import assert_same
from tests.parity.native import run_native

pytestmark = pytest.mark.long

LAST = 2**62 - 1
"""No instant of a run may be later."""

# Neighbours that a double does not tell apart beyond 2^53, and small numbers beside them.
near = st.integers(-2, 2)
services = st.one_of(
    st.integers(1, 4),
    st.tuples(st.sampled_from([2**20, 2**40, 2**52]), near).map(sum),
    st.integers(2**53 - 4, 2**53),
)
ORIGINS = st.sampled_from([0, 2**53 - 3, 2**55 + 1, 2**61 - 2**57])
PATIENCE = st.sampled_from([2**20, 2**53, 2**54 + 1, 2**56 + 3])


@st.composite
def job_lists(draw: st.DrawFn, policy: str) -> list[Job]:
    """Draw up to eight jobs, late ones too, whose keys lie close together."""
    origin, patience = draw(ORIGINS), draw(PATIENCE)
    jobs = []
    for _ in range(draw(st.integers(2, 8))):
        service = draw(services)
        submit = origin + draw(st.one_of(st.integers(0, 4), st.sampled_from([2**40, 2**53 + 1])))
        job = Job(submit, service, gpus=draw(st.integers(1, 3)))
        if policy == "wspt":
            job = replace(job, weight=draw(st.sampled_from([0.3, 1.0, 3.0])))
        if policy in BY_DEADLINE and draw(st.integers(0, 3)):
            latest = draw(st.booleans())
            deadline = LAST if latest else submit + patience
            job = replace(job, deadline_us=min(LAST, deadline + draw(st.integers(-3, 0))))
        if draw(st.booleans()):
            job = replace(job, restart_us=draw(services))
        jobs.append(job)
    return jobs


@st.composite
def parameters(draw: st.DrawFn, policy: str) -> dict[str, Any]:
    """Draw parameters under which every job ends, whatever its times."""
    if policy not in gs.policies() or "preemptive" not in gs.policies()[policy].flags:
        return {}
    params: dict[str, Any] = {"scan": draw(st.sampled_from(["strict", "skip"]))}
    if policy in ("las", "llf", "2d-las"):
        params["period_s"] = 0.0
    if policy == "2d-las":
        params["inside"] = draw(st.sampled_from(["submit", "entry"]))
        params["limits"] = draw(st.sampled_from([[1e-6], [1e-6, 3.0], [2e3, 9e9]]))
    if policy not in ("las", "llf"):
        params["restart"] = draw(st.sampled_from(["time", "work"]))
    return params


@pytest.mark.parametrize("policy", [*POLICIES, *BY_DEADLINE])
@examples(60)
@given(data=st.data(), placement=st.sampled_from(["count", "consolidated"]))
def test_at_the_ends_of_the_range_the_core_equals_the_reference(policy, data, placement):
    if policy in ("ada-srsf", "a-srpt"):
        pytest.skip("calculates with seconds")
    takes_scan = policy in orders.NON_PREEMPTIVE or "preemptive" in gs.policies()[policy].flags
    jobs = data.draw(job_lists(policy))
    params = data.draw(parameters(policy) if takes_scan else st.just({}))
    servers = [(2, "gpu"), (1, "gpu")]
    arguments = (jobs, servers, policy, placement)
    expected = replay(*arguments, policy_params=params, max_instants=3_000)
    assert_same(expected, run_native(*arguments, policy_params=params))


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
