"""The audit of a run that another policy took over."""

from __future__ import annotations

import dataclasses

import gpusched as gs
from gpusched.schedules.schedule import StoredSchedule

CLUSTER = gs.Cluster.uniform(2, 2)
JOBS = gs.Trace.from_columns([0, 0, 0, 0], [10, 20, 5, 7], [4, 3, 2, 4])


def handed_over() -> gs.Result:
    """Neither policy preempts, and the second finds no job running."""
    run = gs.Simulation(JOBS, CLUSTER, policy="fifo")
    run.step()
    run.set(policy="sjf")
    run.run()
    return run.result()


def test_jobs_that_lose_their_gpus_to_a_policy_that_takes_over_are_no_fault():
    result = handed_over()
    assert result.schedule.preemptions.tolist() == [1, 0, 0, 0]
    report = result.audit()
    assert report.ok
    assert report.notes[-1] == (
        "the policy was changed in the course of the run: its order is unchecked"
    )


def test_without_a_word_of_another_policy_they_are_one():
    result = handed_over()
    schedule = dataclasses.replace(StoredSchedule.of(result.schedule), warnings=())
    silent = gs.Result(result.trace, result.cluster, result.spec, schedule, 0.0)
    assert silent.audit().problems[0] == (
        "non-preemptive policy preempts: job 0 has 2 intervals under sjf"
    )


def test_elastic_jobs_that_start_anew_under_a_policy_that_takes_over_were_preempted():
    jobs = gs.Trace.from_columns(
        [0, 0, 5],
        [40, 20, 30],
        [2, 2, 1],
        min_gpus=[1, 1, 1],
        max_gpus=[4, 4, 4],
        deadline_s=[200, 8, 400],
        profiles=[gs.model.JobProfile("p", throughput={"T4": {1: 1.0, 2: 1.8, 4: 3.0}})],
        profile=[0, 0, 0],
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "T4"),))
    for second in ("edf-fastest", "elasticflow", "edf-greatest:admission=true"):
        run = gs.Simulation(jobs, cluster, policy="fifo", speed="table")
        run.run_until(12)
        run.set(policy=second)
        run.run()
        result = run.result()
        assert result.schedule.preemptions.sum() > 0
        assert result.audit().ok, (second, result.audit().problems)
