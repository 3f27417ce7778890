"""How many jobs wait: the length of the queue over time under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpusched.reporting.charts.chart import Curves
from gpusched.reporting.charts.over_time import POINTS, Strip, strips
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def queue(source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly") -> Any:
    """Draw the number of waiting jobs over time, a strip per policy, on a logarithmic axis.

    Parameters: as :func:`allocation`.

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
    >>> figure = gs.plot.queue(result)
    """
    return drawn(chart(comparison_of(source), points), library)


def chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Waiting jobs over time, on a logarithmic axis that begins at one job.

    Queues differ by orders of magnitude between policies; a linear axis shows the longest alone.
    """
    [drawn] = strips(comparison, lambda result: result.series, points, [STRIP])
    return drawn


STRIP: Final = Strip(
    "queue_jobs", name="queue", title="Queue", what="waiting jobs (log scale)", unit="jobs",
    caption="Jobs that wait for GPUs; an empty queue is drawn at 1.", is_log=True,
)  # fmt: skip
"""What the chart shows of a series."""
