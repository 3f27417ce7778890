"""Estimate, interval and p of a few values by inverting Wilcoxon's signed-rank test.

The estimate is the median of the averages of all pairs of values (Hodges and Lehmann 1963). For
positive values it uses their logarithms, so that a change is a ratio.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Float64
from gpusched.base.field_checks import check_integer, check_positive

# As in scipy.stats.wilcoxon: beyond it the normal approximation is close enough.
_MOST_EXACT: Final = 50
_MOST_VALUES: Final = 4_000


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval and the p value of no change.

    Attributes
    ----------
    value
        The estimate.
    low, high
        Limits of the interval; NaN for a single value.
    p
        p of no change, two-sided and exact up to 50 values: at most ``1 - level`` exactly if the
        interval excludes no change. NaN from :func:`typical`, which compares nothing.
    num
        Number of values, or of pairs.
    level
        Coverage of the interval: at least the level requested, but with fewer than six values the
        interval is their range, which covers less than 95%.
    """

    value: float
    low: float
    high: float
    p: float
    num: int
    level: float


def signed_rank(values: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate the centre of values, such as differences, and test it against zero.

    Exact if the values are symmetric about their centre, approximate otherwise (see
    docs/studies/intervals.md). A value of zero counts as evidence of no difference.

    Parameters
    ----------
    values
        One per seed, at most 4,000.
    level
        Share of the intervals that contain the true value.

    Returns
    -------
    Estimate
        In the unit of the values.

    Raises
    ------
    ValueError
        If there are no values, too many, or one is not finite; TypeError if one is not a number.

    Examples
    --------
    >>> found = gs.studies.signed_rank([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    >>> found.value, found.low, found.high, round(found.p, 4)
    (5.5, 3.0, 8.0, 0.002)
    """
    check_level(level)
    x = values_of("values", values)
    num = len(x)
    if num > _MOST_VALUES:
        raise ValueError(f"values: {num:,} values; at most {_MOST_VALUES:,} are possible")
    i, j = np.triu_indices(num)
    averages = np.sort((x[i] + x[j]) / 2)
    averages[np.abs(averages) <= 1e-12 * np.abs(x).max()] = 0.0
    least = min(int((averages <= 0).sum()), int((averages >= 0).sum()))
    most = num * (num + 1) // 2
    # The smallest rank sum that is not too unlikely; for too few values the range.
    k = max(1, bisect_right(range(most), (1 - level) / 2, key=lambda k: _cdf(k, num)))
    low, high = (averages[k - 1], averages[-k]) if num > 1 else (math.nan, math.nan)
    return Estimate(
        float(np.median(averages)), float(low), float(high), min(1.0, 2 * _cdf(least, num)), num,
        1 - 2 * _cdf(k - 1, num),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _below(num: int) -> Float64:
    """P(W <= k) of the signed-rank sum of ``num`` values, for k = 0, 1, ..."""
    law = np.ones(1)
    for rank in range(1, num + 1):
        law = np.convolve(law, np.r_[1.0, np.zeros(rank - 1), 1.0])
    return np.asarray(np.cumsum(law) / 2.0**num)


def _cdf(k: int, num: int) -> float:
    if num <= _MOST_EXACT:
        return float(_below(num)[min(k, num * (num + 1) // 2)])
    mean = num * (num + 1) / 4
    deviation = math.sqrt(num * (num + 1) * (2 * num + 1) / 24)
    return math.erfc((mean - k - 0.5) / deviation / math.sqrt(2)) / 2


def typical(values: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate a typical positive value: :func:`signed_rank` of the logarithms.

    Half of all geometric means of two values are below it. A single outlier does not move it, as
    it would move the mean.

    Parameters
    ----------
    values
        One per seed.
    level
        Share of the intervals that contain the true value.

    Returns
    -------
    Estimate
        In the unit of the values; its limits are positive.

    Raises
    ------
    ValueError
        If a value is zero or negative; otherwise as :func:`signed_rank`.

    Examples
    --------
    >>> found = gs.studies.typical([6.2, 6.7, 146.6, 6.4, 8.0, 8.1, 5.6, 9.0, 7.3, 6.9])
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (7.3, 6.4, 30.15)
    """
    return _positive(_logarithms("values", values), level, p=math.nan)


def ratio(values: ArrayLike, baseline: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate the ratio of a typical pair of runs on the same jobs.

    Parameters
    ----------
    values, baseline
        Columns of equal length, positive; rows are pairs, usually of equal seeds.
    level
        Share of the intervals that contain the true value.

    Returns
    -------
    Estimate
        Without a unit; 0.8 if the values are typically a fifth smaller.

    Raises
    ------
    ValueError
        If the columns differ in length or a value is not positive; or as :func:`signed_rank`.

    Examples
    --------
    >>> found = gs.studies.ratio([8, 9, 7, 6, 8, 9], [10, 12, 9, 9, 10, 11])
    >>> round(found.value, 3), round(found.high, 3), round(found.p, 3)
    (0.778, 0.818, 0.031)
    """
    pairs_of(values, baseline)
    return _positive(_logarithms("values", values) - _logarithms("baseline", baseline), level)


def difference(values: ArrayLike, baseline: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Estimate the difference of a typical pair of runs on the same jobs.

    For shares, and values that may be zero or negative; for positive values use :func:`ratio`.

    Parameters
    ----------
    values, baseline
        Columns of equal length; rows are pairs, usually of equal seeds.
    level
        Share of the intervals that contain the true value.

    Returns
    -------
    Estimate
        In the unit of the values; negative if the values are smaller.

    Raises
    ------
    ValueError
        If the columns differ in length; otherwise as :func:`signed_rank`.

    Examples
    --------
    >>> gs.studies.difference([8, 9, 7], [10, 12, 9]).value
    -2.25
    """
    first, second = pairs_of(values, baseline)
    return signed_rank(first - second, level=level)


def _positive(logarithms: Float64, level: float, p: float | None = None) -> Estimate:
    found = signed_rank(logarithms, level=level)
    value, low, high = (math.exp(end) for end in (found.value, found.low, found.high))
    return Estimate(value, low, high, found.p if p is None else p, found.num, found.level)


def _logarithms(name: str, values: ArrayLike) -> Float64:
    given = values_of(name, values)
    wrong = np.flatnonzero(given <= 0)
    if wrong.size:
        raise ValueError(
            f"{name}[{wrong[0]}]: {given[wrong[0]]!r} must be positive; use difference() for "
            "values that may be zero or negative"
        )
    return np.log(given)


def holm(p_values: ArrayLike) -> Float64:
    """Adjust the p values of a family of tests (Holm 1979).

    A test whose adjusted value is below 5% may be called significant; the probability of any wrong
    call in the family is then at most 5%, whatever the dependence between tests.

    Parameters
    ----------
    p_values
        One per test.

    Returns
    -------
    ndarray
        As many, in the same order, each at least its own p and at most 1.

    Raises
    ------
    ValueError
        If there are none, or one is not in 0..1.

    Examples
    --------
    >>> gs.studies.holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = values_of("p_values", p_values)
    wrong = np.flatnonzero((given < 0.0) | (given > 1.0))
    if wrong.size:
        raise ValueError(f"p_values[{wrong[0]}]: {given[wrong[0]]!r} must lie in 0..1")
    order = np.argsort(given, kind="stable")
    left = np.arange(len(given), 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * left), 1.0)
    return adjusted


def seeds_for(num_comparisons: int, *, level: float = 0.95) -> int:
    """Return the fewest seeds with which so many comparisons can be significant.

    With n seeds the smallest p is 2 / 2^n, which Holm's correction multiplies by their number.

    Parameters
    ----------
    num_comparisons
        Number of tests in one table.
    level
        1 - the probability that any of them is wrongly called significant.

    Returns
    -------
    int
        6 for one comparison.

    Raises
    ------
    ValueError
        If there is no comparison, or the level is not between 0 and 1.

    Examples
    --------
    >>> [gs.studies.seeds_for(num) for num in (1, 4, 15)]
    [6, 8, 10]
    """
    check_level(level)
    check_integer("num_comparisons", num_comparisons, 1, 10**9)
    return 1 + math.ceil(math.log2(num_comparisons / (1 - level)))


def seeds_needed(pilot: Estimate, half_width: float) -> int:
    """Return the number of seeds needed for an interval of a given width.

    From 20 pilot seeds the answer is within 20% in the median, but may well be half or twice the
    right one; from 10 it is mostly too large.

    Parameters
    ----------
    pilot
        An estimate of :func:`ratio` or :func:`typical`.
    half_width
        Target on each side: 0.05 for 5%.

    Returns
    -------
    int
        At least 6, including the seeds of the pilot.

    Raises
    ------
    ValueError
        If the width is not positive, or the pilot has no positive limits.

    Examples
    --------
    >>> pilot = gs.studies.typical([100.0, 120.0, 90.0, 110.0, 105.0, 98.0])
    >>> gs.studies.seeds_needed(pilot, 0.05)
    53
    """
    wanted = math.log1p(check_positive("half_width", half_width))
    if not 0 < pilot.low <= pilot.high < math.inf:
        raise ValueError(
            f"pilot: its limits, {pilot.low!r} and {pilot.high!r}, must be positive; use ratio() "
            "or typical() on two seeds or more"
        )
    half = math.log(pilot.high / pilot.low) / 2
    return max(6, math.ceil(pilot.num * (half / wanted) ** 2))


def check_level(level: float) -> None:
    """Raise a ValueError if ``level`` is not strictly between zero and one."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: {level!r} must lie between 0 and 1, such as 0.95")


def values_of(name: str, values: ArrayLike) -> Float64:
    """Return a column of finite numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" and array.size:
        raise TypeError(f"{name}: the values must be numbers, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name}: the values must be one column, not {array.ndim} dimensions")
    if not array.size:
        raise ValueError(f"{name}: there are no values")
    wrong = np.flatnonzero(~np.isfinite(array.astype(np.float64)))
    if wrong.size:
        raise ValueError(
            f"{name}[{wrong[0]}]: {float(array[wrong[0]])} must be finite; leave out runs without "
            "a value, or use compare_runs, which reports them"
        )
    return np.asarray(array, np.float64)


def pairs_of(values: ArrayLike, baseline: ArrayLike) -> tuple[Float64, Float64]:
    """Return two columns whose rows are pairs; raise a ValueError if their lengths differ."""
    first, second = values_of("values", values), values_of("baseline", baseline)
    if first.size != second.size:
        raise ValueError(
            f"baseline: {second.size} values for {first.size}; it must have one of the same seed "
            "for each"
        )
    return first, second
