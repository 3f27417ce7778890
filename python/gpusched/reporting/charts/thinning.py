"""Thin the points of a curve by rules that keep its important features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64

MOST_ROWS: Final = 2_000
"""Maximum number of points of a chart, over all policies."""
_PER_SLOT: Final = 4
_LEAST: Final = 2 * _PER_SLOT  # points: one slot in the body and one in the tail
# Share of the points of a curve over time that lie after the end of most jobs.
_IN_TAIL: Final = 0.1

STEPS_RULE: Final = "Long series keep the first, lowest, highest and last step of each time slot"
QUANTILES_RULE: Final = "long curves keep evenly spaced quantiles and the extreme values"


def points_each(points: int, num_curves: int) -> int:
    """Return the maximum number of points of a curve if so many share a chart."""
    if points < _LEAST:
        raise ValueError(f"points: must be at least {_LEAST}, not {points}")
    return max(_LEAST, min(points, MOST_ROWS // max(1, num_curves)))


def thin_distribution(values: Float64, points: int) -> tuple[Float64, Float64]:
    """Thin the empirical distribution of ``values`` (at least one) to ``points`` of its steps.

    Distinct sorted values, and the share of all values that are at most as large. The smallest and
    the largest value are always included.
    """
    ordered = np.sort(values)
    ranks = np.linspace(1, len(ordered), min(points, len(ordered))).astype(np.int64)
    x = np.unique(ordered[ranks - 1])
    return x, np.searchsorted(ordered, x, side="right") / len(ordered)


def kept_steps(time_s: Float64, values: AnyArray, end_s: float, points: int) -> Int64:
    """Choose at most ``points`` steps, nine in ten of them before ``end_s``.

    Time is cut into equal slots; each keeps its first, last, lowest and highest step, so that no
    peak is lost, however short.

    Positions of the steps, int64, increasing.
    """
    if len(time_s) <= points:
        return np.arange(len(time_s))
    end_s = min(max(end_s, time_s[0]), time_s[-1])
    in_tail = max(1, int(points * _IN_TAIL) // _PER_SLOT)
    in_body = max(1, points // _PER_SLOT - in_tail)
    edges = np.linspace(time_s[0], end_s, in_body + 1)
    if end_s < time_s[-1]:
        edges = np.concatenate((edges, np.linspace(end_s, time_s[-1], in_tail + 1)[1:]))
    places = np.searchsorted(time_s, edges[:-1])
    return _extremes(values, [*places.tolist(), len(time_s)])


def _extremes(values: AnyArray, places: Sequence[int]) -> Int64:
    kept: set[int] = set()
    for begin, end in pairwise(places):
        if begin < end:
            part = values[begin:end]
            kept |= {begin, begin + int(part.argmin()), begin + int(part.argmax()), end - 1}
    return np.array(sorted(kept), dtype=np.int64)
