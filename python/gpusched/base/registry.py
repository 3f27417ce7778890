"""Registries of named entries, built in and from plug-in packages.

A registry loads the built-in entries on first use or before another entry is added, and plug-in
packages when a name is unknown or all names are requested. A distribution names a module in the
entry-point group ``gpusched.plugins``; importing it registers its entries.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from gpusched.base.suggest import nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "gpusched.plugins"


class PluginWarning(UserWarning):
    """A plug-in package could not be loaded and is ignored."""


def load_entry_points() -> None:
    """Import the modules that installed packages name, once per process.

    A failure is a :class:`PluginWarning`; entries registered before it stay. Meanwhile other
    threads wait, and a call from one of the modules returns at once.
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
    """Return the distinct entry points of the group, by name."""
    from importlib.metadata import entry_points

    unique = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    return [unique[key] for key in sorted(unique)]


def _readable() -> list[EntryPoint]:
    try:
        return found()
    except Exception as error:  # skip packages with unreadable metadata
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
    except (Exception, SystemExit) as error:  # a foreign module may raise anything
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


Entry = TypeVar("Entry")
_FORBIDDEN = set(":,= \t\n")


class Registry(Generic[Entry]):
    """Entries of one kind with unique names.

    ``kind``: noun for an entry in messages: ``"metric"``.
    ``home``: dotted name of the module, or of the folder of modules, with the built-in entries,
        imported before the first lookup and before others are added; None: there are none.
    ``order``: sort key of entries; default: their names.
    """

    def __init__(
        self,
        kind: str,
        home: str | None = None,
        *,
        order: Callable[[Entry], Any] | None = None,
    ) -> None:
        self.kind = kind
        self._home = home
        self._order = order
        self._entries: dict[str, Entry] = {}
        self._listed: dict[str, Entry] | None = None
        self._version = 0
        self._is_home_loaded = home is None
        # Acquired after import locks: no thread that holds it waits for an import.
        self._lock = threading.Lock()

    def add(self, name: str, entry: Entry, *, taken: Iterable[str] = ()) -> None:
        """Add ``entry`` as ``name``.

        ``taken``: further names that are taken, outside this registry.
        """
        self.check_name(name, taken=taken)
        with self._lock:
            if name in self._entries:
                raise ValueError(f"{self.kind}: the name {name!r} is taken")
            self._entries[name] = entry
            self._changed()

    def check_name(self, name: str, *, taken: Iterable[str] = ()) -> None:
        """Raise the error that :meth:`add` would raise for ``name``."""
        if not isinstance(name, str):
            raise TypeError(f"{self.kind}: a name must be a text, not {name!r}")
        if not name or set(name) & _FORBIDDEN:
            raise ValueError(
                f"{self.kind}: the name {name!r} must not be empty or hold ':', ',', '=', space"
            )
        if not self._is_home_loading():
            self._load_home()  # to detect a name of a built-in entry
        if name in self._entries or name in taken:
            raise ValueError(f"{self.kind}: the name {name!r} is taken")

    def remove(self, name: str) -> None:
        """Remove ``name``, if it exists, for tests and for redefinitions in notebooks."""
        with self._lock:
            if self._entries.pop(name, None) is not None:
                self._changed()

    @property
    def version(self) -> int:
        """A counter that increases whenever an entry is added or removed."""
        return self._version

    def all(self) -> dict[str, Entry]:
        """Return every entry by name, in order, including plug-in packages."""
        self._load_home()
        load_entry_points()
        return self.loaded()

    def among(self, module: str) -> dict[str, Entry]:
        """Return the entries of one built-in module and of plug-in packages, in order."""
        if not self._is_home_loaded:
            importlib.import_module(f"{self._home}.{module}")
        load_entry_points()
        return self.loaded()

    def own(self) -> dict[str, Entry]:
        """Return the entries without loading plug-in packages, in order."""
        self._load_home()
        return self.loaded()

    def loaded(self) -> dict[str, Entry]:
        """Return the entries added so far, in order."""
        with self._lock:
            if self._listed is None:
                order = self._order or (lambda entry: 0)
                entries = self._entries.items()
                self._listed = dict(sorted(entries, key=lambda named: (order(named[1]), named[0])))
            return dict(self._listed)

    def _changed(self) -> None:
        self._listed = None
        self._version += 1

    def find(self, name: str) -> Entry:
        """Return the entry ``name``; plug-in packages are loaded only if it is missing."""
        known = self.own()
        if name not in known:
            known = self.all()
        if name not in known:
            raise ValueError(f"unknown {self.kind} {name!r}{nearest(str(name), list(known))}")
        return known[name]

    def _load_home(self) -> None:
        if self._is_home_loaded:
            return
        home = importlib.import_module(str(self._home))
        modules = pkgutil.iter_modules(getattr(home, "__path__", []))
        for module in sorted(module.name for module in modules):
            importlib.import_module(f"{self._home}.{module}")
        self._is_home_loaded = True

    def _is_home_loading(self) -> bool:
        """Return whether a built-in module, or one that it imports, is the caller."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            is_import = frame.f_code.co_name == "<module>"
            if is_import and f"{frame.f_globals.get('__name__')}.".startswith(f"{self._home}."):
                return True
            frame = frame.f_back
        return False


def told(kind: str, name: str, **texts: str) -> None:
    """Raise if a text of an entry is missing.

    Raises ValueError if one of ``texts`` is empty. TypeError if it is not a text.
    """
    for field, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{kind} {name}: {field} must be a text, not {text!r}")
        if not text.strip():
            raise ValueError(f"{kind} {name}: {field} must not be empty")


def among(kind: str, name: str, field: str, value: Any, allowed: Iterable[str]) -> None:
    """Raise if a field is not one of the ``allowed`` texts.

    Raises ValueError if it is not; the message suggests the nearest.
    """
    known = list(allowed)
    if value not in known:
        raise ValueError(f"{kind} {name}: unknown {field} {value!r}{nearest(str(value), known)}")
