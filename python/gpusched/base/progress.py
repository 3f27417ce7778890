"""How far a call is: the one thing that every ``progress`` is called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    """How far a call is, or one of its parts.

    A ``progress`` that a user gives is called as ``progress(Progress(done, total, part))``, in
    the thread of the caller: about ten times a second, and once when all is done.

    Attributes
    ----------
    done, total
        How much, of how much: jobs; arrivals for :func:`gpusched.deciding.fill`, values of kappa
        for :func:`gpusched.deciding.plan`, tasks for a reproduction.
    part
        Where a call has several parts with totals of their own, which one: the policy for
        :func:`gpusched.compare`, the stage of a reproduction. Empty otherwise.
    """

    done: int
    total: int
    part: str = ""


OnProgress = Callable[[Progress], None]


def checked(progress: OnProgress | None) -> OnProgress | None:
    """Return what a user gave as ``progress``; TypeError if it cannot be called."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"progress: expected a function that takes a gpusched.Progress, not {progress!r}"
        )
    return progress
