"""How long jobs take: the distribution of the JCT under each policy."""

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


def jct_cdf(
    source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly"
) -> Any:
    """Draw the share of finished jobs whose JCT is at most x, on a logarithmic axis of time.

    Parameters
    ----------
    source
        A result, or a comparison: a curve per policy. Of more than six the best that could be
        deployed is highlighted.
    points
        The most points of a curve: evenly spaced quantiles, with the least and the largest
        value; 8 or more.
    library
        ``"plotly"`` for notebooks and HTML, ``"matplotlib"`` for files (extra: plot).

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ImportError
        Without the library; the message says what to install.
    ValueError
        If ``library`` is neither.

    Examples
    --------
    >>> import gpusched as gs
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> figure = gs.plot.jct_cdf(result, library="matplotlib")
    >>> figure.savefig("jct.png")  # doctest: +SKIP
    """
    return drawn(chart(comparison_of(source), points), library)


def chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Share of the finished jobs whose JCT is at most x."""
    curves, left, right = curves_of(
        comparison, lambda r: r.jobs.jct_s[comparison.counted], points, 1e-6, duration
    )
    return Curves(
        "jct_cdf",
        "Job completion time",
        f"Share of the finished jobs that are done within a time: higher is better; {RULE}",
        Axis("JCT (log scale)", "duration", (left, right)),
        Axis("share of jobs", "share"),
        curves,
        hover=HOVER,
        highlighted=highlighted(comparison),
    )
