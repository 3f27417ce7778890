"""How an audit divides the samples of an iteration among workers: seconds until the last is done.

Workers come in groups of equals: ``rates`` are samples per second, ``most`` what the memory of one
holds (infinite: anything), ``counts`` how many there are.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction


def slowest_s(
    batch: int,
    rates: Sequence[float],
    most: Sequence[float],
    counts: Sequence[int],
    *,
    equal: bool,
    integer: bool,
) -> float:
    """Return the seconds; infinite if a worker cannot run, or the samples find no place."""
    if any(rate == 0 for rate in rates):
        return math.inf
    weights = [Fraction(1) if equal else Fraction(rate) for rate in rates]
    parts = _poured(batch, weights, most, counts)
    if parts is None:
        return math.inf
    if integer:
        parts = _whole(batch, parts, weights, most, counts)
    return max(float(part / Fraction(rate)) for part, rate in zip(parts, rates, strict=True))


def _poured(
    batch: int, weights: Sequence[Fraction], most: Sequence[float], counts: Sequence[int]
) -> list[Fraction] | None:
    """Samples of a worker of each group, by weight; what full ones leave goes to the others."""
    level = [Fraction(0)] * len(weights)
    rest, open_groups = Fraction(batch), list(range(len(weights)))
    while rest > 0 and open_groups:
        total = sum(weights[k] * counts[k] for k in open_groups)
        wanted = {k: rest * weights[k] / total for k in open_groups}
        full = [k for k in open_groups if wanted[k] >= most[k]]
        for k in full or open_groups:
            level[k] = Fraction(most[k]) if full else wanted[k]
            rest -= level[k] * counts[k]
        open_groups = [k for k in open_groups if k not in full]
    return level if rest <= 0 else None


def _whole(
    batch: int,
    parts: Sequence[Fraction],
    weights: Sequence[Fraction],
    most: Sequence[float],
    counts: Sequence[int],
) -> list[Fraction]:
    """The most that a worker of each group gets when only whole samples are given."""
    floors = [math.floor(part) for part in parts]
    rest = batch - sum(floor * count for floor, count in zip(floors, counts, strict=True))
    workers = [(Fraction(floors[k] + 1) / weights[k], k) for k in range(len(parts))]
    heap = [(end, k, floors[k], counts[k]) for end, k in workers if floors[k] < most[k]]
    heapq.heapify(heap)
    highest = list(floors)
    while rest > 0:
        _, k, samples, count = heapq.heappop(heap)
        highest[k] = max(highest[k], samples + 1)
        rest -= count
        if samples + 1 < most[k]:
            heapq.heappush(heap, (Fraction(samples + 2) / weights[k], k, samples + 1, count))
    return [Fraction(samples) for samples in highest]
