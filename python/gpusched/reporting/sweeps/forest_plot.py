"""What each policy is to the baseline, with intervals, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.reporting.charts.chart import Axis, Estimates, Forest
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import Cell, Settled, settled, text_of, unit_of
from gpusched.reporting.sweeps.study_runs import (
    Where,
    axes_of,
    chosen_runs,
    name_of,
    runs_of,
    varying,
)
from gpusched.studies.verdicts import Scale

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult

_MOST_ROWS: Final = 60


def forest_plot(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    library: Library = "plotly",
) -> Any:
    """Draw the ratio of each policy to the baseline with its interval, on a logarithmic axis.

    Of shares, and of metrics that may be zero, it is the difference. An interval that does not
    cross the dashed line is a change that the seeds do not explain.

    Parameters
    ----------
    by
        Axes of which each combination has rows of its own; None takes those in which runs differ.
        At most 60 rows. The other parameters: as :func:`lines`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError, TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 3, "seed": [1, 1, 2, 2, 3, 3],
    ...     "mean_jct_s": [60.0, 50, 70, 55, 90, 65],
    ... })
    >>> figure = gs.plot.forest_plot(runs, baseline="fifo")
    """
    runs = chosen_runs(runs_of(source), where)
    axes = varying(runs) if by is None else list(by)
    for axis in axes:
        if axis not in axes_of(runs):
            raise ValueError(f"by: no axis {axis!r}; there are {axes_of(runs)}")
    study = settled(source, axes, where, baseline, level=level)
    return drawn(chart(study, metric, axes), library)


def chart(study: Settled, metric: str, by: Sequence[str]) -> Forest:
    """Return a row for each setting and policy but the baseline."""
    of = measure(metric)
    every = study.cells(metric, by)
    cells = [cell for cell in every.cells if cell.policy != study.baseline]
    if not cells:
        raise ValueError(f"there is no policy beside the baseline {study.baseline!r}")
    if len(cells) > _MOST_ROWS:
        raise ValueError(
            f"{len(cells)} rows are more than {_MOST_ROWS}: choose some settings with where={{...}}"
        )
    scale, title = unit_of(of, replace(every, cells=cells), "change")
    is_ratio = every.scale == "ratio"
    names = [_name(study, by, cell) for cell in cells]
    curves = [
        Estimates(
            study.places[cell.policy],
            study.names[cell.policy],
            np.array([cell.change.value / scale]),
            np.array([float(row)]),
            np.array([cell.change.low / scale]),
            np.array([cell.change.high / scale]),
            _finding(of, cell, every.scale, names[row]),
        )
        for row, cell in enumerate(cells)
    ]
    better = {"lower": " Left is better.", "higher": " Right is better."}.get(of.better, "")
    return Forest(
        "forest_plot",
        f"{of.label}: {every.scale} to {study.baseline}",
        f"Paired over the seeds; {study.note}{better}",
        Axis(title.replace("the baseline", study.baseline), "log" if is_ratio else "linear"),
        rows=tuple(names),
        curves=tuple(curves),
        reference=1.0 if is_ratio else 0.0,
    )


def _name(study: Settled, by: Sequence[str], cell: Cell) -> str:
    setting = [name_of(axis, value) for axis, value in zip(by, cell.setting, strict=True)]
    return ", ".join([study.names[cell.policy], *setting])


def _finding(of: Measure, cell: Cell, scale: Scale, name: str) -> str:
    span = cell.change
    ends = (text_of(of, end, "change", scale) for end in (span.value, span.low, span.high))
    value, low, high = ends
    return f"{name}: {value}, from {low} to {high}"
