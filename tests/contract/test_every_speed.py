"""Every policy and every placement under every speed, on jobs with no column but what it needs."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import gpusched as gs
from tests.bare_speed import bare_speed
from tests.each import each
from tests.golden import workload as golden

CLUSTER = golden.networked_cluster()
PLAIN = golden.trace(is_typed=True)
NETWORKED = golden.networked()
WITH_PROFILES = golden.urgent(is_typed=True)
WITH_GRAPHS = PLAIN.with_graphs(
    [golden.graph(width) for width in sorted(set(golden.WIDTHS))],
    index=[sorted(set(golden.WIDTHS)).index(width) for width in PLAIN.gpus],
)


def with_columns(columns: tuple[str, ...]) -> gs.Trace:
    """Jobs with what a speed says that it reads, and no other model."""
    if "graph" in columns:
        return WITH_GRAPHS
    return WITH_PROFILES if "profile" in columns else PLAIN


JOBS = {"bare": PLAIN} | {name: with_columns(info.columns) for name, info in gs.speeds().items()}
STEADY = {name for name, info in gs.speeds().items() if info.has("steady")}
FINISHED, REJECTED = 0, 1


def ends_well(policy: str, placement: str, speed: str, contention: str = "none") -> None:
    """The run ends with every job finished or rejected, and with the rates that it should have.

    A pool goes with jobs that may run anywhere under fixed speeds, and with no other.
    """
    with bare_speed() if speed == "bare" else nullcontext():
        check(policy, placement, speed, contention)


def check(policy: str, placement: str, speed: str, contention: str) -> None:
    run = partial(
        gs.simulate, JOBS[speed], CLUSTER, policy=policy, placement=placement, speed=speed,
        contention=contention, verify=True,
    )  # fmt: skip
    if "pooled" in gs.placements()[placement].flags:
        with pytest.raises(ValueError, match="pool has no"):
            run()
        return
    status = run().schedule.status
    assert np.isin(status, [FINISHED, REJECTED]).all()
    assert (status == FINISHED).any()


def test_the_bare_speed_is_known_to_those_who_ask_for_it():
    assert "bare" not in gs.speeds()
    with bare_speed():
        assert "bare" in gs.speeds()
        assert gs.speeds()["barer"].alias_of == "bare:apart_s=3"
    assert "bare" not in gs.speeds()


def test_only_gangs_can_be_apart():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [1, 2])
    with bare_speed() as speed:
        limits = gs.bounds.iteration_limits(jobs, CLUSTER, speed=speed)
    assert limits["max"][0] == limits["min"][0] == limits["min"][1] < limits["max"][1]


@pytest.mark.parametrize(("placement", "finish_s"), [("consolidated", 5), ("spread", 10)])
def test_a_gang_is_slower_apart_than_on_one_server(placement, finish_s):
    jobs = gs.Trace.from_columns([0], [5], [2])
    with bare_speed() as speed:
        result = gs.simulate(jobs, CLUSTER, placement=placement, speed=speed)
    assert result.schedule.finish_us.tolist() == [finish_s * 10**6]


def test_a_speed_may_have_an_alias():
    run = partial(gs.simulate, JOBS["bare"], CLUSTER, placement="spread")
    with bare_speed():
        alias = run(speed="barer")
        assert alias.digest == run(speed="bare:apart_s=3").digest
        assert alias.digest != run(speed="bare").digest
        assert run(speed="barer:apart_s=2").digest == run(speed="bare").digest


@each("speed", JOBS)
@each("policy", gs.policies())
@pytest.mark.parametrize(
    "placement", ["spread", pytest.param("heavy-edge", marks=pytest.mark.long)]
)
def test_every_policy_runs_under_every_speed(policy, placement, speed):
    ends_well(policy, placement, speed)


@each("speed", JOBS)
@each("placement", gs.placements())
def test_every_placement_runs_under_every_speed(placement, speed):
    for policy in ("srtf", "easy", "a-srpt"):
        ends_well(policy, placement, speed)


@each("contention", gs.contentions())
@each("speed", sorted(set(JOBS) - STEADY))
def test_every_contention_runs_under_every_speed(speed, contention):
    for policy in ("a-srpt", "ada-srsf"):
        ends_well(policy, "consolidated", speed, contention)


@each("speed", sorted(name for name, jobs in JOBS.items() if jobs is not PLAIN))
def test_a_speed_refuses_jobs_that_lack_what_it_reads(speed):
    for policy in ("fifo", "a-srpt", "ada-srsf"):
        with pytest.raises(ValueError, match="the jobs have no"):
            gs.simulate(PLAIN, CLUSTER, policy=policy, speed=speed)
