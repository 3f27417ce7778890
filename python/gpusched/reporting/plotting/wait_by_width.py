"""Whether wide jobs wait longer: the mean wait by number of GPUs under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.breakdowns import means
from gpusched.reporting.charts.chart import Dots
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def wait_by_width(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw the mean wait of the finished jobs of 1, of 2 to 8 and of 9 or more GPUs.

    A dot per policy. Parameters: as :func:`jct_cdf`.

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
    >>> figure = gs.plot.wait_by_width(result)
    """
    return drawn(chart(comparison_of(source)), library)


def chart(comparison: Comparison) -> Dots:
    """Mean wait of the finished jobs of each class of widths."""
    return means(comparison, "width", "wait")
