"""Means over the seeds of a paper's runs, with Student's intervals: what the papers report."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpusched.statistics.intervals import Interval
from gpusched.statistics.means import interval


def mean(values: ArrayLike) -> Interval:
    """Mean of independent values, with the 95 % interval of Student's t.

    Raises
    ------
    ValueError
        If there are no values.
    """
    return interval(values, method="t")


def reduction(values: ArrayLike, baseline: ArrayLike) -> Interval:
    """Mean of ``1 - value / baseline`` over pairs: of common random numbers, one per seed."""
    return mean(1.0 - np.asarray(values, dtype=np.float64) / np.asarray(baseline, np.float64))
