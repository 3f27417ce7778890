"""How the samples of an iteration are divided among unequal workers; None if they find no place.

``rates`` are samples per second, ``most`` what the memory of each worker holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeVar

Number = TypeVar("Number", float, Fraction)


def added(values: Sequence[Number], zero: Number) -> Number:
    """Add up from the left; what ``sum`` does with floats depends on the version of Python."""
    total = zero
    for value in values:
        total += value
    return total


def in_proportion(
    batch: Number, weights: Sequence[Number], most: Sequence[float]
) -> list[Number] | None:
    """Divide by weight, and what full workers do not take again among the others."""
    zero = batch - batch
    parts = [zero] * len(weights)
    rest, not_full = batch, list(range(len(weights)))
    while rest > 0 and not_full:
        total = added([weights[k] for k in not_full], zero)
        wanted = {k: rest * weights[k] / total for k in not_full}
        full = [k for k in not_full if wanted[k] >= most[k]]
        if not full:
            for k in not_full:
                parts[k] = wanted[k]
            return parts
        for k in full:
            held: Any = most[k]
            parts[k] = zero + held
        rest -= added([parts[k] for k in full], zero)
        not_full = [k for k in not_full if k not in full]
    return parts if rest <= 0 else None


def whole_in_proportion(
    batch: int, rates: Sequence[float], most: Sequence[float]
) -> list[int] | None:
    """Round down, then give the rest one by one to who would then be done first."""
    exact = in_proportion(Fraction(batch), [Fraction(rate) for rate in rates], most)
    if exact is None:
        return None
    parts = [math.floor(part) for part in exact]
    while sum(parts) < batch:
        open_workers = [k for k in range(len(parts)) if parts[k] < most[k]]
        first = min(open_workers, key=lambda k: (Fraction(parts[k] + 1) / Fraction(rates[k]), k))
        parts[first] += 1
    return parts


def in_equal_parts(batch: float, most: Sequence[float]) -> list[float] | None:
    """Divide without regard to who is fast."""
    return in_proportion(batch, [1.0] * len(most), most)


def whole_in_equal_parts(batch: int, most: Sequence[float]) -> list[int] | None:
    """As even as whole samples allow; the first have one more."""
    parts = [0] * len(most)
    while sum(parts) < batch:
        open_workers = [k for k in range(len(parts)) if parts[k] < most[k]]
        if not open_workers:
            return None
        parts[min(open_workers, key=lambda k: (parts[k], k))] += 1
    return parts
