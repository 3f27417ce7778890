"""Who waits: the mean wait of each user under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.breakdowns import means
from gpusched.reporting.charts.chart import Dots
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def wait_by_user(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw the mean wait of the finished jobs of each user, a dot per policy.

    The fifteen users who ask for most GPU time have a line each, all others share one.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the trace has no users, or as :func:`jct_cdf`.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 5, 9], [60, 60, 60], [1, 2, 1], user=["a", "b", "a"])
    >>> result = gs.simulate(trace, gs.Cluster.uniform(2, 8), policy="fifo")
    >>> figure = gs.plot.wait_by_user(result)
    """
    return drawn(chart(comparison_of(source)), library)


def chart(comparison: Comparison) -> Dots:
    """Mean wait of the finished jobs of each user."""
    return means(comparison, "user", "wait")
