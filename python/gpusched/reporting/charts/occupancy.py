"""The allocation of each server over time: the whole run at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.libraries import altair as alt
from gpusched.reporting.charts.highlights import comparison_of, marked
from gpusched.reporting.charts.thinning import MOST_ROWS
from gpusched.reporting.charts.time_axis import TimeAxis, end_of_most
from gpusched.reporting.charts.timeline import first_of, knows_servers
from gpusched.reporting.drawing import style

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

_MOST_ROWS: Final = 48
_MOST_COLUMNS: Final = 120


def servers(source: Result | Comparison) -> alt.Chart:
    """Draw the allocation of servers over time, one policy at a time, until most jobs are done.

    There are at most 48 rows of neighbouring servers, and 2,000 cells; notebooks have a menu of
    policies. Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ValueError
        If the placement treats the cluster as a single pool.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.servers(result)
    """
    comparison = comparison_of(source)
    known = {label: result for label, result in marked(comparison).items() if knows_servers(result)}
    if not known:
        raise ValueError("no result records the servers of jobs: the placement uses a single pool")
    cluster = comparison.cluster
    row_of, names, row_gpus = _rows(cluster)
    end_s = end_of_most(comparison)
    axis = TimeAxis.of(comparison, end_s)
    span_s = max(end_s - axis.origin_s, 1e-6)
    num_columns = min(_MOST_COLUMNS, MOST_ROWS // len(names))
    edges_s = np.linspace(0.0, span_s, num_columns + 1)
    origin_us = int(comparison.trace.submit_us[0])
    rows, findings = style.Rows(), []
    for label, result in known.items():
        held = _held(result, row_of, len(names), edges_s, origin_us)
        share = np.diff(held, axis=1) / np.diff(edges_s) / row_gpus[:, None]
        percent = np.clip(np.round(100 * share), 0, 100).astype(np.uint8)
        rows.add(label, percent=percent.ravel())
        findings.append(
            f"{label}: {100 * np.average(share.mean(1), weights=row_gpus):.0f}% allocated"
        )
    per_row = -(-cluster.num_servers // len(names))
    each = "a server" if per_row == 1 else f"{per_row:,} neighbouring servers"
    step = span_s / axis.unit_s / num_columns
    labels = list(known)
    chart: alt.Chart = (
        rows.chart(height=max(120, min(480, 12 * len(names))))
        .mark_rect(clip=True)
        .encode(
            x=axis.x("begin", 0.0, span_s), x2="end:Q",
            y=alt.Y("servers:N", title=None, scale=alt.Scale(domain=list(names)),
                    axis=alt.Axis(labelOverlap="greedy", ticks=False)),
            color=alt.Color(
                "percent:Q", title="GPUs allocated",
                scale=alt.Scale(type="quantize", domain=[0, 100], range="heatmap"),
                legend=alt.Legend(
                    format=".0f", gradientLength=220, labelExpr="(datum.label || 0) + '%'"
                ),
            ),
            tooltip=[alt.Tooltip("servers:N"), alt.Tooltip("percent:Q", title="% allocated")],
        )
        .transform_filter("datum.policy === shown")
        .transform_window(number="row_number()")
        .transform_calculate(
            servers=f"{list(names)}[floor((datum.number - 1) / {num_columns})]",
            begin=f"((datum.number - 1) % {num_columns}) * {step!r}",
            end=f"datum.begin + {step!r}",
        )
        .add_params(style.shown(labels, first_of(comparison, labels)))
    )  # fmt: skip
    return style.picture(
        chart, "servers", "Servers over time",
        f"Share of allocated GPUs: a row is {each}, a column the mean over "
        f"1/{num_columns} of the time until 99% of the jobs are done.",
        findings,
    )  # fmt: skip


def _rows(cluster: Cluster) -> tuple[Int64, tuple[str, ...], Float64]:
    """Return the row of each server, the names of the rows, and their GPUs."""
    per_row = -(-cluster.num_servers // _MOST_ROWS)
    ids = np.arange(cluster.num_servers)
    row_of = ids // per_row
    last = np.append(ids[per_row - 1 :: per_row], ids[-1])[: row_of[-1] + 1]
    names = [
        f"server {end}" if per_row == 1 else f"servers {row * per_row}-{end}"
        for row, end in enumerate(last.tolist())
    ]
    gpus = np.repeat(
        [group.gpus for group in cluster.servers], [group.count for group in cluster.servers]
    )
    row_gpus = np.bincount(row_of, weights=gpus).astype(np.float64)
    return row_of.astype(np.int64), tuple(names), row_gpus


def _held(
    result: Result, row_of: Int64, num_rows: int, edges_s: Float64, origin_us: int
) -> Float64:
    """GPU seconds allocated in each row until each edge: float64[rows, edges].

    Each interval adds ``gpus * (min(t, end) - min(t, start))``: a ramp from its start minus one
    from its end. Ramps of one column are summed by their slopes and offsets.
    """
    rows = result.intervals
    gpus = np.bitwise_count(rows["mask"]).astype(np.float64)
    row = row_of[rows["server"]]
    total = np.zeros((num_rows, len(edges_s)))
    for column, sign in (("start_us", 1.0), ("end_us", -1.0)):
        total += sign * _ramps(row, (rows[column] - origin_us) / 1e6, gpus, num_rows, edges_s)
    return total


def _ramps(row: Int64, time_s: AnyArray, gpus: Float64, num_rows: int, edges_s: Float64) -> Float64:
    """Sum of ``gpus * max(0, edge - time)`` by row and edge."""
    size = len(edges_s)
    begin = np.searchsorted(edges_s, time_s, side="left")
    inside = begin < size
    place = row[inside] * size + begin[inside]
    weight = gpus[inside]

    def summed(values: Float64) -> Float64:
        cells = np.bincount(place, weights=values, minlength=num_rows * size)
        return np.asarray(np.cumsum(cells.reshape(num_rows, size), axis=1))

    return summed(weight) * edges_s - summed(weight * time_s[inside])
