"""Times between arrivals as times of arrival."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.rejects import Screen
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us

_MAX_S: Final = MAX_SUBMIT_US / US_PER_S


def cumulated(screen: Screen, column: str, gaps_s: AnyArray) -> Int64:
    """Sum up the seconds since the row before, each rounded to ticks, in the order of the rows.

    The first one may be missing (NaN), as no row is before it.

    Raises
    ------
    ValueError
        If one is no finite number of at least 0: all later arrivals depend on it, so the row
        cannot be left out alone.
    """
    if len(gaps_s) and np.isnan(gaps_s[0]):
        gaps_s = np.concatenate([np.zeros(1), gaps_s[1:]])
    good = np.isfinite(gaps_s) & (gaps_s >= 0) & (gaps_s <= _MAX_S)
    if not good.all():
        row = int(np.argmin(good))
        value = screen.shown[column][1][row] if column in screen.shown else gaps_s[row].item()
        raise ValueError(
            f"{screen.place(row, column)}: {value!r} must be a number of seconds, 0 or more; all "
            "later submit times follow from it"
        )
    total = np.cumsum(gaps_s, dtype=np.float64)
    if total.size and total[-1] > _MAX_S:
        raise ValueError(f"{screen.place(len(total) - 1, column)}: the submit times exceed 2^61 us")
    return np.cumsum(seconds_to_us(gaps_s))
