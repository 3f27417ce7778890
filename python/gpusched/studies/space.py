"""The search space of tuning: policies, and values for their options."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from gpusched.base.files import decode_toml, naming, read_bytes
from gpusched.base.suggest import nearest
from gpusched.plugins.policy import Policy
from gpusched.studies.study import part_of, sequence_of

if TYPE_CHECKING:
    from optuna.trial import Trial

# A range derived from a default extends by this factor below and above it.
_AROUND: Final = 16.0
# Limits this far apart are merely legal, not a useful search range.
_FAR: Final = 1_000.0
_EDGE: Final = 0.02
_DIGITS: Final = 4
_NUMBERS: Final = ("int", "float")


class Choices(msgspec.Struct, frozen=True):
    """Some values, unordered."""

    values: tuple[Any, ...]

    def draw(self, trial: Trial, name: str) -> Any:
        """Let a trial choose one."""
        return self.values[trial.suggest_categorical(name, range(len(self.values)))]

    def parameter(self, value: Any) -> int | None:
        """Return Optuna's parameter for a value; None if it is not one of these."""
        return self.values.index(value) if value in self.values else None

    def edge(self, value: Any) -> str:
        """Return an empty string: there is no edge."""
        return ""

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All values from ``low`` to ``high``, both included.

    ``low``, ``high``: the limits.
    ``log``: whether the scale is logarithmic; ``low`` must then be positive.
    ``step``: distance of the values, from ``low`` on; None: 1 for integers, any value for others.
    ``is_integer``: as the option is registered.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None
    is_integer: bool = False

    def __post_init__(self) -> None:
        for key in ("low", "high"):
            if not math.isfinite(getattr(self, key)):
                raise ValueError(f"{key}: {getattr(self, key)!r} must be finite")
        if not self.low < self.high:
            raise ValueError(f"low: {self.low:g} must be below high, {self.high:g}")
        if self.log and self.low <= 0:
            raise ValueError(f"low: {self.low:g} must be positive with log")
        if self.step is not None:
            if self.log:
                raise ValueError("step: cannot be combined with log")
            if not 0 < self.step <= self.high - self.low:
                raise ValueError(
                    f"step: {self.step:g} must be positive and at most {self.high - self.low:g}"
                )

    def draw(self, trial: Trial, name: str) -> Any:
        """Let a trial choose a value."""
        if self.is_integer:
            step = 1 if self.step is None else int(self.step)
            return trial.suggest_int(name, int(self.low), int(self.high), step=step, log=self.log)
        drawn = trial.suggest_float(name, self.low, self.high, step=self.step, log=self.log)
        return drawn if self.step is not None else self._rounded(drawn)

    def parameter(self, value: Any) -> float | None:
        """Return Optuna's parameter for a value; None if it is out of range."""
        step = self.step or (1 if self.is_integer and not self.log else None)
        is_held = isinstance(value, int | float) and self.low <= value <= self.high
        return value if is_held and not (step and (value - self.low) % step) else None

    def _rounded(self, value: float) -> float:
        """Round to a ten-thousandth of the range, which is precise enough."""
        span = min(abs(value), self.high - self.low) if self.log else self.high - self.low
        if span == 0:
            return value
        digits = _DIGITS - 1 - math.floor(math.log10(span))
        return min(max(round(value, digits), self.low), self.high)

    def edge(self, value: Any) -> str:
        """Return ``"low"`` or ``"high"`` for a value at that end, else an empty string."""
        low, high, at = (
            (math.log(number) if self.log else number) for number in (self.low, self.high, value)
        )
        share = (at - low) / (high - low)
        return "low" if share <= _EDGE else "high" if share >= 1 - _EDGE else ""

    def __str__(self) -> str:
        how = " (log)" if self.log else "" if self.step is None else f" by {self.step:g}"
        return f"{self.low:g} to {self.high:g}{how}"


Option = Choices | Range


