"""The shape shared by the figures that show how a quantity is distributed over the jobs."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from gpusched.arrays import Float64
from gpusched.plotting import style
from gpusched.study import Comparison


def draw(
    figure: go.Figure, comparison: Comparison, column: str, points: int, least_s: float
) -> None:
    """Add the share of jobs whose ``column`` is at most x, one curve per policy.

    Parameters
    ----------
    column
        A column of :class:`~gpusched.result.Result` ``.jobs``, in seconds; NaN is left out.
    points
        The most points that a curve is drawn with.
    least_s
        Left end of the logarithmic axis; smaller values are counted there.
    """
    left, right = np.inf, least_s
    for index, (label, result) in enumerate(comparison.results.items()):
        values = result.jobs[column]
        values = values[np.isfinite(values)]
        if len(values):
            x, y = thin_distribution(np.maximum(values, least_s), points)
            # The axis begins where one job in a thousand does; outliers are a zoom away.
            left, right = min(left, x[np.searchsorted(y, 1e-3)]), max(right, x[-1])
            figure.add_trace(style.curve(index, label, result, x, y, hover="%{y:.1%}"))
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    style.use_log_time_axis(figure, min(left, right), right)
    style.fit_height(figure)


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
