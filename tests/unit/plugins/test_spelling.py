"""Misspelt names in plug-ins are said, and not left lying about."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.prediction import register_predictor
from tests.each import each

TRACE = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
CLUSTER = gs.Cluster.uniform(1, 1)


def rank(self: Any, view: Any, jobs: Any) -> Any:
    return np.zeros(len(jobs))


def decide(self: Any, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
    pass


def place(self: Any, free: Any, request: Any) -> Any:
    return None


BASES = {"order": gs.Order, "scheduler": gs.Scheduler, "placement": gs.Placement}
METHODS: dict[str, dict[str, Any]] = {
    "order": {"rank": rank},
    "scheduler": {"decide": decide},
    "placement": {"place": place},
}


def run(kind: str, plug_in: Any) -> gs.Result:
    role = "placement" if kind == "placement" else "policy"
    return gs.simulate(TRACE, CLUSTER, **{role: plug_in})


@each(
    ("kind", "wrong", "right"),
    [
        ("order", "lifetme", "lifetime"),
        ("order", "life_time", "lifetime"),
        ("order", "preemtive", "preemptive"),
        ("order", "scans", "scan"),
        ("order", "flag", "flags"),
        ("order", "sources", "source"),
        ("scheduler", "flgas", "flags"),
        ("scheduler", "begins", "begin"),
        ("scheduler", "warning", "warnings"),
        ("scheduler", "parameter", "parameters"),
        ("placement", "beginn", "begin"),
        ("placement", "flag", "flags"),
    ],
)
def test_a_misspelt_attribute_is_named_with_the_nearest(kind, wrong, right):
    made = type("Mine", (BASES[kind],), {**METHODS[kind], wrong: "fixed"})
    told = f"Mine: nothing reads '{wrong}'; did you mean '{right}'"
    with pytest.raises(ValueError, match=told):
        run(kind, made())
    register = getattr(gs, f"register_{kind}")
    with pytest.raises(ValueError, match=f"{kind} mine: nothing reads '{wrong}'"):
        register("mine")(made)


@pytest.mark.parametrize(
    ("kind", "wrong"), [("order", "ranks"), ("scheduler", "decid"), ("placement", "plase")]
)
def test_a_misspelt_method_is_named_with_the_nearest(kind, wrong):
    made = type("Mine", (BASES[kind],), {wrong: next(iter(METHODS[kind].values()))})
    with pytest.raises(ValueError, match=f"nothing reads '{wrong}'; did you mean"):
        run(kind, made())


@pytest.mark.parametrize("kind", sorted(BASES))
def test_a_plug_in_without_its_method_is_refused_before_the_run(kind):
    made = type("Mine", (BASES[kind],), {"keyy": rank})
    with pytest.raises(TypeError, match=r"is missing in python:Mine; it has keyy"):
        run(kind, made())


def test_an_attribute_of_the_object_is_read_as_one_of_the_class():
    made = type("Mine", (gs.Order,), METHODS["order"])()
    made.lifetme = "clock"
    with pytest.raises(ValueError, match="did you mean 'lifetime'"):
        run("order", made)


def test_names_of_ones_own_are_free():
    own = {"_lifetme": 1, "horizon_s": 2.0, "history": [], "ranks": {}, "lifetime": "fixed"}
    assert run("order", type("Mine", (gs.Order,), METHODS["order"] | own)()).digest
    base = type("Base", (gs.Order,), METHODS["order"])
    assert run("order", type("Mine", (base,), {"horizon_s": 1.0})()).digest


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"rond_s": {"minimum": 1}}, "no argument 'rond_s' with a default; did you mean 'round_s'"),
        ({"round_s": {"minimun": 1}}, "round_s: unknown 'minimun'; did you mean 'minimum'"),
    ],
)
def test_misspelt_parameters_of_a_scheduler_are_refused(told, message):
    class Mine(gs.Scheduler):
        parameters = told

        def __init__(self, round_s: float = 1.0) -> None:
            super().__init__()

        decide = decide

    with pytest.raises(ValueError, match=message):
        gs.register_scheduler("mine")(Mine)


def test_misspelt_names_of_a_predictor_are_refused_where_it_is_made():
    with pytest.raises(ValueError, match="nothing reads 'predct'; did you mean 'predict'"):
        type("Mine", (gs.Predictor,), {"predct": None})
    with pytest.raises(ValueError, match="nothing reads 'need_truth'; did you mean 'needs_truth'"):
        type("Mine", (gs.Predictor,), {"need_truth": True})

    class Mine(gs.Predictor):
        limits = {"factr": (0, 1)}  # noqa: RUF012 - as a user would

        def __init__(self, factor: float = 1.0) -> None:
            self.factor = factor

        def begin(self, trace: Any, seed: int = 0) -> None: ...
        def predict(self, jobs: Any) -> Any: ...

    try:
        with pytest.raises(ValueError, match=r"limits: .* 'factr' .*did you mean 'factor'"):
            register_predictor("mine")(Mine)
    finally:
        gs.unregister("mine")
