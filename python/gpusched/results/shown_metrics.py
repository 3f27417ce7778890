"""Formatted metrics of results, for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gpusched.base import tables
from gpusched.base.tables import BEST, Table, table, text_column
from gpusched.base.wording import Kind, written
from gpusched.plugins.info import APPROXIMATE
from gpusched.plugins.registry import has_flag_of
from gpusched.results.metric_registry import (
    GROUPS,
    OF_FAILURES,
    OF_HOLDS,
    Metric,
    metrics,
)

if TYPE_CHECKING:
    from gpusched.results.cost import RunLog

MARK: Final = "*"
CLAIRVOYANT: Final = "†"
SEES_TRUTH: Final = "clairvoyant: uses true run times"
GROWTH: Final = "growth"
"""The metric of queue growth, which every run of a study has."""
GROWTH_NOTE: Final = "Growth: jobs pile up; metrics depend on the length of the trace."
# From docs/studies/intervals.md: growth beyond which the queue grows, by number of seeds.
_GROWING: Final = {1: 1.5, 5: 1.25}


def main_metrics() -> list[Metric]:
    """Return the metrics of default tables and of the report, in the order of tables."""
    return [metric for metric in all_metrics() if metric.table == "main"]


def all_metrics() -> list[Metric]:
    """Return the metrics of wide tables, in the order of tables."""
    shown = (metric for metric in metrics().values() if metric.table != "none")
    return sorted(shown, key=_place)


def _place(metric: Metric) -> tuple[int, bool, int, str]:
    is_extra = metric.table != "main"
    return GROUPS.index(metric.group), is_extra, metric.place, metric.key


class Cell(msgspec.Struct, frozen=True):
    """One value, its text, and whether it is the best of its column."""

    value: float | None
    text: str
    best: bool

    @property
    def shown(self) -> tables.Cell:
        """The cell of a table."""
        return tables.Cell(self.value, BEST * self.best, MARK * self.best)


class Column(msgspec.Struct, frozen=True):
    """One metric of all policies."""

    metric: Metric
    cells: tuple[Cell, ...]


def columns(
    summaries: Iterable[Mapping[str, Any]], chosen: Sequence[Metric] | None = None
) -> list[Column]:
    """Lay out ``chosen`` metrics (None: the main ones) without those that no summary has.

    Those of failures and of holds are left out if nothing of that kind happened.

    A policy wins a metric if it alone has the best displayed value of the policies that could be
    deployed, that is, are not ``clairvoyant``.
    """
    rows = list(summaries)
    shown = main_metrics() if chosen is None else chosen
    if not any(map(_has_failures, rows)):
        shown = [metric for metric in shown if metric.group != OF_FAILURES]
    if not any(row.get("num_never") or row.get("mean_hold_s") for row in rows):
        shown = [metric for metric in shown if metric.group != OF_HOLDS]
    could_be = [not row.get("clairvoyant", False) for row in rows]
    laid_out = (_column(m, [_number(row.get(m.key)) for row in rows], could_be) for m in shown)
    return [column for column in laid_out if any(cell.value is not None for cell in column.cells)]


def _has_failures(summary: Mapping[str, Any]) -> bool:
    """Return whether a server was down, a job was hit or killed, or a checkpoint took time."""
    events = ("num_failures", "num_killed", "checkpoint_writes_gpu_s")
    return summary.get("availability", 1) < 1 or any(summary.get(key) for key in events)


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _column(metric: Metric, values: Sequence[float | None], could_be: Sequence[bool]) -> Column:
    texts = [written(value, metric.kind) for value in values]
    known = [(value, at) for at, value in enumerate(values) if could_be[at] and value is not None]
    known.sort(reverse=metric.better == "higher")
    first = [at for _, at in known[:2]]
    # No mark for a lead below the last digit, or for a single policy.
    wins = metric.better != "neutral" and len({texts[at] for at in first}) == 2
    cells = zip(values, texts, strict=True)
    return Column(
        metric, tuple(Cell(*cell, wins and at == first[0]) for at, cell in enumerate(cells))
    )


def kind_of(metric: str) -> Kind:
    """Return the kind of a column's values; one that is not a metric is a time if it ends in _s."""
    known = metrics().get(metric)
    return known.kind if known is not None else "time" if metric.endswith("_s") else "ratio"


def label_of(metric: str) -> str:
    """Return the heading of a column."""
    known = metrics().get(metric)
    return metric.removesuffix("_s").replace("_", " ") if known is None else known.label


def column_of(metric: Metric) -> tables.Column:
    """Return the table column of a metric."""
    return tables.Column(
        metric.label,
        kind=metric.kind,
        key=metric.key,
        short=metric.short,
        is_highest_first=metric.better == "higher",
    )


def table_of_summaries(
    results: Mapping[str, RunLog],
    summaries: Mapping[str, Mapping[str, Any]],
    chosen: Sequence[Metric] | None = None,
) -> Table:
    """Build a table with a row per policy and ``chosen`` metrics (None: the main ones)."""
    shown = columns(summaries.values(), chosen)
    rows = [
        [tables.Cell(label, mark=marks_of(result)), *(column.cells[at].shown for column in shown)]
        for at, (label, result) in enumerate(results.items())
    ]
    headings = [text_column("policy"), *(column_of(column.metric) for column in shown)]
    return table("", headings, rows)


def is_growing(growth: float | None, num_seeds: int) -> bool:
    """Return whether the queue grows, by the metric ``growth`` or its median over seeds."""
    return growth is not None and growth > _GROWING[5 if num_seeds >= 5 else 1]


def policy_name(label: str, result: RunLog) -> str:
    """Return the policy's name, marked if it uses true run times or departs from its source."""
    return label + marks_of(result)


def marks_of(result: RunLog) -> str:
    """Return the marks after the policy's name."""
    marks = CLAIRVOYANT * result.clairvoyant + APPROXIMATE * is_approximate(result)
    return f" {marks}" if marks else ""


def is_approximate(result: RunLog) -> bool:
    """Return whether the policy departs by default from its source."""
    return has_flag_of("policy", result.spec.policy, "approximate")
