"""Time: seconds outside, integer microseconds (ticks) inside, converted in this file only."""

from __future__ import annotations

from typing import Final, overload

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64

US_PER_S: Final = 1_000_000
MAX_SERVICE_US: Final = 2**53
MAX_SUBMIT_US: Final = 2**61
MAX_HORIZON_US: Final = 2**62
"""Limit of the last submit plus the sum of all services, so that no schedule overflows."""


# Microseconds of each unit of a NumPy duration, as a fraction.
_US_OF_UNIT: Final = {
    "W": (604_800 * US_PER_S, 1),
    "D": (86_400 * US_PER_S, 1),
    "h": (3600 * US_PER_S, 1),
    "m": (60 * US_PER_S, 1),
    "s": (US_PER_S, 1),
    "ms": (1000, 1),
    "us": (1, 1),
    "ns": (1, 10**3),
    "ps": (1, 10**6),
}


def seconds_to_us(seconds: AnyArray) -> Int64:
    """Round seconds half to even to microseconds.

    ``seconds``: finite numbers of at most ``2**62`` microseconds in size; integers are converted
        exactly.
    """
    if seconds.dtype.kind in "iu":
        return seconds.astype(np.int64) * US_PER_S
    return np.rint(seconds.astype(np.float64) * US_PER_S).astype(np.int64)


def durations_to_seconds(what: str, durations: AnyArray) -> Float64:
    """Convert NumPy durations of any unit to seconds, NaN if missing.

    Rounded half to even to microseconds, as seconds are; values below half a microsecond are kept.
    """
    unit, count = np.datetime_data(durations.dtype)
    if unit not in _US_OF_UNIT:
        raise TypeError(f"{what} must hold durations in a unit of time, not in {unit!r}")
    times, parts = _US_OF_UNIT[unit]
    missing = np.isnat(durations)
    given = np.where(missing, 0, durations.astype(f"=m8[{count}{unit}]").view(np.int64))
    too_long = np.abs(given.astype(np.float64)) * (times * count) >= 2.0**62
    whole, rest = np.divmod(np.where(too_long, 0, given) * (times * count), parts)
    ticks: Int64 = whole + ((2 * rest > parts) | ((2 * rest == parts) & (whole % 2 == 1)))
    seconds = ticks / US_PER_S
    too_long |= np.rint(seconds * US_PER_S).astype(np.int64) != ticks
    if too_long.any():
        row = int(np.argmax(too_long))
        raise ValueError(f"{what}, row {row}: {durations[row]} is too long for seconds")
    tiny = (ticks == 0) & (given != 0)
    seconds[tiny] = given[tiny] * (times * count / parts / US_PER_S)
    seconds[missing] = np.nan
    return seconds


def us_to_text(ticks: int) -> str:
    """Write microseconds as seconds exactly, without trailing zeros."""
    whole, rest = divmod(ticks, US_PER_S)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


@overload
def us_to_seconds(ticks: int) -> float: ...
@overload
def us_to_seconds(ticks: Int64 | Float64) -> Float64: ...
def us_to_seconds(ticks: int | Int64 | Float64) -> float | Float64:
    """Convert microseconds to float seconds (exact to the microsecond up to 285 years)."""
    return ticks / US_PER_S
