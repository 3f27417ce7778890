"""What the comparison of two packages takes for a difference; and the help of the bench."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from bench import same_as, same_values
from bench.same_as import Difference, Known, differences, explain, places
from tests.architecture.sources import ROOT
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
def test_what_differs_in_value_type_or_order_is_a_difference(old, new):
    assert list(places(described(old), described(new)))
    assert not list(places(described(old), described(old)))


def test_an_attribute_that_is_lost_is_a_difference_and_a_new_one_is_none():
    old, new = {"()": "Result", "digest": "a"}, {"()": "Result", "digest": "a", "more": 1}
    assert not list(places(old, new))
    assert [place for place, *_ in places(new, old)] == ["more"]


def test_equal_differences_of_several_questions_are_told_once():
    found = differences("calls", {"1": {"x": 1}, "2": {"x": 1}}, {"1": {"x": 2}, "2": {"x": 2}})
    assert found == [Difference("x", "1", "2", ["calls/1", "calls/2"])]


def test_a_question_that_only_one_side_answers_is_a_difference():
    assert len(differences("calls", {"1": {}}, {})) == 1
    assert len(differences("calls", {}, {"1": {}})) == 1


def known(**entry: object) -> Known:
    return Known.of({"reason": "Meant.", **entry})


def test_a_difference_is_known_only_if_the_reasons_meet_all_of_its_questions():
    found = [Difference("x", "1", "2", ["calls/1", "calls/2"])]
    other = known(where="states/*")
    assert explain(found, [known(where="calls/1: *"), other]) == [other]
    assert not found[0].reason
    explain(found, [known(where=["nowhere", "calls/*: x"])])
    assert found[0].reason == "Meant."


@each(
    ("entry", "is_known"),
    [
        ({"where": "calls/1: x[0]"}, True),
        ({"where": "calls/1: x?0?"}, True),
        ({"where": "calls/1: x0"}, False),
        ({"where": "calls/1"}, False),
        ({"where": "*", "old": "a*", "new": ["no", "b"]}, True),
        ({"where": "*", "old": "b*"}, False),
        ({"where": "*", "new": "a"}, False),
    ],
)
def test_an_entry_says_where_what_was_there_and_what_is(entry, is_known):
    found = [Difference("x[0]", "a\nc", "b", ["calls/1"])]
    explain(found, [known(**entry)])
    assert bool(found[0].reason) is is_known


def test_of_lists_of_unequal_lengths_the_rows_that_differ_are_told():
    assert list(places(list("abcd"), list("acd"), "x")) == [("x[]", "b", "(nothing)")]
    assert list(places(list("ab"), list("abc"), "x")) == [("x[]", "(nothing)", "c")]
    rows = [{"n": 1}, "a", "b"], [{"n": 2}, "a"]
    assert list(places(*rows, "x")) == [("x[].n", 1, 2), ("x[]", "b", "(nothing)")]
    assert list(places(["ab 1", "c"], ["x", "ab 2", "c"])) == [
        ("[]", "(nothing)", "x"),
        ("[]", "ab 1", "ab 2"),
    ]
    assert list(places(["one", "two", "c"], ["three", "c"])) == [
        ("[]", "one", "(nothing)"),
        ("[]", "two", "(nothing)"),
        ("[]", "(nothing)", "three"),
    ]


@each("entry", ['reason = " "', "", 'reason = "x"\nwhy = "x"'])
def test_a_known_difference_needs_a_reason(tmp_path, entry):
    path = tmp_path / "known.toml"
    path.write_text(f'[[known]]\nwhere = "calls/*"\n{entry}\n')
    with pytest.raises(SystemExit, match="a where and a reason"):
        same_as.read_known(path)


def test_errors_and_warnings_belong_to_the_answer():
    def ask() -> None:
        gs.Cluster.uniform(0, 8)

    said = same_values.answer(ask, plain)
    assert said["raises"] == "ValueError"
    assert said["is_a"][0] == "ValueError"
    assert said["warnings"] == []


@pytest.mark.parametrize("module", ["bench", "bench.bound_gaps"])
def test_help_names_the_module_and_runs_nothing(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "usage:" in done.stdout
    assert "run.py" not in done.stdout
    assert "Gaps to the bounds" not in done.stdout
