"""Sums, means and ratios that do not round on the way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gpusched.base.arrays import AnyArray, Int64


def excess(value: int, bound: Fraction) -> float:
    """Return how far a value lies above a bound, as a part of it: ``value / bound - 1``.

    Whole numbers divide to the nearest double, as fractions do.
    """
    return (value * bound.denominator - bound.numerator) / bound.numerator


def exact_sum(values: Int64) -> int:
    """Sum without overflow or rounding."""
    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFFFFFF))


def mean(values: AnyArray) -> float:
    """Mean; NaN of none."""
    return float(np.mean(values)) if len(values) else np.nan
