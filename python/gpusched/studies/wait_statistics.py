"""How far two samples of waits are apart: as distributions, job by job, and in the mean."""

from __future__ import annotations

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64


def ks_distance(one: Float64, other: Float64) -> float:
    """Return the Kolmogorov-Smirnov distance of two samples, 0 to 1.

    It is the largest difference, over all bounds, of the shares of each sample that are at most
    that bound.

    Parameters
    ----------
    one, other
        At least one value each; infinity is a value.
    """
    ordered, against = np.sort(one), np.sort(other)
    bounds = np.concatenate((ordered, against))
    below = np.searchsorted(ordered, bounds, side="right") / len(ordered)
    below_too = np.searchsorted(against, bounds, side="right") / len(against)
    return float(np.max(np.abs(below - below_too)))


def rank_correlation(one: Float64, other: Float64) -> float:
    """Return Spearman's rank correlation of two columns of the same jobs, -1 to 1.

    Equal values share the mean of their ranks. It is 1 if the columns are equal, and 0 if all
    values of one are the same and those of the other are not: then it tells nothing.
    """
    if np.array_equal(one, other):
        return 1.0
    ranks, others = mean_ranks(one), mean_ranks(other)
    ranks -= ranks.mean()
    others -= others.mean()
    spread = np.sqrt(np.dot(ranks, ranks) * np.dot(others, others))
    return float(np.clip(np.dot(ranks, others) / spread, -1.0, 1.0)) if spread > 0 else 0.0


def mean_ranks(values: Float64) -> Float64:
    """Return the rank of each value, 1 for the least; equal values share their mean rank."""
    _, position, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Float64 = (last - (counts - 1) / 2)[position]
    return ranks


def factor_between(one: float, other: float) -> float:
    """Return the larger of two numbers over the smaller, at least 1; 1 if both are 0."""
    low, high = sorted((one, other))
    if high == low:
        return 1.0
    return high / low if low > 0 else np.inf


def overlap(one: Float64, other: Float64, weight: AnyArray) -> float:
    """Return what two columns have in common, 0 to 1: the sum of minima over that of maxima.

    1 if both are 0 throughout; what is infinite is left out.
    """
    known = np.isfinite(one) & np.isfinite(other)
    one, other, weight = one[known], other[known], weight[known]
    most = float(np.dot(weight, np.maximum(one, other)))
    return float(np.dot(weight, np.minimum(one, other))) / most if most > 0 else 1.0


def mean_difference(
    time_us: Int64, change: Float64, begin_us: int, end_us: int
) -> tuple[float, float]:
    """Return the means of a step function's absolute value and of itself over a window.

    Parameters
    ----------
    time_us, change
        When it changes, in any order, and by how much; it is 0 before.
    begin_us, end_us
        The window; if it is empty both means are 0.
    """
    if end_us <= begin_us or not len(time_us):
        return 0.0, 0.0
    order = np.argsort(time_us, kind="stable")
    level = np.cumsum(change[order])
    edges = np.clip(np.append(time_us[order], end_us), begin_us, end_us)
    length = np.diff(edges).astype(np.float64) / (end_us - begin_us)
    return float(np.dot(np.abs(level), length)), float(np.dot(level, length))
