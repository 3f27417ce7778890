"""The audit of a run that was changed in its course: jobs taken back, and another policy."""

from __future__ import annotations

import dataclasses

import pytest

import gpusched as gs

CLUSTER = gs.Cluster.uniform(2, 2)
JOBS = gs.Trace.from_columns([0, 0, 0, 0], [10, 20, 5, 7], [4, 3, 2, 4])


def run_without(*jobs: int, policy: str = "fifo") -> gs.Result:
    run = gs.Simulation(JOBS, CLUSTER, policy=policy)
    run.step()
    for job in jobs:
        run.cancel(job)
    run.run()
    return run.result()


@pytest.mark.parametrize("jobs", [(0,), (1,), (3,), (0, 2), (1, 2, 3)])
@pytest.mark.parametrize("policy", ["fifo", "sjf", "ff", "ls:mode=queue"])
def test_a_job_that_was_taken_back_need_not_end(policy: str, jobs: tuple[int, ...]) -> None:
    assert str(run_without(*jobs, policy=policy).audit()) == "no problems"


def forged(result: gs.Result, *warnings: str) -> gs.Result:
    schedule = dataclasses.replace(
        gs.schedules.schedule.StoredSchedule.of(result.schedule), warnings=warnings
    )
    return gs.Result(result.trace, result.cluster, result.spec, schedule, 0.0)


def test_who_is_said_to_be_taken_back_did_not_finish() -> None:
    result = run_without(1)
    problems = forged(result, *result.schedule.warnings, "job 2 was cancelled at 1e-06 s").audit()
    assert problems.problems == ["wrong warning: job 2 was not cancelled"]


def test_a_job_that_is_missing_without_a_word_never_ends() -> None:
    problems = forged(run_without(1)).audit().problems
    assert problems[0] == "job never ends: job 1 is neither finished nor rejected"


def test_a_policy_that_took_over_is_the_last_one() -> None:
    run = gs.Simulation(JOBS, CLUSTER, policy="fifo")
    run.step()
    run.set(policy="sjf")
    run.run()
    report = run.result().audit()
    assert report.ok
    assert report.notes[-1] == (
        "the policy was changed in the course of the run: its order is unchecked"
    )
