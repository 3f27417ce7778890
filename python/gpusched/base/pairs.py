"""Pairs of integers in order: packed into one number each, which sorts many times as fast."""

from __future__ import annotations

import numpy as np

from gpusched.base.arrays import AnyArray, Int64

_BITS = 63


def sorted_pairs(first: AnyArray, second: AnyArray) -> tuple[Int64, Int64]:
    """Sort pairs by their first number, equal ones by their second.

    Parameters
    ----------
    first, second
        Integers of at most 64 bits with a sign, equally many.

    Returns
    -------
    tuple
        Both columns in that order, int64.
    """
    if len(first) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, low_second = int(first.min()), int(second.min())
    bits = (int(second.max()) - low_second).bit_length()
    if (int(first.max()) - low).bit_length() + bits > _BITS:
        order = np.lexsort((second, first))
        return first[order].astype(np.int64), second[order].astype(np.int64)
    packed = first.astype(np.int64)
    packed -= low
    packed <<= bits
    packed += second
    packed -= low_second
    packed.sort()
    low_bits = packed & ((1 << bits) - 1)
    low_bits += low_second
    packed >>= bits
    packed += low
    return packed, low_bits
