"""Resolve policies, placements and speeds by name or object, ready for the core."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any, Final

import msgspec

from gpusched import _core
from gpusched.plugins.identity import PythonObject, Role, identify
from gpusched.plugins.info import PluginInfo, has_flag
from gpusched.plugins.policy import (
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
    known_choice,
)
from gpusched.plugins.registry import (
    OF_PYTHON,
    check_names,
    constructor_parameters,
    describe,
    speeds,
    version,
)
from gpusched.prediction.registry import PREDICTORS
from gpusched.results.metric_registry import METRICS, Metric
from gpusched.specs.case import PredictedBy
from gpusched.traces.workload import Trace

_BASES: Final[dict[Role, dict[str, Any]]] = {
    "policy": {"order": _core.Order, "scheduler": _core.Scheduler},
    "placement": {"placement": _core.Placement},
}


class Chosen(msgspec.Struct, frozen=True, eq=False):
    """A resolved plug-in: a native name with parameters, or a Python object.

    ``flags`` are those of ``info`` and of the parameter values; ``python`` identifies a Python
    object that is not part of gpusched.
    """

    label: str
    native: Any
    parameters: dict[str, Any]
    info: PluginInfo
    flags: tuple[str, ...] = ()
    python: PythonObject | None = None

    def has(self, flag: str) -> bool:
        """Whether it has the flag; raise ValueError if the flag is unknown."""
        return has_flag(self.flags, flag)


class _Uncopied:
    """Placeholder for a Python object that could not be copied at the start."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def copied(chosen: Chosen) -> Chosen:
    """Return it with its own copy of a Python object."""
    if isinstance(chosen.native, _Uncopied):
        raise TypeError(
            f"{chosen.label} could not be copied when the run began: {chosen.native.error}"
        ) from chosen.native.error
    if isinstance(chosen.native, str):
        return chosen
    return msgspec.structs.replace(chosen, native=copy.deepcopy(chosen.native))


def own(plugin: Any) -> Any:
    """Return a plug-in for one run of several: stateful Python objects are copied."""
    if not isinstance(plugin, _core.Order | _core.Scheduler | _core.Placement):
        return plugin
    try:
        return copy.deepcopy(plugin)
    except Exception as error:
        raise TypeError(
            f"python:{type(plugin).__qualname__}: each of several runs needs its own copy, and "
            f"copying failed: {error}"
        ) from error


def untouched(chosen: Chosen) -> Chosen:
    """Return a copy for later; an object that cannot be copied causes an error only then."""
    try:
        return copied(chosen)
    except Exception as error:
        return msgspec.structs.replace(chosen, native=_Uncopied(error))


def policy_seam(policy: str | Policy | _core.Order | _core.Scheduler) -> Chosen:
    """Resolve a policy argument."""
    return _seam("policy", Policy, policy, "a name, a Policy, an Order or a Scheduler")


def placement_seam(placement: str | PlacementChoice | _core.Placement) -> Chosen:
    """Resolve a placement argument."""
    return _seam("placement", PlacementChoice, placement, "a name or a Placement")


def _seam(role: Role, of: Any, given: Any, expected: str) -> Chosen:
    found = _native(of, given, version()) if type(given) is str else None
    if found is not None:
        return found
    for kind, base in _BASES[role].items():
        if isinstance(given, base):
            label = f"python:{type(given).__qualname__}"
            info = describe(type(given), kind, label)
            check_names(kind, label, type(given), base, vars(given))
            return Chosen(label, given, {}, info, info.flags, identify(role, given))
    choice = known_choice(of, given) if isinstance(given, str) else given
    if not isinstance(choice, of):
        hint = _instance_hint(given, tuple(_BASES[role].values()))
        raise TypeError(f"{role}: expected {expected}, not {given!r}{hint}")
    return _of_choice(choice)


def check_shared(
    trace: Trace,
    placement: str | PlacementChoice | _core.Placement,
    predictor: Any,
    speed: str | SpeedChoice | None,
    contention: str | ContentionChoice,
) -> None:
    """Check what several runs share, so that errors are not attributed to one policy.

    Raises
    ------
    ValueError, TypeError
        As for :func:`gpusched.simulate`.
    """
    if not isinstance(placement, _core.Placement):
        placement_seam(placement)
    speed_seam(trace, speed, contention)
    if not isinstance(predictor, str):
        return
    from gpusched.prediction.choose import for_trace, resolve

    found = resolve(for_trace(predictor, trace))
    if isinstance(found, PredictedBy):
        found.values(trace)


