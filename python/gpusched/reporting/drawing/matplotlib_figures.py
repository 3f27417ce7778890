"""Charts as figures of Matplotlib, for files (extra: plot)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched.base.libraries import need
from gpusched.reporting.charts.chart import Axis, Bars, Chart, Curve, Curves, Dots, Gantt, Grids
from gpusched.reporting.drawing import matplotlib_studies, palette
from gpusched.reporting.drawing.matplotlib_parts import (
    DASHES,
    MARKERS,
    legend,
    new,
    set_axis,
    text,
)


def figure(chart: Chart) -> Any:
    """Return the chart as a ``matplotlib.figure.Figure``; it needs no screen.

    Charts that show one policy at a time have a panel for each.
    """
    need("matplotlib", "this figure", "gpusched[plot]")
    if isinstance(chart, Curves):
        made = _strips(chart) if chart.in_strips else _overlaid(chart)
    elif isinstance(chart, Dots):
        made = _dots(chart)
    elif isinstance(chart, Gantt):
        made = _gantt(chart)
    elif isinstance(chart, Grids):
        made = _grids(chart)
    else:
        made = matplotlib_studies.figure(chart)
    made.suptitle(text(chart.title), x=0.01, ha="left", fontsize=12, color=palette.INK)
    return made


def _step(axes: Any, curve: Curve, highlighted: frozenset[int], **more: Any) -> None:
    axes.step(
        curve.x, curve.y, where="post", color=palette.colour_of(curve.place),
        label=text(curve.label), alpha=palette.opacity_of(curve.place, highlighted),
        **({"linewidth": 1.6, "linestyle": DASHES[palette.dash_of(curve.place)]} | more),
    )  # fmt: skip


def _overlaid(chart: Curves) -> Any:
    made, (axes,) = new(4.4 + 0.2 * (len(chart.curves) // 3))
    for curve in chart.curves:
        _step(axes, curve, chart.highlighted)
    set_axis(axes, "x", chart.x)
    set_axis(axes, "y", chart.y)
    legend(made, axes)
    return made


def _strips(chart: Curves) -> Any:
    made, panels = new(1.2 + 1.1 * max(1, len(chart.curves)), max(1, len(chart.curves)))
    for axes, curve in zip(panels, chart.curves, strict=False):
        _step(axes, curve, frozenset(), linewidth=1.0, linestyle="-")
        axes.fill_between(
            curve.x, curve.y, step="post", color=palette.colour_of(curve.place), alpha=0.25, lw=0
        )
        axes.set_title(text(curve.label), loc="left", fontsize=9, color=palette.INK)
        if chart.limit is not None:
            axes.axhline(chart.limit[0], color=palette.MUTED, lw=1, ls=":")
        set_axis(axes, "y", Axis("", chart.y.scale, chart.y.ends))
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    set_axis(panels[-1], "x", chart.x)
    made.supylabel(text(chart.y.title), fontsize=10, color=palette.INK)
    return made


def _dots(chart: Dots) -> Any:
    made, (axes,) = new(1.6 + 0.3 * max(3, len(chart.groups)))
    for curve in chart.curves:
        marker = MARKERS[curve.place // len(palette.COLOURS) % len(MARKERS)]
        axes.plot(
            curve.x, curve.y, marker, color=palette.colour_of(curve.place),
            label=text(curve.label), alpha=palette.opacity_of(curve.place, chart.highlighted),
        )  # fmt: skip
    set_axis(axes, "x", chart.x)
    axes.set_yticks(range(len(chart.groups)), [text(name) for name in chart.groups])
    axes.set_ylim(-0.6, len(chart.groups) - 0.4)
    legend(made, axes)
    return made


def _gantt(chart: Gantt) -> Any:
    from matplotlib.collections import PolyCollection

    size = min(7.0, max(1.6, 0.4 + 0.035 * chart.top))
    made, panels = new(0.8 + size * len(chart.policies), len(chart.policies))
    step = -(-len(chart.ticks) // 16)
    for axes, bars in zip(panels, chart.policies, strict=True):
        colours = [palette.JOB_COLOURS[job % len(palette.JOB_COLOURS)] for job in bars.job.tolist()]
        axes.add_collection(PolyCollection(_corners(bars), facecolors=colours, linewidths=0))
        axes.set_title(text(bars.label), loc="left", fontsize=9, color=palette.INK)
        axes.grid(visible=False)
        axes.set_yticks(*zip(*chart.ticks[::step], strict=True))
        axes.set_ylim(chart.top + 0.3, -0.3)
    set_axis(panels[-1], "x", chart.x)
    return made


def _corners(bars: Bars) -> Any:
    """The four corners of each bar: float64[bars, 4, 2]."""
    left, right = bars.begin, bars.begin + bars.length
    low, high = bars.bottom + 0.03, bars.bottom + bars.height - 0.03
    x = np.stack((left, right, right, left), axis=1)
    y = np.stack((low, low, high, high), axis=1)
    return np.stack((x, y), axis=2)


def _grids(chart: Grids) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("share", list(palette.SHARE_COLOURS))
    size = min(5.0, max(1.4, 0.5 + 0.08 * len(chart.rows)))
    made, panels = new(0.8 + size * len(chart.policies), len(chart.policies))
    step = -(-len(chart.rows) // 12)
    places = np.arange(0, len(chart.rows), step)
    mesh = None
    for axes, grid in zip(panels, chart.policies, strict=True):
        bottoms = np.arange(len(chart.rows) + 1) - 0.5
        mesh = axes.pcolormesh(chart.edges, bottoms, grid.percent, cmap=colours, vmin=0, vmax=100)
        axes.set_title(text(grid.label), loc="left", fontsize=9, color=palette.INK)
        axes.grid(visible=False)
        axes.set_yticks(places, [chart.rows[place] for place in places])
        axes.set_ylim(len(chart.rows) - 0.5, -0.5)
    set_axis(panels[-1], "x", chart.x)
    made.colorbar(mesh, ax=panels, label="allocated, %", shrink=0.6)
    return made
