"""Who holds which GPUs when: the intervals of a window, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.wording import duration, plural
from gpusched.reporting.charts.chart import Bars, Gantt, policies_of
from gpusched.reporting.charts.highlights import chosen
from gpusched.reporting.charts.time_axis import TimeAxis, first_submit_s

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

MOST_BARS: Final = 4_000
"""Bars of each policy unless another number is named."""
MOST_SERVERS: Final = 32
"""Servers that are shown unless others are named."""
_GAP: Final = 0.5  # between servers, in GPUs
_HALVINGS: Final = 30
_US: Final = 1e6

Window = tuple[float, float]


def knows_servers(result: Result) -> bool:
    """Whether the run tells on which servers jobs were; a placement of one pool does not."""
    server = result.intervals["server"]
    return bool(len(server)) and int(server[0]) >= 0


def bars(
    comparison: Comparison,
    window_s: Window | None,
    servers: Sequence[int] | None,
    most_bars: int,
) -> Gantt:
    """Lay out the bars of each policy in one window.

    Parameters
    ----------
    window_s
        Seconds since the first submission, from and to. None chooses one around the longest
        queue, as long as there are at most ``most_bars`` bars of any policy in it.
    servers
        Their ids; None takes the first ones.
    most_bars
        Of a policy; in a window that was asked for the longest bars are kept.

    Raises
    ------
    ValueError
        If the window is empty, a server does not exist, or no policy tells of servers.
    """
    known = [found for found in policies_of(comparison) if knows_servers(found[2])]
    if not known:
        raise ValueError("no result tells on which servers jobs ran: their cluster is one pool")
    shown = _servers(comparison.cluster, servers)
    bottoms, ticks, top = _rows(comparison.cluster, shown)
    tables = {place: _rows_on(result, bottoms) for place, _, result in known}
    origin_us = int(comparison.trace.submit_us[0])
    if window_s is None:
        begin_us, end_us, why = _choose(comparison, tables, most_bars)
    else:
        begin_us, end_us = _checked(window_s, origin_us)
        why = ""
    begin_s, end_s = (begin_us - origin_us) / _US, (end_us - origin_us) / _US
    axis = TimeAxis.of(comparison, first_submit_s(comparison) + end_s)
    policies, cut = [], 0
    for place, label, result in known:
        table = tables[place]
        inside = np.flatnonzero((table["start_us"] < end_us) & (table["end_us"] > begin_us))
        part = {name: values[inside] for name, values in table.items()}
        found, left_out = _bars_of(place, label, part, result, bottoms, (begin_us, end_us), axis,
                               most_bars)  # fmt: skip
        cut += left_out
        policies.append(found)
    caption = _caption(comparison.cluster, shown, begin_s, end_s, why, cut)
    return Gantt(
        "gantt", "Jobs on GPUs", caption, axis.axis(begin_s, end_s),
        policies=tuple(policies), ticks=ticks, top=top, servers=tuple(shown.tolist()),
        window_s=(begin_s, end_s), unit_s=axis.unit_s, unit=axis.unit,
    )  # fmt: skip


def _servers(cluster: Cluster, servers: Sequence[int] | None) -> Int64:
    if servers is None:
        return np.arange(min(cluster.num_servers, MOST_SERVERS))
    chosen_ids = np.unique(np.asarray(servers))
    if not len(chosen_ids) or chosen_ids.dtype.kind not in "iu":
        raise ValueError(f"servers: expected ids of servers, not {servers!r}")
    for server in (int(chosen_ids[0]), int(chosen_ids[-1])):
        if not 0 <= server < cluster.num_servers:
            raise ValueError(
                f"servers: there is no server {server}; the last one is {cluster.num_servers - 1}"
            )
    return chosen_ids.astype(np.int64)


def _checked(window_s: Window, origin_us: int) -> tuple[int, int]:
    begin_s, end_s = (float(value) for value in window_s)
    if not (np.isfinite([begin_s, end_s]).all() and end_s > begin_s):
        raise ValueError(f"window_s: must be two increasing times in seconds, not {window_s!r}")
    return origin_us + round(begin_s * _US), origin_us + round(end_s * _US)


def _rows(cluster: Cluster, shown: Int64) -> tuple[Float64, tuple[tuple[float, str], ...], float]:
    """Return the bottom of each server (NaN if not shown), the ticks, and the top of the last."""
    gpus = np.repeat(
        [group.gpus for group in cluster.servers], [group.count for group in cluster.servers]
    )
    bottoms = np.full(cluster.num_servers, np.nan)
    ends = np.cumsum(gpus[shown] + _GAP)
    bottoms[shown] = ends - gpus[shown] - _GAP
    ticks = tuple(
        (float(bottoms[server] + gpus[server] / 2), f"server {server}") for server in shown.tolist()
    )
    return bottoms, ticks, float(ends[-1] - _GAP)


def _rows_on(result: Result, bottoms: Float64) -> Mapping[str, AnyArray]:
    """Return the intervals on the servers that are shown, with their numbers of bars."""
    rows = result.intervals
    if np.isfinite(bottoms).all():
        table = dict(rows)
    else:
        on_them = np.isfinite(bottoms)[rows["server"]]
        table = {name: values[on_them] for name, values in rows.items()}
    mask = table["mask"]
    table["num_bars"] = np.bitwise_count(mask & ~(mask << np.uint64(1))).astype(np.int64)
    return table


def _choose(
    comparison: Comparison, tables: Mapping[int, Mapping[str, AnyArray]], most_bars: int
) -> tuple[int, int, str]:
    """Return the longest window around the longest queue with few enough bars of each policy.

    With it, how it was chosen.
    """
    begin = int(comparison.trace.submit_us[0])
    ends = [int(result.intervals["end_us"].max()) for result in comparison.results.values()
            if len(result.intervals["end_us"])]  # fmt: skip
    end = max([begin + 1, *ends])
    label = chosen(comparison)
    middle = begin
    if label is not None:
        series = comparison.results[label].series
        if len(series):
            middle = round(float(series.time_s[int(series.queue_jobs.argmax())]) * _US)

    def window(half: float) -> tuple[int, int]:
        low = max(begin, min(middle - half, end - 2 * half))
        return round(low), round(min(end, low + 2 * half) + 0.5)

    def fits(half: float) -> bool:
        low, high = window(half)
        return all(
            int(t["num_bars"][(t["start_us"] < high) & (t["end_us"] > low)].sum()) <= most_bars
            for t in tables.values()
        )

    widest = (end - begin) / 2
    if fits(widest):
        return *window(widest), ", the whole run"
    least = 0.0
    for _ in range(_HALVINGS):
        half = (least + widest) / 2
        least, widest = (half, widest) if fits(half) else (least, half)
        if widest - least < 0.01 * widest:
            break
    return *window(max(least, 0.5)), ", around the longest queue"


def _bars_of(
    place: int,
    label: str,
    part: Mapping[str, AnyArray],
    result: Result,
    bottoms: Float64,
    window_us: tuple[int, int],
    axis: TimeAxis,
    most_bars: int,
) -> tuple[Bars, int]:
    """Return the bars of the rows, and how many were left out."""
    row, first, length = runs_of_bits(part["mask"])
    begin_us = np.maximum(part["start_us"], window_us[0])[row]
    end_us = np.minimum(part["end_us"], window_us[1])[row]
    num_left_out = max(0, len(row) - most_bars)
    if num_left_out:
        area = (end_us - begin_us) * length
        kept = np.sort(np.argsort(-area, kind="stable")[:most_bars])
        row, first, length = row[kept], first[kept], length[kept]
        begin_us, end_us = begin_us[kept], end_us[kept]
    job = part["job"][row]
    origin_us = axis.origin_s * _US
    made = Bars(
        place,
        label,
        (begin_us - origin_us) / (_US * axis.unit_s),
        (end_us - begin_us) / (_US * axis.unit_s),
        bottoms[part["server"][row]] + first,
        length.astype(np.float64),
        job,
        result.trace.gpus[job].astype(np.int64),
        f"{label}: {plural(len(np.unique(job)), 'job')} in {plural(len(row), 'bar')}",
    )
    return made, num_left_out


def runs_of_bits(mask: AnyArray) -> tuple[Int64, Int64, Int64]:
    """Return row, lowest bit and length of each run of ones, by row and then by bit."""
    one = np.uint64(1)
    bits = np.arange(64, dtype=np.uint64)
    lowest = mask & ~(mask << one)
    highest = mask & ~(mask >> one)
    row, first = np.nonzero((lowest[:, None] >> bits) & one)
    _, last = np.nonzero((highest[:, None] >> bits) & one)
    return row, first, last - first + 1


def _caption(
    cluster: Cluster, shown: Int64, begin_s: float, end_s: float, why: str, cut: int
) -> str:
    text = f"From {duration(begin_s)} to {duration(end_s)} after the first submission{why}; "
    if len(shown) < cluster.num_servers:
        text += f"{len(shown)} of {cluster.num_servers:,} servers. "
    else:
        text += f"all {plural(cluster.num_servers, 'server')}. "
    text += "A bar is a job on neighbouring GPUs; a job has one colour on all of its GPUs."
    if cut:
        text += f" {plural(cut, 'bar')} of the least area are left out."
    return text
