"""The table of a comparison, for a terminal of any width or for none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from gpusched.cli.console import new_table, table_width
from gpusched.reporting.notes import policy_name
from gpusched.results.metric_registry import Summary
from gpusched.results.result import Result
from gpusched.results.shown_metrics import MARK, Cell, Column, all_metrics, columns
from gpusched.studies.comparison_result import Comparison


def comparison_table(
    comparison: Comparison, width: int, *, wide: bool = False
) -> tuple[Table, tuple[str, ...]]:
    """Lay the comparison out in at most ``width`` columns, or in full if ``wide``.

    Few policies stand side by side with every metric below; many become rows with as many of
    the metrics as fit.

    Returns
    -------
    tuple
        The table, and the labels of metrics that it had no room for.
    """
    labels = [policy_name(label, result) for label, result in comparison.results.items()]
    summaries = list(comparison.summaries.values())
    if wide:
        return _policies_as_rows(labels, columns(summaries, all_metrics())), ()
    every = columns(summaries)
    table = _policies_as_columns(labels, every)
    hidden: tuple[str, ...] = ()
    yielding = _least_telling_first(every)
    for most_hidden in range(len(yielding) + 1):
        if table_width(table) <= width:
            break
        hidden = yielding[:most_hidden]
        shown = [column for column in every if column.metric.key not in hidden]
        table = _policies_as_rows(labels, shown)
    return table, tuple(column.metric.label for column in every if column.metric.key in hidden)


def _least_telling_first(shown: Sequence[Column]) -> tuple[str, ...]:
    """Keys of the metrics that a narrow table may leave out, in that order."""
    metrics = [column.metric for column in shown]
    order = {m.key: m.gives_way for m in metrics if m.gives_way is not None}
    return tuple(sorted(order, key=lambda key: order[key]))


def _policies_as_columns(labels: Sequence[str], shown: Sequence[Column]) -> Table:
    table = new_table()
    table.add_column("")
    headings = [_parts(label, 12) for label in labels]
    height = max(map(len, headings))
    for heading in headings:
        table.add_column(_bottom_aligned(heading, height), justify="right")
    group = shown[0].metric.group
    for column in shown:
        if column.metric.group != group:
            group = column.metric.group
            table.add_row()
        table.add_row(column.heading, *map(_cell, column.cells))
    return table


def _policies_as_rows(labels: Sequence[str], shown: Sequence[Column]) -> Table:
    table = new_table()
    headings = [[*column.metric.short.split("|"), column.unit] for column in shown]
    height = max(map(len, headings))
    table.add_column(_bottom_aligned(["policy"], height))
    for heading in headings:
        table.add_column(_bottom_aligned(heading, height), justify="right")
    for index, label in enumerate(labels):
        cells = (_cell(column.cells[index]) for column in shown)
        table.add_row(Text("\n".join(_parts(label, 16))), *cells)
    return table


def _bottom_aligned(lines: Sequence[str], height: int) -> Text:
    return Text("\n".join([""] * (height - len(lines)) + [*lines]))


def _parts(label: str, width: int) -> list[str]:
    """Break a long policy text between its parameters; none of them is ever broken."""
    lines = [""]
    for part in re.findall(r"[^:,]+[:,]?", label):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines


def _cell(cell: Cell) -> Text:
    # The blank keeps the digits of unmarked figures under those of the marked one.
    return Text(cell.text + (MARK if cell.best else " "), style="bold green" if cell.best else "")


def result_table(label: str, result: Result, summary: Summary) -> Table:
    """Lay out one result, a metric per line with its own unit."""
    table = new_table()
    table.add_column("policy")
    table.add_column(policy_name(label, result), justify="right")
    metrics = all_metrics()
    group = metrics[0].group
    for column in columns([summary], metrics):
        if column.metric.group != group:
            group = column.metric.group
            table.add_row()
        table.add_row(column.metric.label, f"{column.cells[0].text} {column.unit}".rstrip())
    table.add_row()
    for status in ("finished", "rejected", "unfinished"):
        if count := summary[f"num_{status}"]:
            table.add_row(f"{status} jobs", f"{count:,}")
    return table
