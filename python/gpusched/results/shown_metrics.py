"""The metrics of a result as a person reads them, in a terminal and in the report alike."""

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
from gpusched.results.metric_registry import GROUPS, Metric, metrics

if TYPE_CHECKING:
    from gpusched.results.cost import RunLog

MARK: Final = "*"
CLAIRVOYANT: Final = "†"
SEES_TRUTH: Final = "clairvoyant: decides by the true service times"
GROWTH: Final = "growth"
"""The metric that says where jobs pile up: every run of a study has it."""
GROWTH_NOTE: Final = "Growth: jobs pile up, and figures hold for this length alone."
# Of docs/studies/intervals.md: growth beyond which jobs pile up, by the number of seeds.
_GROWING: Final = {1: 1.5, 5: 1.25}


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
    """One figure, its text, and whether its policy wins by it."""

    value: float | None
    text: str
    best: bool

    @property
    def shown(self) -> tables.Cell:
        """What a table has of it."""
        return tables.Cell(self.value, BEST * self.best, MARK * self.best)


class Column(msgspec.Struct, frozen=True):
    """One metric of all policies."""

    metric: Metric
    cells: tuple[Cell, ...]


def columns(
    summaries: Iterable[Mapping[str, Any]], chosen: Sequence[Metric] | None = None
) -> list[Column]:
    """Lay out ``chosen`` metrics (None: the main ones); one that no summary defines is left out.

    A policy wins by a metric if it alone has the best figure, as shown, of those that could be
    deployed: summaries say which are ``clairvoyant``.
    """
    rows = list(summaries)
    shown = main_metrics() if chosen is None else chosen
    could_be = [not row.get("clairvoyant", False) for row in rows]
    laid_out = (_column(m, [_number(row.get(m.key)) for row in rows], could_be) for m in shown)
    return [column for column in laid_out if any(cell.value is not None for cell in column.cells)]


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _column(metric: Metric, values: Sequence[float | None], could_be: Sequence[bool]) -> Column:
    texts = [written(value, metric.kind) for value in values]
    known = [(value, at) for at, value in enumerate(values) if could_be[at] and value is not None]
    known.sort(reverse=metric.better == "higher")
    first = [at for _, at in known[:2]]
    # A lead behind the last digit is not worth a mark, and who is alone has not won.
    wins = metric.better != "neutral" and len({texts[at] for at in first}) == 2
    cells = zip(values, texts, strict=True)
    return Column(
        metric, tuple(Cell(*cell, wins and at == first[0]) for at, cell in enumerate(cells))
    )


def kind_of(metric: str) -> Kind:
    """Return what the values of a column are; one that is no metric is a time if it ends in _s."""
    known = metrics().get(metric)
    return known.kind if known is not None else "time" if metric.endswith("_s") else "ratio"


def label_of(metric: str) -> str:
    """Return what a column is called in tables."""
    known = metrics().get(metric)
    return metric.removesuffix("_s").replace("_", " ") if known is None else known.label


def column_of(metric: Metric) -> tables.Column:
    """Return the column of a metric in a table."""
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
    """Return a row for each policy, with ``chosen`` metrics (None: the main ones)."""
    shown = columns(summaries.values(), chosen)
    rows = [
        [tables.Cell(label, mark=marks_of(result)), *(column.cells[at].shown for column in shown)]
        for at, (label, result) in enumerate(results.items())
    ]
    headings = [text_column("policy"), *(column_of(column.metric) for column in shown)]
    return table("", headings, rows)


def is_growing(growth: float | None, num_seeds: int) -> bool:
    """Whether jobs pile up, by the metric ``growth`` of a run or its median over the seeds."""
    return growth is not None and growth > _GROWING[5 if num_seeds >= 5 else 1]


def policy_name(label: str, result: RunLog) -> str:
    """The policy, marked where it sees the true services, and where it departs from its source."""
    return label + marks_of(result)


def marks_of(result: RunLog) -> str:
    """Return what stands after the name of its policy."""
    marks = CLAIRVOYANT * result.clairvoyant + APPROXIMATE * is_approximate(result)
    return f" {marks}" if marks else ""


def is_approximate(result: RunLog) -> bool:
    """Whether the policy departs by default from what was published."""
    return has_flag_of("policy", result.spec.policy, "approximate")
