"""What runs in some threads, so that all of it can be told to end at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_here = threading.local()  # .scope: that of this thread


class Stoppable(Protocol):
    """A native run, as it is told to end."""

    def stop(self) -> None:
        """Ask it to end soon."""


class StopScope:
    """A stop for what is called inside of it, of which the calls themselves know nothing.

    Any number of threads may enter a scope; each call of the package that can be stopped then ends
    with :class:`~gpusched.base.supervision.Cancelled` soon after :meth:`set`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Stoppable] = []
        self._is_set = False

    def is_set(self) -> bool:
        """Whether the end was asked for."""
        return self._is_set

    def set(self) -> None:
        """End what runs inside, and what will."""
        with self._lock:
            self._is_set = True
            for run in self._running:
                run.stop()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Make it the scope of this thread."""
        before = scope_here()
        _here.scope = self
        try:
            yield
        finally:
            _here.scope = before

    @contextmanager
    def reaching(self, run: Stoppable) -> Iterator[None]:
        """Stop ``run``, too, as long as this lasts."""
        with self._lock:
            self._running.append(run)
            if self._is_set:
                run.stop()
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(run)


def scope_here() -> StopScope | None:
    """Return the scope that this thread is in."""
    scope: StopScope | None = getattr(_here, "scope", None)
    return scope
