"""Numbers for the distinct values of a column of integers."""

from __future__ import annotations

import numpy as np

from gpusched.base.arrays import AnyArray, Int64


def numbered(values: AnyArray) -> tuple[Int64, Int64]:
    """Number the distinct values from 0 on.

    Parameters
    ----------
    values
        Integers of at most 64 bits with a sign.

    Returns
    -------
    tuple
        The distinct values, ascending, and the number of each of ``values`` among them.
    """
    if len(values) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1024:
        known, number = np.unique(values, return_inverse=True)
        return known.astype(np.int64, copy=False), number.astype(np.int64, copy=False)
    # A table is cheaper than a sort.
    is_there = np.zeros(high - low + 1, dtype=np.bool_)
    place = values.astype(np.int64) - low
    is_there[place] = True
    number_of = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there) + low, number_of[place]
