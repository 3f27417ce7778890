"""How many jobs wait: the length of the queue over time under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.reporting.plotting import over_time, style
from gpusched.studies.comparison import Comparison


def queue(comparison: Comparison, points: int = 400) -> go.Figure:
    """Plot the number of waiting jobs over time, on a logarithmic axis that begins at one job.

    Queues differ by orders of magnitude between policies; a linear axis shows the longest alone.

    Parameters
    ----------
    points
        The most points that a curve is drawn with, each the mean over the time to the next.
    """
    figure = style.figure(
        title="Queue (an empty one is drawn at 1)",
        x_title="days since the first submission",
        y_title="waiting jobs (log scale)",
    )
    over_time.draw(
        figure, comparison, over_time.series, "queue_jobs", points, "%{y:,.0f} jobs", least=1.0
    )
    return figure
