"""Pairs of integers in order: packed into one number each, which sorts many times as fast."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64

FEW: Final = 100
"""So many pairs are sorted as they are: to pack them would take longer."""
_BITS: Final = 63


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
    if len(first) <= FEW:
        order = np.lexsort((second, first))
        return first[order].astype(np.int64, copy=False), second[order].astype(np.int64)
    low, low_second = int(first.min()), int(second.min())
    bits = (int(second.max()) - low_second).bit_length()
    if (int(first.max()) - low).bit_length() + bits > _BITS:
        return _sorted_apart(first.astype(np.int64), second.astype(np.int64))
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


def _sorted_apart(first: Int64, second: Int64) -> tuple[Int64, Int64]:
    """Sort pairs that do not fit into one number: by the first, and then who has the same."""
    order = np.argsort(first)
    first, second = first[order], second[order]
    is_same = first[1:] == first[:-1]
    tied = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
    second[tied] = second[tied][np.lexsort((second[tied], first[tied]))]
    return first, second
