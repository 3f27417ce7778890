"""The class of what a run has to say to who asked for it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class RunWarning(UserWarning):
    """A run is not what its arguments let one think, or an export loses something.

    The policy lacks what it decides by, jobs were rejected or never started, estimates are
    missing, times are rounded, rows of a trace file were left out. Results say what they lack,
    without the rejects, in ``warnings``.
    """


def warn(lines: Iterable[str], stacklevel: int) -> None:
    """Warn once for each line; ``stacklevel``: 1 is the caller."""
    for line in lines:
        warnings.warn(line, RunWarning, stacklevel=stacklevel + 1)


@contextmanager
def unwarned() -> Iterator[None]:
    """Keep them back, for who shows them in another way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)
        yield


@contextmanager
def heard() -> Iterator[list[str]]:
    """Keep them back, and list what they say, each once, for who shows it in another way."""
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
