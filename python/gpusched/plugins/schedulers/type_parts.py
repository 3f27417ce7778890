"""GPUs by type: the free GPUs that a job would take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.supervision import listen

Parts = list[tuple[int, int]]
"""Pairs of a GPU type and a number of GPUs, by type."""


def rates_by_type(state: Any, jobs: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the speed of each job on each type, at its own number of GPUs."""
    widths = state.gpus[jobs]
    rates = np.zeros((len(jobs), len(state.type_gpus)))
    for width in np.unique(widths).tolist():
        listen()
        alike = widths == width
        for kind in range(rates.shape[1]):
            rates[alike, kind] = state.rates(jobs[alike], kind, width)
    return rates


def best_parts(rates: Sequence[float], width: int, free: Sequence[int], *, is_whole: bool) -> Parts:
    """Choose the fastest of these GPUs for a job; empty if it does not fit.

    ``rates``, ``free``: the job's speed on each type, and the free GPUs of each type.
    ``is_whole``: whether some type holds the whole job: then it runs on one.
    """
    if is_whole:
        greatest, best = 0.0, -1
        for kind, rate in enumerate(rates):
            if rate > greatest and free[kind] >= width:
                greatest, best = rate, kind
        return [(best, width)] if best >= 0 else []
    parts, missing = [], width
    for kind, rate in enumerate(rates):
        if rate > 0 and (taken := min(missing, free[kind])):
            parts.append((kind, taken))
            missing -= taken
    return parts if missing == 0 else []


def start_first(state: Any, actions: Any, jobs: Iterable[int]) -> int | None:
    """Start the first of these jobs that can be placed, and return it; None if none can."""
    for job in jobs:
        allocation = state.place(job)
        if allocation is None:
            continue
        try:
            actions.start(job, allocation)
        except _core.InvariantError:  # it has just stopped
            continue
        return job
    return None


def want(wanted: dict[int, Parts], free: list[int], job: int, parts: Parts) -> None:
    """Give the job these GPUs, if all of them are free."""
    for kind, gpus in parts:
        if free[kind] < gpus:
            return
    wanted[job] = parts
    for kind, gpus in parts:
        free[kind] -= gpus
