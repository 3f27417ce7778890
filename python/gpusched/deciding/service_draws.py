"""How long jobs may take that wait or run, drawn from those that came before."""

from __future__ import annotations

import itertools
from typing import Final, NamedTuple

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.deciding.known_past import LEAST, KnownPast
from gpusched.deciding.survival import surviving

WAVES: Final = 8
NEIGHBOURS: Final = 50
"""Of a job whose run time was told, so many jobs count that were told the most alike."""
_TAIL: Final = 0.1
# Ten years: longer is as good as never.
_MOST_US: Final = 10 * 365 * 86_400 * US_PER_S


class _Kind(NamedTuple):
    """Services of finished jobs, ascending, and the share of jobs that take at most so long."""

    service_us: Int64
    share: Float64


class ServiceDraws:
    """Services of jobs that came before, from which those of others are drawn.

    A job that has had ``a`` seconds takes as long as one of the finished jobs of its kind that took
    more than ``a``: conditional on the service so far. Jobs that still run take longer than they
    have had, so that finished jobs alone are too short: they weigh what they do in the estimate of
    Kaplan and Meier (1958), the longest of all taken for finished. The kind of a job are the jobs
    of its width class (1, 2, 3 to 4, 5 to 8, ... GPUs); if fewer than
    :data:`~gpusched.deciding.known_past.LEAST` of these took longer, jobs of all widths; and if
    fewer than that did, what is left follows a Pareto tail, whose exponent is Hill's estimate from
    the longest tenth.

    Alike jobs come in waves. What came before is cut into :data:`WAVES` parts, in order, and all
    jobs of sample ``s`` are drawn from part ``s`` modulo their number, where that has enough; so
    what is long in one sample is long for all.

    Where a run time is told of a job, and was of those before it, it takes that time by how wrong
    it was for one of the :data:`NEIGHBOURS` jobs that were told the most alike.
    """

    def __init__(self, past: KnownPast) -> None:
        finished, services = past.is_finished, past.service_us
        classes = width_classes(past.gpus)
        self._all = _Kind(*surviving(services, finished))
        self._of = _by_class(services, finished, classes)
        self._exponent = _hill(self._all.service_us)
        borders = np.linspace(0, len(services), WAVES + 1).astype(np.int64)
        self._waves = [
            _by_class(services[first:end], finished[first:end], classes[first:end])
            for first, end in itertools.pairwise(borders.tolist())
        ]
        self._told: Float64 | None = None
        if past.told_us is not None:
            rows = np.flatnonzero(finished)
            rows = rows[np.argsort(past.told_us[rows], kind="stable")]
            self._told = past.told_us[rows].astype(np.float64)
            self._wrong = services[rows] / self._told

    def draw(
        self, gpus: int, attained_us: int, numbers: AnyArray, told_us: int | None = None
    ) -> Int64:
        """Return services: one for each of ``numbers``, uniform in 0 to 2**53 - 1.

        Parameters
        ----------
        numbers
            int64[samples], or int64[jobs, samples] for jobs that are alike.
        told_us
            What is said of its run time, None: nothing.
        """
        uniform: Float64 = numbers * np.float64(2.0**-53)
        if told_us is not None and self._told is not None:
            found = self._alike(self._told, told_us, attained_us, uniform)
            if found is not None:
                return found
        width = int(width_classes(np.array([gpus]))[0])
        drawn = self._from_all(self._of.get(width), attained_us, uniform)
        for wave, of in enumerate(self._waves):
            kind = of.get(width)
            if kind is not None and _num_longer(kind, attained_us) >= LEAST:
                mine = (..., slice(wave, None, WAVES))
                drawn[mine] = _longer(kind, attained_us, uniform[mine])
        return drawn

    def _from_all(self, own: _Kind | None, attained_us: int, uniform: Float64) -> Int64:
        for kind in (own, self._all):
            if kind is not None and _num_longer(kind, attained_us) >= LEAST:
                return _longer(kind, attained_us, uniform)
        least = max(attained_us, int(self._all.service_us[0]))
        tail = least * (1.0 - uniform) ** (-1.0 / self._exponent)
        far: Int64 = np.maximum(np.minimum(tail, _MOST_US).astype(np.int64), attained_us + 1)
        return far

    def _alike(
        self, told: Float64, told_us: int, attained_us: int, uniform: Float64
    ) -> Int64 | None:
        """Return how long jobs take that were told alike; None if too few of them take longer."""
        middle = int(np.searchsorted(told, told_us))
        first = max(0, min(middle - NEIGHBOURS // 2, len(told) - NEIGHBOURS))
        services = np.ceil(self._wrong[first : first + NEIGHBOURS] * told_us).astype(np.int64)
        longer = np.sort(services[services > attained_us])
        if len(longer) < LEAST:
            return None
        found: Int64 = longer[(uniform * len(longer)).astype(np.int64)]
        return found


def _by_class(services: Int64, finished: Bool, classes: Int64) -> dict[int, _Kind]:
    kinds = {}
    for each in np.unique(classes[finished]).tolist():
        mine = classes == each
        kinds[each] = _Kind(*surviving(services[mine], finished[mine]))
    return kinds


def _num_longer(kind: _Kind, attained_us: int) -> int:
    return len(kind.service_us) - int(np.searchsorted(kind.service_us, attained_us, side="right"))


def _longer(kind: _Kind, attained_us: int, uniform: Float64) -> Int64:
    """Draw of those that took longer; there are some."""
    first = int(np.searchsorted(kind.service_us, attained_us, side="right"))
    below = float(kind.share[first - 1]) if first else 0.0
    at = np.searchsorted(kind.share, below + uniform * (1.0 - below), side="right")
    found: Int64 = kind.service_us[np.minimum(at, len(kind.service_us) - 1)]
    return found


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
