"""How full each server is over time under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.chart import Grids
from gpusched.reporting.charts.occupancy import occupancy
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def servers(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw how full the servers are over time: at most 48 rows of neighbouring servers.

    A policy at a time in Plotly, a panel for each in Matplotlib.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the placement takes the cluster for one pool, or as :func:`jct_cdf`.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> figure = gs.plot.servers(result)
    """
    return drawn(chart(comparison_of(source)), library)


def chart(comparison: Comparison) -> Grids:
    """Share of allocated GPUs by servers and time."""
    return occupancy(comparison)
