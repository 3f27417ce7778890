"""Numbers as a person reads them: units, digits, durations and counts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

Kind = Literal["time", "percent", "ratio", "count", "rate", "text"]
"""What a number is, which decides how it is written."""

_WIDTH: Final = 100
_TIME_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))


def scale_of(kind: Kind, values: Sequence[float]) -> tuple[float, str]:
    """The unit in which the middle one of ``values`` reads best."""
    if kind == "percent":
        return 0.01, "%"
    if kind != "time":
        return 1.0, ""
    positive = sorted(value for value in values if value > 0)
    middle = positive[len(positive) // 2] if positive else 1.0
    # Days only from two of them on: 31 h reads better than 1.3 d.
    fits = (u for u in _TIME_UNITS if middle >= u[0] * (2.0 if u[1] == "d" else 1.0))
    return next(fits, _TIME_UNITS[-1])


def decimals_of(kind: Kind, values: Sequence[float]) -> int:
    """Three digits for the least of ``values``, but no more than fit beside the largest."""
    if kind in ("count", "rate"):
        return 0
    positive = [value for value in values if value > 0]
    if not positive:
        return 0
    wanted = 2 - math.floor(math.log10(min(positive)))
    room = 4 - math.floor(math.log10(max(positive)))
    return max(0, min(wanted, room, 1 if kind == "percent" else 2))


def text_of(value: float, decimals: int, kind: Kind) -> str:
    """Return ``value`` with so many decimals; what is small does not read as nothing."""
    if kind == "rate" and value >= 1_000:
        value = round(value, 2 - math.floor(math.log10(value)))
    least = 10.0**-decimals
    if 0 < value < least / 2:
        return f"<{least:.{decimals}f}"
    return f"{value:,.{decimals}f}"


def duration(seconds: float) -> str:
    """``7440.0`` as ``2.1 h``."""
    scale, unit = scale_of("time", [seconds])
    value = seconds / scale
    return f"{value:,.{decimals_of('time', [value]) if value < 100 else 0}f} {unit}"


def plural(count: int, noun: str) -> str:
    """``1 job``, ``2,000 jobs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ratio_text(ratio: float | None) -> str:
    """Write a ratio to a baseline, with three digits."""
    if ratio is None or not math.isfinite(ratio):
        return "-"
    return f"{ratio:,.0f}" if ratio >= 999.5 else f"{ratio:#.3g}".rstrip(".")


def range_text(text: Callable[[float], str], row: Mapping[str, Any], prefix: str = "") -> str:
    """Write the limits that a row of a comparison has of a column."""
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return "-" if low is None or high is None else f"{text(low)} .. {text(high)}"


def wrapped(text: str) -> list[str]:
    """Return a sentence as lines that a terminal has room for, all but the first indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ")
