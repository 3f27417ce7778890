"""Paired differences to the baseline with their intervals, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.reporting.charts.chart import Axis, Estimates, Forest
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import Cell, Settled, settled, span_of, text_of, unit_of
from gpusched.reporting.sweeps.study_runs import (
    Where,
    axes_of,
    chosen_runs,
    name_of,
    runs_of,
    varying,
)

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.intervals import Method
    from gpusched.studies.sweep_result import SweepResult

_MOST_ROWS: Final = 60


def forest_plot(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    by: Sequence[str] | None = None,
    show: Literal["difference", "ratio"] = "difference",
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    method: Method | None = None,
    library: Library = "plotly",
) -> Any:
    """Draw the paired difference, or ratio, of each policy to the baseline with its interval.

    An interval that does not cross the dashed line is a difference that the seeds do not explain.

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
    study = settled(source, axes, where, baseline, level=level, method=method)
    return drawn(chart(study, metric, axes, show), library)


def chart(
    study: Settled, metric: str, by: Sequence[str], show: Literal["difference", "ratio"]
) -> Forest:
    """Return a row for each setting and policy but the baseline."""
    if show not in ("difference", "ratio"):
        raise ValueError(f"show: must be 'difference' or 'ratio', not {show!r}")
    of = measure(metric)
    cells = [cell for cell in study.cells(metric, by) if cell.policy != study.baseline]
    if not cells:
        raise ValueError(f"there is no policy beside the baseline {study.baseline!r}")
    if len(cells) > _MOST_ROWS:
        raise ValueError(
            f"{len(cells)} rows are more than {_MOST_ROWS}: choose some settings with where={{...}}"
        )
    scale, title = unit_of(of, cells, show)
    names = [_name(study, by, cell) for cell in cells]
    curves = [
        Estimates(
            study.places[cell.policy],
            study.names[cell.policy],
            np.array([span_of(cell, show).value / scale]),
            np.array([float(row)]),
            np.array([span_of(cell, show).low / scale]),
            np.array([span_of(cell, show).high / scale]),
            _finding(of, cell, show, names[row]),
        )
        for row, cell in enumerate(cells)
    ]
    better = {"lower": " Left is better.", "higher": " Right is better."}.get(of.better, "")
    return Forest(
        "forest_plot",
        f"{of.label}: {show} to {study.baseline}",
        f"Paired over the seeds; {study.note}{better}",
        Axis(title.replace("the baseline", study.baseline)),
        rows=tuple(names),
        curves=tuple(curves),
        reference=1.0 if show == "ratio" else 0.0,
    )


def _name(study: Settled, by: Sequence[str], cell: Cell) -> str:
    setting = [name_of(axis, value) for axis, value in zip(by, cell.setting, strict=True)]
    return ", ".join([study.names[cell.policy], *setting])


def _finding(of: Measure, cell: Cell, show: Literal["difference", "ratio"], name: str) -> str:
    span = span_of(cell, show)
    value, low, high = (text_of(of, end, show) for end in (span.value, span.low, span.high))
    return f"{name}: {value}, from {low} to {high}"
