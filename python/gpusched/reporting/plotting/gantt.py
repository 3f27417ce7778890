"""Who holds which GPUs when under each policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched.reporting.charts.bars import MOST_BARS, Window, bars
from gpusched.reporting.charts.chart import Gantt
from gpusched.reporting.drawing.drawn import Library, comparison_of, drawn

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def gantt(
    source: Result | Comparison,
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    window_s: tuple[float, float] | None = None,
    servers: Sequence[int] | None = None,
    most_bars: int = MOST_BARS,
    library: Library = "plotly",
) -> Any:
    """Draw which job holds which GPUs of which server when.

    A policy at a time in Plotly, a panel for each in Matplotlib; zoom into either.

    Parameters
    ----------
    source
        A result, or a comparison.
    from_s, to_s
        The window, in seconds since the first submission; one of them alone: from the first
        submission, or to the last end. Without both, the whole run, or as much around the longest
        queue as ``most_bars`` allow.
    window_s
        Both in one.
    servers
        Ids of the servers to show; None takes the first 32.
    most_bars
        Of each policy. In a window that was asked for, the bars of the least area are left out.
    library
        As for :func:`jct_cdf`.

    Returns
    -------
    plotly.graph_objects.Figure or matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If the window is empty or said twice, a server does not exist, ``most_bars`` is not
        positive, or the placement takes the cluster for one pool. ImportError without the library.

    Examples
    --------
    >>> import gpusched as gs
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> figure = gs.plot.gantt(result, from_s=0, to_s=3_600, servers=range(8))
    """
    if most_bars < 1:
        raise ValueError(f"most_bars: must be at least 1, not {most_bars}")
    chosen = None if servers is None else list(servers)
    comparison = comparison_of(source)
    if from_s is not None or to_s is not None:
        if window_s is not None:
            raise ValueError("window_s: cannot be combined with from_s and to_s")
        begin_s = 0.0 if from_s is None else from_s
        window_s = (begin_s, _last_end_s(comparison) if to_s is None else to_s)
    return drawn(chart(comparison, window_s, chosen, most_bars), library)


def _last_end_s(comparison: Comparison) -> float:
    """When the last job ends, seconds since the first submission."""
    ends = [r.intervals["end_us"].max(initial=0) for r in comparison.results.values()]
    return float((max(ends) - comparison.trace.submit_us[0]) / 1e6)


def chart(
    comparison: Comparison,
    window_s: Window | None = None,
    servers: Sequence[int] | None = None,
    most_bars: int = MOST_BARS,
) -> Gantt:
    """Bars of the jobs in a window."""
    return bars(comparison, window_s, servers, most_bars)
