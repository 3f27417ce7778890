"""How full each server is over time: the whole run at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.reporting.charts.bars import knows_servers
from gpusched.reporting.charts.chart import Grid, Grids, policies_of
from gpusched.reporting.charts.time_axis import TimeAxis, end_of_most

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

MOST_ROWS: Final = 48
NUM_COLUMNS: Final = 160


def occupancy(comparison: Comparison) -> Grids:
    """Return the share of allocated GPUs by servers and time, until most jobs are done.

    Raises
    ------
    ValueError
        If no policy tells of servers.
    """
    known = [found for found in policies_of(comparison) if knows_servers(found[2])]
    if not known:
        raise ValueError("no result tells on which servers jobs ran: their cluster is one pool")
    cluster = comparison.cluster
    row_of, rows, row_gpus = _rows(cluster)
    end_s = end_of_most(comparison)
    axis = TimeAxis.of(comparison, end_s)
    edges_s = np.linspace(0.0, max(end_s - axis.origin_s, 1e-6), NUM_COLUMNS + 1)
    origin_us = int(comparison.trace.submit_us[0])
    policies = []
    for place, label, result in known:
        held = _held(result, row_of, len(rows), edges_s, origin_us)
        share = np.diff(held, axis=1) / np.diff(edges_s) / row_gpus[:, None]
        percent = np.clip(np.round(100 * share), 0, 100).astype(np.uint8)
        finding = f"{label}: {100 * np.average(share.mean(1), weights=row_gpus):.0f} % allocated"
        policies.append(Grid(place, label, percent, finding))
    per_row = -(-cluster.num_servers // len(rows))
    each = "a server" if per_row == 1 else f"{per_row:,} neighbouring servers"
    return Grids(
        "servers",
        "Servers over time",
        f"Share of the GPUs that are allocated: a row is {each}, a column the mean over "
        f"1/{NUM_COLUMNS} of the time in which 99 % of the jobs are done.",
        axis.axis(0.0, end_s - axis.origin_s),
        policies=tuple(policies),
        rows=rows,
        edges=edges_s / axis.unit_s,
    )


def _rows(cluster: Cluster) -> tuple[Int64, tuple[str, ...], Float64]:
    """Return the row of each server, the names of the rows, and their GPUs."""
    per_row = -(-cluster.num_servers // MOST_ROWS)
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
    """GPU seconds that each row has given until each edge: float64[rows, edges].

    Each interval adds ``gpus * (min(t, end) - min(t, start))``, which two ramps make: one from
    its start, one back from its end. Ramps of one column add up by their slopes and offsets.
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