def option_of(policy: str, option: str, told: Any, path: str) -> Option | None:
    """Decode the space of an option; None: a single fixed value."""
    kind = _registered(policy, option, path)["type"]
    if isinstance(told, list | tuple):
        if not told:
            raise ValueError(f"at least one value is needed - at `$.{path}`")
        values = [
            checked(policy, option, value, f"{path}[{position}]")
            for position, value in enumerate(told)
        ]
        if len({*map(repr, values)}) < len(values):
            raise ValueError(f"one value is listed twice in {list(told)} - at `$.{path}`")
        return Choices(tuple(values))
    if not isinstance(told, Mapping):
        checked(policy, option, told, path)
        return None
    if kind not in _NUMBERS:
        raise ValueError(f"{option} of {policy} is unordered: list its values - at `$.{path}`")
    if "is_integer" in told:
        raise ValueError(f"Object contains unknown field `is_integer` - at `$.{path}`")
    made = part_of({**told, "is_integer": kind == "int"}, Range, path)
    for key in ("low", "high"):
        checked(policy, option, getattr(made, key), f"{path}.{key}")
    if kind == "int" and made.step is not None and made.step != int(made.step):
        raise ValueError(f"{made.step:g} must be an integer - at `$.{path}.step`")
    least = _registered(policy, option, path).get("least_positive")
    if least is not None and made.low < least:
        raise ValueError(f"{made.low:g} must be at least {least:g} in a range - at `$.{path}.low`")
    return made


def registered_option(policy: str, option: str, path: str) -> Option:
    """Derive a search range from how an option is registered.

    All choices and truth values are tried. A number ranges between its limits if both are known
    and close; else from a sixteenth of its default to 16 times it, within the limits.
    """
    known = _registered(policy, option, path)
    if known["choices"]:
        return Choices(tuple(known["choices"]))
    if known["type"] == "bool":
        return Choices((False, True))
    low, high, default = known["minimum"], known["maximum"], known["default"]
    if known["type"] in _NUMBERS:
        is_integer = known["type"] == "int"
        least = known.get("least_positive") or 0.0
        if low is not None and high is not None and high - low <= _FAR and low >= least:
            return Range(low, high, is_integer=is_integer)
        if default > 0:
            ends = (default / _AROUND, default * _AROUND)
            start = max(ends[0], low if low is not None else ends[0], least)
            end = min(ends[1], high if high is not None else ends[1])
            if is_integer:
                start, end = max(1, math.ceil(start)), math.floor(end)
            if start < end:
                return Range(start, end, log=True, is_integer=is_integer)
    raise ValueError(
        f"{option} of {policy} needs a range: its limits and its default {default!r} suggest none; "
        f"give low and high, or a list of values - at `$.{path}`"
    )


def checked(policy: str, option: str, value: Any, path: str) -> Any:
    """Return a value in the type of its option.

    Raises
    ------
    TypeError, ValueError
        As :class:`gpusched.Policy`, with the path.
    """
    with _at(path):
        return Policy(policy, **{option: value}).parameters[option]


def _registered(policy: str, option: str, path: str) -> Mapping[str, Any]:
    known = Policy(policy).info.parameter(option)
    if known is None:
        with _at(path):
            Policy(policy, **{option: 0})
        raise AssertionError("unknown options are rejected earlier")
    return known


