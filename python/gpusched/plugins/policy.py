"""A policy, placement, speed or contention as named by a user, with its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

from gpusched._core import Order, Scheduler
from gpusched.base.registry import load_entry_points
from gpusched.base.suggest import nearest
from gpusched.plugins.identity import identify
from gpusched.plugins.info import (
    POLICY_KINDS,
    PluginInfo,
    Value,
    converted,
    has_flag,
    read,
    written,
)
from gpusched.plugins.registry import (
    not_there,
    registered,
    version,
)


class Choice:
    """A registered name with values for some of its parameters; comparable and hashable.

    Raises
    ------
    ValueError
        If the name or a parameter is unknown (the message suggests the nearest), or a value is
        out of its range. TypeError if a value has the wrong type.
    """

    kind: ClassVar[str] = "policy"
    kinds: ClassVar[tuple[str, ...]] = POLICY_KINDS
    """The registered names it may have."""

    def __init__(self, name: str, /, **parameters: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{self.kind}: expected a name, not {name!r}")
        self.name = name
        self.info = self._find(name)
        self._parameters: dict[str, Value] = {
            key: self._checked(key, parameters[key]) for key in sorted(parameters)
        }

    @property
    def parameters(self) -> MappingProxyType[str, Value]:
        """The values given, by name."""
        return MappingProxyType(self._parameters)

    @classmethod
    def _registry(cls) -> Mapping[str, PluginInfo]:
        return registered(*cls.kinds)

    @classmethod
    def _find(cls, name: str) -> PluginInfo:
        """Look ``name`` up; extension packages are loaded if it is unknown."""
        known = cls._registry()
        if name not in known:
            load_entry_points()
            known = cls._registry()
        if name not in known:
            raise not_there(cls.kind, name, known)
        return known[name]

    @classmethod
    def parse(cls, text: str) -> Any:
        """Parse ``name`` or ``name:key=value,key=value``; a list is written ``1/2/3``.

        Returns
        -------
        Choice
            Of this class: a :class:`Policy`, or a placement and so on.

        Raises
        ------
        ValueError
            As the constructor, or if the string has another form.
        TypeError
            If it is not a string.

        Examples
        --------
        >>> gs.Policy.parse("las:period_s=60") == gs.Policy("las", period_s=60)
        True
        """
        if not isinstance(text, str):
            raise TypeError(f"{cls.kind}: expected a string, not {text!r}")
        name, colon, rest = text.strip().partition(":")
        info = cls._find(name)
        values: dict[str, Any] = {}
        for part in rest.split(",") if colon else ():
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or not key or not value:
                raise ValueError(f"{cls.kind} {text!r}: expected key=value, not {part!r}")
            if key in values:
                raise ValueError(f"{cls.kind} {text!r}: {key} is given twice")
            values[key] = _read(cls.kind, info, key, value)
        return cls(name, **values)

    def core_values(self) -> dict[str, Any]:
        """Return the parameters in the types of the core.

        Returns
        -------
        dict
            Those given; tuples become lists.

        Examples
        --------
        >>> gs.Policy("las", period_s=60).core_values()
        {'period_s': 60.0}
        """
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.parameters.items()
        }

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """The flags of the name, and those added by the values of its parameters."""
        added: tuple[str, ...] = ()
        for parameter in self.info.parameters:
            value = self.parameters.get(parameter["name"], parameter["default"])
            more = parameter.get("flags", {})
            added += tuple(more.get(value, ())) if more else ()
        return tuple(dict.fromkeys((*self.info.flags, *added)))

    def has(self, flag: str) -> bool:
        """Whether it has the flag with these values.

        Returns
        -------
        bool
            Whether it is one of :attr:`flags`.

        Raises
        ------
        ValueError
            If the flag is unknown.

        Examples
        --------
        >>> gs.Policy("srtf").has("preemptive")
        True
        """
        return has_flag(self.flags, flag)

    def __str__(self) -> str:
        return written(self.name, self.parameters)

    def __repr__(self) -> str:
        values = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"{type(self).__name__}({self.name!r}{values})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash((self.kind, str(self)))

    def _checked(self, key: str, value: Any) -> Value:
        parameter = _parameter(self.kind, self.info, key)
        where = f"{self.kind} {self.name}: parameter {key}"
        checked = converted(where, parameter["type"], value)
        numbers = checked if isinstance(checked, tuple) else (checked,)
        low, high = parameter["minimum"], parameter["maximum"]
        least = parameter.get("least_positive")
        for number in numbers:
            if isinstance(number, bool | str):
                continue
            # Written so that NaN fails.
            if not ((low is None or number >= low) and (high is None or number <= high)):
                raise ValueError(f"{where} is {number}; allowed: {_range(low, high, least)}")
            if least is not None and 0 < number < least:
                raise ValueError(f"{where} is {number}; allowed: {_range(low, high, least)}")
        if parameter["choices"] and checked not in parameter["choices"]:
            near = nearest(str(checked), parameter["choices"])
            raise ValueError(f"{where} is {checked!r}{near}")
        return checked


_Choice = TypeVar("_Choice", bound=Choice)


class Policy(Choice):
    """A policy: ``Policy("2d-las", preset="lucid")``; see :func:`gpusched.policies`."""


class PlacementChoice(Choice):
    """A placement: ``PlacementChoice("consolidated-relaxed", kappa=2)``."""

    kind = "placement"
    kinds = ("placement",)


class SpeedChoice(Choice):
    """A performance model: ``SpeedChoice("ring", overhead_s=0.001)``."""

    kind = "speed"
    kinds = ("speed",)


class ContentionChoice(Choice):
    """A contention model: ``ContentionChoice("shared", degradation=0.1)``."""

    kind = "contention"
    kinds = ("contention",)


def known_choice(kind: type[_Choice], text: str) -> _Choice:
    """Parse ``text`` as ``kind``, cached: the result must not be changed."""
    if type(text) is not str:
        found: _Choice = kind.parse(text)
    else:  # a class is always hashable, its objects may not be
        found = _parsed(kind, text, version())  # type: ignore[arg-type]
    return found


@lru_cache(maxsize=512)
def _parsed(kind: type[Choice], text: str, version: int) -> Any:
    return kind.parse(text)


def _parameter(kind: str, info: PluginInfo, key: str) -> Mapping[str, Any]:
    parameter = info.parameter(key)
    if parameter is None:
        names = [known["name"] for known in info.parameters]
        hint = nearest(key, names) if names else "; it has none"
        raise ValueError(f"{kind} {info.name}: unknown parameter {key!r}{hint}")
    return parameter


def _read(kind: str, info: PluginInfo, key: str, text: str) -> Any:
    """Parse a parameter's value by the type of the parameter."""
    expected = _parameter(kind, info, key)["type"]
    return read(f"{kind} {info.name}: parameter {key}", expected, text)


