"""The pictures of the report: the chart of each, and the public function that draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.arrays import Float64
from gpusched.base.wording import duration
from gpusched.reporting.charts.bars import MOST_BARS, bars
from gpusched.reporting.charts.breakdowns import means
from gpusched.reporting.charts.chart import Axis, Curves
from gpusched.reporting.charts.distributions import HOVER, POINTS, RULE, curves_of
from gpusched.reporting.charts.highlights import highlighted
from gpusched.reporting.charts.occupancy import occupancy
from gpusched.reporting.charts.over_time import POINTS as STEPS
from gpusched.reporting.charts.over_time import Strip, strips
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
    return drawn(jct_cdf_chart(comparison_of(source), points), library)


def jct_cdf_chart(comparison: Comparison, points: int = POINTS) -> Curves:
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


def wait_cdf(
    source: Result | Comparison, *, points: int = POINTS, library: Library = "plotly"
) -> Any:
    """Draw the share of finished jobs whose wait (all time without GPUs) is at most x.

    The axis is logarithmic and begins at one second, with the jobs that wait less or not at all.
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
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> figure = gs.plot.wait_cdf(result)
    """
    return drawn(wait_cdf_chart(comparison_of(source), points), library)


def wait_cdf_chart(comparison: Comparison, points: int = POINTS) -> Curves:
    """Share of the finished jobs whose wait is at most x.

    A logarithmic axis has no place for jobs that never wait: the curves start at one second, with
    the jobs that wait less or not at all.
    """
    curves, left, right = curves_of(
        comparison, lambda r: r.jobs.wait_s[comparison.counted], points, 1.0, duration
    )
    return Curves(
        "wait_cdf",
        "Wait",
        "Share of the finished jobs that are without GPUs for at most a time, preemptions "
        f"included: higher is better; less than 1 s is counted at 1 s; {RULE}",
        Axis("wait (log scale)", "duration", (left, right)),
        Axis("share of jobs", "share"),
        curves,
        hover=HOVER,
        highlighted=highlighted(comparison),
    )


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
    return drawn(slowdown_cdf_chart(comparison_of(source), points), library)


def slowdown_cdf_chart(comparison: Comparison, points: int = POINTS) -> Curves:
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


def jct_by_width(source: Result | Comparison, *, library: Library = "plotly") -> Any:
    """Draw the mean JCT of the finished jobs of 1, of 2 to 8 and of 9 or more GPUs.

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
    >>> figure = gs.plot.jct_by_width(result)
    """
    return drawn(means(comparison_of(source), "width", "jct"), library)


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
    return drawn(means(comparison_of(source), "width", "wait"), library)


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
    return drawn(means(comparison_of(source), "user", "jct"), library)


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
    return drawn(means(comparison_of(source), "user", "wait"), library)


def allocation(
    source: Result | Comparison, *, points: int = STEPS, library: Library = "plotly"
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
    return drawn(allocation_chart(comparison_of(source), points), library)


def allocation_chart(comparison: Comparison, points: int = STEPS) -> Curves:
    """Allocated GPUs over time."""
    [drawn] = strips(
        comparison, lambda result: result.series, points, [allocation_strip(comparison)]
    )
    return drawn


def allocation_strip(comparison: Comparison) -> Strip:
    """What the chart shows of a series."""
    num_gpus = comparison.cluster.num_gpus
    return Strip(
        "allocated_gpus", name="allocation", title="Allocation", what="allocated GPUs",
        unit="GPUs", caption="GPUs that jobs hold.", top=float(num_gpus),
        limit=(float(num_gpus), f"all {num_gpus:,} GPUs"),
    )  # fmt: skip


def queue(source: Result | Comparison, *, points: int = STEPS, library: Library = "plotly") -> Any:
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
    return drawn(queue_chart(comparison_of(source), points), library)


def queue_chart(comparison: Comparison, points: int = STEPS) -> Curves:
    """Waiting jobs over time, on a logarithmic axis that begins at one job.

    Queues differ by orders of magnitude between policies; a linear axis shows the longest alone.
    """
    [chart] = strips(comparison, lambda result: result.series, points, [QUEUE_STRIP])
    return chart


QUEUE_STRIP: Final = Strip(
    "queue_jobs", name="queue", title="Queue", what="waiting jobs (log scale)", unit="jobs",
    caption="Jobs that wait for GPUs; an empty queue is drawn at 1.", is_log=True,
)  # fmt: skip
"""What the chart shows of a series."""


def contention(
    source: Result | Comparison, *, points: int = STEPS, library: Library = "plotly"
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
    return drawn(contention_chart(comparison_of(source), points), library)


def contention_chart(comparison: Comparison, points: int = STEPS) -> Curves:
    """Rings (gangs on several servers) on the link that has most of them, over time."""
    [drawn] = strips(
        comparison, lambda result: result.contention.busiest, points, [CONTENTION_STRIP]
    )
    return drawn


CONTENTION_STRIP: Final = Strip(
    "rings", name="contention", title="Contention", what="rings on the most loaded link",
    unit="rings", caption="Rings (gangs on several servers) on the link that has most of them.",
)  # fmt: skip


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
    return drawn(bars(comparison, window_s, chosen, most_bars), library)


def _last_end_s(comparison: Comparison) -> float:
    """When the last job ends, seconds since the first submission."""
    ends = [r.intervals["end_us"].max(initial=0) for r in comparison.results.values()]
    return float((max(ends) - comparison.trace.submit_us[0]) / 1e6)


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
    return drawn(occupancy(comparison_of(source)), library)
