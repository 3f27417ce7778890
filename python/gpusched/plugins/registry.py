"""The registry of names: the core's, and the policies and placements registered from Python."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from gpusched import _core

_Seam = TypeVar("_Seam", bound=type)

POLICY_KINDS: Final = ("order", "scheduler")


@dataclass(frozen=True)
class PluginInfo:
    """What is known of a registered name.

    Attributes
    ----------
    name, kind
        ``kind`` is ``"order"``, ``"scheduler"`` (both are policies), ``"placement"``, ``"speed"``
        or ``"contention"``.
    summary, source
        One sentence, and where it was published.
    flags
        ``preemptive`` (may take GPUs back; a scheduler of Python that never does may declare
        ``non-preemptive``); ``strict`` or ``skip`` (the default scan); ``clairvoyant`` (decides by
        the service, known or predicted); ``estimate`` (by estimates); ``random``; ``pooled``;
        ``places`` (a policy that chooses the GPUs itself, whatever the run's placement).
    parameters
        Mappings with name, type, default, minimum, maximum, choices and help.
    python_class
        The class of a name registered from Python; None for a native one.
    columns, optional_columns
        Of a speed: the names of the job columns without which the core refuses a run, and of those
        that it reads if they are given.
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

    @property
    def is_native(self) -> bool:
        """Whether the core implements it."""
        return self.python_class is None

    @property
    def preempts(self) -> bool | None:
        """Whether a policy may take GPUs back; None of a scheduler of Python that does not say."""
        if "preemptive" in self.flags:
            return True
        is_told = self.is_native or self.kind == "order" or "non-preemptive" in self.flags
        return False if is_told else None

    @property
    def is_policy(self) -> bool:
        """Whether a run takes it as its policy."""
        return self.kind in POLICY_KINDS

    def parameter(self, name: str) -> Mapping[str, Any] | None:
        """Return the description of a parameter, None if there is none of that name."""
        return next((known for known in self.parameters if known["name"] == name), None)


def policies() -> dict[str, PluginInfo]:
    """Every policy by name, sorted."""
    native = {name: info for kind in POLICY_KINDS for name, info in _native(kind).items()}
    return dict(sorted({**native, **_built_in(), **_policies_of_python}.items()))


def placements() -> dict[str, PluginInfo]:
    """Every placement by name, sorted."""
    return dict(sorted({**_native("placement"), **_placements_of_python}.items()))


def speeds() -> dict[str, PluginInfo]:
    """Every performance model by name, sorted."""
    return dict(sorted(_native("speed").items()))


def contentions() -> dict[str, PluginInfo]:
    """Every contention model by name, sorted."""
    return dict(sorted(_native("contention").items()))


def register_order(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Order` as the policy ``name``.

    The class says by attributes how it is run: ``lifetime`` (``"fixed"``, ``"service"`` or
    ``"clock"``), ``preemptive`` (False), ``scan`` (``"skip"``), and by its docstring and
    ``source`` what it is. Keyword arguments of its constructor with defaults become parameters
    of the policy, beside those of the list scheduler.

    Raises
    ------
    ValueError
        If the name is taken. TypeError if the class is not an Order.
    """
    return _register("order", name, _core.Order, _policies_of_python)


def register_scheduler(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Scheduler` as the policy ``name``.

    The class may say by the attribute ``flags`` what it does (``"preemptive"``, or
    ``"non-preemptive"``, to which the audit holds it; ``"clairvoyant"``, ``"elastic"``,
    ``"deadlines"``), and by ``parameters`` more of its constructor's keyword
    arguments: a mapping from the name to any of ``minimum``, ``maximum``, ``choices``, ``help``
    and ``flags``, which maps a value to the flags that it adds.
    """
    return _register("scheduler", name, _core.Scheduler, _policies_of_python)


def register_placement(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Placement` as the placement ``name``."""
    return _register("placement", name, _core.Placement, _placements_of_python)


def unregister(name: str) -> None:
    """Forget a name that was registered from Python; others are left alone."""
    _policies_of_python.pop(name, None)
    _placements_of_python.pop(name, None)


_policies_of_python: dict[str, PluginInfo] = {}
_placements_of_python: dict[str, PluginInfo] = {}


@cache
def _native(kind: str) -> dict[str, PluginInfo]:
    return {
        entry["name"]: PluginInfo(
            entry["name"],
            entry["kind"],
            entry["summary"],
            entry["source"],
            tuple(entry["flags"]),
            tuple(_bounded(parameter) for parameter in entry["parameters"]),
            columns=tuple(entry["columns"]),
            optional_columns=tuple(entry["optional_columns"]),
        )
        for entry in _core.registry()
        if entry["kind"] == kind
    }


@cache
def _built_in() -> dict[str, PluginInfo]:
    """The policies of this package that are written in Python."""
    from gpusched.plugins.schedulers import BUILT_IN

    return {name: describe(seam, "scheduler", name) for name, seam in BUILT_IN.items()}


def _bounded(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Say None for a bound that is infinite."""
    known = dict(parameter)
    for side in ("minimum", "maximum"):
        if math.isinf(known[side]):
            known[side] = None
    return known


def _register(
    kind: str, name: str, base: type, registry: dict[str, PluginInfo]
) -> Callable[[_Seam], _Seam]:
    taken = placements() if kind == "placement" else policies()
    if name in taken:
        raise ValueError(f"{kind}: the name {name!r} is taken")
    if not name or set(name) & set(":,= \t\n"):
        raise ValueError(
            f"{kind}: the name {name!r} must not be empty or hold ':', ',', '=', space"
        )

    def register(seam: _Seam) -> _Seam:
        if not (isinstance(seam, type) and issubclass(seam, base)):
            raise TypeError(f"{kind} {name}: {seam!r} is not a subclass of {base.__name__}")
        registry[name] = describe(seam, kind, name)
        return seam

    return register


def describe(seam: type, kind: str, name: str) -> PluginInfo:
    """Describe a Python plug-in by its attributes, its docstring and its constructor."""
    flags: list[str] = []
    parameters = _constructor_parameters(seam)
    if kind == "order":
        is_preemptive = bool(getattr(seam, "preemptive", False))
        scan = getattr(seam, "scan", "skip")
        flags.append("preemptive" if is_preemptive else scan)
        own = {parameter["name"] for parameter in parameters}
        added = _core.list_parameters(is_preemptive, scan == "strict")
        parameters += [_bounded(entry) for entry in added if entry["name"] not in own]
    elif kind == "scheduler":
        flags += getattr(seam, "flags", ())
    doc = inspect.getdoc(seam) or ""
    return PluginInfo(
        name,
        kind,
        doc.partition("\n")[0],
        str(getattr(seam, "source", "")),
        tuple(flags),
        tuple(parameters),
        seam,
    )


def _constructor_parameters(seam: type) -> list[Mapping[str, Any]]:
    if "__init__" not in vars(seam):
        return []
    told: Mapping[str, Mapping[str, Any]] = getattr(seam, "parameters", {})
    return [
        {
            "name": entry.name,
            "type": type(entry.default).__name__,
            "default": entry.default,
            "minimum": None,
            "maximum": None,
            "choices": [],
            "help": "",
            **told.get(entry.name, {}),
        }
        for entry in inspect.signature(seam).parameters.values()
        if entry.default is not inspect.Parameter.empty
    ]
