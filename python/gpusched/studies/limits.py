"""Limits of means and of ratios of means, for many experiments at once.

Rows are experiments of n values each. What few values can give decides the method that is used:
see :data:`LEAST`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.studies.log_limits import log_limits
from gpusched.studies.resampling import parts, resampled_means
from gpusched.studies.samples import scipy_special

LEAST: Final = {"t": 2, "bootstrap-t": 5, "bca": 30, "percentile": 30}
"""Values from which on a method is used: below them t takes over from bootstrap-t, and the last
two, which nobody gets who does not ask for them, are refused."""


@dataclass(frozen=True)
class Limits:
    """Limits of each experiment, and the probability of what is as far from ``against``.

    ``p`` is the least level of error at which the interval would leave ``against`` out.
    ``is_student``: the method was t, asked for or in place of a bootstrap.
    """

    estimate: Float64
    low: Float64
    high: Float64
    p: Float64
    is_student: Bool


def usable(method: str, num: int) -> str:
    """Return the method, or t in the place of bootstrap-t for so few values.

    Raises
    ------
    ValueError
        If there are too few for a method that only who asks for it gets.
    """
    if num >= LEAST[method]:
        return method
    if method in ("bca", "percentile"):
        raise ValueError(
            f"method: {method} needs {LEAST[method]} values, and there are {num}; take bootstrap-t"
        )
    return "t"


def mean_limits(
    rows: Float64, method: str, level: float, num_resamples: int, seed: int, against: float = 0.0
) -> Limits:
    """Limits of the mean of each row, and p of its difference from ``against``.

    Bootstrap-t is widened by :func:`~gpusched.studies.log_limits.log_limits` where that applies.
    """
    found = ratio_limits(rows, np.ones_like(rows), method, level, num_resamples, seed, against)
    if method != "bootstrap-t" or rows.shape[1] < 2:
        return found
    logs = log_limits(np.sort(rows, axis=1), (1.0 - level) / 2, against)
    return Limits(
        found.estimate,
        np.where(logs.applies, np.fmin(found.low, logs.limit), found.low),
        np.where(logs.applies, np.fmax(found.high, logs.limit), found.high),
        np.where(logs.applies, np.fmax(found.p, logs.p), found.p),
        found.is_student,
    )


def ratio_limits(
    rows: Float64,
    base: Float64,
    method: str,
    level: float,
    num_resamples: int,
    seed: int,
    against: float = 1.0,
) -> Limits:
    """Limits of the ratio of the means of two rows whose values belong together in pairs.

    ``t`` and ``bootstrap-t`` invert Fieller's pivot, the mean of x - ratio * y over its standard
    error, with the quantiles of Student's t or with those of its resamples. ``bca`` and
    ``percentile`` take quantiles of the ratios of resampled means.
    """
    # In order of size, so that the order in which the runs came decides nothing.
    order = np.lexsort((base, rows), axis=1)
    rows, base = (np.take_along_axis(column, order, 1) for column in (rows, base))
    estimate = rows.mean(1) / base.mean(1)
    if rows.shape[1] < 2:
        nothing = np.full(len(rows), np.nan)
        return Limits(estimate, nothing, nothing, nothing, np.ones(len(rows), bool))
    tail = (1.0 - level) / 2
    student = _student(rows, base, tail, against)
    if method == "t":
        return Limits(estimate, *student, np.ones(len(rows), bool))
    found = []
    for part in parts(len(rows), num_resamples):
        x, y, ratio = rows[part], base[part], estimate[part]
        limits = _studentized if method == "bootstrap-t" else _of_quantiles
        correct = method == "bca"
        found.append(limits(x, y, ratio, tail, num_resamples, seed, against, correct))
    chosen = [np.concatenate(column) for column in zip(*found, strict=True)]
    # NaN: most values are equal, so that the tail of the resamples has no spread to divide by.
    empty = np.isnan(chosen[0]) | np.isnan(chosen[1])
    low, high, p = (np.where(empty, t, own) for t, own in zip(student, chosen, strict=True))
    return Limits(estimate, low, high, p, empty)


def _student(
    rows: Float64, base: Float64, tail: float, against: float
) -> tuple[Float64, Float64, Float64]:
    special = scipy_special()
    degrees = rows.shape[1] - 1
    quantile = special.stdtrit(degrees, 1.0 - tail)
    p = 2.0 * special.stdtr(degrees, -np.abs(_pivot(rows, base, against)))
    return _inverted(rows, base, quantile), _inverted(rows, base, -quantile), p


def _pivot(rows: Float64, base: Float64, ratio: float | Float64) -> Float64:
    """Mean of x - ratio * y over its standard error; zero or infinite where that is zero."""
    rest = rows - np.reshape(ratio, (-1, 1)) * base
    mean, error = rest.mean(1), rest.std(1, ddof=1) / np.sqrt(rows.shape[1])
    return _over(mean, error, np.abs(rows).max(1))


def _over(mean: Float64, error: Float64, size: Float64) -> Float64:
    """``mean / error``, where what rounding leaves of values of ``size`` counts as zero."""
    least = 1e-14 * size
    mean = np.where(np.abs(mean) <= least, 0.0, mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error <= least, np.copysign(np.inf, mean), mean / error)
    return np.where(mean == 0.0, 0.0, ratio)


def _inverted(rows: Float64, base: Float64, quantile: Float64 | float) -> Float64:
    """The ratio at which the pivot is ``quantile``: a root of a quadratic equation.

    Infinite where the mean of ``base`` may be zero: then the ratio has no limit on that side.
    """
    num = rows.shape[1]
    x, y = rows.mean(1), base.mean(1)
    dx, dy = rows - x[:, None], base - y[:, None]
    rest = dx - (x / y)[:, None] * dy
    scale = np.square(quantile) / (num * (num - 1.0))
    pairs = ((dx, dx), (dx, dy), (dy, dy), (rest, rest))
    xx, xy, yy, left = ((a * b).sum(1) * scale for a, b in pairs)
    square, middle = y * y - yy, x * y - xy
    # The discriminant without the large terms that cancel.
    root = np.sqrt(np.maximum(y * y * left - (xx * yy - xy * xy), 0.0))
    # Where the pivot rises the ratio falls, and the other way round below zero.
    side = -np.sign(quantile) * np.sign(y)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Float64 = np.where(square <= 0, side * np.inf, (middle + side * root) / square)
    return found


def _studentized(
    x: Float64,
    y: Float64,
    ratio: Float64,
    tail: float,
    num_resamples: int,
    seed: int,
    against: float,
    _: bool,
) -> tuple[Float64, Float64, Float64]:
    """Bootstrap-t: the pivot's own quantiles in place of Student's."""
    num = x.shape[1]
    rest = x - ratio[:, None] * y
    mean, square = resampled_means(np.stack((rest, rest * rest)), num_resamples, seed)
    variance = square - mean * mean
    # A resample of equal values has no spread but that of rounding.
    variance[variance <= 1e-12 * np.square(rest).max(1)[:, None]] = 0.0
    error = np.sqrt(variance / (num - 1))
    pivots = _over(mean, error, np.abs(x).max(1)[:, None])
    pivots.sort(axis=1)
    quantiles = (_at(pivots, share) for share in (1.0 - tail, tail))
    low, high = (_inverted(x, y, np.where(np.isfinite(q), q, np.nan)) for q in quantiles)
    return low, high, _two_sided(_share_below(pivots, _pivot(x, y, against)), num_resamples)


def _of_quantiles(
    x: Float64,
    y: Float64,
    ratio: Float64,
    tail: float,
    num_resamples: int,
    seed: int,
    against: float,
    correct: bool,
) -> tuple[Float64, Float64, Float64]:
    """Quantiles of resampled ratios; ``correct``: their bias and acceleration (BCa)."""
    special = scipy_special()
    means = resampled_means(np.stack((x, y)), num_resamples, seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.sort(means[0] / means[1], axis=1)
    below = _share_below(ratios, np.full(len(x), against))
    if not correct:
        return _at(ratios, tail), _at(ratios, 1.0 - tail), _two_sided(below, num_resamples)
    bias = special.ndtri(_share_below(ratios, ratio))
    acceleration = _acceleration(x, y)
    limits = []
    for share in (tail, 1.0 - tail):
        normal = bias + special.ndtri(share)
        corrected = special.ndtr(bias + normal / (1.0 - acceleration * normal))
        limits.append(_at(ratios, np.where(np.isfinite(bias), corrected, share)))
    # The level whose limit is ``against``: the correction the other way round.
    rest = special.ndtri(below) - bias
    with np.errstate(invalid="ignore"):
        found = special.ndtr(rest / (1.0 + acceleration * rest) - bias)
    found = np.where(np.isfinite(found), found, below)
    return limits[0], limits[1], _two_sided(found, num_resamples)


def _acceleration(x: Float64, y: Float64) -> Float64:
    """A sixth of the skewness of the ratio's jackknife values."""
    num = x.shape[1]
    without = (x.sum(1, keepdims=True) - x) / (y.sum(1, keepdims=True) - y)
    change = without.mean(1, keepdims=True) - without
    spread = (change**2).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (change**3).sum(1) / (6.0 * spread**1.5)
    return np.where(spread > 1e-28 * num * np.square(without).mean(1), found, 0.0)


def _at(ordered: Float64, share: float | Float64) -> Float64:
    """Quantiles of ordered rows, between two of their values by a straight line."""
    last = ordered.shape[1] - 1
    place = np.broadcast_to(np.asarray(share) * (last + 2) - 1.0, len(ordered)).clip(0.0, last)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, last)
    rows = np.arange(len(ordered))
    left, right = ordered[rows, below], ordered[rows, above]
    with np.errstate(invalid="ignore"):
        step = np.where(left == right, 0.0, right - left)
        found: Float64 = left + np.where(place > below, (place - below) * step, 0.0)
    return found


def _share_below(ordered: Float64, values: Float64) -> Float64:
    """Share of each ordered row that lies below its value; half of what is equal counts."""
    twice = [
        int(np.searchsorted(row, value, "left")) + int(np.searchsorted(row, value, "right"))
        for row, value in zip(ordered, values, strict=True)
    ]
    share: Float64 = np.array(twice, np.float64) / (2.0 * ordered.shape[1])
    return share


def _two_sided(below: Float64, num_resamples: int) -> Float64:
    """Twice the smaller side, and no less than the resamples can tell."""
    return np.clip(2.0 * np.minimum(below, 1.0 - below), 2.0 / (num_resamples + 1), 1.0)
