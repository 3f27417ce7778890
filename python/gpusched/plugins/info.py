"""Descriptions of registered names: flags, parameters, and bounds on preemption."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from gpusched import _core
from gpusched.base.suggest import nearest

_TOLD: Final = {told["name"]: told for told in _core.flags()}

FLAGS: Final[Mapping[str, str]] = {name: told["meaning"] for name, told in _TOLD.items()}
"""The meaning of each flag, in one sentence."""

KINDS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(told["kinds"].split()) for name, told in _TOLD.items()
}
"""The kinds of plug-ins that may have each flag."""

_PYTHON_KINDS: Final = {
    name: frozenset(told["python_kinds"].split()) for name, told in _TOLD.items()
}


def has_flag(flags: Iterable[str], flag: str) -> bool:
    """Whether ``flag`` is among the ``flags``."""
    if flag not in FLAGS:
        raise ValueError(f"unknown flag {flag!r}{nearest(flag, list(FLAGS))}")
    return flag in flags


def checked_flags(kind: str, name: str, flags: object) -> tuple[str, ...]:
    """Return the flags declared by a plug-in written in Python, without duplicates.

    Raises ValueError if a flag is unknown, or not allowed for Python plug-ins of this kind.
    TypeError if they are not strings.
    """
    where = f"{kind} {name}: flags"
    if isinstance(flags, str) or not isinstance(flags, Iterable):
        raise TypeError(f"{where}: expected a tuple of strings, not {flags!r}")
    known = list(flags)
    for flag in known:
        if not isinstance(flag, str):
            raise TypeError(f"{where}: expected strings, not {flag!r}")
        if flag not in FLAGS:
            raise ValueError(f"{where}: unknown flag {flag!r}{nearest(flag, list(FLAGS))}")
        if kind not in _PYTHON_KINDS[flag]:
            allowed = ", ".join(other for other in FLAGS if kind in _PYTHON_KINDS[other])
            raise ValueError(f"{where}: {flag!r} is not for a {kind} of Python; allowed: {allowed}")
    return tuple(dict.fromkeys(known))


class PreemptionBound(msgspec.Struct, frozen=True):
    """The instants at which a policy may preempt jobs.

    At each of them every job is preempted at most once, and at most all running jobs are, as a job
    started in a decision is not stopped in it. If nothing is set, no job is preempted, except when
    another policy takes over.

    Attributes
    ----------
    at_arrivals, at_finishes
        Whether these instants are arrivals, and finishes.
    period
        Name of the parameter, in seconds, whose multiples from time 0 on are such instants; if it
        is 0, arrivals and finishes are.
    per_entry
        Name of a list parameter: each job may request one such instant per entry.
    least_run
        Name of the parameter with the seconds that a job has run, since its start, before it is
        preempted; if nothing else is set, at any instant.
    one_per_arrival
        In a pool with 1-GPU jobs only: at most as many preemptions as arrivals, all of them at
        arrivals. With default parameters and true predictions.
    reason
        The reason, in one sentence.
    """

    at_arrivals: bool = False
    at_finishes: bool = False
    period: str = ""
    per_entry: str = ""
    least_run: str = ""
    one_per_arrival: bool = False
    reason: str = ""

    @property
    def is_none(self) -> bool:
        """Whether no job is preempted."""
        return self == PreemptionBound(reason=self.reason)

    def __str__(self) -> str:
        if self.is_none:
            return "never"
        at = [name for name in ("arrivals", "finishes") if getattr(self, f"at_{name}")]
        if self.period:
            at.append(f"multiples of `{self.period}`")
        if self.per_entry:
            at.append(f"once per job and entry of `{self.per_entry}`")
        if self.least_run:
            at.append(f"event times once a job has run for `{self.least_run}` or longer")
        return ", ".join(at)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that it refers to."""
        return tuple(name for name in (self.period, self.per_entry, self.least_run) if name)


def stated(name: str, told: Mapping[str, Any]) -> PreemptionBound:
    """Return the bound declared by a plug-in written in Python; raise if a field is unknown."""
    known = set(PreemptionBound.__struct_fields__)
    if unknown := sorted(set(told) - known):
        raise ValueError(
            f"scheduler {name}: preemption: unknown field {unknown[0]!r}; allowed: "
            f"{', '.join(sorted(known))}"
        )
    return PreemptionBound(**told)


def check_parameters_of(name: str, bound: PreemptionBound, parameters: Collection[str]) -> None:
    """Raise unless the plug-in has the parameters that its bound refers to."""
    for parameter in bound.parameters:
        if parameter not in parameters:
            raise ValueError(
                f"scheduler {name}: preemption: unknown parameter {parameter!r}; known: "
                f"{', '.join(sorted(parameters)) or 'none'}"
            )


