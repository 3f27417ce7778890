"""Every registered name says what it is, documents its parameters and refuses what is not one."""

import re

import pytest

import gpusched as gs
from gpusched.plugins.info import KINDS as KINDS_OF_FLAG
from gpusched.plugins.registry import OTHER_NAMES
from tests.contract.values import choice, choice_of, in_range
from tests.each import each

REGISTRIES = (gs.policies(), gs.placements(), gs.speeds(), gs.contentions())
NAMES = [info for registry in REGISTRIES for info in registry.values()]
KINDS = {"order", "scheduler", "placement", "speed", "contention"}
TYPES = {"bool", "int", "float", "str", "list"}

every_name = each("info", named={f"{info.kind} {info.name}": info for info in NAMES})
every_parameter = each(
    ("info", "parameter"),
    named={
        f"{info.kind} {info.name} {parameter['name']}": (info, parameter)
        for info in NAMES
        for parameter in info.parameters
    },
)


@every_name
def test_a_name_is_described_in_a_sentence_with_its_source(info):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", info.name)
    assert info.kind in KINDS
    assert re.fullmatch(r"[A-Z0-9].{10,}[^.]\.", info.summary)
    assert len(info.summary) <= 100
    assert info.source.strip()
    assert all(info.kind in KINDS_OF_FLAG[flag] for flag in info.flags)
    assert len(set(info.flags)) == len(info.flags)


@every_name
def test_a_policy_that_departs_from_its_source_says_so_in_a_sentence(info):
    assert info.has("approximate") == bool(info.differs)
    if info.differs:
        assert re.fullmatch(r"[A-Z0-9].{20,}[^.]\.", info.differs)
        assert len(info.differs) <= 200


OF_OUR_OWN = ("Ours", "Baseline.", "Common practice", "Baseline named by")
"""How the source of a policy begins whose rule nobody published."""
AS_PUBLISHED = {
    "conservative", "easy", "edf", "fifo-skip", "qssf", "serverfilling-srpt", "sgf", "sjf", "srsf",
    "srtf", "swf", "wspt",
}  # fmt: skip
"""By default the rule of the source; what is predicted and which GPUs it takes the run says."""


@every_name
def test_a_policy_is_as_published_or_says_how_its_defaults_depart(info):
    if info.is_policy and not info.source.startswith(OF_OUR_OWN):
        assert bool(info.differs) != (info.name in AS_PUBLISHED)


@every_name
def test_an_order_has_exactly_one_way_to_scan(info):
    if info.kind == "order":
        assert len({"preemptive", "strict", "skip"} & set(info.flags)) == 1


@every_name
def test_parameters_have_names_of_their_own(info):
    names = [parameter["name"] for parameter in info.parameters]
    assert len(set(names)) == len(names)


@every_parameter
def test_a_parameter_is_documented(info, parameter):
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", parameter["name"])
    assert parameter["type"] in TYPES
    assert len(parameter["help"]) >= 10
    assert not parameter["help"].endswith(".")  # a phrase; the summary is the sentence
    if parameter["name"].endswith("_s") and not parameter["name"].endswith("_per_s"):
        assert "seconds" in parameter["help"] or "same" in parameter["help"]


@every_parameter
def test_a_default_lies_in_its_range(info, parameter):
    default = parameter["default"]
    expected = {"bool": bool, "int": int, "float": float, "str": str, "list": list}
    assert type(default) is expected[parameter["type"]]
    if parameter["type"] == "str":
        assert default in parameter["choices"]
        assert len(parameter["choices"]) >= 2
    else:
        assert parameter["choices"] == []
    if parameter["type"] in ("int", "float", "list"):
        numbers = default if isinstance(default, list) else [default]
        assert numbers
        assert all(in_range(parameter, number) for number in numbers)
        assert parameter["minimum"] is not None, "a lower bound is always known"


@every_name
def test_a_misspelt_name_is_answered_with_the_nearest(info):
    wrong = info.name + "q"
    kind, parse = choice_of(info).kind, choice_of(info).parse
    with pytest.raises(ValueError, match=f"unknown {kind} '{wrong}'; did you mean '"):
        parse(wrong)
    with pytest.raises(ValueError, match=f"unknown {kind} 'xyzzy'; known: .*{info.name}"):
        parse("xyzzy")


@every_name
def test_a_parameter_of_another_plug_in_is_refused(info):
    with pytest.raises(ValueError, match=f"{info.name}: unknown parameter 'no_such'"):
        choice(info, no_such=1)


@every_parameter
def test_a_misspelt_parameter_is_answered_with_the_nearest(info, parameter):
    name = parameter["name"]
    with pytest.raises(
        ValueError, match=f"{info.name}: unknown parameter '{name}q'; did you mean '{name}'"
    ):
        choice(info, **{name + "q": parameter["default"]})


def test_what_others_call_a_policy_leads_to_its_name_here():
    for name, meant in OTHER_NAMES.items():
        assert name not in gs.policies()
        said = " or ".join(map(repr, meant))
        for written in (name, name.upper()):
            with pytest.raises(
                ValueError, match=f"unknown policy '{written}'; did you mean {said}"
            ):
                gs.Policy.parse(written)
        for text in meant:
            gs.Policy.parse(text)
    with pytest.raises(ValueError, match=r"unknown policy 'SRTF'; did you mean 'srtf'\?"):
        gs.Policy.parse("SRTF")
