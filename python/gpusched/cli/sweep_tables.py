"""The tables of a study in a terminal: means, and comparisons with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import decimals_of, plural, scale_of, text_of
from gpusched.cli.console import new_table, show_lines, show_table
from gpusched.results.metric_registry import metrics
from gpusched.sweeping.overview import overview

if TYPE_CHECKING:
    from gpusched.statistics.compared_runs import ComparedRuns
    from gpusched.sweeping.sweep_result import SweepResult

_BEST: Final = "bold green"


def show_overview(result: SweepResult) -> None:
    """Print the means of the main metrics, a row for all that differs."""
    shown = overview(result.study, result.runs)
    if shown.common:
        show_lines([", ".join(f"{key} {value}" for key, value in shown.common.items())])
    table = new_table()
    for at, heading in enumerate(shown.headings):
        is_text = at < shown.num_axes - 1
        table.add_column(heading.replace(", ", "\n"), justify="left" if is_text else "right")
    for row in shown.rows:
        table.add_row(*row)
    show_table(table)
    show_lines([f"means over the seeds of {plural(result.num_done, 'run')}"], style="dim")


def show_comparison(compared: ComparedRuns) -> None:
    """Print a metric: means with intervals, and the change against the baseline."""
    metric = metrics()[compared.metric]
    frame = compared.frame
    means = [value for value in frame["mean"].to_list() if value is not None]
    scale, unit = scale_of(metric.kind, means)
    decimals = decimals_of(metric.kind, [value / scale for value in means])

    def text(value: float | None) -> str:
        return "-" if value is None else text_of(value / scale, decimals, metric.kind)

    show_lines(["", f"{metric.label}, {unit}" if unit else metric.label], style="bold")
    table = new_table()
    keys = [*compared.by, compared.axis]
    for key in keys:
        table.add_column(key)
    for heading in ("seeds", "mean", f"{100 * compared.level:g} %", *_changes(compared)):
        table.add_column(heading, justify="right")
    for row in frame.iter_rows(named=True):
        cells = [_plain(row[key]) for key in keys]
        cells += [f"{row['num_seeds']:,}", text(row["mean"]), _range(text, row, "")]
        if compared.baseline is not None:
            is_base = row[compared.axis] == compared.baseline
            cells += ["", "", ""] if is_base else [
                _change(row["ratio"]), _range(_change, row, "ratio_"), _p(row["p_adjusted"]),
            ]  # fmt: skip
        table.add_row(*cells, style=_BEST if row["is_best"] else "")
    show_table(table)
    against = f", changes against {compared.baseline}" if compared.baseline is not None else ""
    show_lines([f"intervals over the seeds ({compared.method}){against}"], style="dim")


def _changes(compared: ComparedRuns) -> Sequence[str]:
    if compared.baseline is None:
        return ()
    return ("change", f"{100 * compared.level:g} %", "p")


def _range(text: Any, row: dict[str, Any], prefix: str) -> str:
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    return "-" if low is None or high is None else f"{text(low)} .. {text(high)}"


def _change(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{100 * (ratio - 1):+.1f} %" if math.isfinite(ratio) else "no limit"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if value >= 0.001 else "<0.001"


def _plain(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
