"""Every value that a parameter allows gives a sound schedule, every other one a clear error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import gpusched as gs
from gpusched.plugins.policy import Choice
from tests.campaigns.parameter_ends import FEW, all_ends
from tests.contract.runs import check, run_choice, run_demanding, run_networked
from tests.contract.values import COMPANIONS, bad_values, choice, choice_of, other_values
from tests.each import each
from tests.time_limit import time_limit

REGISTRIES = (gs.policies(), gs.placements(), gs.speeds(), gs.contentions())
NAMES = [info for registry in REGISTRIES for info in registry.values()]

every_name = pytest.mark.parametrize("info", NAMES, ids=lambda info: info.name)

VALUES = {
    f"{info.kind} {info.name}:{parameter['name']}={value!r}": (info, parameter, value)
    for info in NAMES
    for parameter in info.parameters
    for value in other_values(parameter)
}
BAD_VALUES = {
    f"{info.kind} {info.name}:{parameter['name']}={value!r}": (info, parameter, value, error)
    for info in NAMES
    for parameter in info.parameters
    for value, error in bad_values(parameter)
}


def settings(parameter: dict, value: Any) -> dict[str, Any]:
    """The value, with what it needs beside it."""
    key = (parameter["name"], value if isinstance(value, str) else None)
    return COMPANIONS.get(key, {}) | {parameter["name"]: value}


@each(("info", "parameter", "value"), named=VALUES)
def test_a_value_survives_being_written_as_text(info, parameter, value):
    chosen = choice(info, **settings(parameter, value))
    assert type(chosen).parse(str(chosen)) == chosen
    assert type(chosen).parse(str(chosen)).parameters == chosen.parameters


@pytest.mark.long
@every_name
def test_a_run_with_a_parameter_at_an_end_of_its_range_ends_or_is_refused_at_once(info):
    for end in all_ends([FEW], [info]):
        with time_limit(30, end.name):
            assert end.check()


@every_name
def test_a_default_that_is_written_out_changes_nothing(info):
    defaults = {parameter["name"]: parameter["default"] for parameter in info.parameters}
    chosen = choice(info, **defaults)
    assert run_choice(chosen).digest == run_choice(choice(info)).digest


# Some parameters speak only where others let them.
BESIDE: dict[str, dict[str, Any]] = {
    "narrow_gpus": {"cost_s": 5, "wide_cost_s": 50},
    "wide_cost_s": {"narrow_gpus": 2},
    "patience_s": {"scan": "skip"},
    "inside": {"limits": [30, 300, 900]},
    "promote": {"limits": [30, 300, 900]},
    "crossing": {"limits": [30, 300, 900]},
    "sink": {"limits": [30, 300, 900]},
    "counts": {"objective": "throughput"},
    "prices": {"objective": "cost"},
    "start": {"mode": "queue"},
    "u": {"theta_s": 300},
    "draws": {"sampling": "uniform"},
}


@every_name
def test_each_value_gives_a_sound_schedule_and_each_parameter_can_change_one(info):
    plain = run_choice(choice(info)).digest
    known = {parameter["name"] for parameter in info.parameters}
    for parameter in info.parameters:
        name, digests = parameter["name"], set()
        for value in other_values(parameter):
            chosen = choice(info, **settings(parameter, value))
            result = run_choice(chosen)
            check(result)
            text = getattr(result.spec, chosen.kind)
            assert text == str(chosen)
            assert f"{name}=" in text
            digests.add(result.digest)
        others = {key: v for key, v in BESIDE.get(name, {}).items() if key in known}
        before = choice(info, **others)
        # The greatest first: what counts seconds or rounds takes the longer the smaller it is.
        assert (digests - {plain} and not others) or any(
            is_seen(before, choice(info, **others | settings(parameter, value)), (name, value))
            for value in reversed(other_values(parameter))
        ), f"{info.name}: {name} changes nothing"


def is_seen(one: Choice, other: Choice, value: tuple[str, Any]) -> bool:
    """Whether some run tells two choices apart."""
    return any(run(one).digest != run(other).digest for run in runs_of(one.info, value))


def runs_of(
    info: gs.plugins.PluginInfo, value: tuple[str, Any]
) -> list[Callable[[Choice], gs.Result]]:
    """The runs in which a parameter may show."""
    beside = ("consolidated", "count") if info.is_policy else ("fifo", "srtf")
    if "places" in info.flags:  # a pool has no GPUs to choose
        beside = ("consolidated",)
    runs: list[Callable[[Choice], gs.Result]] = [
        partial(lambda chosen, extra: run_choice(chosen, extra), extra=extra) for extra in beside
    ]
    if value[0] == "touch":  # of times, which drawn ones seldom do
        jobs = gs.Trace.from_columns([0, 0, 0], [100, 50, 100], [2, 4, 1])
        runs.append(lambda chosen: gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy=chosen))
    if value == ("restart", "work"):  # refused elsewhere where jobs take turns
        return runs
    if "elastic" in info.flags or info.is_policy:  # or it looks at how fast types are
        runs.append(lambda chosen: run_networked(chosen, speed="proportional"))
    if info.is_policy:  # some look at links or graphs alone
        runs.append(lambda chosen: run_networked(chosen, speed="ring", contention="shared"))
        runs.append(
            lambda chosen: run_networked(
                chosen, "heavy-edge", speed="stages", contention="reserved"
            )
        )
    elif info.kind == "placement" and "pooled" not in info.flags:
        if "demands" in info.flags:  # some look at CPU and memory alone
            runs.append(run_demanding)
        runs.append(
            lambda chosen: run_networked("fifo", chosen, speed="stages", contention="reserved")
        )
    return runs


@each(("info", "parameter", "value", "error"), named=BAD_VALUES)
def test_a_value_that_is_not_allowed_is_refused_by_name(info, parameter, value, error):
    kind = choice_of(info).kind
    with pytest.raises(error, match=f"{kind} {info.name}: parameter {parameter['name']}"):
        choice(info, **{parameter["name"]: value})