def _range(low: float | None, high: float | None, least: float | None) -> str:
    if least is not None:
        return f"0 and {_range(least, high, None)}"
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"{low:g} to {high:g}"


AnyPolicy: TypeAlias = str | Policy | Order | Scheduler


def runs_by_label(policies: Sequence[AnyPolicy]) -> dict[str, AnyPolicy]:
    """Key the policies by their canonical strings; reject an empty list and duplicates."""
    if isinstance(policies, str | Policy):
        raise TypeError(f"policies: expected a list of policies, not the single {policies!r}")
    runs: dict[str, AnyPolicy] = {}
    given = [Policy.parse(entry) if isinstance(entry, str) else entry for entry in policies]
    plain = [_label(policy) for policy in given]
    for label, policy in zip(plain, given, strict=True):
        if plain.count(label) > 1 and not isinstance(policy, Policy):
            label = _told_apart(label, policy, [same for same in given if _label(same) == label])
        if label in runs:
            raise ValueError(f"policies: {label!r} is listed twice")
        runs[label] = policy
    if not runs:
        raise ValueError("policies: at least one is needed")
    return runs


def _label(policy: Any) -> str:
    if isinstance(policy, Policy):
        return str(policy)
    if isinstance(policy, Order | Scheduler):
        return f"python:{type(policy).__qualname__}"
    raise TypeError(f"policies: expected a name or a policy, not {policy!r}")


def _told_apart(label: str, policy: AnyPolicy, alike: Sequence[AnyPolicy]) -> str:
    """Add the object's digest to a label that it shares with others."""
    if sum(policy is other for other in alike) > 1:
        raise ValueError(f"policies: {label!r} is listed twice")
    known = identify("policy", policy)
    return label if known is None else f"{label}@{known.short}"
