"""The laws behind a generated workload: run times, widths and arrivals.

Everything that is done once per job uses + - x / and sorting only, so one seed gives one workload
on every machine; ``exp``, ``log`` and ``erf`` shape the small tables in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64, read_only
from gpusched.generator.published_clusters import HOURS, WEEKDAYS, Profile

_NUM_KNOTS: Final = 8_192
_BISECTIONS: Final = 100


def run_time_table(profile: Profile) -> tuple[Float64, Float64]:
    """Return knots (probability, seconds) of the run time law, both ascending.

    Above the floor the law is a mixture of two lognormals, cut at the cap. Their medians solve
    two equations: the mixture's median, and its mean.
    """
    median = profile.median_s - profile.floor_s
    mean = profile.mean_s - profile.floor_s
    cap = profile.cap_s - profile.floor_s
    share, sigmas = profile.tail_share, (profile.body_sigma, profile.tail_sigma)

    def below(x: float, body_mu: float, tail_mu: float) -> float:
        body = _normal_cdf((math.log(x) - body_mu) / sigmas[0])
        tail = _normal_cdf((math.log(x) - tail_mu) / sigmas[1])
        return (1 - share) * body + share * tail

    def body_of(tail_mu: float) -> float:
        # The larger the body's median, the less of the mixture lies below a point.
        return _bisect(lambda mu: 0.5 - below(median, mu, tail_mu), math.log(median) - 9, 25.0)

    def mean_of(tail_mu: float) -> float:
        body = _capped_mean(body_of(tail_mu), sigmas[0], cap)
        return (1 - share) * body + share * _capped_mean(tail_mu, sigmas[1], cap)

    tail_mu = _bisect(lambda mu: mean_of(mu) - mean, math.log(median), math.log(cap))
    body_mu = body_of(tail_mu)
    seconds = np.exp(np.linspace(min(body_mu - 6 * sigmas[0], 0.0), math.log(cap), _NUM_KNOTS))
    seconds[-1] = cap
    probability = np.array([below(x, body_mu, tail_mu) for x in seconds.tolist()])
    probability[0] = 0.0
    # The mass beyond the cap lies on the cap.
    return np.append(probability, 1.0), np.append(seconds, cap) + profile.floor_s


def width_shares(profile: Profile) -> Float64:
    """Return the part of the jobs that has each width of a profile, in ascending order.

    The relative frequencies are tilted by the power of the width that gives the profile's mean.
    """
    widths = _widths(profile)
    base = np.array([profile.widths[width] for width in widths.tolist()])

    def shares(power: float) -> Float64:
        tilted = base * widths**power
        return np.asarray(tilted / tilted.sum(), dtype=np.float64)

    return shares(_bisect(lambda p: float(shares(p) @ widths) - profile.mean_gpus, -4.0, 4.0))


def width_counts(
    profile: Profile, shares: Float64, num_jobs: int, widest: int
) -> tuple[Int32, Int64]:
    """Return widths, at most ``widest``, and the number of jobs of each; they sum to ``num_jobs``.

    Parameters
    ----------
    shares
        What :func:`width_shares` gives; numbers of jobs are rounded by largest remainders.
    """
    wanted = shares * num_jobs
    counts = np.floor(wanted).astype(np.int64)
    largest = np.argsort(counts - wanted, kind="stable")[: num_jobs - int(counts.sum())]
    counts[largest] += 1
    return np.minimum(_widths(profile), widest).astype(np.int32), counts


def _widths(profile: Profile) -> Int32:
    return np.array(sorted(profile.widths), dtype=np.int32)


def arrivals(uniform: Float64, span_us: int) -> Int64:
    """Map ``uniform`` numbers to sorted arrival ticks in 0..``span_us``, both ends included.

    The rate follows the hour of the day and the day of the week, from a Monday at 0 h.
    """
    rates = np.outer(WEEKDAYS, HOURS).ravel()
    expected = np.append(0.0, np.cumsum(rates))  # jobs up to each full hour of the week
    hours = np.arange(len(expected), dtype=np.float64)
    per_week = float(expected[-1])
    span_h = span_us / 3.6e9
    weeks, rest = divmod(span_h, len(rates))
    total = weeks * per_week + float(interpolate(hours, expected, np.array([rest]))[0])
    position = np.sort(uniform) * total
    week = np.floor(position / per_week)
    hour = week * len(rates) + interpolate(expected, hours, position - week * per_week)
    if len(hour) == 1:
        return np.zeros(1, dtype=np.int64)
    scale = span_us / (float(hour[-1]) - float(hour[0]))
    ticks = np.rint((hour - hour[0]) * scale).astype(np.int64)
    ticks[-1] = span_us
    return np.asarray(np.minimum(ticks, span_us), dtype=np.int64)


def interpolate(x: Float64, y: Float64, at: Float64) -> Float64:
    """Interpolate linearly between knots of ascending ``x``.

    Unlike ``np.interp`` it rounds alike on all machines: no fused multiply-add.
    """
    left = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    x_left, y_left = x[left], y[left]
    step = x[left + 1] - x_left
    slope = (y[left + 1] - y_left) / np.where(step > 0, step, 1.0)
    return np.asarray(y_left + (at - x_left) * slope, dtype=np.float64)


def zipf(uniform: Float64, num_names: int, exponent: float = 1.0) -> Int64:
    """Map ``uniform`` numbers to 0..num_names-1, the k-th with weight 1 / (k+1)^exponent."""
    cumulative = _zipf_weights(num_names, exponent)
    index = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return np.asarray(np.minimum(index, num_names - 1), dtype=np.int64)


@lru_cache(maxsize=64)
def _zipf_weights(num_names: int, exponent: float) -> Float64:
    return read_only(np.cumsum([(k + 1) ** -exponent for k in range(num_names)]))


def pick(uniform: Float64, shares: Sequence[float]) -> Int32:
    """Map ``uniform`` numbers to the index of a share; the last one takes what is left over."""
    bounds = np.cumsum(shares)[:-1]
    return np.asarray(np.searchsorted(bounds, uniform, side="right"), dtype=np.int32)


def _capped_mean(mu: float, sigma: float, cap: float) -> float:
    """Return the mean of min(X, cap), X lognormal."""
    z = (math.log(cap) - mu) / sigma
    inside = math.exp(mu + sigma * sigma / 2) * _normal_cdf(z - sigma)
    return inside + cap * (1 - _normal_cdf(z))


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return the zero of a function that rises from ``low`` to ``high``."""
    if rising(low) > 0 or rising(high) < 0:
        raise ValueError("the profile's targets cannot be met with its shape")
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
