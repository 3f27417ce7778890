"""The cluster over time: one strip per policy, with a common time axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.libraries import altair as alt
from gpusched.base.wording import duration
from gpusched.reporting.charts.highlights import comparison_of, marked
from gpusched.reporting.charts.thinning import STEPS_RULE, kept_steps, points_each
from gpusched.reporting.charts.time_axis import TimeAxis, end_of_most
from gpusched.reporting.drawing import style
from gpusched.results.result import Result
from gpusched.schedules.series import Steps

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

POINTS: Final = 400
"""Maximum number of points of a curve."""


def allocation(source: Result | Comparison, *, points: int = POINTS) -> alt.FacetChart:
    """Draw the allocated GPUs over time, one strip per policy.

    Parameters
    ----------
    source
        A result, or a comparison.
    points
        Maximum number of points of a curve: the first, lowest, highest and last step of each time
        slot, so that no peak is lost; at least 8. All curves have 2,000 together.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError
        If there are fewer than 8 points.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.allocation(result)
    """
    [chart] = strips(comparison_of(source), lambda result: result.series, points, [ALLOCATION])
    return chart


def queue(source: Result | Comparison, *, points: int = POINTS) -> alt.FacetChart:
    """Draw the number of waiting jobs over time, one strip per policy, on a logarithmic axis.

    Queues differ by orders of magnitude between policies; a linear axis shows only the longest.
    Parameters: as :func:`allocation`.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError
        As :func:`allocation`.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.queue(result)
    """
    [chart] = strips(comparison_of(source), lambda result: result.series, points, [QUEUE])
    return chart


def contention(source: Result | Comparison, *, points: int = POINTS) -> alt.FacetChart:
    """Draw the multi-server jobs on the busiest link over time.

    Parameters: as :func:`allocation`.

    Returns
    -------
    altair.FacetChart

    Raises
    ------
    ValueError
        As :func:`allocation`.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> trace = trace.with_profiles(gs.model.zoo(), seed=1)
    >>> cluster = gs.Cluster.uniform(64, 8, nic_gbps=25, intra_gbps=400)
    >>> result = gs.simulate(trace, cluster, policy="fifo", placement="spread", contention="shared")
    >>> chart = gs.plot.contention(result)
    """
    [chart] = strips(
        comparison_of(source), lambda result: result.contention.busiest, points, [RINGS]
    )
    return chart


@dataclass(frozen=True)
class Strip:
    """A chart of one column of the steps.

    ``column``: column of the steps.
    ``name``, ``title``, ``caption``: texts of the chart.
    ``what``, ``unit``: the quantity on the axis, and the unit of its values.
    ``is_log``: whether the axis is logarithmic; it then begins at 1, and smaller values are drawn
        there.
    ``of_gpus``: whether to draw the GPUs of the cluster as a limit across every strip.
    """

    column: str
    name: str
    title: str
    what: str
    unit: str
    caption: str
    is_log: bool = False
    of_gpus: bool = False


ALLOCATION: Final = Strip(
    "allocated_gpus", name="allocation", title="Allocation", what="GPUs", unit="GPUs",
    caption="Allocated GPUs; the dotted line is the size of the cluster.", of_gpus=True,
)  # fmt: skip
DOWN: Final = Strip(
    "down_gpus", name="down", title="GPUs down", what="GPUs", unit="GPUs",
    caption="GPUs of servers with an outage that no job holds; the dotted line is the size of the "
    "cluster.", of_gpus=True,
)  # fmt: skip
QUEUE: Final = Strip(
    "queue_jobs", name="queue", title="Queue", what="jobs", unit="jobs",
    caption="Jobs waiting for GPUs, on a logarithmic axis; an empty queue is drawn at 1.",
    is_log=True,
)  # fmt: skip
RINGS: Final = Strip(
    "rings", name="contention", title="Contention", what="rings", unit="rings",
    caption="Multi-server jobs (rings) on the link with the most of them.",
)  # fmt: skip


def strips(
    comparison: Comparison,
    steps_of: Callable[[Result], Steps],
    points: int,
    charts: Sequence[Strip],
) -> list[alt.FacetChart]:
    """Draw charts of the same steps, which are computed once and not kept.

    ``points``: maximum number of points of a curve.
    """
    policies = marked(comparison)
    points = points_each(points, len(policies))
    end_s = end_of_most(comparison)
    axis = TimeAxis.of(comparison, end_s)
    tables: list[style.Rows] = [style.Rows() for _ in charts]
    findings: list[list[str]] = [[] for _ in charts]
    tops = [comparison.cluster.num_gpus if chart.of_gpus else 1.0 for chart in charts]
    for label, result in policies.items():
        steps = steps_of(result)
        if not len(steps):
            continue
        for index, chart in enumerate(charts):
            values = getattr(steps, chart.column)
            peak = int(values.argmax())
            tops[index] = max(tops[index], float(values[peak]))
            at = duration(float(steps.time_s[peak]) - axis.origin_s)
            findings[index].append(
                f"{label}: at most {values[peak]:,.0f} {chart.unit}, first after {at}"
            )
            kept = kept_steps(steps.time_s, values, end_s, points)
            y = values[kept].astype(np.float64)
            tables[index].add(
                label, x=(steps.time_s[kept] - axis.origin_s) / axis.unit_s,
                y=np.maximum(y, 1.0) if chart.is_log else y,
            )  # fmt: skip
    x = axis.x("x", 0.0, 1.01 * (end_s - axis.origin_s))
    labels = list(policies)
    return [
        _drawn(chart, table, x, top, labels, told)
        for chart, table, top, told in zip(charts, tables, tops, findings, strict=True)
    ]


def _drawn(
    chart: Strip, table: style.Rows, x: alt.X, top: float, labels: list[str], findings: list[str]
) -> alt.FacetChart:
    if chart.is_log:
        scale = alt.Scale(type="log", domain=[0.9, 1.3 * max(top, 2.0)], nice=False)
        axis = alt.Axis(tickCount=3, format=",~r")
    else:
        scale = alt.Scale(domain=[0, 1.08 * top], nice=False)
        axis = alt.Axis(tickCount=3, format=",~r")
    area = alt.Chart().mark_area(interpolate="step-after", line=True, fillOpacity=0.25, clip=True)
    parts = [
        area.encode(
            x=x, y=alt.Y("y:Q", title=chart.what, scale=scale, axis=axis, stack=None),
            color=style.policy_colour(labels, legend=False),
        )
    ]  # fmt: skip
    if chart.of_gpus:
        parts.append(alt.Chart().mark_rule(style="limit").encode(y=alt.datum(top)))
    strip = table.chart(alt.layer(*parts)).properties(height=60, width=style.WIDTH)
    faceted: alt.FacetChart = strip.facet(row=alt.Row("policy:N", title=None, sort=labels))
    rule = f"{STEPS_RULE}; the axis ends when 99% of the jobs are done."
    return style.picture(faceted, chart.name, chart.title, f"{chart.caption} {rule}", findings)
