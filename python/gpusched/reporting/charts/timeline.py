"""Jobs on GPUs over time: the intervals of a window, as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.libraries import altair as alt
from gpusched.base.wording import duration, plural
from gpusched.model.outages import spans
from gpusched.reporting.charts.highlights import chosen, comparison_of, marked
from gpusched.reporting.charts.time_axis import TimeAxis, first_submit_s
from gpusched.reporting.drawing import palette, style
from gpusched.reporting.notes import policy_name

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

MOST_BARS: Final = 1_500
"""Maximum number of bars per policy."""
MOST_SERVERS: Final = 32
"""Number of servers shown by default."""
_GAP: Final = 0.08  # between servers, of a server
_HALVINGS: Final = 30
_US: Final = 1e6

Window = tuple[float, float]


def knows_servers(result: Result) -> bool:
    """Whether the run records the servers of jobs; a single-pool placement does not."""
    server = result.intervals["server"]
    return bool(len(server)) and int(server[0]) >= 0


def gantt(
    source: Result | Comparison,
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    window_s: Window | None = None,
    servers: Sequence[int] | None = None,
    most_bars: int = MOST_BARS,
) -> alt.Chart | alt.LayerChart:
    """Draw the jobs on each GPU of the servers in a time window, one policy at a time.

    Notebooks have a menu of policies. To view whole runs, use Perfetto:
    ``result.export("run.json")``.

    Parameters
    ----------
    source
        A result, or a comparison.
    from_s, to_s
        The window, in seconds since the first submission. With only one of them: from the first
        submission, or to the last end. Without both: the whole run, or a window around the longest
        queue of the policy shown first, with at most ``most_bars`` bars.
    window_s
        Both as a pair.
    servers
        Ids of the servers to show; None takes the first 32.
    most_bars
        Per policy, at most 1,500. In a window given by the caller, the bars with the smallest area
        are left out.

    Returns
    -------
    altair.Chart or altair.LayerChart

    Raises
    ------
    ValueError
        If the window is empty or given twice, a server does not exist, ``most_bars`` is not
        between 1 and 1,500, or the placement treats the cluster as a single pool.

    Examples
    --------
    >>> import gpusched as gs
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.gantt(result, from_s=0, to_s=3_600, servers=range(8))
    """
    if not 1 <= most_bars <= MOST_BARS:
        raise ValueError(f"most_bars: must be between 1 and {MOST_BARS:,}, not {most_bars}")
    comparison = comparison_of(source)
    if from_s is not None or to_s is not None:
        if window_s is not None:
            raise ValueError("window_s: cannot be combined with from_s and to_s")
        begin_s = 0.0 if from_s is None else from_s
        last_us = max(r.intervals["end_us"].max(initial=0) for r in comparison.results.values())
        last_s = float((last_us - comparison.trace.submit_us[0]) / 1e6)
        window_s = (begin_s, last_s if to_s is None else to_s)
    known = {label: result for label, result in marked(comparison).items() if knows_servers(result)}
    if not known:
        raise ValueError("no result records the servers of jobs: the placement uses a single pool")
    shown = _servers(comparison.cluster, None if servers is None else list(servers))
    tables = {label: _rows_on(result, shown) for label, result in known.items()}
    origin_us = int(comparison.trace.submit_us[0])
    if window_s is None:
        begin_us, end_us, why = _choose(comparison, tables, most_bars)
    else:
        begin_us, end_us = _checked(window_s, origin_us)
        why = ""
    begin_s, end_s = (begin_us - origin_us) / _US, (end_us - origin_us) / _US
    axis = TimeAxis.of(comparison, first_submit_s(comparison) + end_s)
    slots = np.zeros(comparison.cluster.num_servers, dtype=np.int64)
    slots[shown] = np.arange(len(shown))
    gpus = np.repeat(
        [group.gpus for group in comparison.cluster.servers],
        [group.count for group in comparison.cluster.servers],
    )
    rows, findings, cut = style.Rows(), [], 0
    for label, result in known.items():
        table = tables[label]
        inside = np.flatnonzero((table["start_us"] < end_us) & (table["end_us"] > begin_us))
        part = {name: values[inside] for name, values in table.items()}
        row, first, length = runs_of_bits(part["mask"])
        low_us = np.maximum(part["start_us"], begin_us)[row]
        high_us = np.minimum(part["end_us"], end_us)[row]
        largest = np.argsort(-(high_us - low_us) * length, kind="stable")[:most_bars]
        cut += len(row) - len(largest)
        kept = np.sort(largest)
        row, first, length = row[kept], first[kept], length[kept]
        server, job = part["server"][row], part["job"][row]
        top = slots[server] + _GAP / 2 + (1 - _GAP) * first / gpus[server]
        rows.add(
            label, job=job, gpus=result.trace.gpus[job], server=server,
            begin=(low_us[kept] - origin_us) / (_US * axis.unit_s),
            end=(high_us[kept] - origin_us) / (_US * axis.unit_s),
            top=top, bottom=top + (1 - _GAP) * length / gpus[server],
        )  # fmt: skip
        findings.append(
            f"{label}: {plural(len(np.unique(job)), 'job')} in {plural(len(row), 'bar')}"
        )
    labels = list(known)
    names = alt.Axis(
        values=(np.arange(len(shown)) + 0.5).tolist(), grid=False, ticks=False, domain=False,
        labelExpr=f"'server ' + {shown.tolist()}[floor(datum.value)]", labelOverlap="greedy",
    )  # fmt: skip
    span = alt.Scale(domain=[0, len(shown)], reverse=True, nice=False)
    bars = (
        rows.chart(height=max(160, min(640, 20 * len(shown))))
        .mark_rect(clip=True)
        .encode(
            x=axis.x("begin", begin_s, end_s), x2="end:Q",
            y=alt.Y("top:Q", title=None, scale=span, axis=names), y2="bottom:Q",
            color=alt.Color("colour:O", legend=None, scale=alt.Scale(domain=list(range(8)))),
            tooltip=[alt.Tooltip(f"{name}:{kind}") for name, kind in
                     {"job": "O", "gpus": "Q", "server": "O", "begin": "Q", "end": "Q"}.items()],
        )
        .transform_filter("datum.policy === shown")
        .transform_calculate(colour=f"datum.job % {len(palette.JOB_COLOURS)}")
        .add_params(style.shown(labels, first_of(comparison, labels)))
    )  # fmt: skip
    down = _down(known, shown, (begin_us, end_us), origin_us, axis)
    chart: alt.Chart | alt.LayerChart = bars
    caption = _caption(comparison.cluster, shown, begin_s, end_s, why, cut)
    if down is not None:
        chart = cast("alt.LayerChart", alt.layer(down, bars))
        caption += " Grey: the server has failed, is drained or maintained."
    return style.picture(chart, "gantt", "Jobs on GPUs", caption, findings)


def _down(
    known: Mapping[str, Result], shown: Int64, window_us: tuple[int, int], origin_us: int,
    axis: TimeAxis,
) -> alt.Chart | None:  # fmt: skip
    """Draw when servers are down or drained; None if none is in the window."""
    rows = style.Rows()
    found = False
    for label, result in known.items():
        server, begin_us, end_us = spans(result.cluster, result.outages)
        place = np.searchsorted(shown, server).clip(max=len(shown) - 1)
        inside = (begin_us < window_us[1]) & (end_us > window_us[0]) & (shown[place] == server)
        found |= bool(inside.any())
        low_us, high_us = (times[inside].clip(*window_us) for times in (begin_us, end_us))
        rows.add(
            label, server=server[inside],
            begin=(low_us - origin_us) / (_US * axis.unit_s),
            end=(high_us - origin_us) / (_US * axis.unit_s),
            top=place[inside], bottom=place[inside] + 1,
        )  # fmt: skip
    if not found:
        return None
    made: alt.Chart = (
        rows.chart()
        .mark_rect(clip=True, color=palette.LINE, opacity=0.35)
        .encode(x="begin:Q", x2="end:Q", y="top:Q", y2="bottom:Q",
                tooltip=[alt.Tooltip(f"{name}:Q") for name in ("server", "begin", "end")])
        .transform_filter("datum.policy === shown")
    )  # fmt: skip
    return made


def first_of(comparison: Comparison, labels: Sequence[str]) -> str:
    """Return which of the marked names is shown first: that of the policy in focus."""
    label = chosen(comparison)
    name = "" if label is None else policy_name(label, comparison.results[label])
    return name if name in labels else labels[0]


def _servers(cluster: Cluster, servers: Sequence[int] | None) -> Int64:
    if servers is None:
        return np.arange(min(cluster.num_servers, MOST_SERVERS))
    chosen_ids = np.unique(np.asarray(servers))
    if not len(chosen_ids) or chosen_ids.dtype.kind not in "iu":
        raise ValueError(f"servers: expected ids of servers, not {servers!r}")
    for server in (int(chosen_ids[0]), int(chosen_ids[-1])):
        if not 0 <= server < cluster.num_servers:
            raise ValueError(
                f"servers: unknown server {server}; the last one is {cluster.num_servers - 1}"
            )
    return chosen_ids.astype(np.int64)


def _checked(window_s: Window, origin_us: int) -> tuple[int, int]:
    begin_s, end_s = (float(value) for value in window_s)
    if not (np.isfinite([begin_s, end_s]).all() and end_s > begin_s):
        raise ValueError(f"window_s: must be two increasing times in seconds, not {window_s!r}")
    return origin_us + round(begin_s * _US), origin_us + round(end_s * _US)


def _rows_on(result: Result, shown: Int64) -> dict[str, AnyArray]:
    """Return the intervals on the servers shown, and their numbers of bars."""
    rows = result.intervals
    on_them = np.isin(rows["server"], shown)
    table = {name: values[on_them] for name, values in rows.items()}
    mask = table["mask"]
    table["num_bars"] = np.bitwise_count(mask & ~(mask << np.uint64(1))).astype(np.int64)
    return table


def _choose(
    comparison: Comparison, tables: Mapping[str, Mapping[str, AnyArray]], most_bars: int
) -> tuple[int, int, str]:
    """Return the longest window around the longest queue with few enough bars per policy.

    Also return how it was chosen.
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
    text += "A bar is a job on neighbouring GPUs; a job has the same colour on all its GPUs."
    if cut:
        text += f" The {plural(cut, 'bar')} with the smallest area are left out."
    return text
