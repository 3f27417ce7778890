"""How much longer jobs run because links are shared: the distribution under each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from gpusched.base.arrays import Float64
from gpusched.reporting.plotting import distribution, style
from gpusched.results.result import Result
from gpusched.studies.comparison import Comparison


def slowdown_cdf(comparison: Comparison, points: int = 1_000) -> go.Figure:
    """Plot the share of the jobs on several servers whose slowdown from contention is at most x.

    The slowdown is the run time over what it would have been on the same GPUs if no link were
    shared; the curves begin at 1 with the jobs that nobody slowed down. Jobs that ran on one
    server at a time use no link, and are left out.

    Parameters
    ----------
    points
        The most points that a curve is drawn with.
    """
    figure = style.figure(
        title="Slowdown from contention",
        x_title="run time / run time without contention",
        y_title="share of jobs on several servers",
    )
    _, right = distribution.draw(figure, comparison, _slowdown, points, least=1.0)
    margin = max(0.02 * (right - 1.0), 0.005)
    figure.update_xaxes(range=[1.0 - margin, right + margin])
    return figure


def _slowdown(result: Result) -> Float64:
    return result.jobs.slowdown_contention[result.contention.jobs]
