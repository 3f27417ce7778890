"""Every value that a parameter allows gives a sound schedule, every other one a clear error."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from tests.contract.runs import check, run_choice, run_networked
from tests.contract.values import COMPANIONS, bad_values, choice, choice_of, other_values

REGISTRIES = (gs.policies(), gs.placements(), gs.speeds(), gs.contentions())
NAMES = [info for registry in REGISTRIES for info in registry.values()]

VALUES = [
    pytest.param(info, parameter, value, id=f"{info.name}:{parameter['name']}={value}")
    for info in NAMES
    for parameter in info.parameters
    for value in other_values(parameter)
]
BAD_VALUES = [
    pytest.param(info, parameter, value, error, id=f"{info.name}:{parameter['name']}={value}")
    for info in NAMES
    for parameter in info.parameters
    for value, error in bad_values(parameter)
]


def settings(parameter: dict, value: Any) -> dict[str, Any]:
    """The value, with what it needs beside it."""
    key = (parameter["name"], value if isinstance(value, str) else None)
    return COMPANIONS.get(key, {}) | {parameter["name"]: value}


@pytest.mark.parametrize(("info", "parameter", "value"), VALUES)
def test_a_value_other_than_the_default_gives_a_sound_schedule(
    info: gs.PluginInfo, parameter: dict, value: Any
) -> None:
    chosen = choice(info, **settings(parameter, value))
    result = run_choice(chosen)
    check(result)
    text = getattr(result.spec, chosen.kind)
    assert text == str(chosen)
    assert f"{parameter['name']}=" in text


@pytest.mark.parametrize(("info", "parameter", "value"), VALUES)
def test_a_value_survives_being_written_as_text(
    info: gs.PluginInfo, parameter: dict, value: Any
) -> None:
    chosen = choice(info, **settings(parameter, value))
    assert type(chosen).parse(str(chosen)) == chosen
    assert type(chosen).parse(str(chosen)).parameters == chosen.parameters


@pytest.mark.parametrize("info", NAMES)
def test_a_default_that_is_written_out_changes_nothing(info: gs.PluginInfo) -> None:
    defaults = {parameter["name"]: parameter["default"] for parameter in info.parameters}
    chosen = choice(info, **defaults)
    assert run_choice(chosen).digest == run_choice(choice(info)).digest


@pytest.mark.parametrize("info", NAMES)
def test_each_parameter_can_change_a_schedule(info: gs.PluginInfo) -> None:
    # Some parameters speak only where others let them.
    beside = {
        "narrow_gpus": {"cost_s": 5, "wide_cost_s": 50},
        "wide_cost_s": {"narrow_gpus": 2},
        "inside": {"limits": [30, 300, 900]},
        "promote": {"limits": [30, 300, 900]},
        "start": {"mode": "queue"},
        "u": {"theta_s": 300},
    }
    known = {parameter["name"] for parameter in info.parameters}
    extras = ("consolidated", "count") if info.is_policy else ("fifo", "srtf")
    if "places" in info.flags:  # a pool has no GPUs to choose
        extras = ("consolidated",)
    for parameter in info.parameters:
        name = parameter["name"]
        others = {key: v for key, v in beside.get(name, {}).items() if key in known}
        digests = set()
        for value in (parameter["default"], *other_values(parameter)):
            chosen = choice(info, **others | settings(parameter, value))
            for extra in extras:
                digests.add((extra, run_choice(chosen, extra).digest))
            if (name, value) == (
                "restart",
                "work",
            ):  # refused elsewhere where jobs take turns
                continue
            if info.is_policy:  # some look at links or graphs alone
                paced = run_networked(chosen, speed="ring", contention="shared")
                cut = run_networked(chosen, "heavy-edge", speed="stages", contention="reserved")
                digests |= {("ring", paced.digest), ("stages", cut.digest)}
            elif info.kind == "placement" and "pooled" not in info.flags:
                cut = run_networked("fifo", chosen, speed="stages", contention="reserved")
                digests.add(("stages", cut.digest))
        num_runs = len({label for label, _ in digests})
        assert len(digests) > num_runs, f"{info.name}: {name} changes nothing"


@pytest.mark.parametrize(("info", "parameter", "value", "error"), BAD_VALUES)
def test_a_value_that_is_not_allowed_is_refused_by_name(
    info: gs.PluginInfo, parameter: dict, value: Any, error: type[Exception]
) -> None:
    kind = choice_of(info).kind
    with pytest.raises(error, match=f"{kind} {info.name}: parameter {parameter['name']}"):
        choice(info, **{parameter["name"]: value})
