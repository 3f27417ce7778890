"""Means over seeds with Student's t: what papers publish, and what ours is compared with.

Means of few skewed runs are uncertain beyond what t says (docs/studies/intervals.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Interval:
    """A mean, or a ratio of means, with its 95 % interval; NaN limits for a single value."""

    value: float
    low: float
    high: float
    num: int

    @property
    def half_width(self) -> float:
        """Half of the distance between the limits."""
        return (self.high - self.low) / 2

    def scaled(self, by: float) -> Interval:
        """Return the interval in another unit: the estimate times a positive ``by``."""
        return Interval(self.value * by, self.low * by, self.high * by, self.num)


def mean(values: ArrayLike) -> Interval:
    """Mean of independent values, with the 95 % interval of Student's t."""
    from scipy.special import stdtrit

    column = np.asarray(values, np.float64)
    num = len(column)
    if not num or not np.isfinite(column).all():
        raise ValueError("values: at least one is needed, and all must be finite")
    middle, half = float(column.mean()), math.nan
    if num > 1:
        half = float(stdtrit(num - 1, 0.975) * column.std(ddof=1) / math.sqrt(num))
    return Interval(middle, middle - half, middle + half, num)


def change(values: ArrayLike, baseline: ArrayLike) -> Interval:
    """Ratio of the means of pairs less one: of common random numbers, one per seed.

    The interval is Student's for ``value - ratio x baseline``, over the mean of the baseline.
    """
    first, second = (np.asarray(column, np.float64) for column in (values, baseline))
    ratio = float(first.mean() / second.mean())
    half = mean((first - ratio * second) / second.mean()).half_width
    return Interval(ratio - 1, ratio - 1 - half, ratio - 1 + half, len(first))


def reduction(values: ArrayLike, baseline: ArrayLike) -> Interval:
    """One less the ratio of the means of pairs: :func:`change` the other way round."""
    found = change(values, baseline)
    return Interval(-found.value, -found.high, -found.low, found.num)


def figure_of(value: Interval, digits: int = 0, scale: float = 1.0) -> str:
    """Write a mean as ``512 ± 14``."""
    shown = value.scaled(scale)
    told = f"{shown.value:.{digits}f}"
    return told if math.isnan(shown.half_width) else f"{told} ± {shown.half_width:.{digits}f}"


def percent_of(value: Interval) -> str:
    """Write a ratio as ``12.3 ± 1.1 %``."""
    return f"{figure_of(value, 1, 100)} %"
