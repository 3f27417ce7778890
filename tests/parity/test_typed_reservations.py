"""``conservative`` where jobs may run on different types of GPUs."""

from dataclasses import replace

import numpy as np
import pytest

import gpusched as gs
from gpusched.reference import Job, replay
from tests.each import each
from tests.parity.core import assert_same, run_core

SECOND = 1_000_000
SERVERS = [(4, "A"), (4, "B"), (2, "C"), (4, "A")]
SETS = ("A", "B", "C", "AB", "BC", "ABC")


def typed_jobs(seed: int, sets: tuple[str, ...], num_jobs: int = 40) -> list[Job]:
    """Return jobs of which many wait, some ending early and some late."""
    rng = np.random.default_rng(seed)
    service_s = rng.integers(1, 40, num_jobs)
    low, high = [(1.0, 1.0), (1.0, 3.0), (0.6, 4.0)][seed % 3]
    estimate_s = np.ceil(service_s * rng.uniform(low, high, num_jobs))
    submit_s = np.sort(rng.integers(0, 2 * num_jobs, num_jobs))
    rows = zip(submit_s.tolist(), service_s.tolist(), estimate_s.tolist(), strict=True)
    return [
        Job(
            submit * SECOND, service * SECOND, int(rng.choice([1, 1, 2, 3, 4])),
            estimate_us=int(estimate) * SECOND, allowed=frozenset(rng.choice(sets)),
        )
        for submit, service, estimate in rows
    ]  # fmt: skip


def test_a_job_does_not_wait_beside_idle_gpus_that_nobody_else_may_use():
    hour = 3600 * SECOND
    jobs = [Job(0, 3 * hour, 4, allowed=frozenset("A"))]
    jobs += [Job(SECOND, hour, 4, allowed=frozenset("A")) for _ in range(10)]
    jobs += [Job(2 * SECOND, 60 * SECOND, 4, allowed=frozenset("B"))]
    for run in (replay, run_core):
        for policy in ("conservative", "easy"):
            outcome = run(jobs, SERVERS[:2], policy, "consolidated")
            assert outcome.start_us[-1] == 2 * SECOND


def test_who_may_take_either_type_leaves_the_one_that_others_need():
    """All of A is taken until 10, when job 1 wants 6 of both: 2 of A are left if it takes all of B.

    So job 2 starts beside it. Job 3 has B until then, and job 4 has to wait for it afterwards.
    """
    jobs = [
        Job(0, 10 * SECOND, 4, allowed=frozenset("A")),
        Job(SECOND, 5 * SECOND, 6, allowed=frozenset("AB")),
        Job(2 * SECOND, 30 * SECOND, 2, allowed=frozenset("A")),
        Job(2 * SECOND, 8 * SECOND, 4, allowed=frozenset("B")),
        Job(2 * SECOND, 9 * SECOND, 4, allowed=frozenset("B")),
    ]
    for run in (replay, run_core):
        outcome = run(jobs, [(4, "B"), (4, "A")], "conservative", "best-fit")
        assert [start // SECOND for start in outcome.start_us] == [0, 10, 10, 2, 15]


@pytest.mark.parametrize("placement", ["consolidated", "first-fit", "worst-fit"])
@pytest.mark.parametrize("seed", range(9))
def test_reservations_by_type_equal_the_reference(seed, placement):
    jobs = typed_jobs(seed, SETS)
    expected = replay(jobs, SERVERS, "conservative", placement)
    assert_same(expected, run_core(jobs, SERVERS, "conservative", placement))


@each("seed", [0, 3, 6, 9])  # no early ends, after which others move up
def test_jobs_of_types_that_nobody_shares_run_as_on_clusters_of_their_own(seed):
    jobs = sorted(typed_jobs(seed, ("A", "BC"), 60), key=lambda job: job.submit_us)
    both = run_core(jobs, SERVERS, "conservative", "best-fit")
    for types in (frozenset("A"), frozenset("BC")):
        rows = [i for i, job in enumerate(jobs) if job.allowed == types]
        alone = run_core(
            [jobs[i] for i in rows],
            [server for server in SERVERS if server[1] in types],
            "conservative",
            "best-fit",
        )
        assert [both.start_us[i] for i in rows] == alone.start_us


@pytest.mark.parametrize("placement", ["consolidated", "spread"])
def test_types_change_nothing_where_all_jobs_may_use_them(placement):
    for seed in range(3):
        jobs = [replace(job, allowed=None) for job in typed_jobs(seed, SETS)]
        servers = [(gpus, "A") for gpus, _ in SERVERS]
        typed = run_core(jobs, SERVERS, "conservative", placement)
        assert typed.digest == run_core(jobs, servers, "conservative", placement).digest


def test_a_cancelled_typed_reservation_is_free_for_others():
    trace = gs.Trace.from_columns(
        [0, 1, 2, 2, 2], [100, 50, 30, 30, 10], [4, 8, 4, 2, 1],
        gpu_types=[["A"], ["A", "B"], ["A"], ["B"], ["B"]],
        estimate_s=[100, 50, 30, 200, 10],
    )  # fmt: skip
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))
    run = gs.Simulation(trace, cluster, policy="conservative", placement="best-fit")
    run.run_until(3)
    assert run.state.running.tolist() == [0, 4]
    run.cancel(1)
    run.run()
    assert run.result().jobs.start_s[[2, 3]].tolist() == [100, 3]
