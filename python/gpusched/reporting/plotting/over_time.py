"""The shape shared by the figures that show the cluster over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TypeVar

import numpy as np
import plotly.graph_objects as go

from gpusched.reporting.plotting import style
from gpusched.results.result import Result
from gpusched.schedules.series import Steps
from gpusched.studies.comparison import Comparison

_DAY_S = 86_400.0

AnySteps = TypeVar("AnySteps", bound=Steps)


def draw(
    figure: go.Figure,
    comparison: Comparison,
    steps_of: Callable[[Result], Steps],
    column: str,
    points: int,
    hover: str,
    *,
    least: float | None = None,
) -> None:
    """Add ``column`` of the steps of each result against the days since the first submission.

    A few long jobs may run on for months after the rest: the axis ends where 99 % of the jobs
    have finished under every policy, and the drain behind it is drawn with fewer points.

    Parameters
    ----------
    points
        The most points that a curve is drawn with.
    hover
        Format of the value under the pointer.
    least
        If given, the y axis is logarithmic and begins here; smaller values are drawn here.
    """
    results = comparison.results
    origin_s = float(comparison.trace.submit_s[0])
    end_s = max((_end_of_most(result) for result in results.values()), default=origin_s)
    for index, (label, result) in enumerate(results.items()):
        steps = thin(steps_of(result), end_s, points)
        days = (steps.time_s - origin_s) / _DAY_S
        values = getattr(steps, column)
        if least is not None:
            values = np.maximum(values, least)
        figure.add_trace(style.curve(index, label, result, days, values, hover=hover))
    if least is not None:
        figure.update_yaxes(type="log", dtick=1, tickformat=",.0f")
    if end_s > origin_s:
        figure.update_xaxes(range=[0, 1.02 * (end_s - origin_s) / _DAY_S])
    style.fit_height(figure)


def series(result: Result) -> Steps:
    """The GPUs and jobs of a result over time."""
    return result.series


def _end_of_most(result: Result) -> float:
    finish_s = result.jobs.finish_s[np.isfinite(result.jobs.finish_s)]
    return float(np.quantile(finish_s, 0.99)) if len(finish_s) else -np.inf


def thin(steps: AnySteps, end_s: float, points: int) -> AnySteps:
    """Thin to nine points in ten before ``end_s`` and one in ten behind it."""
    if len(steps) <= points:
        return steps
    cut = int(np.searchsorted(steps.time_s, end_s, side="right"))
    in_tail = points // 10
    parts = [steps.slice(0, cut), steps.slice(cut, None)]
    thinned = [
        part.resample(max(2, most))
        for part, most in zip(parts, (points - in_tail, in_tail), strict=True)
        if len(part)
    ]
    columns = [np.concatenate([getattr(p, f.name) for p in thinned]) for f in fields(steps)]
    return type(steps)(*columns)
