"""The metrics of a result as a person reads them, in a terminal and in the report alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from gpusched.base.tables import html_page, table
from gpusched.base.wording import decimals_of, scale_of, text_of
from gpusched.results.metric_registry import GROUPS, Metric, metrics

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


class Cell(msgspec.Struct, frozen=True):
    """One figure: its text without unit, and whether it is the best of its metric."""

    text: str
    best: bool


class Column(msgspec.Struct, frozen=True):
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
    scale, unit = scale_of(metric.kind, known)
    decimals = decimals_of(metric.kind, [value / scale for value in known])
    texts = ["-" if v is None else text_of(v / scale, decimals, metric.kind) for v in values]
    # Equal as shown is equal: a lead behind the last digit is not worth a mark.
    best = None
    if known and metric.better != "neutral":
        value = min(known) if metric.better == "lower" else max(known)
        best = text_of(value / scale, decimals, metric.kind)
    differ = len(set(texts)) > 1
    return Column(metric, unit, tuple(Cell(text, differ and text == best) for text in texts))


def table_of_summaries(summaries: Sequence[tuple[str, Mapping[str, Any]]], title: str) -> str:
    """Return a table of the metrics that tables show: a row for each of several policies."""
    shown = columns([summary for _, summary in summaries]) if summaries else ()
    headings = [f"{column.metric.label} ({column.unit})".removesuffix(" ()") for column in shown]
    cells = [
        [label, *(column.cells[index].text + MARK * column.cells[index].best for column in shown)]
        for index, (label, _) in enumerate(summaries)
    ]
    if len(summaries) == 1:
        pairs = zip(headings, cells[0][1:], strict=True)
        return html_page(title, table("", ["metric", summaries[0][0]], pairs).to_html())
    return html_page(title, table("", ["policy", *headings], cells).to_html())
