"""Jobs with deadlines, one by one and as the columns that the core decides on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched.base.arrays import Float64

# Later instants are no longer exact once they are counted in slots and microseconds.
_MAX_SECONDS = 2.0**42
# Within these, prices and sums of values are numbers. Less work is over at once.
_VALUES = (1e-100, 1e100)
_WORK_SECONDS = (1e-9, 1e30)
# Of a job's highest rate: what is slower does nothing in any window.
_LEAST_RATE = 1e-100
_MAX_GPUS = 1_000_000


@dataclass(frozen=True)
class DeadlineJob:
    """A job with a deadline.

    Attributes
    ----------
    arrival_s, deadline_s
        In seconds. A deadline that has passed at the arrival is none that can be met.
    work
        What is to be done, in any unit: iterations, samples.
    rates
        Work per second by (GPU type, number of GPUs). 0: the job cannot run so, which is the same
        as to leave it out. Rates need not be concave in the number of GPUs.
    value
        Of meeting the deadline.
    change_s
        Seconds without progress whenever the configuration changes, or the job runs again.
    """

    arrival_s: float
    deadline_s: float
    work: float
    rates: Mapping[tuple[str, int], float]
    value: float = 1.0
    change_s: float = 0.0


class DeadlineTable:
    """The jobs as columns, sorted by arrival; work in microseconds at the job's highest rate."""

    def __init__(
        self, jobs: Sequence[DeadlineJob], rows: list[int], types: list[str], available: np.ndarray
    ) -> None:
        self.jobs = jobs
        self.rows = rows
        self.types = types
        self.configurations: list[tuple[int, int, float]] = []
        first, work = [0], []
        for row in rows:
            own = _configurations(row, jobs[row], types, available)
            most = max((rate for _, _, rate in own), default=1.0)
            self.configurations += [
                (type_, width, rate / most)
                for type_, width, rate in own
                if rate / most >= _LEAST_RATE
            ]
            work.append(_seconds(row, jobs[row], most) * 1e6)
            first.append(len(self.configurations))
        self.columns = (
            self._micros("arrival_s"),
            self._micros("deadline_s"),
            np.array(work, np.float64),
            self._numbers("value", *_VALUES),
            self._micros("change_s"),
            np.array(first, np.int64),
            np.array([c[0] for c in self.configurations], np.int32),
            np.array([c[1] for c in self.configurations], np.int32),
            np.array([c[2] for c in self.configurations], np.float64),
        )

    def _numbers(self, name: str, least: float, most: float = 1e300) -> Float64:
        values = [
            number(f"jobs[{row}].{name}", getattr(self.jobs[row], name), least, most)
            for row in self.rows
        ]
        return np.array(values, np.float64)

    def _micros(self, name: str) -> np.ndarray:
        return np.rint(self._numbers(name, 0.0, _MAX_SECONDS) * 1e6).astype(np.int64)


def _seconds(row: int, job: DeadlineJob, rate: float) -> float:
    """What the work takes at this rate."""
    where = f"jobs[{row}].work"
    work = number(where, job.work, 0.0)
    least, most = _WORK_SECONDS
    if work == 0:
        raise ValueError(f"{where}: must be positive; a job without work has met its deadline")
    if not least <= work / rate <= most:
        raise ValueError(
            f"{where}: {work:g} takes {work / rate:.3g} s at the highest rate, {rate:g}; it must "
            f"take {least:g} to {most:g} s"
        )
    return work / rate


def _configurations(
    row: int, job: DeadlineJob, types: list[str], available: np.ndarray
) -> list[tuple[int, int, float]]:
    """By type, then the number of GPUs; without those that cannot run or do not fit."""
    found = []
    for (name, width), rate in job.rates.items():
        where = f"jobs[{row}].rates[{name!r}, {width}]"
        if name not in types:
            raise ValueError(f"{where}: there is no GPU type {name!r}; there are {types}")
        whole(f"{where}: the number of GPUs", width, 1)
        if number(where, rate, 0.0) > 0 and width <= available[types.index(name)]:
            found.append((types.index(name), int(width), float(rate)))
    return sorted(found)


def number(name: str, value: float, least: float, most: float = 1e300) -> float:
    """Return the figure; raise TypeError or ValueError if it is none, or out of its range."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: expected a number, not {value!r}")
    if not (math.isfinite(value) and least <= value <= most):
        raise ValueError(f"{name}: {value} must lie between {least:g} and {most:g}")
    return float(value)


def whole(name: str, value: int, least: int, most: int = _MAX_GPUS) -> int:
    """Return the count; raise TypeError or ValueError if it is none, or out of its range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: expected an integer, not {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name}: {value} must lie between {least} and {most}")
    return int(value)
