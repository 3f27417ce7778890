"""How crowded the network is: rings on the most loaded link over time under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.reporting.plotting import over_time, style
from gpusched.studies.comparison import Comparison


def contention(comparison: Comparison, points: int = 400) -> go.Figure:
    """Plot the number of rings (gangs on several servers) on the link that has most of them.

    Parameters
    ----------
    points
        The most points that a curve is drawn with, each the mean over the time to the next.
    """
    figure = style.figure(
        title="Contention over time",
        x_title="days since the first submission",
        y_title="rings on the most loaded link",
    )
    over_time.draw(
        figure,
        comparison,
        lambda result: result.contention.busiest,
        "rings",
        points,
        "%{y:,.1f} rings",
    )
    return figure
