"""A metric along an axis of a study: a line with a band for each policy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.reporting.charts.chart import Axis, Estimates, Lines, Panel
from gpusched.reporting.drawing.drawn import Library, drawn
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import (
    Cell,
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

    from gpusched.studies.intervals import Method
    from gpusched.studies.sweep_result import SweepResult

_MOST_PANELS: Final = 12


def lines(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    x: str | None = None,
    panels: str | None = None,
    show: Shown = "mean",
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    method: Method | None = None,
    log: bool = False,
    library: Library = "plotly",
) -> Any:
    """Draw a metric of each policy along an axis, with a band for its interval over the seeds.

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
        ``"mean"`` over the seeds, or its ``"difference"`` or ``"ratio"`` to the baseline, paired by
        seeds.
    where
        By axis the value, or the list of values, that is drawn. Runs must differ in nothing but
        the policy, the seed, ``x`` and ``panels``.
    baseline
        A policy; None takes the study's, or the first.
    level
        Share of the intervals that hold the truth.
    method
        How intervals are found, see :func:`gpusched.studies.interval`; None: as it does.
    log
        Whether the vertical axis is logarithmic.
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
    study = settled(source, shown, where, baseline, level=level, method=method)
    return drawn(chart(study, metric, axis, panels, show, log=log), library)


def chart(
    study: Settled, metric: str, x: str, panels: str | None, show: Shown, *, log: bool = False
) -> Lines:
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
    against = f" to {study.baseline}" if show != "mean" else ""
    what = {"mean": "", "ratio": ": ratio", "difference": ": difference"}[show] + against
    cut = ""
    if log:
        made, cut = _above_zero(made)
    return Lines(
        "lines",
        f"{of.label} by {x}{what}",
        f"Mean over the seeds of each policy. {study.note}{cut}",
        Axis(x),
        y=Axis(title.replace("the baseline", study.baseline), "log" if log else "linear"),
        panels=made,
        names=() if is_number else tuple("none" if v is None else str(v) for v in places),
    )


def _above_zero(panels: tuple[Panel, ...]) -> tuple[tuple[Panel, ...], str]:
    """End intervals that reach zero where a logarithmic axis can show them, and say so."""
    curves = [curve for panel in panels for curve in panel.curves]
    every = np.concatenate([end for c in curves for end in (c.y, c.low)] or [np.ones(1)])
    if (np.concatenate([c.y for c in curves] or [np.ones(1)]) <= 0).any():
        raise ValueError("log: a value is zero or less, which a logarithmic axis cannot show")
    if not (every <= 0).any():
        return panels, ""
    least = float(every[every > 0].min()) / 2
    cut = tuple(
        Panel(
            panel.title,
            tuple(replace(c, low=np.where(c.low <= 0, least, c.low)) for c in panel.curves),
        )
        for panel in panels
    )
    return cut, " Intervals that reach zero end at the lower edge."


def _curves(
    study: Settled, of: Measure, cells: list[Cell], panel: Any, panels: str | None, show: Shown,
    scale: float, places: list[Any], is_number: bool,
) -> list[Estimates]:  # fmt: skip
    curves = []
    for policy in study.policies:
        if show != "mean" and policy == study.baseline:
            continue
        own = {
            cell.setting[0]: span_of(cell, show)
            for cell in cells
            if cell.policy == policy and (panels is None or cell.setting[1] == panel)
        }
        there = [(place, value) for place, value in enumerate(places) if value in own]
        if not there:
            continue
        spans = [own[value] for _, value in there]
        ends = [f"{value}: {text_of(of, own[value].value, show)}" for _, value in there]
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
