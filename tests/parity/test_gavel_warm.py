"""Gavel's programs that begin where the last one ended give what those from nothing give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.schedulers import gavel, gavel_warm
from gpusched.plugins.schedulers.gavel_jobs import Jobs
from gpusched.plugins.schedulers.gavel_programs import solved
from gpusched.plugins.schedulers.gavel_warm import WarmStarts
from tests.golden import workload as golden

pytest.importorskip("scipy")
pytest.importorskip("highspy")

CLUSTER = golden.cluster()


def crowd(rng: np.random.Generator, *, is_whole: bool) -> Iterator[Jobs]:
    """Let jobs come and leave, some of a few kinds; rates are small whole numbers or any."""
    capacity = rng.choice([4.0, 12.0], int(rng.integers(1, 4)))
    rates, gpus, weight = np.empty((0, len(capacity))), np.empty(0), np.empty(0)
    for _ in range(25):
        stays = rng.random(len(gpus)) < 0.9
        num = int(rng.integers(1, 6))
        size = (num, len(capacity))
        new = rng.integers(1, 4, size) if is_whole else rng.exponential(size=size) + 0.01
        again = rng.random(num) < 0.2 * (len(gpus) > 0)
        old = rng.integers(0, max(1, len(gpus)), num)
        new = np.where(again[:, None], rates[old] if len(gpus) else new, new)
        width = np.where(again, gpus[old] if len(gpus) else 1.0, 2.0 ** rng.integers(0, 3, num))
        rates = np.concatenate([rates[stays], new])
        gpus = np.concatenate([gpus[stays], width])
        weight = np.concatenate([weight[stays], rng.choice([1.0, 1.0, 2.0], num)])
        ones = np.ones(len(gpus))
        yield Jobs(
            rates=rates, gpus=gpus, weight=weight, remaining=ones, elapsed=ones, served=ones,
            time_left=ones, value=ones, capacity=capacity,
        )  # fmt: skip


@pytest.mark.parametrize("is_whole", [False, True])
def test_answers_are_those_from_nothing_as_jobs_come_and_leave(is_whole: bool) -> None:
    rng = np.random.default_rng(5)
    num_tried = num_certain = 0
    for _ in range(20):
        starts = WarmStarts()
        for jobs in crowd(rng, is_whole=is_whole):
            fractions, _ = solved("max-min", replace(jobs, starts=starts))
            np.testing.assert_array_equal(fractions, solved("max-min", jobs)[0])
        num_tried += starts.num_tried
        num_certain += starts.num_certain
    if is_whole:
        assert 0 < num_certain < num_tried < 20 * 25  # some crowds give up
    else:
        assert 0.8 * num_tried < num_certain < num_tried


@pytest.mark.parametrize(("num", "is_taken"), [(64, True), (128, False)])
def test_what_is_between_two_numbers_of_six_digits_is_not_taken(num: int, is_taken: bool) -> None:
    ones, starts = np.ones(num), WarmStarts()
    jobs = Jobs(
        rates=np.ones((num, 1)), gpus=ones, weight=ones, remaining=ones, elapsed=ones, served=ones,
        time_left=ones, value=ones, capacity=np.ones(1), starts=starts,
    )  # fmt: skip
    fractions, _ = solved("max-min", jobs)
    assert fractions[0, 0] == pytest.approx(1 / num, abs=1e-6)  # 0.0078125 of 128
    assert (starts.num_tried, starts.num_certain) == (1, int(is_taken))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[WarmStarts]:
    """Collect what runs begin with."""
    collected: list[WarmStarts] = []

    def starts() -> WarmStarts:
        collected.append(WarmStarts())
        return collected[-1]

    monkeypatch.setattr(gavel, "warm_starts", starts)
    return collected


@pytest.mark.parametrize("load", [0.7, 1.2])
def test_a_run_is_the_same_without_the_package(
    load: float, begun: list[WarmStarts], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = golden.urgent(is_typed=False).head(80).with_load(load, CLUSTER.num_gpus)
    warm = gs.simulate(trace, CLUSTER, policy="gavel:round_s=60", speed="table", seed=3)
    assert begun[0].num_certain > 0
    monkeypatch.setattr(gavel, "warm_starts", lambda: None)
    cold = gs.simulate(trace, CLUSTER, policy="gavel:round_s=60", speed="table", seed=3)
    assert warm.digest == cold.digest


def test_a_fork_goes_on_from_starts_of_its_own(begun: list[WarmStarts]) -> None:
    trace = golden.urgent(is_typed=False).head(80).with_load(1.2, CLUSTER.num_gpus)
    run = gs.Simulation(trace, CLUSTER, policy="gavel:round_s=60", speed="table")
    run.run_until(2_700)
    tried = begun[0].num_tried
    other = run.fork()
    other.run()
    assert begun[0].num_tried == tried > 0
    run.run()
    assert begun[0].num_tried > tried
    assert run.result().digest == other.result().digest


@pytest.mark.parametrize("is_there", [False, True])
def test_runs_begin_warm_where_the_package_is(
    is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gavel_warm, "is_installed", lambda _: is_there)
    assert (gavel_warm.warm_starts() is not None) == is_there
