"""A metric along an axis of a study: a line with a band for each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.reporting.charts.chart import Axis, Estimates, Lines, Panel
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import (
    Cells,
    Settled,
    Shown,
    settled,
    span_of,
    text_of,
    unit_of,
)
from gpusched.reporting.sweeps.study_runs import Where, along, chosen_runs, runs_of, values_of

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult

_MOST_PANELS: Final = 12


def lines(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    x: str | None = None,
    panels: str | None = None,
    show: Shown = "typical",
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    library: Library = "plotly",
) -> Any:
    """Draw a metric of each policy along an axis, with a band for its interval over the seeds.

    The vertical axis is logarithmic, but for shares and metrics that may be zero.

    Parameters
    ----------
    source
        A study, or its runs: a Polars frame with a row for each run.
    metric
        A column of numbers of the runs.
    x
        The axis along which lines go, such as ``"load"``. None takes the load if runs differ in
        it, otherwise the first axis in which they do. Names instead of numbers (traces, clusters)
        have points with bars and no lines.
    panels
        An axis of which each value has a panel of its own; at most 12.
    show
        A ``"typical"`` run, or the ``"change"`` to the baseline on the same jobs: the ratio, of
        shares and of metrics that may be zero the difference.
    where
        By axis the value, or the list of values, that is drawn. Runs must differ in nothing but
        the policy, the seed, ``x`` and ``panels``.
    baseline
        A policy; None takes the study's, or the first.
    level
        Share of the intervals that hold the truth.
    library
        ``"plotly"`` for notebooks and HTML, ``"matplotlib"`` for files (extra: plot).

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without the library; the message says what to install.
    TypeError
        If the source is neither.
    ValueError
        If a name is not known, no run is left, or runs differ in an axis that is not drawn.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 4, "load": [0.7] * 4 + [0.9] * 4,
    ...     "seed": [1, 1, 2, 2] * 2, "mean_jct_s": [60.0, 50, 70, 55, 90, 65, 99, 70],
    ... })
    >>> figure = gs.plot.lines(runs, "mean_jct_s", x="load")
    """
    axis = along(chosen_runs(runs_of(source), where), x)
    shown = [axis] if panels is None else [axis, panels]
    study = settled(source, shown, where, baseline, level=level)
    return drawn(chart(study, metric, axis, panels, show), library)


def chart(study: Settled, metric: str, x: str, panels: str | None, show: Shown) -> Lines:
    """Return the lines of all policies, in a panel for each value of an axis."""
    if panels is not None:
        along(study.runs, panels)
    of = measure(metric)
    cells = study.cells(metric, [x] if panels is None else [x, panels])
    scale, title = unit_of(of, cells, show)
    titles = [None] if panels is None else values_of(study.runs, panels)
    if len(titles) > _MOST_PANELS:
        raise ValueError(
            f"panels: {len(titles)} values of {panels!r} are more than {_MOST_PANELS}; "
            f"choose some with where={{{panels!r}: [...]}}"
        )
    places = values_of(study.runs, x)
    is_number = study.runs[x].dtype.is_numeric() and None not in places
    made = tuple(
        Panel(
            "" if panels is None else f"{panels} {value}",
            tuple(_curves(study, of, cells, value, panels, show, scale, places, is_number)),
        )
        for value in titles
    )
    what = f": {cells.scale} to {study.baseline}" if show == "change" else ""
    return Lines(
        "lines",
        f"{of.label} by {x}{what}",
        f"A typical run of each policy. {study.note}",
        Axis(x),
        y=Axis(
            title.replace("the baseline", study.baseline),
            "ratio" if cells.scale == "ratio" else "linear",
        ),
        panels=made,
        names=() if is_number else tuple("none" if v is None else str(v) for v in places),
    )


def _curves(
    study: Settled, of: Measure, cells: Cells, panel: Any, panels: str | None, show: Shown,
    scale: float, places: list[Any], is_number: bool,
) -> list[Estimates]:  # fmt: skip
    curves = []
    for policy in study.policies:
        if show != "typical" and policy == study.baseline:
            continue
        own = {
            cell.setting[0]: span_of(cell, show)
            for cell in cells.cells
            if cell.policy == policy and (panels is None or cell.setting[1] == panel)
        }
        there = [(place, value) for place, value in enumerate(places) if value in own]
        if not there:
            continue
        spans = [own[value] for _, value in there]
        ends = [
            f"{value}: {text_of(of, own[value].value, show, cells.scale)}" for _, value in there
        ]
        name = study.names[policy]
        where = "" if panels is None else f" at {panels} {panel}"
        curves.append(
            Estimates(
                study.places[policy],
                name,
                np.array([value if is_number else place for place, value in there], np.float64),
                np.array([span.value for span in spans]) / scale,
                np.array([span.low for span in spans]) / scale,
                np.array([span.high for span in spans]) / scale,
                f"{name}{where}: {', '.join(ends[:1] + ends[1:][-1:])}",
            )
        )
    return curves
