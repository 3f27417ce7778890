"""Registered names: those of the core, and policies and placements written in Python."""

from __future__ import annotations

import difflib
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeVar

from gpusched import _core
from gpusched.base.registry import Registry, load_entry_points
from gpusched.base.suggest import nearest
from gpusched.plugins.identity import is_ours
from gpusched.plugins.info import (
    POLICY_KINDS,
    PluginInfo,
    PreemptionBound,
    check_parameters_of,
    checked_flags,
    has_flag,
    stated,
    written,
)

_Seam = TypeVar("_Seam", bound=type)

BUILT_IN: Final[Registry[type]] = Registry("policy", "gpusched.plugins.schedulers")


def built_in(name: str) -> Callable[[_Seam], _Seam]:
    """Register the decorated subclass of :class:`gpusched.Scheduler` as the policy ``name``."""

    def add(seam: _Seam) -> _Seam:
        BUILT_IN.add(name, seam)
        return seam

    return add


_SHARED: Final = frozenset({"source", "spec_key"})
_POLICY: Final = _SHARED | {"differs", "flags"}
OTHER_NAMES: Final = {
    "fcfs": ("fifo",), "first-come-first-served": ("fifo",), "fifo-backfill": ("fifo-skip",),
    "backfill": ("easy", "conservative"), "backfilling": ("easy", "conservative"),
    "easy-backfill": ("easy",), "srpt": ("srtf",), "srjf": ("srtf",), "tiresias": ("2d-las",),
    "lucid": ("2d-las:preset=lucid",), "multi-level-feedback": ("2d-las",),
}  # fmt: skip
"""Common misnomers of policies."""
# Without "preemption" for a scheduler: its own "preempt" is not a misspelling.
READ: Final[Mapping[str, frozenset[str]]] = {
    "order": _POLICY | {"rank", "lifetime", "preemptive", "scan"},
    "scheduler": _POLICY | {"begin", "decide", "warnings", "parameters"},
    "placement": _SHARED | {"begin", "place", "flags", "parameters"},
}
"""The attributes that a run reads from a plug-in of each kind."""
NEEDED: Final[Mapping[str, str]] = {"order": "rank", "scheduler": "decide", "placement": "place"}
"""The method that a plug-in of each kind must have."""
ARGUMENTS: Final[Mapping[str, str]] = {
    "order": "(view, jobs)",
    "scheduler": "",
    "placement": "(free, request)",
}
OF_PARAMETERS: Final = frozenset({"minimum", "maximum", "choices", "help", "flags"})
_NEAR: Final = 0.75


def check_names(
    kind: str, name: str, plug_in: type, base: type, state: Iterable[str] | None = None
) -> None:
    """Check that a class has no misspelt attribute of those that a run reads.

    Parameters
    ----------
    state
        Attribute names of an object of the class that is to run: then the class must also have the
        method by which it decides.

    Raises
    ------
    ValueError
        For a name close to one that is read, if the class lacks the latter.
    TypeError
        If the required method is missing.
    """
    own = {key for kind in _own_classes(plug_in, base) for key in vars(kind)} | set(state or ())
    unread = check_spelling(f"{kind} {name}", own, READ[kind])
    needed = NEEDED[kind]
    is_native = any(
        kind.__module__.startswith(base.__module__) for kind in _own_classes(plug_in, base)
    )
    if state is not None and needed not in own and not is_native:
        told = f"; it has {', '.join(unread)}" if unread else ""
        raise TypeError(f"{kind}: {needed}{ARGUMENTS[kind]} is missing in {name}{told}")


def check_spelling(where: str, own: Iterable[str], read: Iterable[str]) -> list[str]:
    """Return the public names of ``own`` that are not in ``read``, sorted.

    Raises ValueError if one of them is close to one that is read and that is not in ``own``.
    """
    there, wanted = set(own), set(read)
    unread = sorted(key for key in there - wanted if not key.startswith("_"))
    for key in unread:
        close = difflib.get_close_matches(key, sorted(wanted - there), n=1, cutoff=_NEAR)
        if close:
            raise ValueError(
                f"{where}: unknown attribute {key!r}; did you mean {close[0]!r}? Prefix your own "
                "attributes with '_'."
            )
    return unread


def check_parameters(
    kind: str, name: str, told: Mapping[str, Mapping[str, Any]], known: Iterable[str]
) -> None:
    """Check that ``parameters`` describes arguments of the constructor with known keys.

    Raises ValueError if not; the message has the nearest name.
    """
    arguments = list(known)
    for key, words in told.items():
        where = f"{kind} {name}: parameters"
        if key not in arguments:
            hint = nearest(key, arguments) if arguments else "; its constructor has none"
            raise ValueError(
                f"{where}: the constructor has no argument {key!r} with a default{hint}"
            )
        for word in words:
            if word not in OF_PARAMETERS:
                hint = nearest(word, sorted(OF_PARAMETERS))
                raise ValueError(f"{where}: {key}: unknown {word!r}{hint}")


