"""A run in parts, and a fork, are the run: every policy, placement, speed and contention."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from tests.contract.runs import CLUSTER, NETWORKED, NETWORKED_CLUSTER, POOLED, TYPED, URGENT
from tests.golden import workload as golden

POLICIES, PLACEMENTS = list(gs.policies()), list(gs.placements())
SPEEDS = [name for name, info in gs.speeds().items() if "steady" not in info.flags]


def opened(policy: str, placement: str = "consolidated") -> gs.Simulation:
    """The golden workload, as ``runs.run`` simulates it."""
    workload, speed = golden.fitting(policy)
    if "pooled" in gs.placements()[placement].flags:
        return gs.Simulation(POOLED[workload], CLUSTER, policy=policy, placement=placement)
    return gs.Simulation(TYPED[workload], CLUSTER, policy=policy, placement=placement, speed=speed)


def digest_of(run: gs.Simulation, **changed: Any) -> str:
    """The digest of the closed run with the same arguments."""
    spec = run.result().spec
    closed = gs.simulate(
        run.trace, run.cluster, policy=spec.policy, placement=spec.placement, speed=spec.speed,
        contention=spec.contention, **changed,
    )  # fmt: skip
    return closed.digest


def check(run: gs.Simulation) -> None:
    """In thirds, a third of it step by step, with a fork at each stop that must not matter."""
    digest = digest_of(run)
    for number in (40, 41):
        for _ in range(number):
            assert run.step()
        fork = run.fork()
        fork.run()
        assert fork.done
        assert fork.result().digest == digest
        assert not run.done
        run.run_until(run.now + 1000.0)
    late = run.fork()
    run.run()
    assert run.result().digest == digest
    del run, fork  # what a fork shares must not be theirs
    late.run()
    assert late.result().digest == digest


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy(policy: str) -> None:
    check(opened(policy))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", ["fifo", "srtf", "easy"])
def test_every_placement(policy: str, placement: str) -> None:
    check(opened(policy, placement))


@pytest.mark.parametrize("contention", gs.contentions())
@pytest.mark.parametrize("speed", SPEEDS)
def test_every_speed_and_contention(speed: str, contention: str) -> None:
    check(
        gs.Simulation(
            NETWORKED,
            NETWORKED_CLUSTER,
            policy="srtf",
            placement="spread",
            speed=speed,
            contention=contention,
        )
    )


@pytest.mark.parametrize("policy", ["dancer", "elasticflow", "chronus", "optimus", "matching"])
def test_elastic_policies_with_links(policy: str) -> None:
    check(gs.Simulation(URGENT, NETWORKED_CLUSTER, policy=policy, speed="table"))
