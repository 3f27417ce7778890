"""What is known of a registered name: its flags, its parameters, when it may preempt."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import msgspec

from gpusched import _core
from gpusched.base.suggest import nearest

_TOLD: Final = {told["name"]: told for told in _core.flags()}

FLAGS: Final[Mapping[str, str]] = {name: told["meaning"] for name, told in _TOLD.items()}
"""What each flag means, in a sentence."""

KINDS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(told["kinds"].split()) for name, told in _TOLD.items()
}
"""The kinds of plug-ins that may have each flag."""

_PYTHON_KINDS: Final = {
    name: frozenset(told["python_kinds"].split()) for name, told in _TOLD.items()
}


def has_flag(flags: Iterable[str], flag: str) -> bool:
    """Whether ``flag`` is among the ``flags``.

    Raises
    ------
    ValueError
        If there is no such flag.
    """
    if flag not in FLAGS:
        raise ValueError(f"unknown flag {flag!r}{nearest(flag, list(FLAGS))}")
    return flag in flags


def checked_flags(kind: str, name: str, flags: object) -> tuple[str, ...]:
    """Return what a plug-in written in Python says of itself, each flag once.

    Raises
    ------
    ValueError
        If one of the flags does not exist, or is not for plug-ins of this kind that are written
        in Python. TypeError if they are no texts.
    """
    where = f"{kind} {name}: flags"
    if isinstance(flags, str) or not isinstance(flags, Iterable):
        raise TypeError(f"{where}: expected a tuple of texts, not {flags!r}")
    known = list(flags)
    for flag in known:
        if not isinstance(flag, str):
            raise TypeError(f"{where}: expected texts, not {flag!r}")
        if flag not in FLAGS:
            raise ValueError(f"{where}: unknown flag {flag!r}{nearest(flag, list(FLAGS))}")
        if kind not in _PYTHON_KINDS[flag]:
            allowed = ", ".join(other for other in FLAGS if kind in _PYTHON_KINDS[other])
            raise ValueError(f"{where}: {flag!r} is not for a {kind} of Python; allowed: {allowed}")
    return tuple(dict.fromkeys(known))


class PreemptionBound(msgspec.Struct, frozen=True):
    """At which instants a policy may preempt jobs.

    At each of them every job is preempted at most once, and at most all that run are, as a job that
    is started is not stopped in the same decision. Where nothing is set nobody is preempted, but in
    a run that is handed over to another policy.

    Attributes
    ----------
    at_arrivals, at_finishes
        Where a job arrives, and where one finishes.
    period
        Name of the parameter, in seconds, at whose multiples from time 0 on; where it is 0, at
        arrivals and finishes.
    per_entry
        Name of a parameter, a list: for each of its entries every job may once ask for an instant.
    least_run
        Name of the parameter for whose seconds a job has run, from its start, before it is
        preempted; where nothing else is set, at any instant.
    one_per_arrival
        In a pool, if all jobs ask for one GPU: no more preemptions than jobs have arrived, all of
        them at arrivals. With default parameters, and predictions that are true.
    reason
        Why, in a sentence.
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
        """Whether nobody is preempted."""
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
            at.append(f"of jobs that have run for `{self.least_run}` or longer")
        return ", ".join(at)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that it is stated by."""
        return tuple(name for name in (self.period, self.per_entry, self.least_run) if name)


def stated(name: str, told: Mapping[str, Any]) -> PreemptionBound:
    """Return what a plug-in written in Python says; raise unless these are fields of a bound."""
    known = set(PreemptionBound.__struct_fields__)
    if unknown := sorted(set(told) - known):
        raise ValueError(
            f"scheduler {name}: preemption: unknown field {unknown[0]!r}; allowed: "
            f"{', '.join(sorted(known))}"
        )
    return PreemptionBound(**told)


def check_parameters_of(name: str, bound: PreemptionBound, parameters: Collection[str]) -> None:
    """Raise unless the bound of a plug-in is stated by parameters that it has."""
    for parameter in bound.parameters:
        if parameter not in parameters:
            raise ValueError(
                f"scheduler {name}: preemption: it has no parameter {parameter!r}; it has: "
                f"{', '.join(sorted(parameters)) or 'none'}"
            )


Value = bool | int | float | str | tuple[float, ...]


def shown(value: Any) -> str:
    """Write one value: a list with slashes, a whole number without a fraction."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "/".join(shown(entry) for entry in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def written(name: str, values: Mapping[str, Any]) -> str:
    """Write a name with its values."""
    if not values:
        return name
    return f"{name}:" + ",".join(f"{key}={shown(value)}" for key, value in values.items())


def converted(where: str, kind: str, value: Any) -> Value:
    """Accept what loses nothing: an integer for a number, a number for a list of one."""
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
    "str": "a text",
    "list": "a list of numbers",
}


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{where}: expected a list of numbers, not {value!r} in it")
    return float(value)


def read(where: str, kind: str, text: str) -> Any:
    """Read a value of a type of parameters from text; a ValueError that begins with ``where``."""
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
"""Marks a policy whose defaults depart from its source."""


class PluginInfo(msgspec.Struct, frozen=True):
    """What is known of a registered name.

    Attributes
    ----------
    name, kind
        ``kind`` is ``"order"``, ``"scheduler"`` (both are policies), ``"placement"``, ``"speed"``
        or ``"contention"``.
    summary, source
        One sentence, and where it was published.
    flags
        What it says of itself, in words such as ``preemptive`` or ``elastic``; what each means
        stands in :data:`gpusched.plugins.info.FLAGS`.
    parameters
        Mappings with name, type, default, minimum, maximum, least_positive (above 0 no smaller
        value is allowed, 0 itself is; None: any is), choices and help.
    python_class
        The class of a name registered from Python; None for a native one.
    columns, optional_columns
        Of a speed: the names of the job columns without which the core refuses a run, and of those
        that it reads if they are given.
    alias_of
        The policy for which the name stands, with the values that it sets (``fifo:scan=skip``);
        empty unless it is an alias.
    differs
        Where its defaults depart from its source (flag ``approximate``): how, in a sentence.
    preemption
        Of a policy: at which instants it may take GPUs back; None of a scheduler of Python that
        may and does not say when, which is at any.
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
            That of the name, whatever its parameters are.

        Raises
        ------
        ValueError
            If there is no such flag.

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
        """Whether a policy may take GPUs back; None of a scheduler of Python that does not say."""
        if self.has("preemptive"):
            return True
        is_told = self.is_native or self.kind == "order" or self.has("non-preemptive")
        return False if is_told else None

    @property
    def is_policy(self) -> bool:
        """Whether a run takes it as its policy."""
        return self.kind in POLICY_KINDS

    def parameter(self, name: str) -> Mapping[str, Any] | None:
        """Return the description of a parameter.

        Returns
        -------
        Mapping, optional
            An entry of :attr:`parameters`; None if there is none of that name.

        Examples
        --------
        >>> gs.predictors()["noise"].parameter("sigma")["type"]
        'float'
        """
        return next((known for known in self.parameters if known["name"] == name), None)
