"""The registry of predictors, and predictors as names with parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from gpusched.base.registry import Registry
from gpusched.base.suggest import nearest
from gpusched.plugins.info import PluginInfo
from gpusched.plugins.policy import Choice
from gpusched.plugins.registry import describe

_Class = TypeVar("_Class", bound=type)

PREDICTORS: Final[Registry[PluginInfo]] = Registry("predictor", "gpusched.prediction")


class PredictorChoice(Choice):
    """A predictor: ``PredictorChoice("forest", trees=50)``."""

    kind = "predictor"

    @classmethod
    def _registry(cls) -> Mapping[str, PluginInfo]:
        return PREDICTORS.own()


def predictors() -> dict[str, PluginInfo]:
    """Return every predictor by name, sorted, including those of plug-in packages.

    Returns
    -------
    dict
        A :class:`PluginInfo` for each name.

    Warns
    -----
    PluginWarning
        If a plug-in package could not be loaded.

    Examples
    --------
    >>> [parameter["name"] for parameter in gs.predictors()["noise"].parameters]
    ['sigma']
    """
    return PREDICTORS.all()


def register_predictor(name: str) -> Callable[[_Class], _Class]:
    """Register a subclass of :class:`gpusched.Predictor` under ``name``.

    Constructor arguments with defaults become parameters and must be stored as attributes of the
    same name. The class attribute ``limits`` maps a parameter to ``(minimum, maximum)``,
    ``choices`` to its allowed texts, ``notes`` to its description.

    Returns
    -------
    callable
        A decorator that returns the class unchanged.

    Raises
    ------
    ValueError
        If the name is taken or invalid, or ``limits``, ``choices`` or ``notes`` name an unknown
        argument.

    Examples
    --------
    >>> @gs.register_predictor("an-hour")
    ... class AnHour(gs.Predictor):
    ...     def begin(self, trace, seed=0):
    ...         pass
    ...     def predict(self, jobs):
    ...         return jobs * 0 + 3600
    >>> "an-hour" in gs.predictors()
    True
    """
    PREDICTORS.check_name(name)

    def register(seam: _Class) -> _Class:
        info = describe(seam, "predictor", name)
        _check_told(seam, name, [entry["name"] for entry in info.parameters])
        limited = tuple(_limited(seam, entry) for entry in info.parameters)
        PREDICTORS.add(name, msgspec.structs.replace(info, parameters=limited))
        seam.name = name  # type: ignore[attr-defined]
        return seam

    return register


def predicts_by(text: str, column: str) -> bool:
    """Return whether the predictor named by ``text`` reads a column of the trace.

    False for an unregistered one.
    """
    info = PREDICTORS.loaded().get(text.partition(":")[0])
    return info is not None and getattr(info.python_class, "column", "") == column


def _check_told(seam: type, name: str, known: list[str]) -> None:
    for told in ("limits", "choices", "notes"):
        for key in vars(seam).get(told, {}):
            if key not in known:
                hint = nearest(key, known) if known else "; its constructor has none"
                raise ValueError(
                    f"predictor {name}: {told}: the constructor has no argument {key!r} with a "
                    f"default{hint}"
                )


def _limited(seam: type, parameter: Mapping[str, Any]) -> dict[str, Any]:
    name = parameter["name"]
    minimum, maximum = getattr(seam, "limits", {}).get(name, (None, None))
    return {
        **parameter,
        "minimum": minimum,
        "maximum": maximum,
        "least_positive": None,
        "choices": list(getattr(seam, "choices", {}).get(name, ())),
        "help": getattr(seam, "notes", {}).get(name, ""),
    }