def _own_classes(plug_in: type, base: type) -> list[type]:
    """The classes written by the author: those derived from the core's, and their mix-ins."""
    return [kind for kind in plug_in.__mro__ if kind not in base.__mro__]


_FLAGGED: Final = (*POLICY_KINDS, "placement")
_OF_LISTS: Final = ("outages", "priorities")
"""What the list does for every order."""


def describe(seam: type, kind: str, name: str) -> PluginInfo:
    """Describe a Python plug-in by its attributes, its docstring and its constructor."""
    flags = checked_flags(kind, name, getattr(seam, "flags", ())) if kind in _FLAGGED else ()
    parameters = constructor_parameters(kind, name, seam)
    if kind == "order":
        is_preemptive = bool(getattr(seam, "preemptive", False))
        scan = getattr(seam, "scan", "skip")
        if scan not in ("strict", "skip"):
            raise ValueError(f"order {name}: scan is {scan!r}; allowed: strict skip")
        flags = tuple(dict.fromkeys(("preemptive" if is_preemptive else scan, *flags, *_OF_LISTS)))
        own = {parameter["name"] for parameter in parameters}
        added = _core.list_parameters(is_preemptive, scan == "strict")
        parameters += [bounded(entry) for entry in added if entry["name"] not in own]
    elif kind == "scheduler" and getattr(seam, "takes_outages", False):
        flags = (*flags, "outages")
    says = any(has_flag(flags, flag) for flag in ("clairvoyant", "estimate"))
    if kind in POLICY_KINDS and not says and _reads_times(seam):
        flags = (*flags, "clairvoyant")
    differs = str(getattr(seam, "differs", "")) if kind in POLICY_KINDS else ""
    if differs:
        flags = tuple(dict.fromkeys((*flags, "approximate")))
    doc = inspect.getdoc(seam) or ""
    return PluginInfo(
        name,
        kind,
        doc.partition("\n")[0],
        str(getattr(seam, "source", "")),
        flags,
        tuple(parameters),
        seam,
        differs=differs,
        preemption=_preemption(seam, kind, name, flags, parameters),
    )


def _reads_times(seam: type) -> bool:
    """Whether a method reads the run times that a state shows; our own policies say when."""
    if is_ours(seam):
        return False
    from gpusched.base.object_digests import names_of

    methods = (value for one in seam.__mro__ for value in vars(one).values())
    code = (made.__code__ for made in methods if isinstance(made, types.FunctionType))
    return any({"predicted_us", "remaining_us"} & names_of(each) for each in code)


def _preemption(
    seam: type,
    kind: str,
    name: str,
    flags: tuple[str, ...],
    parameters: Sequence[Mapping[str, Any]],
) -> PreemptionBound | None:
    """Return when it may preempt, if it is declared."""
    if kind == "order":
        return PreemptionBound(**_core.list_preemption("preemptive" in flags))
    if "non-preemptive" in flags:
        return PreemptionBound()
    told = getattr(seam, "preemption", None) if kind == "scheduler" else None
    if told is None:
        return None
    bound = stated(name, told)
    if "preemption" in vars(seam):  # else from a class whose constructor is not described here
        check_parameters_of(name, bound, [parameter["name"] for parameter in parameters])
    return bound


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
            checked_flags(kind, name, added)
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


