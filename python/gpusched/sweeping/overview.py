"""The table of a study as a person reads it: means over the seeds, in units that suit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpusched.results.metric_registry import Metric, metrics
from gpusched.results.shown_metrics import columns, main_metrics
from gpusched.sweeping.expansion import RUN_KEYS

if TYPE_CHECKING:
    import polars as pl

    from gpusched.sweeping.study import Study

_MOST_METRICS: Final = 6


@dataclass(frozen=True)
class Overview:
    """Headings and texts of a table, and the axes that have one value."""

    headings: list[str]
    rows: list[list[str]]
    common: dict[str, str]
    num_axes: int


def differing_axes(study: Study, runs: pl.DataFrame) -> list[str]:
    """Return the axes with more than one value, in the order of the columns, but for the seeds."""
    extra = [axis.title for axis in study.parameters]
    left_out = {"seed"}
    if all(len(entry.numbers_of_jobs) == 1 for entry in study.traces):
        left_out.add("jobs")  # it follows from the others, or from what a seed draws
    axes = [key for key in (*RUN_KEYS, *extra) if key not in left_out]
    return [key for key in axes if runs[key].n_unique() > 1]


def shown_metrics(study: Study, runs: pl.DataFrame) -> list[Metric]:
    """Return the metrics of the study, else the main ones."""
    known = metrics()
    if study.metrics:
        return [known[key] for key in study.metrics]
    return [m for m in main_metrics() if m.key in runs.columns][:_MOST_METRICS]


def overview(study: Study, runs: pl.DataFrame) -> Overview:
    """Lay out the mean over the seeds of each metric, for all else that differs."""
    import polars as pl

    done = runs.filter(pl.col("wall_s").is_not_null())
    order = [key for key in differing_axes(study, runs) if key != "policy"] + ["policy"]
    if not len(done):
        return Overview(order, [], {}, len(order))
    chosen = [metric for metric in shown_metrics(study, runs) if metric.key in done.columns]
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
    others = (key for key in RUN_KEYS if key not in (*order, "seed"))
    common = {key: _text(done[key][0]) for key in others}
    return Overview([*order, "seeds", *(c.heading for c in laid_out)], rows, common, len(order) + 1)


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
