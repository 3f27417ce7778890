"""How long jobs go without GPUs: the distribution of the wait under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.base.wording import duration
from gpusched.reporting.charts.chart import Axis, Curves
from gpusched.reporting.charts.distributions import HOVER, POINTS, RULE, curves_of
from gpusched.reporting.charts.highlights import highlighted
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def wait_cdf(
    source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly"
) -> Any:
    """Draw the share of finished jobs whose wait (all time without GPUs) is at most x.

    The axis is logarithmic and begins at one second, with the jobs that wait less or not at all.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError, ValueError
        As :func:`jct_cdf`.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> figure = gs.plot.wait_cdf(result)
    """
    return drawn(chart(comparison_of(source), points), library)


def chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Share of the finished jobs whose wait is at most x.

    A logarithmic axis has no place for jobs that never wait: the curves start at one second, with
    the jobs that wait less or not at all.
    """
    curves, left, right = curves_of(
        comparison, lambda r: r.jobs.wait_s[comparison.counted], points, 1.0, duration
    )
    return Curves(
        "wait_cdf",
        "Wait",
        "Share of the finished jobs that are without GPUs for at most a time, preemptions "
        f"included: higher is better; less than 1 s is counted at 1 s; {RULE}",
        Axis("wait (log scale)", "duration", (left, right)),
        Axis("share of jobs", "share"),
        curves,
        hover=HOVER,
        highlighted=highlighted(comparison),
    )
