"""Loops that take four doubles at once give the bits of those that take two."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._core import _testing
from gpusched.online.assignment import assign
from tests.each import each
from tests.parity.typed_profiles import TYPES, typed_profiles

pytestmark = pytest.mark.long

SHAPES = [
    (1, 1),
    (3, 7),
    (40, 40),
    (90, 33),
    (64, 150),
    (140, 140),
    (200, 211),
    (300, 270),
    (280, 301),
]


@contextmanager
def two_lanes() -> Iterator[None]:
    """Let the loops inside take two doubles at once."""
    _testing.take_four_lanes(False)
    try:
        yield
    finally:
        _testing.take_four_lanes(True)


def uniform(draws: np.random.Generator, shape: tuple[int, int]) -> Any:
    return draws.random(shape)


def with_ties(draws: np.random.Generator, shape: tuple[int, int]) -> Any:
    return draws.integers(-2, 3, shape) + 0.0


def of_one_order(draws: np.random.Generator, shape: tuple[int, int]) -> Any:
    return np.outer(np.arange(shape[0]), np.arange(shape[1])) + draws.random(shape)


def in_the_plane(draws: np.random.Generator, shape: tuple[int, int]) -> Any:
    here, there = draws.random((shape[0], 1, 2)), draws.random((1, shape[1], 2))
    return np.sqrt(np.square(here - there).sum(axis=2))


def with_forbidden_pairs(draws: np.random.Generator, shape: tuple[int, int]) -> Any:
    cost = draws.random(shape)
    forbidden = draws.random(shape) < 0.2
    np.fill_diagonal(forbidden, False)
    return np.where(forbidden, math.inf, cost)


@each("shape", SHAPES)
@each("costs_of", [uniform, with_ties, of_one_order, in_the_plane, with_forbidden_pairs])
def test_assignments_are_the_same_bits(costs_of, shape):
    cost = costs_of(np.random.default_rng(7), shape)
    found = assign(cost)
    with two_lanes():
        twin = assign(cost)
    assert found.cost == twin.cost
    for name in ("rows", "columns", "row_dual", "column_dual"):
        assert getattr(found, name).tobytes() == getattr(twin, name).tobytes(), name


@each("size", [1, 7, 8, 100])
@each("bad", [math.nan, -math.inf, 1.5e300])
def test_what_is_no_cost_is_refused_in_the_same_words(bad, size):
    cost = np.ones((size, size))
    cost[size // 2, size - 1] = bad
    with pytest.raises(ValueError, match="cost") as found:
        assign(cost)
    with two_lanes(), pytest.raises(ValueError, match="cost") as twin:
        assign(cost)
    assert str(found.value) == str(twin.value)


@each("seed", range(40))
def test_plans_are_the_same_bits(seed):
    draws = np.random.default_rng(seed)
    segments, configurations, quanta = 6, 4, int(draws.integers(1, 200))
    options = []
    for _ in range(segments * configurations):
        same = int(draws.integers(0, 60))
        cost = math.inf if draws.random() < 0.1 else float(draws.random())
        changed = max(same - int(draws.integers(0, 4)), -1)
        options.append((cost, same, changed, same, bool(draws.random() < 0.7)))
    problem = options, [1, 2, 2, 4], quanta, int(draws.integers(-1, configurations)), False
    for solve in (_testing.solve_plan, _testing.search_plan):
        found = solve(*problem)
        with two_lanes():
            assert solve(*problem) == found


@pytest.mark.parametrize("restart_s", [0, 20])
def test_promises_are_the_same_bits(restart_s):
    draws = np.random.default_rng(restart_s)
    profiles = typed_profiles()
    size = 150
    service_s = draws.integers(30, 3_000, size)
    submit_s = np.sort(draws.integers(0, 2_000, size))
    trace = gs.Trace.from_columns(
        submit_s=submit_s, service_s=service_s, gpus=draws.choice([1, 2, 4, 8], size),
        restart_s=np.full(size, restart_s),
        deadline_s=submit_s + service_s * draws.choice([1, 2, 9], size), profiles=profiles,
        profile=draws.integers(0, len(profiles), size),
    )  # fmt: skip
    cluster = gs.Cluster(tuple(gs.ServerGroup(2, 8, name) for name in TYPES))

    def run() -> tuple[str, list[float]]:
        result = gs.simulate(trace, cluster, policy="dancer:slot_s=40", speed="table")
        return result.digest, list(result.schedule.decisions()["cost"])

    found = run()
    with two_lanes():
        assert run() == found


@each("seed", range(5))
def test_passes_over_claims_have_the_same_winners(seed):
    draws = np.random.default_rng(seed)
    size = 200
    profiles = [
        gs.model.JobProfile(f"m{index}", throughput={"A": {1: 1.0, 2: gain, 4: gain * gain}})
        for index, gain in enumerate((1.25, 1.5, 2.0))  # of which the last passes newcomers
    ]
    trace = gs.Trace.from_columns(
        submit_s=np.sort(draws.integers(0, 100, size)),
        service_s=draws.integers(1, 50, size) * 10,
        gpus=np.ones(size, np.int64),
    ).with_profiles(profiles, index=draws.integers(0, len(profiles), size))
    run = {"policy": "afs", "placement": "first-fit", "speed": "table"}
    cluster = gs.Cluster((gs.ServerGroup(60, 8, "A"),))
    found = gs.simulate(trace, cluster, **run)
    with two_lanes():
        assert gs.simulate(trace, cluster, **run).digest == found.digest
