"""Promises to crowds that arrive at one instant: as if all were planned anew for each of them."""

import numpy as np

import gpusched as gs
from tests.each import each
from tests.parity.slow_twins import equal_runs
from tests.parity.typed_profiles import TYPES, typed_profiles

POLICIES = (
    "elasticflow:slot_s=20",
    "elasticflow:slot_s=20,types=pinned",
    "elasticflow:slot_s=20,admission=batch",
    "chronus:lease_s=20",
)
BURSTS_S = (0, 13, 140, 300)


def crowds(seed: int, jobs: int, restart_s: float | None = None, bursts: int = 4) -> gs.Trace:
    """Draw jobs that come in a few bursts, with and without deadlines and costs of restarts."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.4, 0.2, 0.3, 0.1])[:bursts]
    submit_s = np.sort(rng.choice(BURSTS_S[:bursts], jobs, p=shares / shares.sum())).astype(float)
    service_s = rng.choice([5, 20, 20, 45, 90, 300], jobs) + rng.integers(0, 30, jobs).astype(float)
    slack = rng.uniform(0.9, rng.choice([1.5, 4.0]), jobs)
    deadline_s = np.where(rng.random(jobs) < 0.9, submit_s + slack * service_s, np.nan)
    if restart_s is None:
        restart_s = float(rng.choice([0.0, 0.0, 4.0, 25.0]))
    profiles = typed_profiles()
    return gs.Trace.from_columns(
        submit_s, service_s, rng.choice([1, 1, 1, 2, 4, 8], jobs), deadline_s=np.ceil(deadline_s),
        restart_s=np.full(jobs, restart_s), profiles=profiles,
        profile=rng.integers(0, len(profiles), jobs),
    )  # fmt: skip


def assert_equal_runs(trace: gs.Trace, policy: str, speed: str, placement: str) -> int:
    """Compare schedules and decisions of both ways; return how many promises were made."""
    cluster = gs.Cluster(tuple(gs.ServerGroup(3, 8, name) for name in TYPES))
    fast, slow = equal_runs(trace, cluster, policy=policy, speed=speed, placement=placement)
    told, known = fast.schedule.decisions(), slow.schedule.decisions()
    assert told.keys() == known.keys()
    for name in told:
        assert list(told[name]) == list(known[name])
    return int(np.sum(told["admitted"]))


@each(("speed", "placement"), [("fixed", "count"), ("fixed", "best-fit"), ("table", "best-fit")])
@each("policy", POLICIES)
def test_a_crowd_is_promised_what_it_is_promised_when_all_is_planned_anew(policy, speed, placement):
    promised = [
        assert_equal_runs(crowds(seed, jobs), policy, speed, placement)
        for seed, jobs in enumerate((30, 30, 120, 120, 400))
    ]
    if "batch" not in policy:  # it turns down all of a burst
        assert min(promised) > 5


@each("restart_s", [0.0, 4.0])
@each("policy", ["elasticflow:slot_s=20", "chronus:lease_s=20"])
def test_many_arrivals_at_one_instant_on_several_types_are_promised_alike(policy, restart_s):
    for seed in range(4):
        trace = crowds(seed, 300, restart_s, bursts=1)
        assert 5 < assert_equal_runs(trace, policy, "table", "best-fit") < 250
