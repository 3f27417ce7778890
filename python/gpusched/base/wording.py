"""Format numbers for people: units, digits, durations and counts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Final, Literal

Kind = Literal["time", "percent", "ratio", "count", "rate", "p", "text"]
"""The kind of a number, which determines its format."""

_WIDTH: Final = 100
_TIME_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))
_MOST_DECIMALS: Final = {"percent": 1, "time": 2}


def scale_of(kind: Kind, values: Sequence[float]) -> tuple[float, str]:
    """Return the best unit for the median of ``values``."""
    if kind == "percent":
        return 0.01, "%"
    if kind != "time":
        return 1.0, ""
    positive = sorted(value for value in values if value > 0)
    middle = float(f"{positive[len(positive) // 2]:.3g}") if positive else 1.0
    # Days only from 2 d on: 31 h reads better than 1.3 d.
    fits = (u for u in _TIME_UNITS if middle >= u[0] * (2.0 if u[1] == "d" else 1.0))
    return next(fits, _TIME_UNITS[-1])


def written(value: float | None, kind: Kind = "ratio", sign: str = "") -> str:
    """Write a number with its unit: ``42 s``, ``6.83 h``, ``93.1%``, ``0.786``, ``1,234``.

    Three significant digits; counts are integers, and percentages have at most one decimal. Small
    values never show as 0; undefined ones are a dash.

    ``value``: in the base unit of its kind: seconds, or a fraction.
    ``sign``: prefix of positive values.
    """
    if value is None or not math.isfinite(value):
        return "-"
    scale, unit = scale_of(kind, [abs(value)])
    number = abs(value) / scale
    text = _digits(number, kind) + (f" {unit}" if kind == "time" else unit)
    if value < 0:
        return f">-{text[1:]}" if text.startswith("<") else f"-{text}"
    return f"{sign if value and not text.startswith('<') else ''}{text}"


def _digits(number: float, kind: Kind) -> str:
    if not number or (kind == "count" and (number >= 100 or number.is_integer())):
        return f"{number:,.0f}" if number or kind != "ratio" else "0.00"
    if kind == "p":
        return f"{number:.3f}" if number >= 0.001 else "<0.001"
    # Rounding may carry into one more digit: 9.996 is 10.0.
    exponent = int(f"{number:.2e}".partition("e")[2])
    decimals = max(0, min(2 - exponent, _MOST_DECIMALS.get(kind, 4)))
    least = 10.0**-decimals
    if number < least / 2:
        return f"<{least:.{decimals}f}"
    if kind in ("time", "percent") and number.is_integer():
        decimals = 0
    return f"{round(number, min(decimals, 2 - exponent)):,.{decimals}f}"


def span(low: float | None, high: float | None, kind: Kind, sign: str = "") -> str:
    """Write two limits, with a common unit once: ``5.99 .. 8.27 h``."""
    if low is None or high is None:
        return "-"
    first, last = written(low, kind, sign), written(high, kind, sign)
    unit = last.lstrip("+-<>0123456789.,")
    return f"{first.removesuffix(unit) if unit else first} .. {last}"


def duration(seconds: float) -> str:
    """Write seconds with a unit: ``2.07 h``."""
    return written(seconds, "time")


def plural(count: int, noun: str) -> str:
    """Write a count with its noun: ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def wrapped(text: str) -> list[str]:
    """Wrap a sentence for a terminal, with all lines except the first indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ")
