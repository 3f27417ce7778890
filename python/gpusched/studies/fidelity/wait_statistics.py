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
    from scipy import stats

    # Of its methods that which computes no more than the distance takes.
    return float(stats.ks_2samp(one, other, method="asymp").statistic)


def rank_correlation(one: Float64, other: Float64) -> float:
    """Return Spearman's rank correlation of two columns of the same jobs, -1 to 1.

    Equal values share the mean of their ranks. It is 1 if the columns are equal, and 0 if all
    values of one are the same and those of the other are not: then it tells nothing.
    """
    return _correlation("spearmanr", one, other)


def kendall_tau(one: Float64, other: Float64) -> float:
    """Return Kendall's tau-b of two columns of the same jobs, -1 to 1.

    Of two jobs that both columns tell apart, it is the share that they put in the same order less
    the share that they put in the other one, with ties taken into account. Where it is not
    defined, it is what :func:`rank_correlation` is.
    """
    return _correlation("kendalltau", one, other)


def _correlation(name: str, one: Float64, other: Float64) -> float:
    from scipy import stats

    if np.array_equal(one, other):
        return 1.0
    if (one == one[0]).all() or (other == other[0]).all():
        return 0.0
    return float(getattr(stats, name)(one, other).statistic)


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
