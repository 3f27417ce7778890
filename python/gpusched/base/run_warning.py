"""The warning category of simulation runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class RunWarning(UserWarning):
    """A run differs from what its arguments suggest, or an export is lossy.

    For example, the policy lacks an input, jobs were rejected or never started, estimates are
    missing, times are rounded, or rows of a trace were rejected. Except for rejects, they are also
    in a result's ``warnings``.
    """


def warn(lines: Iterable[str], stacklevel: int) -> None:
    """Warn once for each line; ``stacklevel``: 1 is the caller."""
    for line in lines:
        warnings.warn(line, RunWarning, stacklevel=stacklevel + 1)


@contextmanager
def unwarned() -> Iterator[None]:
    """Suppress run warnings, for callers that show them otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)
        yield


@contextmanager
def heard() -> Iterator[list[str]]:
    """Suppress run warnings and collect their distinct texts."""
    told: list[str] = []
    show = warnings.showwarning

    def listen(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, RunWarning):
            show(message, category, *where, **more)
        elif str(message) not in told:
            told.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", RunWarning)
        warnings.showwarning = listen
        yield told
