"""What a Python plug-in says of itself: its attributes, its docstring and its constructor."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gpusched import _core
from gpusched.plugins import flags as known_flags
from gpusched.plugins.info import POLICY_KINDS, PluginInfo
from gpusched.plugins.preemption import PreemptionBound, check_parameters_of, stated
from gpusched.plugins.spelling import check_parameters

_FLAGGED: Final = (*POLICY_KINDS, "placement")


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
        parameters += [bounded(entry) for entry in added if entry["name"] not in own]
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


def _preemption(
    seam: type,
    kind: str,
    name: str,
    flags: tuple[str, ...],
    parameters: Sequence[Mapping[str, Any]],
) -> PreemptionBound | None:
    """Return when it may take GPUs back, as far as that is said."""
    if kind == "order":
        return PreemptionBound(**_core.list_preemption("preemptive" in flags))
    if "non-preemptive" in flags:
        return PreemptionBound()
    told = getattr(seam, "preemption", None) if kind == "scheduler" else None
    if told is None:
        return None
    bound = stated(name, told)
    if "preemption" in vars(seam):  # else of a class whose constructor is not described here
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


def bounded(parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Say None for a bound that is infinite, and where any value above 0 will do."""
    known = dict(parameter)
    for side in ("minimum", "maximum"):
        if math.isinf(known[side]):
            known[side] = None
    known["least_positive"] = known["least_positive"] or None
    return known
