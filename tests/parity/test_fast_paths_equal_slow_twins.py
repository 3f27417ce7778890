"""Schedules of the fast paths on queues and kinds of jobs too many for the readable engine."""

import itertools
import time

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.each import each
from tests.parity.slow_twins import equal_runs, slow_twins

pytestmark = pytest.mark.long

SERVERS = 12
GPUS = 8
PLACEMENTS = ("consolidated", "best-fit", "spread", "random", "topology", "fgd", "count")
PREEMPTIVE = ("srtf", "srsf", "edf", "las", "2d-las", "llf", "srtf:scan=strict", "las:quota=hold")
SINKING = (
    "2d-las:limits=30/200",
    "2d-las:inside=entry,limits=30/200",
    "2d-las:inside=entry,limits=8/30/200,sink=passed,displace=true",
    "2d-las:inside=entry,limits=30/200,epoch=period,period_s=7",
    "2d-las:limits=30/200,promote=0.5",
    "2d-las:inside=entry,limits=8/30,promote=2,epoch=period,period_s=7",
    "2d-las:limits=8/30/200,promote=0.01,displace=true,scan=strict",
    "2d-las:inside=running,limits=30/200",
    "2d-las:inside=running,limits=8/30,quota=hold,scan=strict",
    "2d-las:inside=running,limits=8/30/200,displace=true,promote=0.5",
    "2d-las:inside=running,limits=8/30,epoch=period,period_s=7",
    "2d-las:crossing=floored,limits=8/30/200,period_s=0",
    "2d-las:preset=tiresias-artefact,limits=8/30/200,cost_s=5",
)
DISPLACING = ("srtf", "srsf", "edf", "las", "2d-las", "llf", "serverfilling-srpt", "a-srpt-p")


