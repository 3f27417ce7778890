"""The shape shared by the figures that show how a quantity is distributed over the jobs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from gpusched.base.arrays import Float64
from gpusched.reporting.plotting import style
from gpusched.results.result import Result
from gpusched.studies.comparison import Comparison


def draw(
    figure: go.Figure,
    comparison: Comparison,
    values_of: Callable[[Result], Float64],
    points: int,
    least: float,
) -> tuple[float, float]:
    """Add the share of values that are at most x, one curve per policy.

    Parameters
    ----------
    values_of
        One value for each of some jobs of a result; NaN is left out.
    points
        The most points that a curve is drawn with.
    least
        The least value that the axis can show; smaller ones are counted there.

    Returns
    -------
    tuple
        The ends of the axis. It begins where one job in a thousand does; outliers are a zoom away.
    """
    left, right = np.inf, least
    for index, (label, result) in enumerate(comparison.results.items()):
        values = values_of(result)
        values = values[np.isfinite(values)]
        if len(values):
            x, y = thin_distribution(np.maximum(values, least), points)
            left, right = min(left, x[np.searchsorted(y, 1e-3)]), max(right, x[-1])
            figure.add_trace(style.curve(index, label, result, x, y, hover="%{y:.1%}"))
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    style.fit_height(figure)
    return min(left, right), right


def thin_distribution(values: Float64, points: int) -> tuple[Float64, Float64]:
    """Thin the empirical distribution of ``values`` (at least one) to ``points`` of its steps.

    Returns
    -------
    tuple
        Distinct sorted values, and the share of all values that are at most as large. The least
        and the largest value are always among them.
    """
    ordered = np.sort(values)
    ranks = np.linspace(1, len(ordered), min(points, len(ordered))).astype(np.int64)
    x = np.unique(ordered[ranks - 1])
    return x, np.searchsorted(ordered, x, side="right") / len(ordered)
