"""The space of a search, strictly decoded."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched.studies.space import Choices, PolicySpace, Range
from tests.each import each

TOML = """
[[space]]
policy = "2d-las"
scan = "strict"
limits = [[3250, 7200], 60]
promote = { low = 1, high = 100, log = true }
quota = ["free", "hold"]

[[space]]
policy = "a-srpt:fill=most-free"
label = "ours"
tune = ["tau", "wait", "idle"]

[[space]]
policy = "fifo"
"""


def test_a_file_and_its_dict_are_one_space(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(TOML)
    read = PolicySpace.of(path)
    assert PolicySpace.of(str(path)) == read
    assert [one.label for one in read.policies] == ["2d-las:scan=strict", "ours", "fifo"]
    first, second, third = read.policies
    assert first.fixed == gs.Policy("2d-las", scan="strict")
    assert first.options == {
        "limits": Choices(((3250.0, 7200.0), (60.0,))),
        "promote": Range(1, 100, log=True),
        "quota": Choices(("free", "hold")),
    }
    assert second.fixed == gs.Policy("a-srpt", fill="most-free")
    assert second.options == {
        "tau": Range(1 / 16, 16, log=True),
        "wait": Choices(("work", "loss")),
        "idle": Choices((False, True)),
    }
    assert third.options == {}
    entries = [
        {
            "policy": "2d-las",
            "scan": "strict",
            "limits": [(3250, 7200), 60],
            "promote": {"low": 1, "high": 100, "log": True},
            "quota": ["free", "hold"],
        },
        {
            "policy": gs.Policy("a-srpt", fill="most-free"),
            "label": "ours",
            "tune": ["tau", "wait", "idle"],
        },
        "fifo",
    ]
    assert PolicySpace.of(entries) == PolicySpace.of({"space": entries}) == read


def test_integers_stay_integers():
    one = PolicySpace.of({"policy": "matching", "focus": {"low": 1, "high": 8}, "tune": ["draws"]})
    assert one.policies[0].options == {
        "focus": Range(1, 8, is_integer=True),
        "draws": Range(4, 944, log=True, is_integer=True),
    }


def test_registered_limits_that_are_near_are_the_range():
    one = PolicySpace.of({"policy": "matching", "tune": ["beta", "focus"]})
    assert one.policies[0].options == {"beta": Range(0, 1), "focus": Range(0, 16, is_integer=True)}


@each(
    ("space", "message"),
    [
        ("nobody", "unknown policy 'nobody'.* at `\\$.space\\[0\\].policy`"),
        ("fifo", "nothing to choose: fifo"),
        ([], "at least one is needed - at `\\$.space`"),
        ({"spaces": []}, "unknown field `spaces`"),
        ({}, "missing required field `space`"),
        ([{"polcy": "fifo"}], "missing required field `policy` - at `\\$.space\\[0\\]`"),
        ([7], "expected a policy or a table, not 7 - at `\\$.space\\[0\\]`"),
        (
            ["sjf", {"policy": "2d-las", "promot": [1, 2]}],
            "unknown parameter 'promot'.*promote.*\\$.space\\[1\\].promot`",
        ),
        (
            {"policy": "2d-las", "promote": [1, -2]},
            "promote is -2.*at `\\$.space\\[0\\].promote\\[1\\]`",
        ),
        (
            {"policy": "2d-las", "promote": {"low": -1, "high": 2}},
            "promote is -1.*at `\\$.space\\[0\\].promote.low`",
        ),
        ({"policy": "2d-las", "promote": {"low": 1, "hihg": 2}}, "unknown field `hihg`.*promote`"),
        ({"policy": "2d-las", "promote": {"low": 2, "high": 1}}, "low: 2 must be below high, 1"),
        (
            {"policy": "2d-las", "promote": {"low": 0, "high": 1, "log": True}},
            "low: 0 must be above 0 with log",
        ),
        (
            {"policy": "2d-las", "promote": {"low": 1, "high": 2, "log": True, "step": 0.5}},
            "step: does not go with log",
        ),
        ({"policy": "2d-las", "period_s": {"low": 0, "high": 1}}, "must be at least 0.001"),
        ({"policy": "matching", "focus": {"low": 0.5, "high": 3}}, "focus: expected an integer"),
        ({"policy": "2d-las", "scan": {"low": 0, "high": 1}}, "scan of 2d-las has no order"),
        ({"policy": "2d-las", "promote": []}, "at least one value is needed"),
        ({"policy": "2d-las", "promote": [1, 1.0]}, "one value is listed twice"),
        ({"policy": "2d-las", "tune": ["promote"]}, "promote of 2d-las has no limits"),
        ({"policy": "2d-las", "tune": ["limits"]}, "limits of 2d-las has no limits"),
        ({"policy": "2d-las", "tune": "scan"}, "Expected an array, not 'scan'"),
        (
            {"policy": "2d-las", "scan": ["skip", "strict"], "tune": ["scan"]},
            "scan is given already - at `\\$.space\\[0\\].tune\\[0\\]`",
        ),
        (
            {"policy": "2d-las:scan=skip", "scan": ["skip", "strict"]},
            "scan has a value in '2d-las:scan=skip' already",
        ),
        (["fifo", "fifo"], "two are called 'fifo'.*\\$.space\\[1\\]`"),
        ({"policy": "fifo", "label": " "}, "must be text that is not empty"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(space, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PolicySpace.of(space)


def test_a_file_is_named(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(TOML.replace("quota", "qouta"))
    with pytest.raises(ValueError, match=r"space.toml: .*'qouta'.*\$.space\[0\].qouta"):
        PolicySpace.of(path)
    with pytest.raises(FileNotFoundError):
        PolicySpace.of(tmp_path / "nowhere.toml")


def test_edges_of_ranges_are_told():
    linear, log = Range(0, 10), Range(0.01, 100, log=True)
    assert [linear.edge(value) for value in (0.1, 5.0, 9.9)] == ["low", "", "high"]
    assert [log.edge(value) for value in (0.0101, 0.1, 99.0)] == ["low", "", "high"]
