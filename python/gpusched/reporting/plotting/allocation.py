"""How full the cluster is: allocated GPUs over time under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.chart import Curves
from gpusched.reporting.charts.over_time import POINTS, Strip, strips
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def allocation(
    source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly"
) -> Any:
    """Draw the allocated GPUs over time, a strip per policy.

    Parameters
    ----------
    source
        A result, or a comparison.
    points
        The most points of a curve: of each slot of time the first, the lowest, the highest and
        the last step, so that no peak is lost; 8 or more.
    library
        As for :func:`jct_cdf`.

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
    >>> figure = gs.plot.allocation(result)
    """
    return drawn(chart(comparison_of(source), points), library)


def chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Allocated GPUs over time."""
    [drawn] = strips(comparison, lambda result: result.series, points, [strip(comparison)])
    return drawn


def strip(comparison: Comparison) -> Strip:
    """What the chart shows of a series."""
    num_gpus = comparison.cluster.num_gpus
    return Strip(
        "allocated_gpus", name="allocation", title="Allocation", what="allocated GPUs",
        unit="GPUs", caption="GPUs that jobs hold.", top=float(num_gpus),
        limit=(float(num_gpus), f"all {num_gpus:,} GPUs"),
    )  # fmt: skip
