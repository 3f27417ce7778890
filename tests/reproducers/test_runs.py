"""Runs that did not end, ended in an error of the engine, or read and summed beyond an end."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core

DAY_S = 86_400
ONE_GPU = gs.Cluster.uniform(1, 1)


def test_a_srpt_follows_its_virtual_server_late_in_a_long_trace():
    jobs = gs.Trace.from_columns(
        [0, 13 * DAY_S, 13 * DAY_S], [20 * DAY_S, 1, 1e-6], [10_000, 10_000, 1]
    )
    result = gs.simulate(jobs, gs.Cluster.uniform(1_250, 8), policy="a-srpt", placement="count")
    assert (result.schedule.status == 0).all()


@pytest.mark.parametrize("start_us", [2**53, 2**61])
def test_a_srpt_follows_its_virtual_server_at_the_end_of_time(start_us):
    jobs = gs.Trace.from_columns(
        np.array([0, start_us, start_us + 1, start_us + 1]) / 1e6,
        [1, 1e-6, 2e-6, 1e-6],
        [1, 3, 1, 2],
    )
    result = gs.simulate(jobs, gs.Cluster.uniform(1, 3), policy="a-srpt", placement="count")
    assert (result.schedule.status == 0).all()


def columns(**given: Any) -> dict[str, Any]:
    types = {"gpus": np.int32}
    return {name: np.array(v, types.get(name, np.int64)) for name, v in given.items()}


def test_a_deadline_lies_below_the_end_of_time():
    job = {"submit_us": [0], "service_us": [1], "gpus": [1]}
    _core.JobTable(**columns(**job, deadline_us=[2**62 - 1]))
    with pytest.raises(ValueError, match=r"deadline_us: row 0 .* below 2\^62"):
        _core.JobTable(**columns(**job, deadline_us=[2**62]))


def test_a_job_that_a_slow_speed_carries_past_the_end_of_time_is_named():
    # Late, and so slow on two servers that its finish is past what the time type holds.
    profile = gs.model.JobProfile(
        "slow", throughput={"V100": {2: 1.0}}, spread_throughput={"V100": {2: 1e-9}}
    )
    jobs = gs.Trace.from_columns([2**61 / 1e6], [2**53 / 1e6], [2]).with_profiles([profile])
    cluster = gs.Cluster((gs.ServerGroup(2, 2, "V100"),))
    with pytest.raises(ValueError, match=r"at \d+ us: the schedule passes 2\^62 .*: job 0 would"):
        gs.simulate(jobs, cluster, policy="fifo", placement="spread", speed="table")


def test_two_jobs_that_pay_a_second_for_each_microsecond_are_refused():
    jobs = gs.Trace.from_columns([0, 1], [1e9, 1e9], [1, 1])
    with pytest.raises(ValueError, match=r"period_s: job 0 would pay 999999 us .* gain only 1 us"):
        gs.simulate(jobs, ONE_GPU, policy="las:period_s=1,cost_s=0.999999")


@pytest.mark.long
def test_two_jobs_that_take_turns_for_ever_are_named():
    class Rotate(gs.Scheduler):
        flags = ("preemptive",)

        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            running, waiting = state.running.tolist(), state.waiting.tolist()
            for job in running:
                actions.preempt(job)
            for job in waiting[:1]:
                actions.start(job, state.place(job))
            actions.wake(state.now_us + 1)

    jobs = gs.Trace.from_columns([0, 0], [1e6, 1e6], [1, 1], restart_s=[1, 1])
    with pytest.raises(
        ValueError, match=r"jobs 0 and 1 take turns; .* cost 1 us and gained 1.91e-06 us"
    ):
        gs.simulate(jobs, ONE_GPU, policy=Rotate())


@pytest.mark.long
def test_a_scheduler_that_wakes_itself_for_nothing_is_stopped():
    class Restless(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            actions.wake(state.now_us + 1)

    with pytest.raises(ValueError, match="requested only by the scheduler, and infinitely many"):
        gs.simulate(gs.Trace.from_columns([0], [1], [1]), ONE_GPU, policy=Restless())
