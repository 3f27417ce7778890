"""The story of a job in a run that is not over, with a wall clock, deadlines and restarts."""

from __future__ import annotations

import dataclasses
from datetime import datetime

import gpusched as gs

CLUSTER = gs.Cluster.uniform(1, 2)
TRACE = gs.Trace.from_columns(
    submit_s=[0, 1, 2],
    service_s=[100, 50, 9],
    gpus=[2, 2, 2],
    deadline_s=[200, 60, 1000],
    restart_s=[5, 5, 5],
)
DATED = dataclasses.replace(TRACE, epoch=datetime(2020, 1, 1))


def story(policy: str, job: int, until_s: float | None = None) -> tuple[str, ...]:
    if until_s is None:
        return gs.simulate(DATED, CLUSTER, policy=policy).explain(job).lines
    run = gs.Simulation(DATED, CLUSTER, policy=policy)
    run.run_until(until_s)
    return run.result().explain(job).lines


def test_a_job_that_still_runs_has_not_finished():
    assert story("fifo", 0, 40) == (
        "Job 0 (id 0) came at 2020-01-01 00:00:00: 2 GPUs, 1.67 min of service.",
        "Ran from 2020-01-01 00:00:00 for 2.00 s on 2 gpu of server 0.",
        "It had not finished when the run ended.",
        "Its deadline was at 2020-01-01 00:03:20.",
    )


def test_a_job_that_has_not_run_tells_who_held_its_gpus():
    told = story("fifo", 1, 40)
    assert told[1] == "It never ran."
    assert told[2] == ("  When it came, 0 of the 2 GPUs that it may use were free; 1 job held 2.")
    assert told[-2:] == (
        "It had not finished when the run ended.",
        "Its deadline was at 2020-01-01 00:01:00.",
    )


def test_a_job_that_lost_its_gpus_waits_since_then():
    told = story("las", 1, 40)
    assert told[1] == "Ran from 2020-01-01 00:00:01 for 1.00 s on 2 gpu of server 0."
    assert told[2] == "Waits since 2020-01-01 00:00:02."
    assert told[3].startswith("  When it had lost its GPUs, 0 of the 2 GPUs")


def test_of_many_runs_the_first_are_told_and_what_restarts_cost():
    told = story("las:period_s=3", 0)
    ran = [line for line in told if line.startswith("Ran from ")]
    (more,) = (line for line in told if line.startswith("... "))
    assert more == f"... {51 - len(ran)} more runs follow."
    assert told[-2] == (
        "Finished at 2020-01-01 00:11:34, 11.6 min after it came "
        "(50 preemptions, 4.17 min paid for restarts)."
    )
    assert told[-1] == "Missed its deadline, at 2020-01-01 00:03:20, by 8.23 min."
