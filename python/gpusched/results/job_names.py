"""Which job is meant: by its place, or by the name that its source gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.suggest import nearest
from gpusched.base.wording import plural

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

_MOST_NAMES = 100_000
"""In longer traces no name is suggested: that takes seconds."""


def place_of(trace: Trace, job: int | str) -> int:
    """Return the JobId of a job.

    Parameters
    ----------
    job
        An integer: its place in the order of submission, which is its JobId. A text: its ``id``.

    Raises
    ------
    TypeError
        If it is neither.
    IndexError
        If there is no such place.
    ValueError
        If no job has this id; the message suggests the nearest.
    """
    if isinstance(job, str):
        return _named(trace, job)
    if isinstance(job, bool) or not isinstance(job, int | np.integer):
        raise TypeError(f"job: expected an integer, or the id as a text, not {job!r}")
    if not 0 <= job < len(trace):
        raise IndexError(f"job: {job} is not one of the {plural(len(trace), 'job')}")
    return int(job)


def has_id(trace: Trace, name: str) -> bool:
    """Whether a job has this id."""
    return bool(np.any(trace.id.astype(str) == name))


def _named(trace: Trace, name: str) -> int:
    names = trace.id.astype(str)
    found = np.flatnonzero(names == name)
    if not len(found):
        known = nearest(name, names.tolist()) if len(names) <= _MOST_NAMES else ""
        raise ValueError(f"job: none has the id {name!r}{known}")
    return int(found[0])
