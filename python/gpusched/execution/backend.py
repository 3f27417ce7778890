"""What every place where calls can run offers, and what it says of those that failed."""

from __future__ import annotations

import enum
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable


class Handle:
    """A value that was shared: as an argument of a submitted call it arrives as the value.

    Each backend has its own kind. What was shared is there as long as its handle is.
    """


class Fate(enum.Enum):
    """What became of a call whose future has an error."""

    FAILED = enum.auto()
    """The error is the call's own, or it or what it made cannot travel."""
    SUSPECT = enum.auto()
    """Its worker died while the call was under way: it, another call or something else did it."""
    UNTOUCHED = enum.auto()
    """It was lost with others before it had begun."""


class WorkerDied(RuntimeError):
    """A worker ended without a word while it ran a call, and again when it ran that call alone."""


class BackendLost(RuntimeError):
    """A backend cannot run anything any more; what was not done is not at fault."""


@runtime_checkable
class Backend(Protocol):
    """Where calls run, some at a time."""

    @property
    def num_slots(self) -> int:
        """How many calls run at a time; at least 1. May change."""
        ...

    def share(self, value: Any) -> Handle:
        """Make ``value`` known to the workers: each gets it at most once, when it needs it.

        The same object is shared once, as long as its handle lives.
        """
        ...

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run ``call(*args)`` on some worker; arguments that are handles arrive as their values.

        Raises
        ------
        Exception
            If the call cannot travel to a worker.
        """
        ...

    def submit_alone(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Do the same where nothing else is hurt if it ends its worker.

        Only called while nothing else is under way.
        """
        ...

    def fate(self, future: Future[Any]) -> Fate:
        """Say what became of a call that :meth:`submit` gave and that has an error.

        Raises
        ------
        BackendLost
            If nothing more can run.
        """
        ...

    def interrupt(self) -> None:
        """End what is under way as soon as possible; its results are dropped.

        The backend may be used again.
        """
        ...

    def close(self, *, cancel: bool) -> None:
        """Let go of all that it made; ``cancel``: :meth:`interrupt` before."""
        ...
