"""A metric, or what it is to the baseline, by policy and an axis of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.reporting.charts.chart import Axis, HeatMap
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import measure
from gpusched.reporting.sweeps.settled import Settled, Shown, settled, span_of, text_of, unit_of
from gpusched.reporting.sweeps.study_runs import Where, along, chosen_runs, runs_of, values_of

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult


def heat_map(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    x: str | None = None,
    show: Shown = "typical",
    where: Where | None = None,
    baseline: str | None = None,
    library: Library = "plotly",
) -> Any:
    """Draw a metric, or its change against the baseline, as a field per policy and value.

    Parameters: as :func:`lines`.

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
    ...     "policy": ["fifo", "sjf"] * 4, "load": [0.7] * 4 + [0.9] * 4,
    ...     "seed": [1, 1, 2, 2] * 2, "mean_jct_s": [60.0, 50, 70, 55, 90, 65, 99, 70],
    ... })
    >>> figure = gs.plot.heat_map(runs, show="change", baseline="fifo")
    """
    axis = along(chosen_runs(runs_of(source), where), x)
    study = settled(source, [axis], where, baseline)
    return drawn(chart(study, metric, axis, show), library)


def chart(study: Settled, metric: str, x: str, show: Shown) -> HeatMap:
    """Return the fields: a row for each policy, a column for each value."""
    of = measure(metric)
    cells = study.cells(metric, [x])
    scale, title = unit_of(of, cells, show)
    columns = values_of(study.runs, x)
    rows = [name for name in study.policies if show == "typical" or name != study.baseline]
    values = np.full((len(rows), len(columns)), np.nan)
    for cell in cells.cells:
        if cell.policy in rows:
            place = rows.index(cell.policy), columns.index(cell.setting[0])
            values[place] = span_of(cell, show).value / scale
    is_change = show == "change"
    against = f": {cells.scale} to {study.baseline}" if is_change else ""
    return HeatMap(
        "heat_map",
        f"{of.label} by policy and {x}{against}",
        f"Typical runs. {study.note}",
        Axis(x),
        rows=tuple(study.names[name] for name in rows),
        columns=tuple("none" if v is None else str(v) for v in columns),
        values=values,
        texts=tuple(
            tuple(text_of(of, v * scale, show, cells.scale) for v in row) for row in values.tolist()
        ),
        middle=(1.0 if cells.scale == "ratio" else 0.0) if is_change else None,
        scale_title=title.replace("the baseline", study.baseline),
    )
