"""The distribution of a quantity over the jobs: one curve per policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.libraries import altair as alt
from gpusched.base.wording import duration
from gpusched.reporting.charts.highlights import comparison_of, highlighted, marked
from gpusched.reporting.charts.thinning import QUANTILES_RULE, points_each, thin_distribution
from gpusched.reporting.drawing import style
from gpusched.results.result import Result

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

POINTS: Final = 400
"""Maximum number of points of a curve."""
_MARKED: Final = (0.5, 0.95)


def jct_cdf(source: Result | Comparison, *, points: int = POINTS) -> alt.LayerChart:
    """Draw the share of finished jobs whose JCT is at most x, on a logarithmic time axis.

    Parameters
    ----------
    source
        A result, or a comparison: one curve per policy. With more than six policies the best
        deployable one is highlighted.
    points
        Maximum number of points of a curve: evenly spaced quantiles, with the smallest and the
        largest value; at least 8. All curves have 2,000 together.

    Returns
    -------
    altair.LayerChart
        A chart for notebooks; :func:`gpusched.plot.save` writes it to a file.

    Raises
    ------
    ValueError
        If there are fewer than 8 points.

    Examples
    --------
    >>> import gpusched as gs
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.jct_cdf(result)
    >>> gs.plot.save(chart, "jct.pdf")
    """
    comparison = comparison_of(source)
    return _distribution(
        comparison, lambda r: r.jobs.jct_s[comparison.counted], points, 1e-6, "jct_cdf",
        "Job completion time", "Share of the finished jobs that finish within a time",
        "JCT (log scale)",
    )  # fmt: skip


def wait_cdf(source: Result | Comparison, *, points: int = POINTS) -> alt.LayerChart:
    """Draw the share of finished jobs whose wait (all time without GPUs) is at most x.

    The axis is logarithmic and begins at one second, which includes shorter waits.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError
        As :func:`jct_cdf`.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.wait_cdf(result)
    """
    comparison = comparison_of(source)
    return _distribution(
        comparison, lambda r: r.jobs.wait_s[comparison.counted], points, 1.0, "wait_cdf", "Wait",
        "Share of the finished jobs whose total wait, preemptions included, is at most a time "
        "(less than 1 s counts as 1 s)",
        "wait (log scale)",
    )  # fmt: skip


def slowdown_cdf(source: Result | Comparison, *, points: int = POINTS) -> alt.LayerChart:
    """Draw the share of multi-server jobs whose slowdown from contention is at most x.

    The slowdown is the run time over the run time on the same GPUs without link sharing. Jobs that
    ran on one server at a time use no link, and are left out.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.LayerChart

    Raises
    ------
    ValueError
        As :func:`jct_cdf`.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> trace = trace.with_profiles(gs.model.zoo(), seed=1)
    >>> cluster = gs.Cluster.uniform(64, 8, nic_gbps=25, intra_gbps=400)
    >>> result = gs.simulate(trace, cluster, policy="fifo", placement="spread", contention="shared")
    >>> chart = gs.plot.slowdown_cdf(result)
    """
    comparison = comparison_of(source)
    counted = comparison.counted

    def slowdown(result: Result) -> Float64:
        on_several = result.contention.jobs
        return result.jobs.slowdown_contention[on_several[counted[on_several]]]

    return _distribution(
        comparison, slowdown, points, 1.0, "slowdown_cdf", "Slowdown from contention",
        "Share of the multi-server jobs by their run time over the run time on the same GPUs "
        "without link sharing",
        "run time / run time without contention", is_time=False,
    )  # fmt: skip


def _distribution(
    comparison: Comparison,
    values_of: Callable[[Result], Float64],
    points: int,
    least: float,
    name: str,
    title: str,
    caption: str,
    axis: str,
    *,
    is_time: bool = True,
) -> alt.LayerChart:
    """Draw the empirical distribution of a quantity, with marks at half and 95% of the jobs.

    The axis begins at the 0.1% quantile.

    ``values_of``: one value per job of a result; NaN is left out.
    ``least``: the smallest value on the axis; smaller ones are counted there.
    ``is_time``: seconds on a logarithmic axis; otherwise numbers on a linear one.
    """
    policies = marked(comparison)
    points = points_each(points, len(policies))
    text: Callable[[float], str] = duration if is_time else "{:.2f}".format
    left, right = np.inf, least
    curves, dots, findings = style.Rows(), style.Rows(), []
    for label, result in policies.items():
        values = values_of(result)
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        x, share = thin_distribution(np.maximum(values, least), points)
        left, right = min(left, x[np.searchsorted(share, 1e-3)]), max(right, x[-1])
        curves.add(label, x=x, share=share)
        marks = np.searchsorted(share, _MARKED)
        at = x[marks]
        texts = [f"{part:.0%} of the jobs: at most {text(end)}"
                 for part, end in zip(_MARKED, at.tolist(), strict=True)]  # fmt: skip
        dots.add(label, x=at, share=share[marks], text=texts)
        half, most = map(text, at.tolist())
        findings.append(f"{label}: half of the jobs at most {half}, 95% at most {most}")
    low, high = float(min(left, right)), float(right)
    if is_time:
        x_axis = alt.X("x:Q", **style.duration_scale(low, high, title=axis))
    else:
        margin = max(0.02 * (high - 1.0), 0.005)
        ends = [1.0 - margin, high + margin]
        x_axis = alt.X("x:Q", title=axis, scale=alt.Scale(domain=ends, nice=False))
    share_axis = alt.Y("share:Q", title="share of jobs", scale=alt.Scale(domain=[0, 1]),
                       axis=alt.Axis(format="%", tickCount=5))  # fmt: skip
    lines = curves.chart().mark_line(interpolate="step-after", clip=True)
    lines = lines.encode(
        x=x_axis, y=share_axis, **style.by_policy(list(policies)), opacity=style.stands_out()
    ).add_params(style.highlight(highlighted(comparison)))
    circles = dots.chart().mark_circle(opacity=1).encode(
        x=x_axis, y=share_axis, color=style.policy_colour(list(policies)),
        opacity=style.stands_out(), tooltip=[alt.Tooltip("policy:N"), alt.Tooltip("text:N")],
    )  # fmt: skip
    return style.picture(
        alt.LayerChart(layer=[lines, circles], height=300), name, title,
        f"{caption}: higher is better; dots mark half and 95% of the jobs. "
        f"{QUANTILES_RULE[0].upper()}{QUANTILES_RULE[1:]}.",
        findings,
    )  # fmt: skip