@contextmanager
def _at(path: str) -> Iterator[None]:
    """Add the path in a space to errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} - at `$.{path}`") from None


FIELD: Final = "space"
_OWN: Final = ("policy", "label", "tune")


@dataclass(frozen=True)
class TunedPolicy:
    """A policy and the search space of its options.

    ``label``: name in tables.
    ``fixed``: the policy with the values that are not searched, all others at their defaults.
    ``options``: the searched options.
    """

    label: str
    fixed: Policy
    options: dict[str, Option]

    def __str__(self) -> str:
        told = "; ".join(f"{option} {what}" for option, what in self.options.items())
        return f"{self.label}: {told or 'default options'}"


@dataclass(frozen=True)
class PolicySpace:
    """Policies and the search spaces of their options, see :meth:`of`."""

    policies: tuple[TunedPolicy, ...]

    @classmethod
    def of(cls, space: Any) -> PolicySpace:
        """Decode a space.

        ``space``: a list of policies, a single one, or a mapping or a TOML or JSON file with such a
            list as ``space``. Each is a string, such as ``"fifo"``, or a table: ``policy`` (a
            string), a ``label``, and options. An option has one value; a list of values, one of
            which is chosen; or a table with ``low``, ``high`` and optionally ``log = true`` or
            ``step``. ``tune`` lists options whose ranges are derived from how they are registered.
        """
        if isinstance(space, cls):
            return space
        if isinstance(space, os.PathLike) or (
            isinstance(space, str) and space.endswith((".toml", ".json"))
        ):
            return cls._read(space)
        with naming("space"):
            if isinstance(space, Mapping) and "policy" not in space:
                return cls._decoded(space)
            return cls._of(space if isinstance(space, list | tuple) else [space])

    @classmethod
    def _read(cls, path: str | os.PathLike[str]) -> Self:
        text = read_bytes(path)
        with naming(os.fspath(path)):
            if os.fspath(path).endswith(".json"):
                return cls._decoded(msgspec.json.decode(text, type=dict[str, Any], strict=True))
            return cls._decoded(decode_toml(text, dict[str, Any]))

    @classmethod
    def _decoded(cls, fields: Mapping[str, Any]) -> Self:
        for key in fields:
            if key != FIELD:
                raise ValueError(
                    f"Object contains unknown field `{key}`{nearest(key, [FIELD])} - at `$`"
                )
        if FIELD not in fields:
            raise ValueError(f"Object missing required field `{FIELD}` - at `$`")
        return cls._of(fields[FIELD])

    @classmethod
    def _of(cls, entries: Any) -> Self:
        made = tuple(
            _policy_of(entry, f"{FIELD}[{position}]")
            for position, entry in enumerate(sequence_of(entries, FIELD))
        )
        labels = [one.label for one in made]
        for position, label in enumerate(labels):
            if label in labels[:position]:
                raise ValueError(
                    f"two are called {label!r}; give one its own label - at `$.{FIELD}[{position}]`"
                )
        if len(made) == 1 and not made[0].options:
            raise ValueError(
                f"there is nothing to choose: {labels[0]} has no searched option - at `$.{FIELD}`"
            )
        return cls(made)

    def draw(self, trial: Trial) -> tuple[TunedPolicy, dict[str, Any]]:
        """Let a trial choose a policy, and values for its options."""
        one = self.policies[0]
        if len(self.policies) > 1:
            labels = [policy.label for policy in self.policies]
            one = self.policies[labels.index(trial.suggest_categorical("policy", labels))]
        values = {
            option: what.draw(trial, f"{one.label} {option}")
            for option, what in one.options.items()
        }
        return one, values

    def default_trial(self) -> dict[str, Any] | None:
        """Return Optuna's parameters for the first policy with default options.

        None if the space does not contain them.
        """
        one = self.policies[0]
        told: dict[str, Any] = {"policy": one.label} if len(self.policies) > 1 else {}
        for option, what in one.options.items():
            default = _registered(one.fixed.name, option, option)["default"]
            told[f"{one.label} {option}"] = what.parameter(default)
        return None if None in told.values() else told

    @property
    def columns(self) -> dict[tuple[str, str], str]:
        """Names of the options in tables, by the label of the policy and the option."""
        several = len(self.policies) > 1
        return {
            (one.label, option): f"{one.label}.{option}" if several else option
            for one in self.policies
            for option in one.options
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.policies))


def _policy_of(entry: Any, path: str) -> TunedPolicy:
    if isinstance(entry, Policy):
        return TunedPolicy(str(entry), entry, {})
    if isinstance(entry, str):
        entry = {"policy": entry}
    if not isinstance(entry, Mapping):
        raise TypeError(f"expected a policy or a table, not {entry!r} - at `$.{path}`")
    if "policy" not in entry:
        raise ValueError(f"Object missing required field `policy` - at `$.{path}`")
    base: Policy = entry["policy"]
    if not isinstance(base, Policy):
        with _at(f"{path}.policy"):
            base = Policy.parse(base)
    fixed: dict[str, Any] = dict(base.parameters)
    options: dict[str, Option] = {}
    for key, told in entry.items():
        if key in _OWN:
            continue
        if key in base.parameters:
            raise ValueError(f"{key} has a value in {str(base)!r} already - at `$.{path}.{key}`")
        found = option_of(base.name, key, told, f"{path}.{key}")
        if found is None:
            fixed[key] = checked(base.name, key, told, f"{path}.{key}")
        else:
            options[key] = found
    for position, key in enumerate(_names(entry.get("tune"), f"{path}.tune")):
        where = f"{path}.tune[{position}]"
        if key in fixed or key in options:
            raise ValueError(f"{key} is given already - at `$.{where}`")
        options[key] = registered_option(base.name, key, where)
    known = Policy(base.name, **fixed)
    label = entry.get("label", str(known))
    if not (isinstance(label, str) and label.strip()):
        raise ValueError(f"{label!r} must be a non-empty string - at `$.{path}.label`")
    return TunedPolicy(label, known, options)


def _names(told: Any, path: str) -> Sequence[str]:
    if told is None:
        return ()
    for position, name in enumerate(sequence_of(told, path)):
        if not isinstance(name, str):
            raise ValueError(
                f"Expected the name of an option, not {name!r} - at `$.{path}[{position}]`"
            )
    return list(told)
