"""Array types for annotations, and read-only columns."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
UInt32 = npt.NDArray[np.uint32]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

_Scalar = TypeVar("_Scalar", bound=np.generic)


def read_only(values: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return ``values`` as a C-contiguous array that is permanently read-only.

    A contiguous array is not copied, so other references to it can still write.
    """
    array = np.ascontiguousarray(values)
    if array.dtype.kind in "mMO":  # dates and objects have no buffer
        view = array.view()
        view.flags.writeable = False
        return view
    # The flag of an array can be set again if its owner is writable. A view of a read-only buffer
    # is its own owner.
    lent: npt.NDArray[_Scalar] = np.asarray(array.data.toreadonly())
    return lent


def freeze_columns(columns: Any, *, is_own: bool = False) -> None:
    """Make every array field of a frozen data class read-only.

    ``is_own``: whether the arrays were made for it. If not, writable ones may be shared and are
        copied.
    """
    for column in dataclasses.fields(columns):
        value = getattr(columns, column.name)
        if isinstance(value, np.ndarray):
            own = value if is_own or not value.flags.writeable else value.copy()
            object.__setattr__(columns, column.name, read_only(own))


class FrozenColumns:
    """A frozen data class whose arrays were made for it; they become read-only."""

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)


def numbered(values: AnyArray) -> tuple[Int64, Int64]:
    """Number the distinct values from 0 on.

    The distinct values, ascending, and the number of each of ``values`` among them.

    ``values``: integers of at most 64 bits with a sign.
    """
    if len(values) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1024:
        known, number = np.unique(values, return_inverse=True)
        return known.astype(np.int64, copy=False), number.astype(np.int64, copy=False)
    # A lookup table is cheaper than a sort.
    is_there = np.zeros(high - low + 1, dtype=np.bool_)
    place = values.astype(np.int64) - low
    is_there[place] = True
    number_of = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there) + low, number_of[place]


def exact_dot(weights: Int64, values: Int64) -> int:
    """Sum the products without overflow or rounding.

    ``weights``, ``values``: 0 or more; the sum of the weights is below 2**46.
    """
    if float(np.dot(weights.astype(np.float64), values.astype(np.float64))) < 2.0**62:
        return int(np.dot(weights, values))
    return (exact_dot(weights, values >> 16) << 16) + int(np.dot(weights, values & 0xFFFF))


def nearest_rank(ordered: AnyArray, percent: float) -> float:
    """Return the nearest-rank percentile of a sorted array.

    NaN if there are no values.
    """
    if len(ordered) == 0:
        return np.nan
    return float(ordered[max(0, int(-(-percent * len(ordered) // 100)) - 1)])


def accumulate(of: Int64, time_us: Int64, change: Int64) -> tuple[Int64, Int64, Int64]:
    """Sum the changes of counters over time into steps (counter, time, value).

    The changes of a counter must cancel out. An instant without a change makes no step.
    """
    order = np.lexsort((time_us, of))
    of, time_us = of[order], time_us[order]
    value: Int64 = np.cumsum(change[order])
    last: Bool = np.ones(len(of), dtype=np.bool_)
    last[:-1] = (of[1:] != of[:-1]) | (time_us[1:] != time_us[:-1])
    of, time_us, value = of[last], time_us[last], value[last]
    before = np.concatenate(([0], value[:-1]))
    moves = value != before
    return of[moves], time_us[moves], value[moves]