def backlog(
    seed: int, kinds: int, jobs: int = 250, span_s: int = 120
) -> tuple[gs.Trace, gs.Cluster]:
    """Return jobs that ask for ``kinds`` kinds of things and often wait, and their cluster."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.integers(0, span_s, jobs)).astype(float)
    service_s = rng.integers(1, 60, jobs).astype(float)
    estimate_s = service_s + (rng.random(jobs) < 0.4) * rng.integers(-40, 60, jobs)
    kind = rng.integers(0, kinds, jobs)
    columns = {}
    if kinds > 8:
        columns = {"cpu": 1.0 + kind % 17, "memory_gib": 1.0 + kind // 17}
    trace = gs.Trace.from_columns(
        submit_s=submit_s, service_s=service_s, gpus=np.array([1, 1, 2, 4, 8, 3, 16, 1])[kind % 8],
        estimate_s=np.maximum(estimate_s, 1.0), restart_s=(kind % 3).astype(float), **columns,
    )  # fmt: skip
    room = {"cpu": 96, "memory_gib": 64} if kinds > 8 else {}
    cluster = gs.Cluster.uniform(servers=SERVERS, gpus=GPUS, **room)
    return trace.with_deadlines(seed=seed), cluster


def assert_equal_schedules(
    policy: str, placement: str, seed: int, kinds: int, span_s: int = 120
) -> None:
    """Compare both ways on a backlog."""
    equal_runs(*backlog(seed, kinds, span_s=span_s), policy=policy, placement=placement)


@each("kinds", [8, 300])
@each("placement", PLACEMENTS)
@each("policy", ["easy", "easy:extra=false", "conservative"])
def test_a_reservation_that_is_kept_is_the_one_found_from_now(policy, placement, kinds):
    if placement == "count" and kinds > 8:
        pytest.skip("a pool has no CPU")
    for seed in range(3):
        assert_equal_schedules(policy, placement, seed, kinds)


@each("kinds", [8, 300])
@each("placement", PLACEMENTS)
@each(
    "policy",
    [
        "easy:backfill=shortest", "easy:backfill=shortest,extra=false",
        "easy:backfill=shortest,depth=3", "easy:depth=3", "easy:touch=strict",
        "easy:depth=3,touch=strict",
    ],
)  # fmt: skip
def test_kinds_of_jobs_are_passed_over_as_if_every_job_were_tried(policy, placement, kinds):
    if kinds > 8 and (placement == "count" or "depth" in policy):
        pytest.skip("not for jobs that ask for CPU")
    for seed in range(3):
        assert_equal_schedules(policy, placement, seed, kinds)


def test_a_long_queue_is_not_sorted_and_asked_at_every_decision():
    rng = np.random.default_rng(1)
    num = 20_000
    trace = gs.Trace.from_columns(
        np.sort(rng.uniform(0, 1e5, num)), rng.uniform(60, 7100, num), rng.choice([1, 2, 4, 8], num)
    )
    begun = time.process_time()
    with unwarned():
        gs.simulate(trace, gs.Cluster.uniform(servers=16, gpus=8), policy="easy:backfill=shortest")
    assert time.process_time() - begun < 10  # a minute where it was


@pytest.mark.parametrize("placement", ["count", "consolidated"])
@pytest.mark.parametrize(
    ("least", "most", "unit_s"), [(1.0, 4.0, 1), (0.5, 2.0, 1), (1.0, 10.0, 1), (1.0, 1.5, 60)]
)
def test_reservations_move_up_as_if_each_were_made_anew(placement, least, most, unit_s):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        service_s = rng.integers(1, 200, 600).astype(float)
        trace = gs.Trace.from_columns(
            submit_s=np.sort(rng.integers(0, 600, 600)).astype(float),
            service_s=service_s,
            gpus=rng.choice([1, 1, 1, 2, 3, 4, 8, 24], 600),
            estimate_s=np.ceil(service_s * rng.uniform(least, most, 600) / unit_s) * unit_s,
        )
        cluster = gs.Cluster.uniform(servers=SERVERS, gpus=GPUS)
        equal_runs(trace, cluster, policy="conservative", placement=placement)


TYPES = ("a100", "v100", "t4")
SETS = (*((name,) for name in TYPES), TYPES[:2], TYPES[1:], ())


@pytest.mark.parametrize("placement", ["consolidated", "spread"])
@pytest.mark.parametrize(("least", "most"), [(1.0, 1.0), (1.0, 4.0), (0.5, 2.0)])
def test_reservations_of_several_types_are_those_found_from_now(placement, least, most):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        service_s = rng.integers(1, 200, 400).astype(float)
        trace = gs.Trace.from_columns(
            submit_s=np.sort(rng.integers(0, 900, 400)).astype(float),
            service_s=service_s,
            gpus=rng.choice([1, 1, 2, 3, 4, 8], 400),
            estimate_s=np.ceil(service_s * rng.uniform(least, most, 400)),
            gpu_types=[SETS[index] for index in rng.integers(0, len(SETS), 400)],
        )
        cluster = gs.Cluster(tuple(gs.ServerGroup(2, 4, name) for name in TYPES))
        equal_runs(trace, cluster, policy="conservative", placement=placement)


@each("placement", ["consolidated", "best-fit", "spread"])
@each("policy", PREEMPTIVE)
def test_many_kinds_of_jobs_are_chosen_as_by_the_walk_over_all(policy, placement):
    for seed in range(2):
        assert_equal_schedules(policy, placement, seed, 300)


@each("span_s", [300, 600])
@each("kinds", [8, 300])
@each("policy", [*PREEMPTIVE, *DISPLACING[-2:]])
def test_who_comes_alone_where_gpus_are_left_over_starts_as_by_the_walk_over_all(
    policy, kinds, span_s
):
    for seed in range(3):
        assert_equal_schedules(policy, "consolidated", seed, kinds, span_s)


@each("placement", ["consolidated", "fgd"])
@each("policy", ["edf", "srtf", "srsf", "2d-las", "serverfilling-srpt"])
def test_who_comes_while_wide_jobs_wait_for_servers_starts_as_by_the_walk_over_all(
    policy, placement
):
    cluster = gs.Cluster.uniform(servers=8, gpus=GPUS)
    for load in (0.8, 1.0):
        trace = gs.generate("philly", jobs=1500, load=load, cluster=cluster, seed=1)
        equal_runs(trace.with_deadlines(seed=1), cluster, policy=policy, placement=placement)


@each("kinds", [8, 300])
@each("policy", SINKING)
def test_jobs_that_sink_stand_in_their_queue_as_by_the_walk_over_all(policy, kinds):
    for seed in range(3):
        assert_equal_schedules(policy, "consolidated", seed, kinds)


@pytest.mark.parametrize(
    "policy", ["srtf", "srsf", "edf", "2d-las:inside=running", "srsf:displace=true", "llf"]
)
def test_many_widths_of_jobs_are_chosen_as_by_the_walk_over_all(policy):
    rng = np.random.default_rng(3)
    gpus = rng.permutation(np.concatenate([np.arange(1, 301), rng.integers(1, 9, 3_700)]))
    trace = gs.Trace.from_columns(
        submit_s=np.sort(rng.integers(0, 900, len(gpus))).astype(float),
        service_s=rng.integers(1, 400, len(gpus)).astype(float),
        gpus=gpus,
    ).with_deadlines(seed=3)
    cluster = gs.Cluster.uniform(servers=625, gpus=GPUS)
    fast, _ = equal_runs(trace, cluster, policy=policy, placement="consolidated")
    assert fast.schedule.preemptions.sum() > 0


def digest_after_withdrawals(policy: str, placement: str, seed: int, kinds: int = 8) -> str:
    """Of a run from which jobs are taken back on its way, of those that wait and that run."""
    rng = np.random.default_rng(seed)
    trace, cluster = backlog(seed, kinds)
    with unwarned():
        run = gs.Simulation(trace, cluster, policy=policy, placement=placement)
        for time_s in np.sort(rng.uniform(1, 200, 12)):
            run.run_until(float(np.round(time_s * 4) / 4))
            for _ in range(int(rng.integers(1, 4))):
                state = run.state
                known = state.running if rng.random() < 0.2 else state.waiting
                if len(known):
                    run.cancel(int(rng.choice(known)))
        run.run()
        return run.result().digest


def assert_equal_withdrawals(policy: str, placement: str, seed: int, kinds: int = 8) -> None:
    fast = digest_after_withdrawals(policy, placement, seed, kinds)
    with slow_twins():
        assert fast == digest_after_withdrawals(policy, placement, seed, kinds)


@each("policy", SINKING)
def test_jobs_stand_as_they_stood_after_withdrawals(policy):
    for seed in range(3):
        assert_equal_withdrawals(policy, "consolidated", seed)


@pytest.mark.parametrize(
    ("placement", "kinds"),
    [("consolidated", 8), ("fgd", 8), ("count", 8), ("consolidated", 300), ("fgd", 300)],
)
@pytest.mark.parametrize(
    "policy",
    [
        *PREEMPTIVE, "serverfilling-srpt", "serverfilling-srpt:scan=strict", "srtf:displace=true",
        "las:displace=true", "llf:displace=true", "a-srpt-p", "srtf:epoch=period,period_s=7",
        "easy", "conservative",
    ],
)  # fmt: skip
def test_a_withdrawal_does_not_end_the_fast_path(policy, placement, kinds):
    for seed in range(2):
        assert_equal_withdrawals(policy, placement, seed, kinds)


@each(
    ("policy", "placement", "kinds"),
    [
        *itertools.product(DISPLACING, ["consolidated", "buddy", "gpu-packing"], [8]),
        *itertools.product(
            ["srtf", "llf", "las:quota=hold", "srtf:scan=strict"], ["best-fit"], [300]
        ),
    ],
)
def test_who_is_displaced_is_as_by_the_walk_over_all(policy, placement, kinds):
    changed = []
    for seed in range(3):
        trace, cluster = backlog(seed, kinds, jobs=160)
        option = ("," if ":" in policy else ":") + "displace=true"
        fast, _ = equal_runs(trace, cluster, policy=policy + option, placement=placement)
        with unwarned():
            plain = gs.simulate(trace, cluster, policy=policy, placement=placement)
        changed.append(fast.digest != plain.digest)
    assert any(changed)


@pytest.mark.parametrize("quota", ["free", "hold"])
def test_a_strict_filling_ends_at_the_first_width_that_does_not_fit(quota):
    # Both of 8 GPUs are in the prefix and one is served: nothing narrower is, whatever widths
    # that nobody in the prefix has lie between.
    trace = gs.Trace.from_columns(
        submit_s=np.array([0.0, 0, 0, 0, 0, 1]),
        service_s=np.array([1.0, 3, 4, 5, 9, 50]),
        gpus=np.array([8, 1, 1, 1, 8, 2]),
    )
    cluster = gs.Cluster.uniform(servers=1, gpus=12)
    policy = f"serverfilling-srpt:scan=strict,quota={quota}"
    fast, _ = equal_runs(trace, cluster, policy=policy, placement="random")
    assert (fast.schedule.start_us[1] > 0) == (quota == "hold")


def test_many_that_are_preempted_at_one_instant_are_those_of_the_walk_over_all():
    rng = np.random.default_rng(4)
    burst = np.repeat(np.arange(7), 60)  # each of shorter jobs than the one before
    trace = gs.Trace.from_columns(
        submit_s=burst.astype(float),
        service_s=40.0 - 5 * burst + rng.integers(0, 4, len(burst)),
        gpus=rng.choice([1, 1, 2, 3], len(burst)),
    )
    cluster = gs.Cluster.uniform(servers=SERVERS, gpus=GPUS)
    fast, _ = equal_runs(trace, cluster, policy="srtf", placement="count")
    assert fast.schedule.preemptions.sum() > 100
