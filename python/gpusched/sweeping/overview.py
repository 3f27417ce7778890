"""The table of a study as a person reads it: means over the seeds, in units that suit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpusched.results.metric_registry import Metric, metrics
from gpusched.results.shown_metrics import columns, main_metrics
from gpusched.sweeping.expansion import RUN_KEYS

if TYPE_CHECKING:
    import polars as pl

    from gpusched.sweeping.sweep_result import SweepResult

_MOST_METRICS: Final = 6


@dataclass(frozen=True)
class Overview:
    """Headings and texts of a table, and the axes that have one value."""

    headings: list[str]
    rows: list[list[str]]
    common: dict[str, str]
    num_axes: int


def shown_metrics(result: SweepResult, wanted: Sequence[str] = ()) -> list[Metric]:
    """Return the metrics asked for, else those of the study, else the main ones."""
    known = metrics()
    keys = list(wanted) or list(result.study.metrics)
    if keys:
        return [known[key] for key in keys]
    return [m for m in main_metrics() if m.key in result.runs.columns][:_MOST_METRICS]


def overview(result: SweepResult, wanted: Sequence[str] = ()) -> Overview:
    """Lay out the mean over the seeds of each metric, for all else that differs."""
    import polars as pl

    done = result.finished
    extra = [axis.title for axis in result.study.parameters]
    axes = [key for key in (*RUN_KEYS, *extra) if key != "seed"]
    differing = [key for key in axes if result.runs[key].n_unique() > 1]
    order = [key for key in differing if key != "policy"] + ["policy"]
    if not len(done):
        return Overview(order, [], {}, len(order))
    chosen = [metric for metric in shown_metrics(result, wanted) if metric.key in done.columns]
    means = done.group_by(order, maintain_order=True).agg(
        pl.len().alias("seeds"),
        *(pl.col(metric.key).cast(pl.Float64, strict=False).fill_nan(None).mean()
          for metric in chosen),
    )  # fmt: skip
    laid_out = columns(means.iter_rows(named=True), chosen)
    cells = [[cell.text for cell in column.cells] for column in laid_out]
    rows = [
        [*map(_text, keys), *(column[at] for column in cells)]
        for at, keys in enumerate(means.select(*order, "seeds").iter_rows())
    ]
    common = {key: _text(done[key][0]) for key in axes if key not in order}
    return Overview([*order, "seeds", *(c.heading for c in laid_out)], rows, common, len(order) + 1)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def frame_of_axes(result: SweepResult) -> pl.DataFrame:
    """Return the axes of all runs, in the order of the study."""
    return result.runs.select(*RUN_KEYS)
