"""The figures of the page: which there are, their sizes, and the HTML around each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Final

from gpusched.plugins.registry import has_flag_of
from gpusched.reporting.charts.bars import knows_servers
from gpusched.reporting.charts.breakdowns import has_users
from gpusched.reporting.charts.chart import (
    MOST_COLOURED,
    Chart,
    Curves,
    Dots,
    Gantt,
    Grids,
    policies_of,
)
from gpusched.reporting.charts.highlights import chosen, highlighted
from gpusched.reporting.charts.over_time import strips
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.plotly_figures import page_figure
from gpusched.reporting.gantt_section import gantt_controls, gantt_facts, without_bars
from gpusched.reporting.page_parts import figure_html
from gpusched.reporting.plotting import (
    allocation,
    contention,
    gantt,
    jct_by_user,
    jct_by_width,
    jct_cdf,
    queue,
    servers,
    slowdown_cdf,
    wait_by_user,
    wait_by_width,
    wait_cdf,
)
from gpusched.schedules.series import series_of

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.schedules.series import Series
    from gpusched.studies.comparison import Comparison

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
        jct_cdf.chart(comparison, points),
        wait_cdf.chart(comparison, points),
        jct_by_width.chart(comparison),
        wait_by_width.chart(comparison),
    ]
    if has_users(comparison.trace):
        charts += [
            jct_by_user.chart(comparison),
            wait_by_user.chart(comparison),
        ]
    if _has_contention(comparison):
        charts.append(slowdown_cdf.chart(comparison, points))
    return (_figure(chart, legend) for chart in charts)


def _over_time(comparison: Comparison) -> Iterator[str]:
    points = _points(comparison)
    shown = (allocation.strip(comparison), queue.STRIP)
    charts = strips(comparison, partial(_series, comparison), points, shown)
    if _has_contention(comparison):
        charts.append(contention.chart(comparison, points))
    return (_figure(chart, "") for chart in charts)


def _series(comparison: Comparison, result: Result) -> Series:
    """Return a series, which is large: kept only where it is asked for again."""
    first = chosen(comparison)
    if first is not None and result is comparison.results[first]:
        return result.series
    return series_of(result.trace, result.schedule, result.intervals)


def _places(comparison: Comparison, window_s: tuple[float, float] | None) -> Iterator[str]:
    most = _BARS // len(comparison.results)
    chart = gantt.chart(comparison, window_s, None, min(_MOST_BARS, most))
    facts = json.dumps(gantt_facts(comparison, chart, most), separators=(",", ":"))
    data = f'<script type="application/json" id="gantt-facts">{facts}</script>'
    yield _figure(servers.chart(comparison), "")
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
