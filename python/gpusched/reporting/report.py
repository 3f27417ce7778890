"""One self-contained HTML page of a comparison: :func:`write_report`."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import math
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.base.wording import duration, plural
from gpusched.plugins.registry import has_flag_of
from gpusched.reporting.chart_library import INLINE, library_tag
from gpusched.reporting.charts.bars import MOST_SERVERS, bars, knows_servers, runs_of_bits
from gpusched.reporting.charts.breakdowns import has_users, means
from gpusched.reporting.charts.chart import (
    MOST_COLOURED,
    Bars,
    Chart,
    Curves,
    Dots,
    Gantt,
    Grids,
    policies_of,
)
from gpusched.reporting.charts.highlights import best, chosen, highlighted
from gpusched.reporting.charts.occupancy import occupancy
from gpusched.reporting.charts.over_time import strips
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.drawn import comparison_of
from gpusched.reporting.drawing.plotly_figures import page_figure
from gpusched.reporting.notes import caption, footnotes, policy_name, remarks
from gpusched.reporting.page_parts import asset, colours, figure_html
from gpusched.reporting.pictures import (
    QUEUE_STRIP,
    allocation_strip,
    contention_chart,
    jct_cdf_chart,
    slowdown_cdf_chart,
    wait_cdf_chart,
)
from gpusched.reporting.tables import (
    definitions,
    items,
    metrics_table,
    paragraphs,
    settings_table,
    wait_tables,
)
from gpusched.schedules.series import series_of

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.schedules.series import Series
    from gpusched.studies.comparison import Comparison

_TRUTH = "which sees the true service times"


def headline(comparison: Comparison) -> list[str]:
    """Return the findings, if there are any."""
    if len(comparison.results) == 1:
        return _single(comparison)
    return _mean_jct(comparison) + _deadlines(comparison)


def _single(comparison: Comparison) -> list[str]:
    ((label, result),) = comparison.results.items()
    row = comparison.summaries[label]
    if not math.isfinite(row["mean_jct_s"]):
        return []
    sentence = f"{policy_name(label, result)}: mean JCT {duration(row['mean_jct_s'])}"
    if math.isfinite(row.get("mean_wait_s", math.nan)):
        sentence += f", mean wait {duration(row['mean_wait_s'])}"
    return [f"{sentence}.{_room(comparison, label)}"]


def _mean_jct(comparison: Comparison) -> list[str]:
    found = _best_two(comparison, "mean_jct_s", "lower")
    if found is None:
        return []
    label, clairvoyant = found
    means = {name: duration(row["mean_jct_s"]) for name, row in comparison.summaries.items()}
    sentence = f"{_lead(comparison, label)} the lowest mean JCT in this trace: {means[label]}."
    sentence += _room(comparison, label)
    if clairvoyant is not None:
        sentence += f" {_marked(comparison, clairvoyant)}, {_TRUTH}, has {means[clairvoyant]}."
    return [sentence]


def _deadlines(comparison: Comparison) -> list[str]:
    found = _best_two(comparison, "dsr", "higher")
    if found is None:
        return []
    label, clairvoyant = found
    shares = {
        name: f"{100 * row.get('dsr', math.nan):.1f} %"
        for name, row in comparison.summaries.items()
    }
    sentence = f"{_lead(comparison, label)} the most deadlines met: {shares[label]}."
    bound = comparison.summaries[label].get("dsr_bound", math.nan)
    if math.isfinite(bound):
        sentence += (
            f" No schedule of these jobs meets more than {math.ceil(1_000 * bound) / 10:g} %."
        )
    if clairvoyant is not None:
        sentence += f" {_marked(comparison, clairvoyant)}, {_TRUTH}, meets {shares[clairvoyant]}."
    return [sentence]


def _best_two(
    comparison: Comparison, key: str, better: Literal["lower", "higher"]
) -> tuple[str, str | None] | None:
    """Return the best that could be deployed, and a clairvoyant one that is better still.

    The best of all, if none could be deployed; None if the metric is undefined for all.
    """
    overall = best(comparison, key, better, deployable=False)
    deployable = best(comparison, key, better, deployable=True)
    if overall is None:
        return None
    if deployable is None:
        return overall, None
    rows = comparison.summaries
    is_beaten = rows[overall][key] != rows[deployable][key]
    return deployable, overall if is_beaten else None


def _lead(comparison: Comparison, label: str) -> str:
    """``srtf † has``, with what it was chosen from."""
    results = comparison.results
    deployable = [name for name, result in results.items() if not result.clairvoyant]
    if not deployable:
        return (
            f"None of these policies could be deployed: all see the true service times. "
            f"Of them, {_marked(comparison, label)} has"
        )
    if len(deployable) == len(results):
        return f"{label} has"
    if len(deployable) == 1:
        return f"{label}, the only one of these that could be deployed, has"
    return f"Of the policies that could be deployed, {label} has"


def _marked(comparison: Comparison, label: str) -> str:
    return policy_name(label, comparison.results[label])


def _room(comparison: Comparison, label: str) -> str:
    """How far from the best possible the mean JCT is, at most.

    The gap is relative to the bound, the room for improvement to the mean itself. It is rounded
    up: the sentence must stay true.
    """
    gap = comparison.summaries[label].get("gap", math.nan)
    if not math.isfinite(gap):
        return ""
    room = math.ceil(1_000 * gap / (1 + gap)) / 10
    return f" No schedule of these jobs can lower that by more than {room:g} %."


TICKS: Final = 1 << 24
"""Times are told to this part of the whole time."""
_COLUMNS: Final = 7
_PLANES: Final = 4  # bytes of a number


@dataclass(frozen=True)
class BarRows:
    """The bars of one policy on all servers.

    Attributes
    ----------
    count, left_out
        Bars that are here, and those of the least area that are not.
    packed
        Base64 of a zlib stream. In it are the columns begin, length, server, first GPU, number of
        GPUs, job, and GPUs of the job; times are in ticks. Each has ``count`` unsigned numbers of
        four bytes: all lowest bytes first, then all second ones, and so on. Bars stand by their
        begin, and instead of begin and job their differences are there, modulo 2^32: so most
        bytes are 0.
    """

    count: int
    left_out: int
    packed: str


def bar_rows(
    comparison: Comparison, window_s: tuple[float, float], most_bars: int
) -> tuple[list[BarRows], float]:
    """Pack at most ``most_bars`` bars of each policy that tells of servers, in their order.

    Those that lie in the window go before others, then those of the most GPU time.

    Parameters
    ----------
    window_s
        From and to, in seconds since the first submission.

    Returns
    -------
    tuple
        The rows of each policy, and the length of the whole time, seconds.
    """
    known = [result for result in comparison.results.values() if knows_servers(result)]
    origin_us = int(comparison.trace.submit_us[0])
    end_us = max(int(result.intervals["end_us"].max()) for result in known)
    span_us = max(1, end_us - origin_us)
    low, high = (origin_us + round(end * 1e6) for end in window_s)
    return [_packed(result, origin_us, span_us, (low, high), most_bars) for result in known], (
        span_us / 1e6
    )


def _packed(
    result: Result, origin_us: int, span_us: int, window_us: tuple[int, int], most_bars: int
) -> BarRows:
    table, left_out = _chosen(result.intervals, window_us, most_bars)
    row, first, length = runs_of_bits(table["mask"])
    # In doubles: microseconds x ticks would leave the range of 64 bits.
    begin, end = (
        np.rint((table[name] - origin_us) * (TICKS / span_us)).astype(np.int64)
        for name in ("start_us", "end_us")
    )
    job = table["job"]
    columns = (
        np.diff(begin[row], prepend=0),
        np.maximum(end - begin, 1)[row],
        table["server"][row],
        first,
        length,
        np.diff(job[row], prepend=0),
        result.trace.gpus[job][row],
    )
    numbers = np.stack([column.astype(np.int64) & 0xFFFFFFFF for column in columns])
    planes = numbers.astype("<u4").view(np.uint8).reshape(_COLUMNS, len(row), _PLANES)
    # Level 9 takes seven times as long to save 2 %.
    stream = zlib.compress(np.ascontiguousarray(planes.transpose(0, 2, 1)).tobytes(), 6)
    return BarRows(len(row), left_out, base64.b64encode(stream).decode())


def _chosen(
    rows: Mapping[str, AnyArray], window_us: tuple[int, int], most_bars: int
) -> tuple[dict[str, AnyArray], int]:
    """Return the rows that are told, by their begin, and how many bars the others have."""
    mask = rows["mask"]
    num_bars = np.bitwise_count(mask & ~(mask << np.uint64(1))).astype(np.int64)
    total = int(num_bars.sum())
    every: Int64 = np.arange(len(mask))
    if total > most_bars:
        inside = (rows["start_us"] < window_us[1]) & (rows["end_us"] > window_us[0])
        area = np.bitwise_count(mask) * (rows["end_us"] - rows["start_us"]).astype(np.float64)
        every = _foremost(area, inside, most_bars)
        every = every[np.lexsort((-area[every], ~inside[every]))]
        every = every[: int(np.searchsorted(np.cumsum(num_bars[every]), most_bars, side="right"))]
    kept = every[np.lexsort((every, rows["start_us"][every]))]
    table: dict[str, Any] = {name: values[kept] for name, values in rows.items()}
    return table, total - int(num_bars[kept].sum())


def _foremost(area: Float64, inside: Bool, count: int) -> Int64:
    """Return rows, ascending, among which so many come first: those inside, then by area.

    What is found is sorted afterwards: a sort of all rows is the dearest part of a long run's page.
    """
    # Rounding may make ranks equal, but changes the order of none.
    rank = np.where(inside, area, area - (area.max() + 1.0))
    if count >= len(rank):
        return np.arange(len(rank))
    return np.flatnonzero(rank >= np.partition(rank, -count)[-count])


def gantt_facts(comparison: Comparison, chart: Gantt, most_bars: int) -> dict[str, Any]:
    """Return what the script of the page draws from.

    Parameters
    ----------
    chart
        The part that is shown first.
    most_bars
        Of each policy.
    """
    policies, span_s = bar_rows(comparison, chart.window_s, most_bars)
    return {
        "groups": [[group.count, group.gpus] for group in comparison.cluster.servers],
        "most": MOST_SERVERS,
        "servers": _listed(chart),
        "window": list(chart.window_s),
        "span": span_s,
        "unit": chart.unit_s,
        "units": chart.unit,
        "ticks": TICKS,
        "colours": len(palette.JOB_COLOURS),
        "policies": [dataclasses.asdict(rows) for rows in policies],
    }


def without_bars(chart: Gantt) -> Gantt:
    """Return the chart with its axes and texts, for bars that come from elsewhere."""
    none, nothing = np.empty(0), np.empty(0, dtype=np.int64)
    policies = [
        Bars(bars.place, bars.label, none, none, none, none, nothing, nothing, bars.finding)
        for bars in chart.policies
    ]
    caption = (
        f"At first {chart.caption[0].lower()}{chart.caption[1:]} Any other window and servers "
        "can be chosen here, by dragging, and by keys."
    )
    return dataclasses.replace(chart, policies=tuple(policies), caption=caption)


def gantt_controls(chart: Gantt) -> str:
    """Return the controls: which servers, and which window."""

    def button(text: str, name: str, value: str) -> str:
        return f'<button type="button" data-{name}="{value}">{text}</button>'

    def field(text: str, name: str, value: str, kind: str) -> str:
        return f'<label>{text} <input id="gantt-{name}" value="{value}" {kind}></label>'

    low, high = (f"{end / chart.unit_s:.6g}" for end in chart.window_s)
    number = 'type="number" step="any"'
    moves = ("earlier", "later", "in", "out", "all", "reset")
    texts = {"in": "zoom in", "out": "zoom out", "all": "whole run"}
    return (
        '<form id="gantt-pick" class="pick" aria-label="what the Gantt chart shows">'
        f"<span>{field('Servers', 'servers', _listed(chart), 'type=text')}"
        f"{button('previous', 'page', '-1')}{button('next', 'page', '1')}</span>"
        f"<span>{field('From', 'from', low, number)}{field('to', 'to', high, number)}"
        f" {chart.unit}</span>"
        f"<span>{''.join(button(texts.get(move, move), 'move', move) for move in moves)}</span>"
        "<button hidden>show</button></form>"
        '<p id="gantt-said" class="footnote" role="status"></p>'
    )


def _listed(chart: Gantt) -> str:
    """``0-31``: the servers that are shown first are the first ones."""
    return f"{chart.servers[0]}-{chart.servers[-1]}"


# Together they bound the page. A point takes 11 bytes, a packed bar about 12, a map 10,000.
_POINTS: Final = 60_000
_MOST_POINTS: Final = 1_200
_BARS: Final = 60_000
_MOST_BARS: Final = 4_000  # as many as gantt.js draws
_MOST_MAPPED: Final = 12
"""Policies whose servers and jobs are drawn; of more, the chosen one and the first ones."""


def job_figures(comparison: Comparison) -> str:
    """Return the section of figures about jobs, with their data."""
    return _section("Jobs", "", _jobs(comparison)) if comparison.results else ""


def cluster_figures(comparison: Comparison, window_s: tuple[float, float] | None) -> str:
    """Return the sections of figures about the cluster, with their data."""
    if not comparison.results:
        return ""
    parts = [_section("The cluster over time", _KEYS, _over_time(comparison))]
    mapped = _mapped(comparison)
    if mapped.results:
        choice = _choice(mapped, chosen(comparison))
        parts.append(_section("Where jobs ran", choice, _places(mapped, window_s)))
    start = json.dumps({"highlighted": sorted(highlighted(comparison))})
    return "".join(parts) + f'<script type="application/json" id="start">{start}</script>'


_KEYS: Final = (
    '<p class="footnote">Drag to zoom, double-click to reset. By keys, on a chart: '
    "<kbd>+</kbd> <kbd>-</kbd> zoom, <kbd>&larr;</kbd> <kbd>&rarr;</kbd> move, <kbd>0</kbd> "
    "resets.</p>"
)


def _jobs(comparison: Comparison) -> Iterator[str]:
    points = _points(comparison)
    legend = _legend(comparison)
    charts: list[Chart] = [
        jct_cdf_chart(comparison, points),
        wait_cdf_chart(comparison, points),
        means(comparison, "width", "jct"),
        means(comparison, "width", "wait"),
    ]
    if has_users(comparison.trace):
        charts += [
            means(comparison, "user", "jct"),
            means(comparison, "user", "wait"),
        ]
    if _has_contention(comparison):
        charts.append(slowdown_cdf_chart(comparison, points))
    return (_figure(chart, legend) for chart in charts)


def _over_time(comparison: Comparison) -> Iterator[str]:
    points = _points(comparison)
    shown = (allocation_strip(comparison), QUEUE_STRIP)
    charts = strips(comparison, partial(_series, comparison), points, shown)
    if _has_contention(comparison):
        charts.append(contention_chart(comparison, points))
    return (_figure(chart, "") for chart in charts)


def _series(comparison: Comparison, result: Result) -> Series:
    """Return a series, which is large: kept only where it is asked for again."""
    first = chosen(comparison)
    if first is not None and result is comparison.results[first]:
        return result.series
    return series_of(result.trace, result.schedule, result.intervals)


def _places(comparison: Comparison, window_s: tuple[float, float] | None) -> Iterator[str]:
    most = _BARS // len(comparison.results)
    chart = bars(comparison, window_s, None, min(_MOST_BARS, most))
    facts = json.dumps(gantt_facts(comparison, chart, most), separators=(",", ":"))
    data = f'<script type="application/json" id="gantt-facts">{facts}</script>'
    yield _figure(occupancy(comparison), "")
    yield _figure(without_bars(chart), "", gantt_controls(chart) + data)


def _points(comparison: Comparison) -> int:
    num_charts = 6 if _has_contention(comparison) else 4
    return max(40, min(_MOST_POINTS, _POINTS // (num_charts * len(comparison.results))))


def _mapped(comparison: Comparison) -> Comparison:
    """Return the policies that tell of servers, but not too many of them."""
    labels = [label for label, r in comparison.results.items() if knows_servers(r)]
    first = chosen(comparison)
    labels.sort(key=lambda label: label != first)  # so that it is among them
    return comparison.select(labels[:_MOST_MAPPED])


def _has_contention(comparison: Comparison) -> bool:
    used = {result.spec.contention for result in comparison.results.values()}
    return not all(has_flag_of("contention", contention, "uncontended") for contention in used)


def _section(title: str, lead: str, made: Iterator[str]) -> str:
    return f'<h2>{title}</h2>{lead}<div class="figures">{"".join(made)}</div>'


def _legend(comparison: Comparison) -> str:
    """A button per policy, which highlights it in all charts that have it."""
    if len(comparison.results) < 2:
        return ""
    buttons = []
    for place, label, _ in policies_of(comparison):
        dash = palette.dash_of(place)
        swatch = f'style="--c:var(--policy-{place % len(palette.COLOURS)})"'
        buttons.append(
            f'<button type="button" aria-pressed="false" data-policy="{place}">'
            f'<i class="{dash}" {swatch}></i>{escape(label)}</button>'
        )
    hint = "Highlight: " if len(comparison.results) > MOST_COLOURED else ""
    return f'<div class="legend" role="group" aria-label="highlight">{hint}{"".join(buttons)}</div>'


def _choice(comparison: Comparison, first: str | None) -> str:
    options = [
        f"<option{' selected' if label == first else ''} value={index}>{escape(name)}</option>"
        for index, (label, (_, name, _)) in enumerate(
            zip(comparison.results, policies_of(comparison), strict=True)
        )
    ]
    menu = f'<select id="shown">{"".join(options)}</select>'
    return f'<p class="choice"><label>Policy {menu}</label></p>'


def _figure(chart: Chart, legend: str, more: str = "") -> str:
    kind = "wide" if isinstance(chart, Gantt | Grids) else ""
    shown = legend if isinstance(chart, Dots) or _is_overlaid(chart) else ""
    drawn = page_figure(chart)
    data = json.dumps(drawn, separators=(",", ":"), allow_nan=False)
    return figure_html(
        chart.name, chart.title, chart.caption, chart.alt, drawn["layout"]["height"], data,
        kind=kind, before=shown + more,
    )  # fmt: skip


def _is_overlaid(chart: Chart) -> bool:
    return isinstance(chart, Curves) and not chart.in_strips


def write_report(
    comparison: Comparison | Result,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    plotly: str = INLINE,
    window_s: tuple[float, float] | None = None,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
) -> None:
    """Write the report of ``comparison`` as one HTML file that needs no network.

    It holds the table of metrics, the distributions of JCT and wait, both by number of GPUs and by
    user, tables of waits by these and by queue, group, type and month, allocation and queue over
    time (where links are shared the slowdowns and the rings, too), the servers over time and a
    Gantt chart, what was left out and warned about, the settings, the version and the digests.
    Beside the chart library it has at most 2 MB, however many jobs there are; captions say by which
    rule points are left out. :mod:`gpusched.reporting.plot` draws its pictures one by one.

    Parameters
    ----------
    comparison
        What to report; a single result will do.
    path
        The file, which is overwritten.
    assumptions
        Choices that were made for the user, to be named beside the workload.
    plotly
        The chart library: ``"inline"`` puts it into the file (4.7 MB), ``"cdn"`` links it, so that
        the charts need a network. Anything else that ends in ``.js`` is the path, relative to the
        report, or the address of a copy.
    window_s
        Of the Gantt chart as it is first shown: from and to, in seconds since the first
        submission. None takes the whole run, or as much around the longest queue as is readable.
        The reader may go to any other window and servers; where a run has too many bars for the
        page, it has all of this window and of the others those of the most GPU time.
    warm_up_s, tail_s
        Let the figures, and the charts of jobs, be of a part of the runs, see
        :meth:`gpusched.Result.summary`; None and None: of the part that the comparison is of.
        What is drawn over time is of the whole runs.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    ImportError
        Without Plotly; the message says what to install.
    ValueError
        If ``plotly`` is none of these, the window is empty, or no job is submitted between
        warm-up and tail.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> comparison = gs.compare(trace, cluster, ["fifo", "sjf"])
    >>> gs.write_report(comparison, "report.html", plotly="cdn")
    """
    comparison = comparison_of(comparison)
    if warm_up_s is not None or tail_s is not None:
        comparison = comparison.within(warm_up_s, tail_s)
    page = render_report(comparison, assumptions, plotly=plotly, window_s=window_s)
    write_text(path, page)


def render_report(
    comparison: Comparison | Result,
    assumptions: Sequence[str] = (),
    *,
    plotly: str = INLINE,
    window_s: tuple[float, float] | None = None,
) -> str:
    """Return the page that :func:`write_report` writes."""
    need("plotly", "the report", "plotly")
    library = library_tag(plotly)
    comparison = comparison_of(comparison)
    of_jobs = _apart(comparison)
    jobs, waits = job_figures(of_jobs), wait_tables(of_jobs)
    del of_jobs
    notes = remarks(comparison)
    count = len(comparison.results)
    title = "Scheduling policies compared" if count > 1 else "A scheduling policy"
    return Template(asset("page.html")).substitute(
        title=escape(f"{comparison.trace.name}: {plural(count, 'policy').replace('ys', 'ies')}"),
        heading=title,
        style=colours() + asset("report.css"),
        script=asset("gantt.js") + asset("report.js"),
        library=library,
        caption=paragraphs([*caption(comparison), *assumptions], "caption"),
        headline=paragraphs(headline(comparison), "headline"),
        metrics=metrics_table(comparison),
        footnotes=paragraphs(footnotes(comparison), "footnote"),
        figures=jobs + cluster_figures(_apart(comparison), window_s),
        waits=waits,
        remarks=f"<h2>Remarks</h2>{items(notes)}" if notes else "",
        sources=paragraphs(_sources(comparison), "caption"),
        settings=settings_table(comparison),
        definitions=definitions(comparison),
    )


def _apart(comparison: Comparison) -> Comparison:
    """Return the comparison with results that remember apart.

    What a part of the page needs of long runs is as large as these, and goes with it.
    """
    results = {label: copy.copy(result) for label, result in comparison.results.items()}
    return replace(comparison, results=results)


def _sources(comparison: Comparison) -> list[str]:
    """Where the jobs come from, and the fingerprint by which they are known again."""
    lines = [f"trace: {comparison.trace.source}", f"cluster: {comparison.cluster}"]
    for result in list(comparison.results.values())[:1]:
        lines.insert(1, f"SHA-256 of its jobs: {result.spec.trace.sha256}")
    return lines
