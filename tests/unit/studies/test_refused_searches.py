"""What a search cannot mean is refused by the name of the argument, before anything is run."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched.studies.space import PolicySpace, Range
from tests.each import each
from tests.unit.studies.searches import SPACE, study, tuned


@each(
    ("changes", "message"),
    [
        ({"search_share": 0.0}, "search_share: 0.0 must be above 0 and below 1"),
        ({"search_share": 1.0}, "search_share: 1.0 must be above 0 and below 1"),
        ({"better": "least"}, "better: 'least' must be 'lower' or 'higher'"),
        ({"trials": 0}, "trials: 0 must lie in 1"),
        ({"held_out": 0}, "held_out: 0 must lie in 1"),
        ({"policies": ["fifo", "sjf"], "baseline": "las"}, "'las'"),
    ],
)
def test_an_argument_out_of_range_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        tuned(**changes)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("mean_jct", "metric: unknown metric 'mean_jct'; did you mean 'mean_jct_s'"),
        ("num_jobs", "metric: num_jobs is registered as neither better lower nor higher; give"),
    ],
)
def test_a_metric_must_have_a_better_end(metric, message):
    with pytest.raises(ValueError, match=message):
        gs.tune(SPACE, study(), metric, trials=1)


def test_a_baseline_is_one_of_the_policies_of_the_study():
    found = tuned(policies=["fifo", "sjf"], baseline="sjf", trials=2, held_out=[7])
    assert found.baseline == "sjf"


@each(
    ("given", "message"),
    [
        ({"low": 0, "high": float("inf")}, "high: inf must be finite"),
        ({"low": 2, "high": 1}, "low: 2 must be below high, 1"),
        ({"low": 0, "high": 1, "log": True}, "low: 0 must be above 0 with log"),
        ({"low": 1, "high": 2, "log": True, "step": 0.5}, "step: does not go with log"),
        ({"low": 1, "high": 2, "step": 3}, "step: 3 must be above 0 and at most 1"),
        ({"low": 1, "high": 2, "step": 0}, "step: 0 must be above 0 and at most 1"),
    ],
)
def test_a_range_that_holds_nothing_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Range(**given)


@each(
    ("entry", "message"),
    [
        (
            {"policy": "2d-las", "promote": {"low": 1, "high": 9, "is_integer": True}},
            r"unknown field `is_integer` - at `\$.space\[0\].promote`",
        ),
        ({"policy": "2d-las", "tune": [3]}, "Expected the name of an option, not 3"),
        ({"policy": "2d-las", "label": ""}, "'' must be text that is not empty"),
        ({"policy": "2d-las", "quota": {"low": 1, "high": 2}}, "quota of 2d-las has no order"),
        ({"policy": "serverfilling-srpt", "tune": ["x"]}, "x"),
    ],
)
def test_an_entry_of_a_space_is_refused_with_its_path(entry, message):
    with pytest.raises(ValueError, match=message):
        PolicySpace.of([entry])
