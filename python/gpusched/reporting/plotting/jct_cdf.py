"""How long jobs take: the distribution of the JCT under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.reporting.plotting import distribution, style
from gpusched.studies.comparison import Comparison


def jct_cdf(comparison: Comparison, points: int = 1_000) -> go.Figure:
    """Plot the share of finished jobs whose JCT is at most x, on a logarithmic time axis.

    Parameters
    ----------
    points
        The most points that a curve is drawn with.
    """
    figure = style.figure(
        title="Job completion time", x_title="JCT (log scale)", y_title="share of jobs"
    )
    ends = distribution.draw(figure, comparison, lambda r: r.jobs.jct_s, points, least=1e-6)
    style.use_log_time_axis(figure, *ends)
    return figure
