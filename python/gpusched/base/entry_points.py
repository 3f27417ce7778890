"""Packages that extend gpusched: found by the entry points that they declare.

A distribution names a module in the group ``gpusched.plugins``; when it is imported, it registers
policies, placements, predictors, metrics, bounds, trace formats or papers.
"""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "gpusched.plugins"


class PluginWarning(UserWarning):
    """A package that extends gpusched could not be loaded; the rest goes on without it."""


def load_entry_points() -> None:
    """Import the modules that installed packages name, once in a process.

    One that fails is named in a :class:`PluginWarning`; what it had registered before stays. While
    they are imported, other threads wait, and a call from one of the modules returns at once.
    """
    if _state.is_done or _state.thread == threading.get_ident():
        return
    with _state.lock:
        if _state.is_done:
            return
        _state.thread = threading.get_ident()
        try:
            for point in _readable():
                _load(point)
            _state.is_done = True
        finally:
            _state.thread = None


def found() -> list[EntryPoint]:
    """Return the entry points of the group, each once, by name."""
    from importlib.metadata import entry_points

    unique = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    return [unique[key] for key in sorted(unique)]


def _readable() -> list[EntryPoint]:
    try:
        return found()
    except Exception as error:  # a package whose description is damaged is not ours to mend
        warnings.warn(
            f"no plug-in is loaded, as the installed packages cannot be read: "
            f"{type(error).__name__}: {error}",
            PluginWarning,
            stacklevel=2,
        )
        return []


def _load(point: EntryPoint) -> None:
    try:
        point.load()
    except (Exception, SystemExit) as error:  # what a stranger's module may raise is not known
        whose = point.dist
        package = "" if whose is None else f" of {whose.name} {whose.version}"
        warnings.warn(
            f"plug-in {point.name!r}{package} ({point.value}) is left out: "
            f"{type(error).__name__}: {error}",
            PluginWarning,
            stacklevel=2,
        )


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread: int | None = None
        self.is_done = False


_state: Final = _State()
