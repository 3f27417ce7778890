"""How crowded the network is: rings on the most loaded link over time under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpusched.reporting.charts.chart import Curves
from gpusched.reporting.charts.over_time import POINTS, Strip, strips
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def contention(
    source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly"
) -> Any:
    """Draw the rings (gangs on several servers) on the link that has most of them, over time.

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
    >>> trace = trace.with_profiles(gs.model.zoo(), seed=1)
    >>> cluster = gs.Cluster.uniform(64, 8, nic_gbps=25, intra_gbps=400)
    >>> result = gs.simulate(trace, cluster, policy="fifo", placement="spread", contention="shared")
    >>> figure = gs.plot.contention(result)
    """
    return drawn(chart(comparison_of(source), points), library)


def chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Rings (gangs on several servers) on the link that has most of them, over time."""
    [drawn] = strips(comparison, lambda result: result.contention.busiest, points, [_STRIP])
    return drawn


_STRIP: Final = Strip(
    "rings", name="contention", title="Contention", what="rings on the most loaded link",
    unit="rings", caption="Rings (gangs on several servers) on the link that has most of them.",
)  # fmt: skip
