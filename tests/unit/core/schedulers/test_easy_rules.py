"""Rules of single schedulers, on schedules that can be worked out by hand."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.reference import FINISHED, REJECTED, Job, Network, Outcome, Profile, replay
from tests.parity.core import run_core
from tests.reference.cases import ALL_TYPES, Case
from tests.reference.large import large_case

SECOND = 1_000_000

both = pytest.mark.parametrize("engine", [replay, run_core], ids=["reference", "core"])
Engine = Callable[..., Outcome]


def starts(engine: Engine, jobs: list[tuple[int, int, int]], **params: Any) -> list[float]:
    """When jobs (submit, service, GPUs) start on a pool of four GPUs."""
    made = [Job(submit * SECOND, service * SECOND, gpus) for submit, service, gpus in jobs]
    outcome = engine(made, [(4, "gpu")], "easy", "count", policy_params=params)
    return [start / SECOND for start in outcome.start_us]


@both
def test_without_extra_only_jobs_that_end_by_the_reserved_start_go_ahead(engine):
    jobs = [(0, 100, 2), (1, 50, 3), (2, 200, 1), (3, 90, 1), (4, 40, 1)]
    assert starts(engine, jobs) == [0, 100, 2, 3, 150]
    assert starts(engine, jobs, extra=False) == [0, 100, 100, 3, 4]


@both
def test_the_shortest_is_backfilled_first(engine):
    jobs = [(0, 100, 3), (1, 50, 3), (3, 90, 1), (3, 40, 1)]
    assert starts(engine, jobs) == [0, 100, 3, 93]
    assert starts(engine, jobs, backfill="shortest") == [0, 100, 43, 3]
    assert starts(engine, jobs, backfill="shortest", extra=False) == [0, 100, 100, 3]


@both
def test_a_second_reservation_is_honoured(engine):
    jobs = [(0, 100, 3), (1, 50, 3), (2, 50, 4), (3, 500, 1)]
    assert starts(engine, jobs) == [0, 100, 503, 3]
    assert starts(engine, jobs, depth=2) == [0, 100, 150, 200]
    # Without the extra GPUs the last would have to end by the first of both.
    assert starts(engine, jobs, depth=2, extra=False) == [0, 100, 150, 200]


# What Slurm's backfilling plugin plans, run in its own test program: nodes, then jobs (nodes,
# minutes) in order of priority, and their starts in minutes.
SLURM = {
    "an end at a reserved start": (
        8, [(6, 10), (8, 10), (2, 10), (2, 5), (4, 5), (6, 5)], [0, 10, 20, 0, 20, 25],
    ),
    "an end before a reserved start": (
        8, [(6, 10), (8, 10), (2, 9), (2, 5), (4, 5), (6, 5)], [0, 10, 0, 20, 20, 25],
    ),
    "every job has a reservation": (
        8, [(4, 10), (6, 10), (8, 5), (2, 25), (2, 20)], [0, 10, 20, 25, 25],
    ),
    "an end before the second reservation": (
        8, [(4, 10), (6, 10), (8, 5), (2, 25), (2, 19)], [0, 10, 20, 25, 0],
    ),
    "a hole before the second reservation": (
        8, [(8, 10), (4, 30), (8, 10), (4, 9), (4, 29), (2, 5)], [0, 10, 40, 10, 50, 19],
    ),
    "a hole after a hole": (
        8, [(6, 30), (4, 20), (2, 29), (2, 60), (4, 10), (8, 5)], [0, 30, 0, 29, 50, 89],
    ),
    "two that end at a reserved start": (
        32, [(6, 10), (27, 15), (28, 14), (29, 13), (30, 12), (5, 10), (5, 10), (30, 11)],
        [0, 10, 25, 39, 52, 0, 10, 64],
    ),
}  # fmt: skip


@both
@pytest.mark.parametrize("name", SLURM)
def test_strict_backfilling_plans_as_slurm_does(engine, name):
    nodes, rows, expected = SLURM[name]
    jobs = [Job(0, minutes * 60 * SECOND, gpus) for gpus, minutes in rows]
    params = {"depth": 100, "touch": "strict"}
    outcome = engine(jobs, [(nodes, "gpu")], "easy", "count", policy_params=params)
    assert [start / (60 * SECOND) for start in outcome.start_us] == expected


@both
def test_a_strict_job_ends_before_the_reserved_start_or_leaves_its_gpus_alone(engine):
    jobs = [(0, 100, 2), (1, 50, 4), (2, 98, 1), (3, 97, 1), (4, 20, 1)]
    assert starts(engine, jobs) == [0, 100, 2, 3, 150]
    assert starts(engine, jobs, touch="strict") == [0, 100, 150, 150, 4]
    narrower = [(0, 100, 2), (1, 50, 3), *jobs[2:]]  # one GPU is left over at 100
    assert starts(engine, narrower, touch="strict") == [0, 100, 2, 3, 100]
    assert starts(engine, narrower, touch="strict", extra=False) == [0, 100, 100, 150, 4]


@pytest.mark.parametrize("placement", ["count", "consolidated"])
def test_who_runs_is_known_after_a_time_in_which_nobody_waited(placement):
    """Longer ago than so many decisions nobody waited, the ends of runs were forgotten."""
    quiet = [(0, 10_000, 1), *((10 * i, 5, 1) for i in range(1, 40)), (395, 200, 3)]
    crowd = [(400, 300, 3), (401, 50, 4), (402, 150, 2), (403, 10_000, 1), (404, 40, 4)]
    times = [*quiet, *crowd, *((6_000 + time, *job) for time, *job in (*quiet[1:], *crowd))]
    jobs = [Job(at * SECOND, length * SECOND, gpus) for at, length, gpus in times]
    servers = [(4, "gpu"), (2, "gpu")]
    expected = replay(jobs, servers, "easy", placement)
    assert run_core(jobs, servers, "easy", placement).start_us == expected.start_us
    assert any(start > job.submit_us for job, start in zip(jobs, expected.start_us, strict=True))


def test_several_reservations_count_whole_gpus():
    trace = gs.Trace.from_columns(
        submit_s=[0.0], service_s=[1.0], gpus=[1], cpu=[1.0], memory_gib=[1.0]
    )
    cluster = gs.Cluster.uniform(servers=1, gpus=4, cpu=8, memory_gib=8)
    with pytest.raises(ValueError, match="depth: above 1 reservations are for whole GPUs only"):
        gs.simulate(trace, cluster, policy="easy:depth=2")


@pytest.mark.parametrize(("kappa", "status"), [(1.16, FINISHED), (1.159, REJECTED)])
def test_a_gang_may_span_as_many_servers_as_the_decimal_says(kappa, status):
    """1.16 x 25 servers are 29, though it is less in doubles."""
    servers = [(4, "gpu")] * 13 + [(3, "gpu")] * 16
    for run in (replay, run_core):
        outcome = run(
            [Job(0, 10, 100)], servers, "fifo", "consolidated-relaxed",
            placement_params={"kappa": kappa},
        )  # fmt: skip
        assert outcome.status == [status]


@pytest.mark.parametrize(("times", "servers"), [(1.12, {0}), (1.121, {0, 1})])
def test_a_pool_has_as_many_gpus_as_the_decimal_says(times, servers):
    """1.12 x 25 GPUs are 28, those of the first server, though it is more in doubles."""
    trace = gs.Trace.from_columns(
        [0, 0, 0], [5, 10, 1], [4, 4, 25], gpu_types=[["B"], ["A"], ["A", "B"]]
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 28, "A"), gs.ServerGroup(1, 4, "B")))
    policy = gs.Policy("sjf-bco", **{"lambda": times, "mode": "queue", "u": 1.0})
    rows = gs.simulate(trace, cluster, policy=policy).intervals
    assert {
        int(s) for s, job in zip(rows["server"], rows["job"], strict=True) if job == 2
    } == servers


# Two servers of 4: a gang of 2 under `spread` is a ring over both, and four of them fit at once.
CLUSTER = gs.Cluster.uniform(servers=2, gpus=4, nic_gbps=8, intra_gbps=80)
# Iterations of 0.2 s on the empty cluster, where two GPUs sit on one server (10 GB/s):
# 2 x 1e9 x (1/2) / 1e10 = 0.1 s of exchange (no reduction worth mentioning), and 0.1 s compute.
SMALL = gs.model.JobProfile("small", gradient_bytes=1e9, batch=1, forward_s=0.0, backward_s=0.1)
SPEED = "ring:overhead_s=0,reduction_bytes_per_s=1e18"


def starts_ada(
    services: list[float],
    submits: list[float],
    policy: str = "ada-srsf",
    placement: str = "spread",
    gpus: list[int] | None = None,
    profiles: list[gs.model.JobProfile] | None = None,
) -> list[float]:
    """When the gangs (of 2 unless said otherwise) start."""
    trace = gs.Trace.from_columns(
        submit_s=submits, service_s=services, gpus=gpus or [2] * len(services)
    )
    chosen = profiles or [SMALL]
    trace = trace.with_profiles(
        chosen, index=np.arange(len(services)) if profiles else [0] * len(services)
    )
    result = gs.simulate(
        trace, CLUSTER, policy=policy, placement=placement, speed=SPEED, contention="shared",
        verify=True,
    )  # fmt: skip
    result.audit().raise_if_bad()
    return [float(start) for start in result.jobs["start_s"]]


def alone_s(service_s: float) -> float:
    """Run time of a ring over both servers alone: 1 s + 0.1 s an iteration instead of 0.2 s."""
    return service_s * 1.1 / 0.2


def test_a_small_ring_joins_a_large_one():
    assert starts_ada([100, 10], [0, 1]) == [0, 1]


def test_a_ring_of_similar_size_waits_for_the_link():
    start_s = starts_ada([100, 60], [0, 1])
    assert start_s == [0, pytest.approx(alone_s(100))]


def test_the_threshold_is_half_of_what_the_other_has_left():
    # After 110 s the ring has done 20 of its 100 s of service: 80 left, the threshold at 40.
    assert starts_ada([100, 39.9], [0, 110])[1] == 110
    assert starts_ada([100, 40.1], [0, 110])[1] == pytest.approx(alone_s(100))


def test_degradation_lowers_the_threshold():
    # 1 / (2 (1 + 1)): a quarter of 80.
    policy = "ada-srsf:degradation=1"
    assert starts_ada([100, 19.9], [0, 110], policy)[1] == 110
    assert starts_ada([100, 20.1], [0, 110], policy)[1] > 110


def test_what_is_compared_is_bytes_not_time():
    # A tenth of the gradients: iterations of 0.11 s on one server, 10/11 bytes a second in place
    # of 5: 60 s of it send little beside 100 s of the other.
    tiny = gs.model.JobProfile("tiny", gradient_bytes=1e8, batch=1, forward_s=0.0, backward_s=0.1)
    assert starts_ada([100, 60], [0, 1], profiles=[SMALL, tiny])[1] == 1


def test_no_third_ring_joins_two():
    start_s = starts_ada([1000, 100, 1], [0, 1, 2])
    assert start_s[:2] == [0, 1]
    assert start_s[2] > 2
    assert starts_ada([1000, 100, 1], [0, 1, 2], "ada-srsf:sharers=3") == [0, 1, 2]


def test_counting_alone_admits_rings_of_any_size_up_to_the_limit():
    assert starts_ada([100, 100, 100], [0, 1, 2], "ada-srsf:rule=count,sharers=3") == [0, 1, 2]
    assert starts_ada([100, 100, 100], [0, 1, 2], "ada-srsf:rule=count")[:2] == [0, 1]
    assert starts_ada([100, 1], [0, 1], "ada-srsf:rule=count,sharers=1")[1] == pytest.approx(
        alone_s(100)
    )


def test_a_gang_on_one_server_asks_no_link():
    assert starts_ada([100, 100], [0, 1], gpus=[5, 3], placement="first-fit") == [0, 1]
    assert starts_ada([100, 100], [0, 1], placement="consolidated") == [0, 1]


def test_a_gang_that_waits_for_links_is_passed_by_those_that_need_none():
    start_s = starts_ada([100, 60, 70], [0, 1, 2], gpus=[2, 2, 1])
    assert start_s[1] > 100
    assert start_s[2] == 2


def test_the_smallest_work_goes_first_once_the_link_is_free():
    start_s = starts_ada([100, 90, 70, 80], [0, 1, 2, 3])
    assert start_s[0] < start_s[2] < start_s[3] < start_s[1]


def test_nothing_waits_on_an_idle_cluster():
    for policy in ("ada-srsf", "ada-srsf:sharers=1", "ada-srsf:degradation=1e6"):
        start_s = np.array(starts_ada([50] * 6, [0] * 6, policy))
        assert np.unique(start_s).size == 6  # one after the other
        assert np.diff(np.sort(start_s)) == pytest.approx([alone_s(50)] * 5)


def test_where_no_link_matters_it_is_smallest_work_first_with_skipping():
    trace = gs.generate("philly", jobs=2_000, load=1.1, cluster=CLUSTER, seed=4)
    for placement in ("count", "spread"):
        assert (
            gs.simulate(trace, CLUSTER, policy="ada-srsf", placement=placement).digest
            == gs.simulate(trace, CLUSTER, policy="swf", placement=placement).digest
        )


def contended(placement: str, seed: int) -> Case:
    """150 jobs of four models that meet on NICs and on the uplinks of two racks."""
    case = large_case("ada-srsf", placement, seed)
    rng = random.Random(seed)
    models = [
        Profile(size, 1.0, dict.fromkeys(ALL_TYPES, 0.0), dict.fromkeys(ALL_TYPES, compute))
        for size, compute in ((2e7, 0.05), (1e8, 0.1), (5e8, 0.3), (1e9, 0.2))
    ]
    num_servers = len(case.servers)
    racks = [1 + server % 2 for server in range(num_servers)]
    return replace(
        case,
        jobs=[replace(job, profile=rng.choice(models)) for job in case.jobs],
        policy_params=rng.choice(
            [{}, {"rule": "count"}, {"sharers": 4}, {"sharers": 1}, {"degradation": 0.5}]
        ),
        speed="ring",
        contention="shared",
        network=Network(
            [10.0] * num_servers, [100.0] * num_servers, racks, [None, 0, 0], [None, 20.0, 25.0]
        ),
    )


@pytest.mark.parametrize("placement", ["first-fit", "spread", "random"])
def test_the_core_equals_the_reference_where_rings_meet(placement):
    for seed in range(3):
        case = contended(placement, seed)
        assert run_core(*case.arguments(), **case.speeds()) == case.replay()
