"""Time: seconds outside, integer microseconds (ticks) inside, converted in this file only."""

from __future__ import annotations

from typing import Final, overload

import numpy as np

from gpusched.arrays import AnyArray, Float64, Int64

US_PER_S: Final = 1_000_000
MAX_SERVICE_US: Final = 2**53
MAX_SUBMIT_US: Final = 2**61
MAX_HORIZON_US: Final = 2**62
"""Bound on the last submit plus the sum of all services: no schedule can overflow below it."""


def seconds_to_us(seconds: AnyArray) -> Int64:
    """Round seconds half to even to microseconds.

    Parameters
    ----------
    seconds
        Finite numbers of at most ``2**62`` microseconds in size; integers are converted exactly.
    """
    if seconds.dtype.kind in "iu":
        return seconds.astype(np.int64) * US_PER_S
    return np.rint(seconds.astype(np.float64) * US_PER_S).astype(np.int64)


@overload
def us_to_seconds(ticks: int) -> float: ...
@overload
def us_to_seconds(ticks: Int64) -> Float64: ...
def us_to_seconds(ticks: int | Int64) -> float | Float64:
    """Convert microseconds to float seconds (exact to the microsecond up to 285 years)."""
    return ticks / US_PER_S
