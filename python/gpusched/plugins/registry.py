"""The names that runs may use: the core's, and the policies and placements of Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final

from gpusched import _core
from gpusched.base.registry import Registry, load_entry_points
from gpusched.plugins.built_in import BUILT_IN
from gpusched.plugins.description import bounded, describe
from gpusched.plugins.info import POLICY_KINDS, PluginInfo
from gpusched.plugins.preemption import PreemptionBound
from gpusched.plugins.value_texts import written

_POLICIES: Final[Registry[PluginInfo]] = Registry("policy")
_PLACEMENTS: Final[Registry[PluginInfo]] = Registry("placement")
OF_PYTHON: Final = {"order": _POLICIES, "scheduler": _POLICIES, "placement": _PLACEMENTS}


@dataclass
class _NativeVersion:
    """Another number follows whenever names of native code come or go."""

    number: int = 0


_native_version: Final = _NativeVersion()


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


def rules_version() -> str:
    """Return the version of gpusched whose rules the names of the core stand for."""
    return _core.__version__


def registered(*kinds: str) -> Mapping[str, PluginInfo]:
    """Return what has been registered so far of some kinds, by name, sorted."""
    return _registered(kinds, version())


def version() -> int:
    """Return a number that another one follows whenever a name is added or removed."""
    return _POLICIES.version + _PLACEMENTS.version + _native_version.number


def ask_again() -> None:
    """Ask the core for its names again: native code has added some, or taken some away."""
    _native.cache_clear()
    _native_version.number += 1


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


def speed_has(text: str, flag: str) -> bool:
    """Whether the speed of a run's spec is registered and has the flag."""
    known = registered("speed").get(text.partition(":")[0])
    return known is not None and known.has(flag)


def policy_has(text: str, flag: str) -> bool:
    """Whether the policy of a run's spec is registered and has the flag."""
    known = registered(*POLICY_KINDS).get(text.partition(":")[0])
    return known is not None and known.has(flag)


def contention_has(text: str, flag: str) -> bool:
    """Whether the contention of a run's spec is registered and has the flag."""
    known = registered("contention").get(text.partition(":")[0])
    return known is not None and known.has(flag)


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
            alias_of=_alias(entry),
            differs=entry["differs"],
            preemption=PreemptionBound(**entry["preemption"]) if kind in POLICY_KINDS else None,
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
