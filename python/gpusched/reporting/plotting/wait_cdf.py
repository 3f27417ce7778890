"""How long jobs go without GPUs: the distribution of the wait under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.reporting.plotting import distribution, style
from gpusched.studies.comparison import Comparison


def wait_cdf(comparison: Comparison, points: int = 1_000) -> go.Figure:
    """Plot the share of finished jobs whose wait is at most x, on a logarithmic time axis.

    A logarithmic axis has no place for jobs that never wait: the curves start at one second,
    with the jobs that wait less or not at all.

    Parameters
    ----------
    points
        The most points that a curve is drawn with.
    """
    figure = style.figure(
        title="Wait: all time without GPUs",
        x_title="wait (log scale; less than 1 s is counted at 1 s)",
        y_title="share of jobs",
    )
    ends = distribution.draw(figure, comparison, lambda r: r.jobs.wait_s, points, least=1.0)
    style.use_log_time_axis(figure, *ends)
    return figure
