"""Goals are read from text, and met or missed."""

from __future__ import annotations

import math

import pytest

from gpusched.studies.sizing import Goal, Goals
from tests.each import each


@each(
    ("text", "operator", "bound"),
    [
        ("p95_wait_s < 600", "<", 600),
        ("p95_wait_s<=10 min", "<=", 600),
        ("  p95_wait_s > 2h ", ">", 7200),
        ("p95_wait_s >= 1.5 d", ">=", 129_600),
        ("p95_wait_s < 1e3", "<", 1000),
        ("p95_wait_s < 30 s", "<", 30),
    ],
)
def test_a_goal_is_a_metric_and_a_bound(text, operator, bound):
    assert Goals.parse(text).goals == (Goal("p95_wait_s", operator, bound),)


def test_goals_are_joined_by_and():
    goals = Goals.parse("mean_wait_s < 60 and utilisation > 40% AND mean_wait_s > 1")
    assert [goal.bound for goal in goals.goals] == [60, 0.4, 1]
    assert goals.metrics == ("mean_wait_s", "utilisation")
    assert str(goals) == "mean_wait_s < 60 (1.00 min) and utilisation > 0.4 and mean_wait_s > 1"
    assert Goals.parse(goals) is goals


@each(
    ("text", "value", "is_met"),
    [
        ("p95_wait_s < 60", 60.0, False),
        ("p95_wait_s <= 60", 60.0, True),
        ("p95_wait_s > 60", 60.0, False),
        ("p95_wait_s >= 60", 60.0, True),
        ("p95_wait_s < 60", math.nan, False),
        ("p95_wait_s > 60", math.nan, False),
    ],
)
def test_bounds_are_strict_or_not_and_nothing_undefined_is_met(text, value, is_met):
    assert Goals.parse(text).are_met({"p95_wait_s": value}) == is_met


@each(
    ("text", "message"),
    [
        ("p95_wait < 600", "did you mean 'p95_wait_s'"),
        ("p95_wait_s 600", "not of the form METRIC < NUMBER"),
        ("p95_wait_s = 600", "not of the form"),
        ("", "not of the form"),
        ("p95_wait_s < soon", "'soon' is no number"),
        ("p95_wait_s < 3 parsecs", "'3parsecs' is no number"),
        ("p95_wait_s < 1e999", "must be finite"),
        ("p95_wait_s < 5%", "p95_wait_s is no ratio"),
        ("utilisation > 5 min", "utilisation is no time"),
        ("lower_bound_name < 3", "is a text"),
        ("p95_wait_s < 600 and", "not of the form"),
    ],
)
def test_a_wrong_goal_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        Goals.parse(text)


def test_only_text_is_a_goal():
    with pytest.raises(TypeError, match="goal: expected text, not 600"):
        Goals.parse(600)
