"""The Gantt chart of the page: its controls, and the data from which any part of it is drawn."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.reporting.charts.bar_rows import TICKS, bar_rows
from gpusched.reporting.charts.bars import MOST_SERVERS
from gpusched.reporting.charts.chart import Bars, Gantt
from gpusched.reporting.drawing import palette

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison


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
