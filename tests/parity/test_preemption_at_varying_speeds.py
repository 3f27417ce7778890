"""Preemptive policies under speeds that vary choose as by the walk over all that runs."""

from dataclasses import replace

import numpy as np
import pytest

import gpusched as gs
from tests.each import each
from tests.parity.slow_twins import equal_runs

pytestmark = pytest.mark.long

POLICIES = (
    "srtf", "srsf", "edf", "las", "2d-las:limits=8/30", "2d-las:limits=8/30,inside=running",
    "2d-las:limits=8/30,crossing=floored", "llf", "a-srpt-p", "serverfilling-srpt",
)  # fmt: skip
PLAIN_OPTIONS = ("", "scan=strict", "quota=hold", "displace=true", "displace=true,scan=strict")
PAYING_OPTIONS = ("restart=work,cost_s=0.5,overrun_s=1", "cost_s=3,epoch=period,period_s=7")
TYPES = ("A", "B", "C")
SPEEDS = ((1.0, 0.5, 1 / 3), (0.7, 1.0, 0.3), (1.0, 1.0, 0.25))
"""Of each model on each type."""
CONTENTIONS = ("none", "reserved", "shared")
JOBS = 160


def jobs_of(seed: int, *, fractions: bool) -> gs.Trace:
    """Draw a crowd of jobs, many of which come at one instant or last equally long."""
    draws = np.random.default_rng(seed)
    service_s = draws.integers(1, 60, JOBS) * draws.choice([1, 1 / 3, 0.7] if fractions else [1])
    trace = gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 150, JOBS)),
        service_s=service_s,
        gpus=draws.choice([1, 1, 1, 2, 4, 8, 16], JOBS),
        estimate_s=np.maximum(1, service_s * draws.choice([0.3, 1, 1, 1.5], JOBS)),
        restart_s=draws.integers(0, 3, JOBS),
    )
    return trace.with_deadlines(seed=seed)


def table(speeds: tuple[float, ...], factor: float) -> dict[str, dict[int, float]]:
    """Return iterations a second by type and number of GPUs."""
    widths = (1, 2, 4, 8, 16)
    return {
        name: {width: factor * speed * width for width in widths}
        for name, speed in zip(TYPES, speeds, strict=True)
    }


def on_types(seed: int) -> tuple[gs.Trace, gs.Cluster]:
    """Return jobs that are slower on some types of GPUs, and on more servers than they need."""
    profiles = [
        gs.model.JobProfile(
            f"model{index}", throughput=table(speeds, 1.0), spread_throughput=table(speeds, 0.7)
        )
        for index, speeds in enumerate(SPEEDS)
    ]
    cluster = gs.Cluster(tuple(gs.ServerGroup(3, 8, name) for name in TYPES))
    return jobs_of(seed, fractions=True).with_profiles(profiles, seed=seed), cluster


def on_links(seed: int) -> tuple[gs.Trace, gs.Cluster]:
    """Return jobs that slow each other down on the links between servers."""
    cluster = gs.Cluster.uniform(8, 8, nic_gbps=4.0, intra_gbps=200.0)
    trace = jobs_of(seed, fractions=seed % 2 == 1)
    return trace.with_profiles(gs.model.zoo(), seed=seed), cluster


def with_option(policy: str, option: str) -> str:
    """Return the policy with one option more, or none."""
    if not option:
        return policy
    return f"{policy},{option}" if ":" in policy else f"{policy}:{option}"


@pytest.mark.parametrize("option", [*PLAIN_OPTIONS, *PAYING_OPTIONS])
@pytest.mark.parametrize("policy", POLICIES)
def test_on_types_of_gpus(policy, option):
    for seed, placement in enumerate(("consolidated", "spread", "random")):
        trace, cluster = on_types(seed)
        named = with_option(policy, option)
        found, _ = equal_runs(trace, cluster, policy=named, placement=placement, speed="table")
        assert found.schedule.preemptions.sum() > 0


@pytest.mark.parametrize("option", [*PLAIN_OPTIONS, "cost_s=3,overrun_s=1"])
@pytest.mark.parametrize("policy", POLICIES)
def test_on_links_that_are_shared(policy, option):
    for seed, placement in enumerate(("consolidated", "first-fit", "spread")):
        trace, cluster = on_links(seed)
        for contention in CONTENTIONS:
            equal_runs(
                trace, cluster, policy=with_option(policy, option), placement=placement,
                speed="ring", contention=contention,
            )  # fmt: skip


@each(("long_us", "late_us"), [(2**50 + 3, 0), (1_000_003, 2**60 + 7)])
@each("policy", ["srtf", "srsf", "llf"])
def test_where_roundings_are_coarse_the_walk_takes_over(policy, long_us, late_us):
    trace, cluster = on_types(1)
    submit_us, service_us = trace.submit_us.copy(), trace.service_us.copy()
    submit_us[JOBS // 2 :] += late_us
    service_us[JOBS // 2] = long_us
    changed = replace(
        trace, submit_us=submit_us, service_us=service_us, estimate_us=None, deadline_us=None
    ).with_deadlines(seed=1)
    equal_runs(changed, cluster, policy=policy, placement="consolidated", speed="table")
