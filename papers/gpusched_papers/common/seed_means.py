"""Means over the seeds of a paper's runs, and ratios of them: what the papers report."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from gpusched.statistics.intervals import Interval
from gpusched.statistics.means import interval, relative_change

FEW_SEEDS: Final = 5
"""From so many on the limits of a ratio come from a bootstrap."""


def mean(values: ArrayLike) -> Interval:
    """Mean of independent values, with the 95 % interval of Student's t.

    Raises
    ------
    ValueError
        If there are no values.
    """
    return interval(values, method="t")


def reduction(values: ArrayLike, baseline: ArrayLike) -> Interval:
    """One less the ratio of the means of pairs: of common random numbers, one per seed.

    The interval is that of the ratio. Of fewer than ``FEW_SEEDS`` pairs, whose bootstrap says
    nothing, it is Student's for ``value - ratio x baseline``, over the mean of the baseline.
    """
    first, second = (np.asarray(column, np.float64) for column in (values, baseline))
    if len(first) >= FEW_SEEDS:
        change = relative_change(first, second)
        return replace(change, value=-change.value, low=-change.high, high=-change.low)
    ratio = first.mean() / second.mean()
    return mean((ratio * second - first) / second.mean()).shifted(1.0 - ratio)
