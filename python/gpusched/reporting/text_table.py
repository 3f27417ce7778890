"""Means with their limits, as tables of plain texts have them."""

from __future__ import annotations

import math

from gpusched.base.tables import Table as Table
from gpusched.base.tables import table as table
from gpusched.studies.intervals import Interval


def figure_of(value: Interval, digits: int = 0, scale: float = 1.0) -> str:
    """Write a mean as ``512 +- 14``, or with both limits where one is farther off."""
    return _with_limits(value.scaled(scale), digits)


def percent_of(value: Interval) -> str:
    """Write a ratio as ``12.3 +- 1.1 %``, or as ``12.3 [10.8, 13.1] %``."""
    return f"{_with_limits(value.scaled(100), 1)} %"


def _with_limits(value: Interval, digits: int) -> str:
    told = f"{value.value:.{digits}f}"
    if not value.is_known:
        return told if math.isnan(value.half_width) else f"{told} (no limits)"
    if math.isclose(value.low + value.high, 2 * value.value, rel_tol=1e-6, abs_tol=1e-9):
        return f"{told} ± {value.half_width:.{digits}f}"
    return f"{told} [{value.low:.{digits}f}, {value.high:.{digits}f}]"
