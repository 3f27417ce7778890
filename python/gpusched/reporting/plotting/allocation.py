"""How full the cluster is: allocated GPUs over time under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.reporting.plotting import over_time, style
from gpusched.studies.comparison import Comparison


def allocation(comparison: Comparison, points: int = 400) -> go.Figure:
    """Plot the number of allocated GPUs over time.

    Parameters
    ----------
    points
        The most points that a curve is drawn with, each the mean over the time to the next.
    """
    figure = style.figure(
        title="Allocation", x_title="days since the first submission", y_title="allocated GPUs"
    )
    over_time.draw(figure, comparison, over_time.series, "allocated_gpus", points, "%{y:,.0f} GPUs")
    num_gpus = comparison.cluster.num_gpus
    figure.add_hline(
        y=num_gpus,
        line={"color": "#6b7580", "width": 1, "dash": "dot"},
        annotation={"text": f"all {num_gpus:,} GPUs", "xanchor": "right", "yanchor": "bottom"},
    )
    return figure
