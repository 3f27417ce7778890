"""A name that was registered from Python can be taken back; those of the package stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpusched as gs

NAME = "taken-back"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    gs.unregister(NAME)


def order() -> None:
    @gs.register_order(NAME)
    class ByWidth(gs.Order):
        def rank(self, view: Any, jobs: Any) -> Any:
            return view.gpus[jobs].astype(float)


def placement() -> None:
    @gs.register_placement(NAME)
    class Refuses(gs.Placement):
        def place(self, free: Any, request: Any) -> Any:
            return None


def scheduler() -> None:
    @gs.register_scheduler(NAME)
    class Idle(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            pass


def predictor() -> None:
    @gs.register_predictor(NAME)
    class Hour(gs.Predictor):
        def begin(self, trace: gs.Trace, seed: int = 0) -> None:
            pass

        def predict(self, jobs: Any) -> Any:
            return np.full(len(jobs), 3600.0)


def metric() -> None:
    gs.register_metric(NAME, unit="count", summary="One.")(lambda run: 1)


LISTS = {
    order: gs.policies,
    scheduler: gs.policies,
    placement: gs.placements,
    predictor: gs.predictors,
    metric: gs.metrics,
}


@pytest.mark.parametrize("register", LISTS, ids=lambda register: register.__name__)
def test_what_was_registered_can_be_taken_back_and_registered_again(register):
    for _ in range(2):
        register()
        assert NAME in LISTS[register]()
        with pytest.raises(ValueError, match=f"the name '{NAME}' is taken"):
            register()
        gs.unregister(NAME)
        assert NAME not in LISTS[register]()


def test_names_of_the_package_stay():
    kinds = (gs.policies, gs.placements, gs.predictors, gs.metrics)
    before = [list(kind()) for kind in kinds]
    for name in ("fifo", "gavel", "consolidated", "oracle", "forest", "mean_jct_s", "no such name"):
        gs.unregister(name)
    assert [list(kind()) for kind in kinds] == before


def test_a_name_is_a_text():
    with pytest.raises(TypeError, match="unregister: a name must be a text, not 3"):
        gs.unregister(3)