def speed_seam(
    trace: Trace, speed: str | SpeedChoice | None, contention: str | ContentionChoice
) -> tuple[SpeedChoice, ContentionChoice]:
    """Resolve a speed and a contention argument.

    A contention alone implies the speed that the jobs have data for.
    """
    shares = (
        known_choice(ContentionChoice, contention) if isinstance(contention, str) else contention
    )
    if not isinstance(shares, ContentionChoice):
        raise TypeError(f"contention: expected a name or a ContentionChoice, not {contention!r}")
    if speed is None:
        speed = "fixed" if shares.has("uncontended") else _modelled(trace)
    paces = known_choice(SpeedChoice, speed) if isinstance(speed, str) else speed
    if not isinstance(paces, SpeedChoice):
        raise TypeError(f"speed: expected a name or a SpeedChoice, not {speed!r}")
    if paces.has("steady") and not shares.has("uncontended"):
        raise ValueError(
            f"contention {shares}: has no effect under speed '{paces}'; name another speed"
        )
    return paces, shares


def unread_models(
    trace: Trace, speed: str | SpeedChoice | None, paces: SpeedChoice
) -> tuple[str, ...]:
    """Warn if the jobs' profiles or graphs are not used for lack of a speed argument."""
    if speed is not None or not paces.has("steady"):
        return ()
    kinds = [kind for kind in ("profile", "graph") if getattr(trace, kind) is not None]
    if not kinds:
        return ()
    is_measured = any(profile.throughput for profile in trace.profiles)
    other = "table" if is_measured else _modelled(trace)
    return (
        f"no speed is named: every job runs for its service, ignoring the {kinds[0]}s of the "
        f"trace; name one, such as {other}, or {paces}",
    )


def _instance_hint(given: Any, bases: tuple[type, ...]) -> str:
    """Return a hint if a class was passed instead of an instance."""
    is_class = isinstance(given, type) and issubclass(given, bases)
    return f"; give an instance: {given.__name__}()" if is_class else ""


def _modelled(trace: Trace) -> str:
    """Return the first speed based on compute times that the jobs' models fit."""
    models = [info for info in speeds().values() if info.columns and not info.has("elastic")]
    fitting = [
        info.name
        for info in models
        if all(getattr(trace, column, ()) is not None for column in info.columns)
    ]
    return (fitting or [info.name for info in models])[0]


@lru_cache(maxsize=512)
def _native(kind: type[Policy | PlacementChoice], text: str, version: int) -> Chosen | None:
    """Return the native implementation of ``text``, the only kind of plug-in that runs share."""
    choice = known_choice(kind, text)
    return _of_choice(choice) if choice.info.is_native else None


def _of_choice(choice: Policy | PlacementChoice) -> Chosen:
    values = choice.core_values()
    seam = choice.info.python_class
    if seam is None:
        return Chosen(str(choice), choice.name, values, choice.info, choice.flags)
    role: Role = "placement" if choice.info.kind == "placement" else "policy"
    if choice.info.kind != "order":
        made = seam(**values)
        known = identify(role, made)
        return Chosen(str(choice), made, {}, choice.info, choice.flags, known)
    added = {entry["name"] for entry in constructor_parameters("order", choice.name, seam)}
    own = {key: value for key, value in values.items() if key in added}
    rest = {key: value for key, value in values.items() if key not in added}
    made = seam(**own)
    return Chosen(str(choice), made, rest, choice.info, choice.flags, identify(role, made))


def unregister(name: str) -> None:
    """Remove a policy, placement, predictor or metric registered as ``name``.

    Built-in names are kept, and unknown names are ignored. For notebooks, where a class is
    defined repeatedly.

    Returns
    -------
    None
        Always.

    Raises
    ------
    TypeError
        If the name is not a string.

    Examples
    --------
    >>> @gs.register_order("narrowest")
    ... class Narrowest(gs.Order):
    ...     def rank(self, view, jobs):
    ...         return view.gpus[jobs]
    >>> gs.unregister("narrowest")
    >>> "narrowest" in gs.policies()
    False
    """
    if not isinstance(name, str):
        raise TypeError(f"unregister: expected a name, not {name!r}")
    registries: tuple[Any, ...] = (*OF_PYTHON.values(), PREDICTORS, METRICS)
    for registry in registries:
        entry: Any = registry.loaded().get(name)
        made = entry.compute if isinstance(entry, Metric) else getattr(entry, "python_class", None)
        home = str(getattr(made, "__module__", "")).partition(".")[0]
        if entry is not None and home != __name__.partition(".")[0]:
            registry.remove(name)
