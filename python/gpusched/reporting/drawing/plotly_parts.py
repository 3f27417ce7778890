"""What all figures of Plotly share: their layout, axes and names."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.reporting.charts.chart import Axis, Chart
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.time_ticks import COARSE, time_ticks

Layout = dict[str, Any]


def text(label: str) -> str:
    """Return a name as Plotly takes it: it reads some HTML in texts."""
    return escape(label, quote=False)


def layout_of(chart: Chart, *, in_page: bool) -> Layout:
    """Return the layout of a figure: its horizontal axis, margins, fonts and, alone, its title."""
    layout: Layout = {
        "template": "none",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": palette.INK},
        "xaxis": axis_of(chart.x),
        "margin": {"l": 60, "r": 16, "t": 36, "b": 44},
        "height": 380,
        "hovermode": "closest",
        "showlegend": not in_page,
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "xanchor": "left"},
        "separators": ".,",
        "modebar": {"orientation": "h"},
    }
    if not in_page:
        layout["title"] = {"text": text(chart.title), "x": 0, "xref": "paper", "font": {"size": 16}}
        layout["margin"]["t"] = 56
    return layout


def axis_of(axis: Axis) -> Layout:
    """Return an axis with its title, scale, ticks and ends."""
    made: Layout = {
        "title": {"text": text(axis.title), "standoff": 8},
        "gridcolor": palette.GRID, "linecolor": palette.LINE, "tickcolor": palette.LINE,
        "ticks": "outside", "zeroline": False, "automargin": True,
    }  # fmt: skip
    if axis.ends is not None:
        made["range"] = [float(end) for end in axis.ends]
    if axis.scale == "share":
        made |= {"tickformat": ".0%", "range": [0, 1.02]}
    if axis.scale == "log":
        made |= {"type": "log", "dtick": 1, "tickformat": ",.0f"}
    if axis.scale == "duration":
        ticks = COARSE
        if axis.ends is not None:
            low, high = axis.ends[0], _end(axis.ends)
            beyond = {at: name for at, name in COARSE.items() if not low <= at <= high}
            ticks = beyond | time_ticks(low, high)  # the others for who zooms out
        made |= {"type": "log", "tickvals": list(ticks), "ticktext": list(ticks.values())}
    if axis.ends is not None and axis.scale in ("log", "duration"):
        made["range"] = [float(np.log10(axis.ends[0])), float(np.log10(_end(axis.ends)))]
    return made


def _end(ends: tuple[float, float]) -> float:
    """Where a logarithmic axis ends: at twice its begin at least."""
    return max(ends[1], 2 * ends[0])


def short(values: AnyArray) -> AnyArray:
    """The seven digits of a float32 are more than a screen shows, in half the bytes."""
    return values.astype(np.float32)


def cut(name: str, most: int = 44) -> str:
    """Shorten a name, but for the number of jobs at its end."""
    if len(name) <= most:
        return name
    base, _, count = name.rpartition(" (")
    tail = f" ({count}" if base else ""
    return f"{name[: max(1, most - len(tail) - 1)]}…{tail}"
