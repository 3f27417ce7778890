"""The registry of names: the core's, and the policies and placements registered from Python."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

from gpusched import _core
from gpusched.base.entry_points import load_entry_points
from gpusched.base.registry import Registry
from gpusched.plugins import flags as known_flags
from gpusched.plugins.built_in import BUILT_IN
from gpusched.plugins.spelling import check_names, check_parameters
from gpusched.plugins.value_texts import written

_Seam = TypeVar("_Seam", bound=type)

POLICY_KINDS: Final = ("order", "scheduler")
_FLAGGED: Final = (*POLICY_KINDS, "placement")


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
        What it says of itself, in words such as ``preemptive`` or ``elastic``; what each means
        stands in :data:`gpusched.plugins.flags.FLAGS`.
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

    def has(self, flag: str) -> bool:
        """Whether it has the flag.

        Raises
        ------
        ValueError
            If there is no such flag.
        """
        return known_flags.has(self.flags, flag)

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
        """Return the description of a parameter, None if there is none of that name."""
        return next((known for known in self.parameters if known["name"] == name), None)


def policies() -> dict[str, PluginInfo]:
    """Every policy by name, sorted; packages that extend gpusched are loaded first.

    Returns
    -------
    dict
        A :class:`PluginInfo` for each name.

    Warns
    -----
    PluginWarning
        If a package that extends gpusched could not be loaded.

    Examples
    --------
    >>> gs.policies()["srtf"].preempts
    True
    """
    load_entry_points()
    return dict(registered(*POLICY_KINDS))


def placements() -> dict[str, PluginInfo]:
    """Every placement by name, sorted; packages that extend gpusched are loaded first.

    Returns
    -------
    dict
        A :class:`PluginInfo` for each name.

    Warns
    -----
    PluginWarning
        If a package that extends gpusched could not be loaded.

    Examples
    --------
    >>> gs.placements()["consolidated"].kind
    'placement'
    """
    load_entry_points()
    return dict(registered("placement"))


def speeds() -> dict[str, PluginInfo]:
    """Every performance model by name, sorted.

    Returns
    -------
    dict
        A :class:`PluginInfo` for each name.

    Warns
    -----
    PluginWarning
        If a package that extends gpusched could not be loaded.

    Examples
    --------
    >>> gs.speeds()["fixed"].has("steady")
    True
    """
    return dict(registered("speed"))


def contentions() -> dict[str, PluginInfo]:
    """Every contention model by name, sorted.

    Returns
    -------
    dict
        A :class:`PluginInfo` for each name.

    Warns
    -----
    PluginWarning
        If a package that extends gpusched could not be loaded.

    Examples
    --------
    >>> "shared" in gs.contentions()
    True
    """
    return dict(registered("contention"))


def registered(*kinds: str) -> Mapping[str, PluginInfo]:
    """Return what has been registered so far of some kinds, by name, sorted."""
    return _registered(kinds, version())


def version() -> int:
    """Return a number that another one follows whenever a name is added or removed."""
    return _POLICIES.version + _PLACEMENTS.version


@lru_cache(maxsize=16)
def _registered(kinds: tuple[str, ...], version: int) -> Mapping[str, PluginInfo]:
    found: dict[str, PluginInfo] = {}
    for kind in kinds:
        found |= _native(kind)
        if kind == "scheduler":
            found |= _built_in()
    for registry in {id(of): of for of in map(_OF_PYTHON.get, kinds) if of is not None}.values():
        found |= registry.loaded()
    return MappingProxyType(dict(sorted(found.items())))


def speed_has(text: str, flag: str) -> bool:
    """Whether the speed of a run's spec is registered and has the flag."""
    known = registered("speed").get(text.partition(":")[0])
    return known is not None and known.has(flag)


def contention_has(text: str, flag: str) -> bool:
    """Whether the contention of a run's spec is registered and has the flag."""
    known = registered("contention").get(text.partition(":")[0])
    return known is not None and known.has(flag)


