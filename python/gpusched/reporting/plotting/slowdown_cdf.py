"""How much longer jobs run because links are shared: the distribution under each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched.base.arrays import Float64
from gpusched.reporting.charts.chart import Axis, Curves
from gpusched.reporting.charts.distributions import HOVER, POINTS, RULE, curves_of
from gpusched.reporting.charts.highlights import highlighted
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def slowdown_cdf(
    source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly"
) -> Any:
    """Draw the share of the jobs on several servers whose slowdown from contention is at most x.

    The slowdown is the run time over what it would have been on the same GPUs if no link were
    shared. Jobs that ran on one server at a time use no link, and are left out.
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
    >>> trace = trace.with_profiles(gs.model.zoo(), seed=1)
    >>> cluster = gs.Cluster.uniform(64, 8, nic_gbps=25, intra_gbps=400)
    >>> result = gs.simulate(trace, cluster, policy="fifo", placement="spread", contention="shared")
    >>> figure = gs.plot.slowdown_cdf(result)
    """
    return drawn(chart(comparison_of(source), points), library)


def chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Share of the jobs on several servers whose slowdown from contention is at most x."""
    counted = comparison.counted

    def slowdown(result: Result) -> Float64:
        on_several = result.contention.jobs
        return result.jobs.slowdown_contention[on_several[counted[on_several]]]

    curves, _, right = curves_of(comparison, slowdown, points, 1.0, lambda x: f"{x:.2f}")
    margin = max(0.02 * (right - 1.0), 0.005)
    return Curves(
        "slowdown_cdf",
        "Slowdown from contention",
        "Share of the jobs on several servers by their run time over what it would have been on "
        f"the same GPUs if no link were shared: higher is better; {RULE}",
        Axis("run time / run time without contention", "linear", (1.0 - margin, right + margin)),
        Axis("share of jobs on several servers", "share"),
        curves,
        hover=HOVER,
        highlighted=highlighted(comparison),
    )
