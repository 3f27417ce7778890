"""The audit of runs whose policy admits jobs or turns them down."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs

CLUSTER = gs.Cluster.uniform(1, 4)


def test_jobs_of_a_slot_are_rightly_decided_on_where_it_ends():
    jobs = gs.Trace.from_columns([465, 470], [790, 179], [3, 2], deadline_s=[2045, 649])
    result = gs.simulate(jobs, CLUSTER, policy="elasticflow:admission=batch", placement="best-fit")
    assert result.schedule.decisions()["time_us"].tolist() == [465_000_000, 600_000_000]
    assert result.audit().ok


def test_right_runs_with_admission_by_batches_pass():
    draws = np.random.default_rng(0)
    for _ in range(40):
        num = int(draws.integers(2, 6))
        submit, service = np.sort(draws.integers(0, 600, num)), draws.integers(1, 900, num)
        deadline = submit + service * draws.choice([1, 2, 5], num) + 1
        jobs = gs.Trace.from_columns(
            submit, service, draws.choice([1, 2], num), deadline_s=deadline,
            restart_s=draws.choice([0, 5, 70], num),
        )  # fmt: skip
        result = gs.simulate(
            jobs, CLUSTER, policy="elasticflow:admission=batch", placement="best-fit"
        )
        assert result.audit().problems == []


@pytest.mark.parametrize(
    "policy", ["elasticflow:admission=batch", "edf-greatest:admission=true", "chronus-leases"]
)
def test_a_job_cancelled_before_it_was_judged_is_no_fault(policy):
    jobs = gs.Trace.from_columns([0, 10], [900, 100], [1, 1], deadline_s=[2000, 1500])
    run = gs.Simulation(jobs, CLUSTER, policy=policy, placement="best-fit")
    run.run_until(20)
    run.cancel(1)
    run.run()
    result = run.result()
    assert 1 not in result.schedule.decisions()["job"].tolist()
    assert result.audit().ok


@pytest.mark.parametrize("policy", ["fifo", "srtf", "elasticflow", "edf-greatest:admission=true"])
def test_a_run_that_says_falsely_whether_it_saw_the_true_services_is_found(policy):
    jobs = gs.Trace.from_columns([0, 10], [900, 100], [1, 1], deadline_s=[2000, 1500])
    result = gs.simulate(jobs, CLUSTER, policy=policy, placement="best-fit")
    assert result.audit().ok
    lie = gs.Result(
        result.trace, result.cluster, result.spec, result.schedule, 0.0,
        clairvoyant=not result.clairvoyant,
    )  # fmt: skip
    for level in ("log", "decisions"):
        assert lie.audit(level=level).problems == [
            f"wrong claim: clairvoyant is {lie.clairvoyant}, in truth {result.clairvoyant}"
        ]
