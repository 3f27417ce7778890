"""The widths between which a job may run where its speed allows others than its own."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int32, Int64
from gpusched.base.rejects import Screen
from gpusched.traces.checked_columns import MAX_GPUS, numbers

NO_LIMIT: Final = MAX_GPUS
"""In the column of greatest widths: as wide as the speed can do. The least width is 1 then."""
COLUMNS: Final = ("min_gpus", "max_gpus")


def least_widths(screen: Screen, values: AnyArray, gpus: Int32) -> Int32:
    """Check least widths: whole, 1 to ``gpus``; NaN stands for 1."""
    widths = _whole(screen, "min_gpus", values, 1)
    screen.require((widths <= gpus) | screen.bad, "min_gpus", "must not exceed gpus")
    return widths


def greatest_widths(screen: Screen, values: AnyArray, gpus: Int32) -> Int32:
    """Check greatest widths: whole, ``gpus`` or more; NaN stands for no limit."""
    widths = _whole(screen, "max_gpus", values, NO_LIMIT)
    screen.require((widths >= gpus) | screen.bad, "max_gpus", "must be at least gpus")
    return widths


def _whole(screen: Screen, column: str, values: AnyArray, missing: int) -> Int32:
    values = np.where(np.isnan(values), missing, values)
    screen.require(np.isfinite(values), column, "must be a finite number")
    screen.require(values >= 1, column, "must be at least 1")
    screen.require(values == np.rint(values), column, "must be a whole number")
    good = screen.require(values <= MAX_GPUS, column, f"must be at most {MAX_GPUS}")
    return np.where(good, values, missing).astype(np.int32)


def new_widths(rows: Int64, gpus: Int32, min_gpus: Any, max_gpus: Any) -> dict[str, Any]:
    """Return the two columns of :meth:`gpusched.Trace.with_elasticity` for jobs of ``gpus``."""
    columns: dict[str, Any] = {"min_gpus": None, "max_gpus": None}
    screen = Screen("with_elasticity", rows)
    for column, values in (("min_gpus", min_gpus), ("max_gpus", max_gpus)):
        if values is None:
            continue
        is_one = np.ndim(values) == 0
        widths = numbers(column, np.full(len(rows), values) if is_one else values, len(rows))
        if is_one and np.isfinite(widths).all():
            # One number for all is a bound: a job's own width is always allowed.
            bound = np.minimum if column == "min_gpus" else np.maximum
            widths = bound(widths, gpus)
        screen.show(column, column, widths)
        check = least_widths if column == "min_gpus" else greatest_widths
        columns[column] = check(screen, widths, gpus)
    screen.finish("error")
    return columns