Value = bool | int | float | str | tuple[float, ...]


def shown(value: Any) -> str:
    """Format a value: a list with slashes, a whole number without a fraction."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "/".join(shown(entry) for entry in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def written(name: str, values: Mapping[str, Any]) -> str:
    """Format a name with its values."""
    if not values:
        return name
    return f"{name}:" + ",".join(f"{key}={shown(value)}" for key, value in values.items())


def converted(where: str, kind: str, value: Any) -> Value:
    """Convert without loss: an integer to a number, a number to a list of one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and is_number and math.isfinite(value) and value == int(value):
        return int(value)
    if kind == "float" and is_number:
        return float(value)
    if kind == "str" and isinstance(value, str):
        return value
    if kind == "list":
        entries = [value] if is_number else value
        if isinstance(entries, list | tuple) and entries:
            return tuple(_number(where, entry) for entry in entries)
    raise TypeError(f"{where}: expected {_KINDS.get(kind, kind)}, not {value!r}")


_KINDS = {
    "bool": "true or false",
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "list": "a list of numbers",
}


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{where}: expected a list of numbers, not {value!r} in it")
    return float(value)


def read(where: str, kind: str, text: str) -> Any:
    """Parse a value of a parameter type; errors are a ValueError that begins with ``where``."""
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        if kind in ("int", "float"):
            return float(text)
        if kind == "list":
            return [float(entry) for entry in text.split("/")]
    except (ValueError, KeyError, OverflowError):
        raise ValueError(f"{where}: expected {_KINDS[kind]}, not {text!r}") from None
    return text


POLICY_KINDS: Final = ("order", "scheduler")
APPROXIMATE: Final = "≈"
"""Marks a policy whose defaults deviate from its source."""


class PluginInfo(msgspec.Struct, frozen=True):
    """The description of a registered name.

    Attributes
    ----------
    name, kind
        ``kind`` is ``"order"``, ``"scheduler"`` (both are policies), ``"placement"``, ``"speed"``
        or ``"contention"``.
    One sentence, and the publication.
        One sentence, and where it was published.
    flags
        Its properties, such as ``preemptive`` or ``elastic``, explained in
        :data:`gpusched.plugins.info.FLAGS`.
    parameters
        Mappings with name, type, default, minimum, maximum, least_positive (the smallest value
        allowed above 0; None: any), choices and help.
    python_class
        The class of a name registered from Python; None for a native one.
    columns, optional_columns
        For a speed: the job columns that a run must have, and those that it reads if they are
        given.
    alias_of
        The policy that an alias stands for, with the values that it sets (``fifo:scan=skip``);
        empty if it is not an alias.
    differs
        How its defaults deviate from its source (flag ``approximate``), in one sentence.
    preemption
        For a policy: the instants at which it may preempt; None for a Python scheduler that may
        preempt at any instant.
    """

    name: str
    kind: str
    summary: str
    source: str
    flags: tuple[str, ...]
    parameters: tuple[Mapping[str, Any], ...]
    python_class: type | None = None
    columns: tuple[str, ...] = ()
    optional_columns: tuple[str, ...] = ()
    alias_of: str = ""
    differs: str = ""
    preemption: PreemptionBound | None = None

    def has(self, flag: str) -> bool:
        """Whether it has the flag.

        Returns
        -------
        bool
            The flag of the name, independent of its parameters.

        Raises
        ------
        ValueError
            If the flag is unknown.

        Examples
        --------
        >>> gs.policies()["srtf"].has("preemptive"), gs.policies()["fifo"].has("preemptive")
        (True, False)
        """
        return has_flag(self.flags, flag)

    @property
    def is_native(self) -> bool:
        """Whether the core implements it."""
        return self.python_class is None

    @property
    def preempts(self) -> bool | None:
        """Whether a policy may preempt; None for a Python scheduler that does not declare it."""
        if self.has("preemptive"):
            return True
        is_told = self.is_native or self.kind == "order" or self.has("non-preemptive")
        return False if is_told else None

    @property
    def is_policy(self) -> bool:
        """Whether it can be the policy of a run."""
        return self.kind in POLICY_KINDS

    def parameter(self, name: str) -> Mapping[str, Any] | None:
        """Return the description of a parameter.

        Returns
        -------
        Mapping, optional
            An entry of :attr:`parameters`; None if the name is unknown.

        Examples
        --------
        >>> gs.predictors()["noise"].parameter("sigma")["type"]
        'float'
        """
        return next((known for known in self.parameters if known["name"] == name), None)
