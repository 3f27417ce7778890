"""Means over runs, and what pairs of runs differ by: estimates with their intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Float64
from gpusched.base.field_checks import check_integer
from gpusched.studies.intervals import Interval, Method, check_level, check_method
from gpusched.studies.limits import Limits, mean_limits, ratio_limits, usable
from gpusched.studies.resampling import enough_resamples
from gpusched.studies.samples import pairs_of, values_of


def interval(
    values: ArrayLike,
    *,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    num_resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Mean of independent values, and the interval in which the true mean is expected.

    Parameters
    ----------
    values
        One value of each run, usually of each seed.
    level
        Share of such intervals that should hold the truth.
    method
        ``"bootstrap-t"`` (Efron 1981; quantiles of resampled t values, which follow skewed
        values), ``"t"`` (Student's, for values that are nearly normal), ``"bca"`` (Efron 1987;
        bias-corrected and accelerated) or ``"percentile"``; these two need 30 values. Bootstrap-t
        gives way to t below 5, or where most values are equal: the interval tells which was used.
        Bootstrap-t of a mean is widened by Cox's limit for lognormal values on the side away from
        zero where the values spread as a heavy tail does.
        What each covers stands in docs/studies/statistics.md.
    num_resamples
        Resamples of a bootstrap: 9,999, and beyond 2,000 values fewer, if it is not given.
    seed
        Of its draws: equal input gives equal limits.

    Returns
    -------
    Interval
        In the unit of the values; its limits are NaN for a single value.

    Raises
    ------
    ValueError
        If there are no values, one is not finite, the level or method is not known, or there are
        too few for the method. TypeError if they are no numbers.

    Examples
    --------
    >>> round(gs.studies.interval([10.0, 12.0, 11.0, 13.0], method="t").low, 3)
    9.446
    """
    rows = values_of("values", values)[np.newaxis]
    return _interval_of(rows, None, level, method, num_resamples, seed)


def paired_difference(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    num_resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Mean of ``values - baseline`` over pairs: of runs of common random numbers, one per seed.

    Parameters
    ----------
    values, baseline
        Columns of equal length; rows belong together.
    level, method, num_resamples, seed
        As of :func:`interval`.

    Returns
    -------
    Interval
        In the unit of the values; below zero where the values are smaller.

    Raises
    ------
    ValueError
        If the columns differ in length; and as :func:`interval`.

    Examples
    --------
    >>> gs.studies.paired_difference([9.0, 11.0, 8.0], [10.0, 13.0, 11.0], method="t").value
    -2.0
    """
    first, second = pairs_of(values, baseline)
    return _interval_of((first - second)[np.newaxis], None, level, method, num_resamples, seed)


def ratio_of_means(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    num_resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Ratio of the means of paired values: ``mean(values) / mean(baseline)``.

    The ratio of the means, unlike the mean of the ratios, does not let seeds with a small baseline
    decide. ``"t"`` and ``"bootstrap-t"`` invert Fieller's pivot (1954), whose limits are infinite
    where the mean of the baseline may be zero.

    Parameters
    ----------
    values, baseline
        Columns of equal length; rows belong together.
    level, method, num_resamples, seed
        As of :func:`interval`.

    Returns
    -------
    Interval
        Without a unit; below 1 where the values are smaller.

    Raises
    ------
    ValueError
        If the columns differ in length or the mean of the baseline is zero; and as
        :func:`interval`.

    Examples
    --------
    >>> gs.studies.ratio_of_means([9.0, 11.0, 10.0], [10.0, 14.0, 16.0], method="t").value
    0.75
    """
    first, second = pairs_of(values, baseline)
    if second.mean() == 0.0:
        raise ValueError("baseline: its mean is zero, so there is no ratio to it")
    return _interval_of(first[np.newaxis], second[np.newaxis], level, method, num_resamples, seed)


def relative_change(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    num_resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Ratio of the means less one: -0.2 where the values are a fifth smaller on the whole.

    Parameters
    ----------
    values, baseline
        Columns of equal length; rows belong together.
    level, method, num_resamples, seed
        As of :func:`interval`.

    Returns
    -------
    Interval
        Without a unit; its limits are those of :func:`ratio_of_means` less one.

    Raises
    ------
    ValueError
        As :func:`ratio_of_means`.

    Examples
    --------
    >>> gs.studies.relative_change([9.0, 11.0, 10.0], [10.0, 14.0, 16.0], method="t").value
    -0.25
    """
    ratio = ratio_of_means(
        values, baseline, level=level, method=method, num_resamples=num_resamples, seed=seed
    )
    return ratio.shifted(-1.0)


def _interval_of(
    rows: Float64,
    base: Float64 | None,
    level: float,
    method: str,
    num_resamples: int | None,
    seed: int,
) -> Interval:
    check_level(level)
    check_method(method)
    num = rows.shape[1]
    if num_resamples is None:
        num_resamples = enough_resamples(num)
    check_integer("num_resamples", num_resamples, 100, 10_000_000)
    used = usable(method, num)
    if base is None:
        found: Limits = mean_limits(rows, used, level, num_resamples, seed)
    else:
        found = ratio_limits(rows, base, used, level, num_resamples, seed)
    used = "t" if found.is_student[0] else used
    low, high = float(found.low[0]), float(found.high[0])
    return Interval(float(found.estimate[0]), low, high, num, level, used)