def bounded(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Set infinite bounds to None, and likewise a positive bound that allows any value above 0."""
    known = dict(parameter)
    for side in ("minimum", "maximum"):
        if math.isinf(known[side]):
            known[side] = None
    known["least_positive"] = known["least_positive"] or None
    return known


_POLICIES: Final[Registry[PluginInfo]] = Registry("policy")
_PLACEMENTS: Final[Registry[PluginInfo]] = Registry("placement")
OF_PYTHON: Final = {"order": _POLICIES, "scheduler": _POLICIES, "placement": _PLACEMENTS}


ELSEWHERE: Final[Mapping[str, str]] = {"chronus-leases": "gpusched-papers"}
"""Names that moved to another distribution."""


def not_there(kind: str, name: str, known: Iterable[str]) -> ValueError:
    """Return the error for an unknown name: its distribution, or similar names."""
    if name in ELSEWHERE:
        where = f"install it with: pip install {ELSEWHERE[name]}"
        return ValueError(f"unknown {kind} {name!r}; {where}")
    if kind == "policy" and name.lower() in OTHER_NAMES:
        also = " or ".join(map(repr, OTHER_NAMES[name.lower()]))
        return ValueError(f"unknown {kind} {name!r}; did you mean {also}?")
    return ValueError(f"unknown {kind} {name!r}{nearest(name, list(known))}")


_num_native_changes = 0
"""How often native names were added or removed."""


def policies() -> dict[str, PluginInfo]:
    """List all policies by name, sorted; extension packages are loaded first.

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
    """List all placements by name, sorted; extension packages are loaded first.

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
    """List all performance models by name, sorted.

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
    """List all contention models by name, sorted.

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


def rules_version() -> str:
    """Return the version of gpusched that defines the rules of the core's names."""
    return _core.__version__


def registered(*kinds: str) -> Mapping[str, PluginInfo]:
    """Return the registered names of some kinds, sorted."""
    return _registered(kinds, version())


def version() -> int:
    """Return a number that changes whenever a name is added or removed."""
    return _POLICIES.version + _PLACEMENTS.version + _num_native_changes


def ask_again() -> None:
    """Reload the core's names after native code has added or removed some."""
    global _num_native_changes
    _native.cache_clear()
    _num_native_changes += 1


@lru_cache(maxsize=16)
def _registered(kinds: tuple[str, ...], version: int) -> Mapping[str, PluginInfo]:
    found: dict[str, PluginInfo] = {}
    for kind in kinds:
        found |= _native(kind)
        if kind == "scheduler":
            found |= _built_in()
    for registry in {id(of): of for of in map(OF_PYTHON.get, kinds) if of is not None}.values():
        found |= registry.loaded()
    return MappingProxyType(dict(sorted(found.items())))


def has_flag_of(kind: str, text: str, flag: str) -> bool:
    """Whether the policy, speed or contention of a run's spec is registered and has the flag."""
    known = registered(*(POLICY_KINDS if kind == "policy" else (kind,)))
    info = known.get(text.partition(":")[0])
    return info is not None and info.has(flag)


@cache
def _native(kind: str) -> dict[str, PluginInfo]:
    return {
        entry["name"]: PluginInfo(
            entry["name"],
            entry["kind"],
            entry["summary"],
            entry["source"],
            tuple(entry["flags"]),
            tuple(bounded(parameter) for parameter in entry["parameters"]),
            columns=tuple(entry["columns"]),
            optional_columns=tuple(entry["optional_columns"]),
            alias_of=written(entry["target"], entry["values"]) if "target" in entry else "",
            differs=entry["differs"],
            preemption=PreemptionBound(**entry["preemption"]) if kind in POLICY_KINDS else None,
        )
        for entry in _core.registry()
        if entry["kind"] == kind
    }


@cache
def _built_in() -> dict[str, PluginInfo]:
    """Policies of this package written in Python."""
    return {name: describe(seam, "scheduler", name) for name, seam in BUILT_IN.own().items()}


def register_order(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Order` as the policy ``name``.

    Class attributes define how it runs: ``lifetime`` (``"fixed"``, ``"service"`` or
    ``"clock"``), ``preemptive`` (False), ``scan`` (``"skip"``), ``flags`` (further ones, such as
    ``("clairvoyant",)``); its docstring and ``source`` describe it. Keyword arguments of its
    constructor with defaults become parameters of the policy, besides those of list scheduling.

    Returns
    -------
    callable
        A decorator, which returns the class unchanged.

    Raises
    ------
    ValueError
        If the name is taken, a flag is unknown, ``rank`` is missing, or another name is close to
        one that is read. TypeError if the class is not an Order.

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

    The class attribute ``flags`` may declare its behaviour (``"preemptive"``, or
    ``"non-preemptive"``, which the audit checks; ``"clairvoyant"``, ``"elastic"``,
    ``"deadlines"``; see :data:`gpusched.plugins.info.FLAGS`), and ``parameters`` may describe its
    constructor's keyword arguments: a mapping from the name to any of ``minimum``, ``maximum``,
    ``least_positive``, ``choices``, ``help`` and ``flags``, which maps a value to the flags that
    it adds.

    Returns
    -------
    callable
        A decorator, which returns the class unchanged.

    Raises
    ------
    ValueError
        If the name is taken, a flag is unknown, or a name is close to one that is read.
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

    The class attribute ``flags`` may declare that it uses the seed (``"random"``), and which jobs
    it accepts on an empty cluster (``"scatters"`` or ``"consolidates"``), which the audit then
    checks.

    Returns
    -------
    callable
        A decorator, which returns the class unchanged.

    Raises
    ------
    ValueError
        If the name is taken, a flag is unknown, or a name is close to one that is read.
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


def _register(kind: str, name: str, base: type) -> Callable[[_Seam], _Seam]:
    registry = OF_PYTHON[kind]
    kinds = (kind,) if kind == "placement" else POLICY_KINDS
    registry.check_name(name, taken=registered(*kinds))

    def register(seam: _Seam) -> _Seam:
        if not (isinstance(seam, type) and issubclass(seam, base)):
            raise TypeError(f"{kind} {name}: {seam!r} is not a subclass of {base.__name__}")
        check_names(kind, name, seam, base)
        registry.add(name, describe(seam, kind, name))
        return seam

    return register