def register_order(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Order` as the policy ``name``.

    The class says by attributes how it is run: ``lifetime`` (``"fixed"``, ``"service"`` or
    ``"clock"``), ``preemptive`` (False), ``scan`` (``"skip"``), ``flags`` (further ones, such as
    ``("clairvoyant",)``), and by its docstring and ``source`` what it is. Keyword arguments of its
    constructor with defaults become parameters of the policy, beside those of the list scheduler.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    ValueError
        If the name is taken, or a flag is none, ``rank`` is missing, or another name is nearly one
        that is read. TypeError if the class is not an Order.

    Examples
    --------
    >>> @gs.register_order("widest-first")
    ... class WidestFirst(gs.Order):
    ...     def rank(self, view, jobs):
    ...         return -view.gpus[jobs]
    >>> gs.policies()["widest-first"].is_policy
    True
    """
    return _register("order", name, _core.Order)


def register_scheduler(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Scheduler` as the policy ``name``.

    The class may say by the attribute ``flags`` what it does (``"preemptive"``, or
    ``"non-preemptive"``, to which the audit holds it; ``"clairvoyant"``, ``"elastic"``,
    ``"deadlines"``; see :data:`gpusched.plugins.flags.FLAGS`), and by ``parameters`` more of its
    constructor's keyword arguments: a mapping from the name to any of ``minimum``, ``maximum``,
    ``least_positive``, ``choices``, ``help`` and ``flags``, which maps a value to the flags that
    it adds.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    ValueError
        If the name is taken, a flag is none, or a name is nearly one that is read.
    TypeError
        If the class is not a Scheduler.

    Examples
    --------
    >>> @gs.register_scheduler("idle")
    ... class Idle(gs.Scheduler):
    ...     def decide(self, state, finished, arrived, actions):
    ...         pass
    >>> gs.policies()["idle"].kind
    'scheduler'
    """
    return _register("scheduler", name, _core.Scheduler)


def register_placement(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Placement` as the placement ``name``.

    The class may say by the attribute ``flags`` whether it draws by the seed (``"random"``), and
    which gangs it takes on an empty cluster (``"scatters"`` or ``"consolidates"``), to which the
    audit then holds its refusals.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    ValueError
        If the name is taken, a flag is none, or a name is nearly one that is read.
    TypeError
        If the class is not a Placement.

    Examples
    --------
    >>> @gs.register_placement("refuses")
    ... class Refuses(gs.Placement):
    ...     def place(self, free, request):
    ...         return None
    >>> "refuses" in gs.placements()
    True
    """
    return _register("placement", name, _core.Placement)


def unregister(name: str) -> None:
    """Forget a name that was registered from Python; others are left alone."""
    _POLICIES.remove(name)
    _PLACEMENTS.remove(name)


_POLICIES: Final[Registry[PluginInfo]] = Registry("policy")
_PLACEMENTS: Final[Registry[PluginInfo]] = Registry("placement")
_OF_PYTHON: Final = {"order": _POLICIES, "scheduler": _POLICIES, "placement": _PLACEMENTS}


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
            alias_of=_alias(entry),
        )
        for entry in _core.registry()
        if entry["kind"] == kind
    }


@cache
def _built_in() -> dict[str, PluginInfo]:
    """The policies of this package that are written in Python."""
    return {name: describe(seam, "scheduler", name) for name, seam in BUILT_IN.own().items()}


def _alias(entry: Mapping[str, Any]) -> str:
    """Write down for what policy a native name stands; empty if it is its own."""
    return written(entry["target"], entry["values"]) if "target" in entry else ""


def _bounded(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Say None for a bound that is infinite, and where any value above 0 will do."""
    known = dict(parameter)
    for side in ("minimum", "maximum"):
        if math.isinf(known[side]):
            known[side] = None
    known["least_positive"] = known["least_positive"] or None
    return known


def _register(kind: str, name: str, base: type) -> Callable[[_Seam], _Seam]:
    registry = _OF_PYTHON[kind]
    kinds = (kind,) if kind == "placement" else POLICY_KINDS
    registry.check_name(name, taken=registered(*kinds))

    def register(seam: _Seam) -> _Seam:
        if not (isinstance(seam, type) and issubclass(seam, base)):
            raise TypeError(f"{kind} {name}: {seam!r} is not a subclass of {base.__name__}")
        check_names(kind, name, seam, base)
        registry.add(name, describe(seam, kind, name))
        return seam

    return register


def describe(seam: type, kind: str, name: str) -> PluginInfo:
    """Describe a Python plug-in by its attributes, its docstring and its constructor."""
    flags = known_flags.checked(kind, name, getattr(seam, "flags", ())) if kind in _FLAGGED else ()
    parameters = constructor_parameters(kind, name, seam)
    if kind == "order":
        is_preemptive = bool(getattr(seam, "preemptive", False))
        scan = getattr(seam, "scan", "skip")
        if scan not in ("strict", "skip"):
            raise ValueError(f"order {name}: scan is {scan!r}; allowed: strict skip")
        flags = tuple(dict.fromkeys(("preemptive" if is_preemptive else scan, *flags)))
        own = {parameter["name"] for parameter in parameters}
        added = _core.list_parameters(is_preemptive, scan == "strict")
        parameters += [_bounded(entry) for entry in added if entry["name"] not in own]
    doc = inspect.getdoc(seam) or ""
    return PluginInfo(
        name,
        kind,
        doc.partition("\n")[0],
        str(getattr(seam, "source", "")),
        flags,
        tuple(parameters),
        seam,
    )


def constructor_parameters(kind: str, name: str, seam: type) -> list[Mapping[str, Any]]:
    """Describe the keyword arguments of the constructor of a Python plug-in."""
    if "__init__" not in vars(seam):
        return []
    told: Mapping[str, Mapping[str, Any]] = getattr(seam, "parameters", {})
    arguments = inspect.signature(seam).parameters.values()
    with_defaults = [entry for entry in arguments if entry.default is not inspect.Parameter.empty]
    check_parameters(kind, name, told, [entry.name for entry in with_defaults])
    for parameter in told.values():
        for added in parameter.get("flags", {}).values():
            known_flags.checked(kind, name, added)
    return [
        {
            "name": entry.name,
            "type": type(entry.default).__name__,
            "default": entry.default,
            "minimum": None,
            "maximum": None,
            "least_positive": None,
            "choices": [],
            "help": "",
            **told.get(entry.name, {}),
        }
        for entry in with_defaults
    ]
