"""Policies that pass over jobs which keep their GPUs or do not win decide as if none were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.each import each
from tests.parity.slow_twins import equal_runs

pytestmark = pytest.mark.long

JOBS = 400
TYPES = ("A", "B")
SPEEDS = ((1.0, 0.5), (1.0, 1.0), (0.25, 1.0))
"""Of each model on each type, of one GPU."""
GROWTH = {1: 1.0, 2: 1.5, 4: 2.0, 8: 2.0}
"""Of more GPUs: the last four are of no use."""
WIDE = 84
"""GPUs that only both types together have."""


def columns(draws: np.random.Generator, load: float) -> dict[str, Any]:
    """Draw jobs with restarts, deadlines and wrong estimates, half of them in bursts."""
    submit_s = draws.integers(0, int(12_000 / load), JOBS)
    submit_s = np.sort(np.where(draws.random(JOBS) < 0.5, submit_s // 600 * 600, submit_s))
    service_s = draws.integers(1, 40, JOBS) * 30
    return {
        "submit_s": submit_s,
        "service_s": service_s,
        "gpus": np.where(draws.random(JOBS) < 0.02, WIDE, draws.choice([1, 1, 2, 4, 8, 12], JOBS)),
        "restart_s": draws.choice([0, 5, 90], JOBS),
        "estimate_s": service_s * draws.choice([0.5, 1.0, 1.0, 1.0, 2.0], JOBS),
        "deadline_s": np.where(
            draws.random(JOBS) < 0.2, math.nan, submit_s + draws.integers(1, 9, JOBS) * service_s
        ),
    }


def workload(seed: int, *, types: int, elastic: bool) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs and their cluster, which is now empty, now overloaded."""
    draws = np.random.default_rng(seed)
    drawn = columns(draws, load=(0.6, 1.0, 2.0)[seed % 3])
    if types > 1:
        drawn["gpu_types"] = [
            [TYPES[draws.integers(types)]] if draws.random() < 0.2 else None for _ in range(JOBS)
        ]
    trace = gs.Trace.from_columns(**drawn)
    if elastic:
        profiles = [
            gs.model.JobProfile(
                f"m{index}",
                throughput={
                    name: {gpus: speed * growth for gpus, growth in GROWTH.items()}
                    | {12: 2.5 * speed}
                    for name, speed in zip(TYPES, speeds, strict=True)
                },
            )
            for index, speeds in enumerate(SPEEDS)
        ]
        trace = trace.with_profiles(profiles, index=draws.integers(0, len(SPEEDS), JOBS))
    groups = (gs.ServerGroup(10, 8, "A"), gs.ServerGroup(2, 4, "B"))
    return trace, gs.Cluster(groups[:types])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("elastic", [False, True])
@pytest.mark.parametrize("types", [1, 2])
@pytest.mark.parametrize(
    "policy", ["edf-greatest:slot_s=1", "edf-greatest:admission=true", "edf-fastest"]
)
def test_widths_by_deadline_are_those_of_the_walk_over_all(policy, types, elastic, seed):
    drawn = workload(seed, types=types, elastic=elastic)
    speed = "table" if elastic else "fixed"
    equal_runs(*drawn, policy=policy, placement="consolidated", speed=speed)


@each("seed", range(6))
@each("types", [1, 2])
@each("policy", ["afs", "afs:period_s=60"])
def test_a_pass_that_begins_where_it_may_differ_is_one_over_all(policy, types, seed):
    drawn = workload(seed, types=types, elastic=True)
    equal_runs(*drawn, policy=policy, placement="consolidated", speed="table")


def test_so_many_grow_that_their_blocks_are_split():
    draws = np.random.default_rng(3)
    num_jobs = 6_000
    trace = gs.Trace.from_columns(
        np.zeros(num_jobs), draws.integers(60, 6_000, num_jobs), np.ones(num_jobs, np.int64)
    )
    profiles = [
        gs.model.JobProfile(f"m{index}", throughput={"A": {1: 1.0, 2: gain, 4: gain}})
        for index, gain in enumerate((1.3, 1.6, 1.9))
    ]
    trace = trace.with_profiles(profiles, index=draws.integers(0, 3, num_jobs))
    drawn = trace, gs.Cluster((gs.ServerGroup(1_000, 8, "A"),))
    equal_runs(*drawn, policy="afs:period_s=3000", placement="consolidated", speed="table")


@each("seed", range(3))
@each("predictor", ["oracle", "estimate"])
@each(
    ("placement", "types"), [("count", 1), ("consolidated", 1), ("consolidated", 2), ("spread", 2)]
)
@each("policy", ["afs", "afs:period_s=60", "optimus:period_s=0"])
def test_who_runs_by_time_left_stays_in_order_until_it_ends(
    policy, placement, types, predictor, seed
):
    drawn = workload(seed, types=types, elastic=False)
    equal_runs(*drawn, policy=policy, placement=placement, predictor=predictor)
