"""Means with confidence intervals, and paired comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

# Student's t for 95 %, two-sided: where the expansion below is too coarse.
_FEW_DEGREES: Final = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764}


@dataclass(frozen=True)
class Mean:
    """A mean and half the width of its 95 % confidence interval; NaN for a single value."""

    value: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.half_width


def mean(values: ArrayLike) -> Mean:
    """Mean of independent values, with the interval of Student's t.

    Raises
    ------
    ValueError
        If there are no values.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError("mean: there are no values")
    if array.size == 1:
        return Mean(float(array[0]), math.nan)
    spread = float(np.std(array, ddof=1)) / math.sqrt(array.size)
    return Mean(float(array.mean()), t_quantile(array.size - 1) * spread)


def reduction(values: ArrayLike, baseline: ArrayLike) -> Mean:
    """Mean of ``1 - value / baseline`` over pairs: of common random numbers, one per seed."""
    return mean(1.0 - np.asarray(values, dtype=np.float64) / np.asarray(baseline, np.float64))


def t_quantile(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t, to three digits or better.

    Beyond four degrees of freedom by the expansion about the normal quantile (Abramowitz and
    Stegun, 26.7.5).
    """
    if degrees in _FEW_DEGREES:
        return _FEW_DEGREES[degrees]
    z = NormalDist().inv_cdf(0.975)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return math.fsum(term / degrees**power for power, term in enumerate(terms))
