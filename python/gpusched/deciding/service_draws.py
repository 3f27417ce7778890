"""How long jobs may take that wait or run, drawn from those that have finished."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.ticks import US_PER_S

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

LEAST: Final = 20
"""With fewer finished jobs that took as long, those of the next wider kind are drawn from."""
WAVES: Final = 8
_TAIL: Final = 0.1
# Ten years: longer is as good as never.
_MOST_US: Final = 10 * 365 * 86_400 * US_PER_S


class ServiceDraws:
    """Services of finished jobs, from which those of others are drawn, given what these have had.

    A job that has had ``a`` seconds takes as long as one of the finished jobs of its kind that took
    more than ``a``: the empirical distribution, conditional on the service so far. Its kind are
    the jobs of its width class (1, 2, 3 to 4, 5 to 8, ... GPUs); if fewer than :data:`LEAST` of
    these took longer, jobs of all widths; and if fewer than that did, what is left follows a Pareto
    tail, whose exponent is Hill's estimate from the longest tenth of the finished jobs.

    Alike jobs come in waves. The finished jobs are cut into :data:`WAVES` parts, in their order,
    and all jobs of sample ``s`` are drawn from part ``s`` modulo their number, where that has
    :data:`LEAST` jobs of the kind that took longer; so what is long in one sample is long for all.
    """

    def __init__(self, finished: Trace) -> None:
        classes = width_classes(finished.gpus)
        services = finished.service_us
        self._all: Int64 = np.sort(services)
        self._of = _by_class(services, classes)
        self._exponent = _hill(self._all)
        borders = np.linspace(0, len(finished), WAVES + 1).astype(np.int64)
        self._waves = [
            _by_class(services[first:end], classes[first:end])
            for first, end in itertools.pairwise(borders.tolist())
        ]

    def draw(self, gpus: int, attained_us: int, numbers: Int64) -> Int64:
        """Return a service for each of ``numbers``, uniform in 0 to 2**53 - 1: one per sample."""
        uniform: Float64 = numbers * np.float64(2.0**-53)
        width = int(width_classes(np.array([gpus]))[0])
        drawn = self._from_all(self._of.get(width), attained_us, uniform)
        for wave, of in enumerate(self._waves):
            found = _longer(of.get(width), attained_us)
            if found is not None:
                mine = slice(wave, None, WAVES)
                drawn[mine] = found[(uniform[mine] * len(found)).astype(np.int64)]
        return drawn

    def _from_all(self, own: Int64 | None, attained_us: int, uniform: Float64) -> Int64:
        for known in (own, self._all):
            found = _longer(known, attained_us)
            if found is not None:
                return found[(uniform * len(found)).astype(np.int64)]
        least = max(attained_us, int(self._all[0]))
        tail = least * (1.0 - uniform) ** (-1.0 / self._exponent)
        far: Int64 = np.maximum(np.minimum(tail, _MOST_US).astype(np.int64), attained_us + 1)
        return far


def _by_class(services: Int64, classes: Int64) -> dict[int, Int64]:
    return {int(each): np.sort(services[classes == each]) for each in np.unique(classes)}


def _longer(ascending: Int64 | None, attained_us: int) -> Int64 | None:
    """Return those that took longer; None if they are too few."""
    if ascending is None:
        return None
    found = ascending[int(np.searchsorted(ascending, attained_us, side="right")) :]
    return found if len(found) >= LEAST else None


def width_classes(gpus: np.ndarray[tuple[int], np.dtype[np.int32]] | Int64) -> Int64:
    """Return the class of each width: 0 of 1 GPU, 1 of 2, 2 of 3 and 4, 3 of 5 to 8, and so on."""
    classes: Int64 = np.ceil(np.log2(gpus)).astype(np.int64)
    return classes


def _hill(services: Int64) -> float:
    """Return Hill's estimate of the tail's exponent (Hill, 1975), at least a half."""
    count = max(2, int(len(services) * _TAIL))
    top = np.log(services[-count:].astype(np.float64))
    mean = float((top - top[0]).mean())
    return max(0.5, 1.0 / mean) if mean > 0 else 10.0
