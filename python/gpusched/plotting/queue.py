"""How many jobs wait: the length of the queue over time under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.plotting import over_time, style
from gpusched.study import Comparison


def queue(comparison: Comparison, points: int = 400) -> go.Figure:
    """Plot the number of waiting jobs over time.

    Parameters
    ----------
    points
        The most points that a curve is drawn with, each the mean over the time to the next.
    """
    figure = style.figure(
        title="Queue", x_title="days since the first submission", y_title="waiting jobs"
    )
    over_time.draw(figure, comparison, "queue_jobs", points, "jobs")
    return figure
