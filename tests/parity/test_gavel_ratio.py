"""What gavel leaves out: jobs beside the one that decides a fairness, rounds in which all go on."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.schedulers import gavel_programs
from gpusched.plugins.schedulers.gavel import Gavel
from gpusched.plugins.schedulers.gavel_programs import Array, Jobs
from tests.golden import workload as golden

pytestmark = pytest.mark.long

CLUSTER = golden.cluster()


def drawn(rng: np.random.Generator) -> Jobs:
    """Draw few jobs on few GPUs; half of them in small whole numbers, where much is equal."""
    num, types = int(rng.integers(1, 13)), int(rng.integers(1, 4))
    if rng.random() < 0.5:
        rates = rng.integers(0, 4, (num, types)).astype(float)
        remaining, elapsed = rng.integers(1, 9, num) * 1.0, rng.integers(0, 20, num) * 1.0
    else:
        rates = rng.exponential(size=(num, types)) * (rng.random((num, types)) < 0.9)
        remaining, elapsed = np.exp(rng.normal(8, 2, (2, num)))
    rates[rates.max(axis=1) == 0, 0] = 1.0
    return Jobs(
        rates=rates, gpus=2.0 ** rng.integers(0, 3, num), weight=np.ones(num), remaining=remaining,
        elapsed=elapsed, served=elapsed * rng.random(num) * (rng.random(num) < 0.7),
        time_left=np.full(num, np.inf), value=np.ones(num), capacity=rng.choice([4.0, 12.0], types),
        breaks_ties=bool(rng.random() < 0.5),
    )  # fmt: skip


@pytest.fixture
def shown(monkeypatch):
    """Say of each call whether the least ratio was seen to be possible at once."""
    pytest.importorskip("scipy")
    calls: list[bool] = []
    if_all_can = gavel_programs._if_all_can

    def watched(jobs: Jobs, left: Array) -> Array | None:
        fractions = if_all_can(jobs, left)
        calls.append(fractions is not None)
        return fractions

    monkeypatch.setattr(gavel_programs, "_if_all_can", watched)
    return calls


def without_looking(*_: Any) -> None:
    """See to nothing: the ratio is found by tangents."""


def test_the_fractions_are_those_that_tangents_lead_to(shown, monkeypatch):
    rng = np.random.default_rng(7)
    cases = [drawn(rng) for _ in range(200)]
    quick = [gavel_programs.solved("ftf", jobs) for jobs in cases]
    assert 10 <= shown.count(False) < 100
    monkeypatch.setattr(gavel_programs, "_if_all_can", without_looking)
    for (fractions, instead), jobs in zip(quick, cases, strict=True):
        wanted, wanted_instead = gavel_programs.solved("ftf", jobs)
        assert instead == wanted_instead
        np.testing.assert_array_equal(fractions, wanted)


@pytest.mark.parametrize("load", [0.7, 1.2])
def test_a_run_is_the_one_by_tangents(load, shown, monkeypatch):
    trace = golden.urgent(is_typed=False).head(80).with_load(load, CLUSTER.num_gpus)
    policy = "gavel:objective=ftf,round_s=60"
    quick = gs.simulate(trace, CLUSTER, policy=policy, speed="table", seed=3)
    assert any(shown)
    assert not all(shown)
    monkeypatch.setattr(gavel_programs, "_if_all_can", without_looking)
    tangents = gs.simulate(trace, CLUSTER, policy=policy, speed="table", seed=3)
    assert quick.digest == tangents.digest


def test_work_that_a_millionth_of_the_time_is_enough_for_is_left_to_the_tangents(shown):
    jobs = Jobs(
        rates=np.ones((2, 1)), gpus=np.ones(2), weight=np.ones(2), remaining=np.array([1e-4, 1e4]),
        elapsed=np.zeros(2), served=np.array([1e4, 0.0]), time_left=np.full(2, np.inf),
        value=np.ones(2), capacity=np.full(1, 4.0),
    )  # fmt: skip
    fractions, instead = gavel_programs.solved("ftf", jobs)
    assert shown == [False]
    assert not instead
    assert fractions[1, 0] == 1.0


OBJECTIVES = (
    "max-min", "water-filling", "ftf", "makespan", "throughput", "deadlines", "allox", "fifo",
)  # fmt: skip


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("load", [0.2, 1.2])
def test_a_run_that_passes_over_rounds_is_one_that_goes_through_all(objective, load, monkeypatch):
    asked: list[bool] = []
    is_at_rest = Gavel._is_at_rest

    def watched(self: Gavel) -> bool:
        asked.append(is_at_rest(self))
        return asked[-1]

    trace = golden.urgent(is_typed=False).head(80).with_load(load, CLUSTER.num_gpus)
    policy = f"gavel:objective={objective},round_s=60"
    runs = []
    for rule in (watched, lambda *_: False):
        monkeypatch.setattr(Gavel, "_is_at_rest", rule)
        runs.append(gs.simulate(trace, CLUSTER, policy=policy, speed="table", seed=3))
    assert runs[0].digest == runs[1].digest
    assert any(asked)
    assert not all(asked)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_between_rounds_those_that_run_go_on_as_if_gavel_had_gone_through_them(
    objective, monkeypatch
):
    asked: list[bool] = []
    may_go_on = Gavel._may_go_on

    def watched(self: Gavel) -> bool:
        asked.append(may_go_on(self))
        return asked[-1]

    trace = golden.urgent(is_typed=False).head(80).with_load(1.2, CLUSTER.num_gpus)
    runs = []
    for rule in (watched, lambda _: False):
        monkeypatch.setattr(Gavel, "_may_go_on", rule)
        runs.append(gs.simulate(trace, CLUSTER, policy=f"gavel:objective={objective}", seed=3))
    assert runs[0].digest == runs[1].digest
    assert any(asked)
