"""Whose jobs take long: the mean JCT of each user under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.breakdowns import means
from gpusched.reporting.charts.chart import Dots
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def jct_by_user(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw the mean JCT of the finished jobs of each user, a dot per policy.

    Parameters: as :func:`wait_by_user`.

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
    >>> figure = gs.plot.jct_by_user(result)
    """
    return drawn(chart(comparison_of(source)), library)


def chart(comparison: Comparison) -> Dots:
    """Mean JCT of the finished jobs of each user."""
    return means(comparison, "user", "jct")
