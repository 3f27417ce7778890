"""The comparison of two packages: what counts as a difference, and which are meant."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from bench import same_as, same_values
from bench.same_as import Difference, differences, explain, places
from tests.each import each


def plain(text: str) -> str:
    return text


def described(value: object) -> object:
    return same_values.describe(value, plain)


@each(
    ("old", "new"),
    [
        (1, 1.0),
        (1, True),
        ((1, 2), [1, 2]),
        (0.1 + 0.2, 0.3),
        (np.zeros(3), np.zeros(3, np.float32)),
        (np.arange(100), np.arange(100)[::-1].copy()),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}, schema={"a": pl.Int32})),
        (gs.Cluster.uniform(4), gs.Cluster.uniform(4, 4)),
        (ValueError("no"), TypeError("no")),
        (ValueError("no"), ValueError("yes")),
    ],
)
def test_what_differs_in_value_type_or_order_is_a_difference(old: object, new: object) -> None:
    assert list(places(described(old), described(new)))
    assert not list(places(described(old), described(old)))


def test_an_attribute_that_is_lost_is_a_difference_and_a_new_one_is_none() -> None:
    old, new = {"()": "Result", "digest": "a"}, {"()": "Result", "digest": "a", "more": 1}
    assert not list(places(old, new))
    assert [place for place, *_ in places(new, old)] == ["more"]


def test_equal_differences_of_several_questions_are_told_once() -> None:
    found = differences("calls", {"1": {"x": 1}, "2": {"x": 1}}, {"1": {"x": 2}, "2": {"x": 2}})
    assert found == [Difference("x", "1", "2", ["calls/1", "calls/2"])]


def test_a_question_that_only_one_side_answers_is_a_difference() -> None:
    assert len(differences("calls", {"1": {}}, {})) == 1
    assert len(differences("calls", {}, {"1": {}})) == 1


def test_a_difference_is_known_only_if_the_reasons_meet_all_of_its_questions() -> None:
    found = [Difference("x", "1", "2", ["calls/1", "calls/2"])]
    one = {"where": "calls/1: *", "reason": "Meant."}
    other = {"where": "states/*", "reason": "Never seen."}
    assert explain(found, [one, other]) == [other]
    assert not found[0].reason
    explain(found, [{**one, "where": "calls/*: x"}])
    assert found[0].reason == "Meant."


def test_a_known_difference_needs_a_reason(tmp_path) -> None:
    path = tmp_path / "known.toml"
    path.write_text('[[known]]\nwhere = "calls/*"\nreason = " "\n')
    with pytest.raises(SystemExit, match="a where and a reason"):
        same_as.read_known(path)


def test_errors_and_warnings_belong_to_the_answer() -> None:
    def ask() -> None:
        gs.Cluster.uniform(0, 8)

    said = same_values.answer(ask, plain)
    assert said["raises"] == "ValueError"
    assert said["is_a"][0] == "ValueError"
    assert said["warnings"] == []
