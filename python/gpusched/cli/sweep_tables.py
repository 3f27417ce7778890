"""What ``gpusched sweep`` shows: tables, how far a study is, what it takes."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import decimals_of, duration, plural, scale_of, text_of
from gpusched.cli.console import new_table, remark, show_json, show_lines, show_table
from gpusched.results.metric_registry import metrics
from gpusched.sweeping.overview import overview

if TYPE_CHECKING:
    from gpusched.statistics.compared_runs import ComparedRuns
    from gpusched.sweeping.pilot import SweepEstimate
    from gpusched.sweeping.status import SweepStatus
    from gpusched.sweeping.study import Study
    from gpusched.sweeping.sweep_result import SweepResult

_BEST: Final = "bold green"


def show_result(result: SweepResult, wanted: Sequence[str]) -> None:
    """Print the metrics that are wanted, or those of the study."""
    show_lines([result.study.title or result.study.name], style="bold")
    if not result.num_done - result.num_failed:
        return
    chosen = list(wanted) or list(result.study.metrics)
    if not chosen:
        show_overview(result)
    for metric in chosen:
        show_comparison(result.compare(metric))


def plain_result(result: SweepResult) -> dict[str, Any]:
    """Return all runs as ``--json`` shows them."""
    return {
        "study": result.study.name,
        "folder": result.folder,
        "num_runs": len(result.runs),
        "num_failed": result.num_failed,
        "warnings": result.warnings,
        "runs": [
            {key: _finite(value) for key, value in row.items()}
            for row in result.runs.iter_rows(named=True)
        ],
    }


def show_status(told: SweepStatus, json: bool) -> None:
    """Print how far a study is."""
    if json:
        fields = ("name", "folder", "num_runs", "num_done", "num_failed", "num_left", "spent_s",
                  "left_s", "is_same_code", "damaged")  # fmt: skip
        show_json({key: getattr(told, key) for key in fields})
        return
    show_lines([str(told)])
    remark(told.damaged, style="yellow")


def show_estimate(study: Study, told: SweepEstimate, folder: Path, json: bool) -> None:
    """Print what a study takes."""
    if json:
        fields = ("num_runs", "num_kept", "num_jobs", "num_slots", "runs_s", "wall_s",
                  "memory_bytes", "pilots", "errors")  # fmt: skip
        show_json({key: getattr(told, key) for key in fields})
        return
    show_lines([study.title or study.name], style="bold")
    show_lines([str(told)])
    table = new_table()
    table.add_column("policy")
    table.add_column("1,000 jobs", justify="right")
    for policy, seconds in told.pilots.items():
        table.add_row(policy, duration(seconds))
    show_table(table)
    remark(told.errors, style="yellow")
    remark([f"finished runs would be kept in {os.fspath(folder)}"])


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
        cells = [_text(row[key]) for key in keys]
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


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
