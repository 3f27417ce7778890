"""The figures of a result as a person reads them, in a terminal and in the report alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpusched.results.metric_registry import GROUPS, Kind, Metric, metrics

MARK: Final = "*"


def main_metrics() -> list[Metric]:
    """Return the metrics of every table and of the report, in the order of tables."""
    return [metric for metric in all_metrics() if metric.table == "main"]


def all_metrics() -> list[Metric]:
    """Return the metrics of the tables that leave none out, in the order of tables."""
    shown = (metric for metric in metrics().values() if metric.table != "none")
    return sorted(shown, key=_place)


def _place(metric: Metric) -> tuple[int, bool, int, str]:
    is_extra = metric.table != "main"
    return GROUPS.index(metric.group), is_extra, metric.place, metric.key


@dataclass(frozen=True)
class Cell:
    """One figure: its text without unit, and whether it is the best of its metric."""

    text: str
    best: bool


@dataclass(frozen=True)
class Column:
    """One metric of all policies, in one unit so that the figures compare at a glance."""

    metric: Metric
    unit: str
    cells: tuple[Cell, ...]

    @property
    def heading(self) -> str:
        """The label with its unit: ``mean JCT, h``."""
        return f"{self.metric.label}, {self.unit}" if self.unit else self.metric.label


def columns(
    summaries: Iterable[Mapping[str, Any]], chosen: Sequence[Metric] | None = None
) -> list[Column]:
    """Lay out ``chosen`` metrics (None: the main ones); one that no summary defines is left out."""
    rows = list(summaries)
    shown = main_metrics() if chosen is None else chosen
    laid_out = (_column(m, [_number(row.get(m.key)) for row in rows]) for m in shown)
    return [column for column in laid_out if any(cell.text != "-" for cell in column.cells)]


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _column(metric: Metric, values: Sequence[float | None]) -> Column:
    known = [value for value in values if value is not None]
    scale, unit = _scale(metric.kind, known)
    decimals = _decimals(metric.kind, [value / scale for value in known])
    texts = ["-" if v is None else _text(v / scale, decimals, metric.kind) for v in values]
    # Equal as shown is equal: a lead behind the last digit is not worth a mark.
    best = None
    if known and metric.better != "neutral":
        value = min(known) if metric.better == "lower" else max(known)
        best = _text(value / scale, decimals, metric.kind)
    differ = len(set(texts)) > 1
    return Column(metric, unit, tuple(Cell(text, differ and text == best) for text in texts))


_TIME_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))


def _scale(kind: Kind, values: Sequence[float]) -> tuple[float, str]:
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


def _decimals(kind: Kind, values: Sequence[float]) -> int:
    """Three digits for the least of ``values``, but no more than fit beside the largest."""
    if kind in ("count", "rate"):
        return 0
    positive = [value for value in values if value > 0]
    if not positive:
        return 0
    wanted = 2 - math.floor(math.log10(min(positive)))
    room = 4 - math.floor(math.log10(max(positive)))
    return max(0, min(wanted, room, 1 if kind == "percent" else 2))


def _text(value: float, decimals: int, kind: Kind) -> str:
    if kind == "rate" and value >= 1_000:
        value = round(value, 2 - math.floor(math.log10(value)))
    least = 10.0**-decimals
    if 0 < value < least / 2:
        return f"<{least:.{decimals}f}"  # small is not nothing
    return f"{value:,.{decimals}f}"


def duration(seconds: float) -> str:
    """``7440.0`` as ``2.1 h``."""
    scale, unit = _scale("time", [seconds])
    value = seconds / scale
    return f"{value:,.{_decimals('time', [value]) if value < 100 else 0}f} {unit}"


def plural(count: int, noun: str) -> str:
    """``1 job``, ``2,000 jobs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
