"""Jobs that were taken back end where the record of the run says so; others are lost."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.schedules.schedule import CANCELLED
from tests.boundary.workloads import CLUSTER, trace
from tests.campaigns.tamperings import stored, with_schedule

TWO = gs.Cluster.uniform(1, 2)
AT = "was cancelled at"


def cancelled(
    policy: str = "fifo", *, until_s: float = 80.0, placement: str = "consolidated"
) -> gs.Result:
    """Return a run of which the last job that waits and the first that runs were taken back."""
    run = gs.Simulation(trace(80), CLUSTER, policy=policy, placement=placement)
    run.run_until(until_s)
    run.cancel(int(run.state.waiting[-1]))
    run.cancel(int(run.state.running[0]))
    run.run()
    return stored(run.result())


def said(result: gs.Result, *warnings: str) -> gs.Result:
    """Return the result with other warnings."""
    return with_schedule(result, warnings=warnings)


@pytest.mark.parametrize("placement", ["count", "consolidated", "spread"])
@pytest.mark.parametrize("policy", ["fifo", "sjf", "easy", "conservative", "srtf", "las", "wspt"])
def test_an_audit_takes_cancelled_jobs_for_what_they_are(policy, placement):
    result = cancelled(policy, placement=placement)
    assert (result.schedule.status == CANCELLED).sum() == 2
    assert result.audit().problems == []
    report = result.audit(level="decisions")
    assert str(report) == "no problems"


def test_the_record_tells_the_very_microsecond():
    run = gs.Simulation(trace(80), CLUSTER, policy="fifo")
    while run.now < 50 or not len(run.state.running):
        run.step()
    at_us = round(run.now * 1e6) + 1  # the tick behind the instant
    run.cancel(job := int(run.state.running[0]))
    run.run()
    result = run.result()
    assert result.schedule.warnings[0] == f"job {job} {AT} {at_us / 1e6:.6f} s"
    assert result.audit().ok


def test_a_job_without_a_record_is_lost():
    result = cancelled()
    first, second = result.schedule.warnings
    found = said(result, second).audit().problems
    job = first.split()[1]
    assert found == [
        f"job never ends: job {job} is neither finished nor rejected, nor was it cancelled"
    ]


def test_a_record_of_another_instant_is_named():
    result = cancelled()
    waiting, running = result.schedule.warnings
    moved = running.replace("80 s", "79.999999 s")
    assert f"wrong warning: job {running.split()[1]} was not cancelled at 79999999 us" in (
        said(result, waiting, moved).audit().problems
    )
    before = waiting.replace("80 s", "0 s")  # it had not come
    assert any(
        "was not cancelled at 0 us" in p for p in said(result, before, running).audit().problems
    )


@pytest.mark.parametrize("job", [0, 79, 10**9])
def test_a_record_of_a_job_that_finished_or_does_not_exist_is_named(job):
    result = cancelled()
    if job < len(result.trace):
        assert result.schedule.status[job] == 0
    problems = said(result, *result.schedule.warnings, f"job {job} {AT} 80 s").audit().problems
    assert problems == [f"wrong warning: job {job} was not cancelled at 80000000 us"]


@pytest.mark.parametrize("policy", ["sjf", "fifo"])
def test_a_lost_job_that_is_said_to_be_cancelled_waited_though_gpus_were_free(policy):
    jobs = gs.Trace.from_columns([0, 1, 30], [10, 5, 4], [2, 1, 2])
    result = stored(gs.simulate(jobs, TWO, policy=policy))
    rows = {name: values[:-1] for name, values in result.intervals.items()}  # the last is gone
    columns = {name: getattr(result.schedule, name).copy() for name in (
        "start_us", "finish_us", "held_us", "num_servers", "status"
    )}  # fmt: skip
    for name, values in columns.items():
        values[2] = {"start_us": -1, "finish_us": -1, "status": 2}.get(name, 0)
    counters = {**result.schedule.counters, "events": 5}
    lost = with_schedule(
        result, rows=rows, counters=counters, warnings=(f"job 2 {AT} 33 s",), **columns
    )
    (problem,) = lost.audit().problems
    assert problem.startswith("left waiting: from 30000000 us on job 2 of 2 GPUs waits")


def test_who_stood_behind_a_cancelled_head_was_not_left_waiting():
    # The second holds up the third until it is taken back, though a GPU is free.
    jobs = gs.Trace.from_columns([0, 1, 2], [100, 50, 10], [1, 2, 1])
    run = gs.Simulation(jobs, TWO, policy="fifo")
    run.run_until(60)
    run.cancel(1)
    run.run()
    result = run.result()
    assert result.schedule.start_us.tolist() == [0, -1, 60_000_000]
    assert result.audit().problems == []


def test_who_finishes_at_that_instant_has_finished():
    jobs = gs.Trace.from_columns([0, 0], [10, 30], [1, 1])
    run = gs.Simulation(jobs, TWO, policy="fifo")
    run.run_until(10)
    run.cancel(0)
    run.run()
    result = run.result()
    assert result.schedule.status.tolist() == [0, 0]
    assert result.schedule.warnings == (f"job 0 {AT} 10 s",)
    assert result.audit(level="decisions").problems == []


def test_who_was_preempted_before_may_have_ended_at_any_earlier_instant():
    jobs = gs.Trace.from_columns([0, 5], [100, 10], [2, 2])
    run = gs.Simulation(jobs, TWO, policy="srtf")
    run.run_until(8)
    assert run.state.waiting.tolist() == [0]
    run.cancel(0)
    run.run()
    result = stored(run.result())
    assert result.schedule.preemptions.tolist() == [1, 0]
    assert result.audit(level="decisions").problems == []
    late = result.schedule.preemptions * 0
    assert said(with_schedule(result, preemptions=late), *result.schedule.warnings).audit().problems


def test_a_decision_that_was_forged_in_a_run_with_cancelled_jobs_is_found():
    result = cancelled("srtf", placement="spread")
    rows = {name: values.copy() for name, values in result.schedule.intervals().items()}
    free_since = int(np.argmax(rows["end_us"]))
    rows["mask"][free_since] = 1 << 3 if rows["mask"][free_since] != 1 << 3 else 1 << 2
    forged = with_schedule(result, rows=rows)
    assert not forged.audit(level="decisions").ok
