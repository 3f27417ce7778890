"""Policies, placements, speeds, contentions and predictors as a study names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusched._core import Order, Placement, Scheduler
from gpusched.plugins.policy import (
    Choice,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
    runs_by_label,
)
from gpusched.prediction import Predictor
from gpusched.prediction.registry import PredictorChoice
from gpusched.sweeping.spec_parts import ROLES, ParameterAxis

KINDS: Final[Mapping[str, type[Choice]]] = {
    "policy": Policy,
    "placement": PlacementChoice,
    "speed": SpeedChoice,
    "contention": ContentionChoice,
    "predictor": PredictorChoice,
}
PLURALS: Final[Mapping[str, str]] = dict(
    zip(ROLES, ("policies", "placements", "speeds", "contentions", "predictors"), strict=True)
)
_OBJECTS: Final[Mapping[str, tuple[type, ...]]] = {
    "policy": (Order, Scheduler),
    "placement": (Placement,),
    "speed": (),
    "contention": (),
    "predictor": (Predictor,),
}
DEFAULT_SPEED: Final = "default"
"""Label of the speed that follows from the contention and the jobs."""


@dataclass(frozen=True)
class Named:
    """A choice with what tables call it."""

    label: str
    choice: Any


def named(role: str, entries: Sequence[Any], axes: Sequence[ParameterAxis]) -> list[Named]:
    """Resolve what a study lists for ``role``; each label is there once.

    Raises
    ------
    ValueError, TypeError
        If a name or an option is unknown, a value out of range or a label used twice; the message
        has the path of the entry.
    """
    found: list[Named] = []
    for position, entry in enumerate(entries):
        path = f"{PLURALS[role]}[{position}]"
        try:
            found.append(_named(role, entry))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} - at `$.{path}`") from None
    found = _told_apart(found) if role == "policy" else found
    first: dict[str, int] = {}
    for position, one in enumerate(found):
        if first.setdefault(one.label, position) != position:
            raise ValueError(
                f"{one.label!r} is listed twice; give one a label of its own - at "
                f"`$.{PLURALS[role]}[{position}]`"
            )
    for axis in axes:
        if axis.role == role:
            _check_axis(axis, found)
    return found


def with_values(
    one: Named, role: str, values: Mapping[ParameterAxis, Any] | Sequence[tuple[ParameterAxis, Any]]
) -> Any:
    """Return the choice with the values of the axes that are its own."""
    own = dict(values)
    more = {axis.option: own[axis] for axis in own if has(one, role, axis)}
    return KINDS[role](one.choice.name, **(one.choice.parameters | more)) if more else one.choice


def has(one: Named, role: str, axis: ParameterAxis) -> bool:
    """Whether an axis of parameters is one of this choice."""
    return axis.role == role and isinstance(one.choice, Choice) and one.choice.name == axis.of


def _named(role: str, entry: Any) -> Named:
    kind = KINDS[role]
    if entry is None and role == "speed":
        return Named(DEFAULT_SPEED, None)
    if isinstance(entry, str):
        if role == "speed" and entry == DEFAULT_SPEED:
            return Named(DEFAULT_SPEED, None)
        choice = kind.parse(entry)
        return Named(str(choice), choice)
    if isinstance(entry, Mapping):
        rest = dict(entry)
        if role not in rest:
            raise ValueError(f"{role}: the name is missing in {dict(entry)!r}")
        inner, label = rest.pop(role), rest.pop("label", None)
        if label is not None and not (isinstance(label, str) and label.strip()):
            raise ValueError(f"label: {label!r} must be text that is not empty")
        if rest:
            base = kind.parse(inner) if isinstance(inner, str) else inner
            if not isinstance(base, kind):
                raise ValueError(f"{role}: options go with a name, not with {inner!r}")
            inner = kind(base.name, **(base.parameters | rest))
        one = _named(role, inner)
        return one if label is None else Named(label, one.choice)
    if isinstance(entry, kind):
        return Named(str(entry), entry)
    if isinstance(entry, _OBJECTS[role]):
        if isinstance(entry, Predictor):
            return Named(entry.label, entry)
        return Named(f"python:{type(entry).__qualname__}", entry)
    hint = ""
    if isinstance(entry, type) and issubclass(entry, _OBJECTS[role]):
        hint = f"; give an instance of it: {entry.__name__}()"
    raise TypeError(f"{role}: expected a name, not {entry!r}{hint}")


def _told_apart(found: list[Named]) -> list[Named]:
    """Give objects of one class labels of their own, as a comparison does."""
    alike = [one for one in found if one.label.startswith("python:")]
    if len({one.label for one in alike}) == len(alike):
        return found
    labels = {id(thing): label for label, thing in runs_by_label([n.choice for n in alike]).items()}
    return [Named(labels.get(id(one.choice), one.label), one.choice) for one in found]


def _check_axis(axis: ParameterAxis, found: Sequence[Named]) -> None:
    if not any(has(one, axis.role, axis) for one in found):
        names = sorted({one.choice.name for one in found if isinstance(one.choice, Choice)})
        raise ValueError(
            f"parameters: {axis.role} {axis.of!r} is not one of the study's: {', '.join(names)}"
        )
    for value in axis.values:
        KINDS[axis.role](axis.of, **{axis.option: value})
