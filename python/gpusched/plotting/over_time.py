"""The shape shared by the figures that show the cluster over time."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import plotly.graph_objects as go

from gpusched.plotting import style
from gpusched.result import Result
from gpusched.series import Series
from gpusched.study import Comparison

_DAY_S = 86_400.0


def draw(
    figure: go.Figure,
    comparison: Comparison,
    column: str,
    points: int,
    unit: str,
    *,
    least: float | None = None,
) -> None:
    """Add ``column`` of the series against the days since the first submission.

    A few long jobs may run on for months after the rest: the axis ends where 99 % of the jobs
    have finished under every policy, and the drain behind it is drawn with fewer points.

    Parameters
    ----------
    points
        The most points that a curve is drawn with.
    unit
        Of the column, for the text under the pointer.
    least
        If given, the y axis is logarithmic and begins here; smaller values are drawn here.
    """
    results = comparison.results
    origin_s = float(comparison.trace.submit_s[0])
    end_s = max((_end_of_most(result) for result in results.values()), default=origin_s)
    for index, (label, result) in enumerate(results.items()):
        series = thin(result.series, end_s, points)
        days = (series.time_s - origin_s) / _DAY_S
        values = getattr(series, column)
        if least is not None:
            values = np.maximum(values, least)
        hover = "%{y:,.0f} " + unit
        figure.add_trace(style.curve(index, label, result, days, values, hover=hover))
    if least is not None:
        figure.update_yaxes(type="log", dtick=1, tickformat=",.0f")
    if end_s > origin_s:
        figure.update_xaxes(range=[0, 1.02 * (end_s - origin_s) / _DAY_S])
    style.fit_height(figure)


def _end_of_most(result: Result) -> float:
    finish_s = result.jobs.finish_s[np.isfinite(result.jobs.finish_s)]
    return float(np.quantile(finish_s, 0.99)) if len(finish_s) else -np.inf


def thin(series: Series, end_s: float, points: int) -> Series:
    """Thin to nine points in ten before ``end_s`` and one in ten behind it."""
    if len(series) <= points:
        return series
    cut = int(np.searchsorted(series.time_s, end_s, side="right"))
    in_tail = points // 10
    parts = [_slice(series, 0, cut), _slice(series, cut, None)]
    thinned = [
        part.resample(max(2, most))
        for part, most in zip(parts, (points - in_tail, in_tail), strict=True)
        if len(part)
    ]
    return Series(
        *(np.concatenate([getattr(part, f.name) for part in thinned]) for f in fields(Series))
    )


def _slice(series: Series, begin: int, end: int | None) -> Series:
    return Series(*(getattr(series, f.name)[begin:end] for f in fields(Series)))
