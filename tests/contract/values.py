"""Values of a parameter, made from nothing but what its plug-in says of it."""

from collections.abc import Mapping
from typing import Any

import gpusched as gs
from gpusched.plugins.policy import Choice

Parameter = Mapping[str, Any]

# What a value needs beside it to make sense.
COMPANIONS = {("epoch", "period"): {"period_s": 60}}

# Small enough that a run ends soon, whatever they count.
NUMBERS = (0, 1, 2.5, 90, 2_000)
LISTS = ([40], [5, 900], [0.5, 60, 3_000, 100_000])


# One program is solved each round.
LEAST = {"round_s": 2_000}


def in_range(parameter: Parameter, value: float) -> bool:
    """Whether the parameter's bounds allow the number."""
    low, high = parameter["minimum"], parameter["maximum"]
    if 0 < value < (parameter["least_positive"] or 0):
        return False
    return (low is None or value >= low) and (high is None or value <= high)


def other_values(parameter: Parameter) -> list[Any]:
    """Values that are not the default, at the lower bound and above it."""
    kind, default = parameter["type"], parameter["default"]
    if kind == "bool":
        return [not default]
    if kind == "str":
        return [choice for choice in parameter["choices"] if choice != default]
    if kind == "list":
        lists = [list(map(float, values)) for values in LISTS]
        return [values for values in lists if all(in_range(parameter, v) for v in values)]
    numbers = {number for number in NUMBERS if kind == "float" or number == int(number)}
    if parameter["minimum"] is not None:
        numbers.add(parameter["minimum"])
    numbers = {number for number in numbers if number >= LEAST.get(parameter["name"], number)}
    number_type = int if kind == "int" else float
    return [number_type(n) for n in sorted(numbers) if in_range(parameter, n) and n != default]


def bad_values(parameter: Parameter) -> list[tuple[Any, type[Exception]]]:
    """Values that must be refused, with the error they must raise."""
    kind = parameter["type"]
    bad: list[tuple[Any, type[Exception]]] = [(None, TypeError), ({}, TypeError)]
    if kind == "bool":
        bad += [(1, TypeError), ("true", TypeError)]
    elif kind == "str":
        bad += [(1, TypeError), (parameter["choices"][0] + "x", ValueError)]
    elif kind == "list":
        bad += [([], TypeError), (["1"], TypeError), ([float("nan")], ValueError)]
        bad += [([outside], ValueError) for outside in outside_range(parameter)]
    else:
        nan_error = ValueError if kind == "float" else (ValueError, TypeError)
        bad += [("1", TypeError), (True, TypeError), (float("nan"), nan_error)]
        bad += [(outside, ValueError) for outside in outside_range(parameter)]
        if kind == "int":
            bad += [(1.5, TypeError), (float("inf"), (ValueError, TypeError))]
    return bad


def outside_range(parameter: Parameter) -> list[Any]:
    """Numbers below the least allowed, between 0 and what may follow it, above the greatest."""
    number_type = int if parameter["type"] == "int" else float
    low, high = parameter["minimum"], parameter["maximum"]
    below = [] if low is None else [number_type(low - 1)]
    above = [] if high is None else [number_type(high + 1 if high < 2**50 else 2 * high)]
    between = [parameter["least_positive"] / 2] if parameter["least_positive"] else []
    return below + between + above


def choice_of(info: gs.plugins.PluginInfo) -> type[Choice]:
    """The class by which a user names it."""
    if info.is_policy:
        return gs.Policy
    return {
        "placement": gs.plugins.PlacementChoice,
        "speed": gs.plugins.SpeedChoice,
        "contention": gs.plugins.ContentionChoice,
    }[info.kind]


def choice(info: gs.plugins.PluginInfo, **values: Any) -> Choice:
    """The registered name with these values."""
    return choice_of(info)(info.name, **values)
