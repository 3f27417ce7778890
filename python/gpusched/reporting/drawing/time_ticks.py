"""Ticks of a logarithmic axis of seconds: times that people use, and enough of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

_UNITS: Final = (("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0))
_FEWEST: Final = 3
_MOST: Final = 5


def _of(*named: tuple[str, Iterable[float]]) -> dict[float, str]:
    scale = dict(_UNITS)
    return {
        round(count * scale[unit], 9): f"{count:,.10g} {unit}"
        for unit, counts in named
        for count in counts
    }


COARSE: Final = _of(
    ("ms", (1, 10)), ("s", (0.1, 1, 10)), ("min", (1, 10)), ("h", (1, 6)),
    ("d", (1, 10, 100, 1_000)),
)  # fmt: skip
"""Of an axis over many orders of magnitude."""
_FINE: Final = _of(
    ("ms", (1, 2, 5, 10, 20, 50, 100, 200, 500)), ("s", (1, 2, 5, 10, 20, 30)),
    ("min", (1, 2, 5, 10, 20, 30)), ("h", (1, 2, 3, 6, 12)),
    ("d", (1, 2, 4, 7, 14, 30, 60, 100, 200, 500, 1_000)),
)  # fmt: skip


def time_ticks(low_s: float, high_s: float) -> dict[float, str]:
    """Return the ticks between two times, and how each is written.

    There are three at least where the ends differ by a hundredth or more: on an axis with one tick
    no value can be read.
    """
    for known in (COARSE, _FINE):
        found = {at: name for at, name in known.items() if low_s <= at <= high_s}
        if len(found) >= _FEWEST:
            return found if len(found) <= _MOST or known is COARSE else _thinned(found)
    return _even(low_s, high_s) or found


def _thinned(ticks: dict[float, str]) -> dict[float, str]:
    step = -(-len(ticks) // _MOST)
    return dict(list(ticks.items())[::step])


def _even(low_s: float, high_s: float) -> dict[float, str]:
    """Return three to five ticks at equal distances, in the unit that suits them."""
    if not 0 < low_s < high_s:
        return {}
    unit, scale = next((pair for pair in reversed(_UNITS) if high_s >= 2 * pair[1]), _UNITS[0])
    low, high = low_s / scale, high_s / scale
    power = 10.0 ** math.floor(math.log10(high - low) - 1)
    for step in (power * size for size in (1, 2, 2.5, 5, 10, 20, 25, 50)):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first + 1 <= _MOST:
            break
    return _of((unit, (round(place * step, 9) for place in range(first, last + 1))))
