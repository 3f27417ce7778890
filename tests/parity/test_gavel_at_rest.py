"""What gavel passes over: rounds in which all jobs go on as they are, and jobs between rounds."""

import pytest

import gpusched as gs
from gpusched.plugins.schedulers.gavel import Gavel
from tests.golden import workload as golden

pytestmark = pytest.mark.long

OBJECTIVES = (
    "max-min", "water-filling", "ftf", "makespan", "throughput", "deadlines", "allox", "fifo",
)  # fmt: skip
CLUSTER = golden.cluster()


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
