"""Charts as figures of Matplotlib, for files (extra: plot)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gpusched.base.libraries import need
from gpusched.reporting.charts.chart import Axis, Bars, Chart, Curve, Curves, Dots, Gantt, Grids
from gpusched.reporting.drawing import palette

_WIDTH: Final = 8.0
_DASHES: Final = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
_MARKERS: Final = ("o", "D", "s", "X")


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
        raise TypeError(f"no drawing of a {type(chart).__name__}")
    made.suptitle(_text(chart.title), x=0.01, ha="left", fontsize=12, color=palette.INK)
    return made


def _text(label: str) -> str:
    """Return a name as Matplotlib takes it: between two dollars it reads formulas."""
    return label.replace("$", r"\$")


def _new(height: float, rows: int = 1) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    made = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels = made.subplots(rows, 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for axes in panels:
        axes.grid(color=palette.GRID, zorder=0)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(palette.LINE)
        axes.tick_params(colors=palette.INK, labelsize=9)
    return made, list(panels)


def _set_axis(axes: Any, which: str, axis: Axis) -> None:
    getattr(axes, f"set_{which}label")(_text(axis.title), color=palette.INK, fontsize=10)
    side = getattr(axes, f"{which}axis")
    limits = axis.ends
    if axis.scale == "share":
        side.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        limits = (0.0, 1.02)
    if axis.scale in ("log", "duration"):
        getattr(axes, f"set_{which}scale")("log")
        side.set_minor_locator(_no_ticks())
    if axis.scale == "duration" and limits is not None:
        limits = (limits[0], max(limits[1], 2 * limits[0]))
        shown = {at: name for at, name in palette.TIME_TICKS.items() if _in(at, limits)}
        side.set_ticks(list(shown), list(shown.values()))
    elif axis.scale != "share":
        side.set_major_formatter(lambda value, _: f"{value:,.6g}")
    if limits is not None:
        getattr(axes, f"set_{which}lim")(limits)


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _in(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]


def _step(axes: Any, curve: Curve, highlighted: frozenset[int], **more: Any) -> None:
    axes.step(
        curve.x, curve.y, where="post", color=palette.colour_of(curve.place),
        label=_text(curve.label), alpha=palette.opacity_of(curve.place, highlighted),
        **({"linewidth": 1.6, "linestyle": _DASHES[palette.dash_of(curve.place)]} | more),
    )  # fmt: skip


def _legend(made: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        made.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=9)


def _overlaid(chart: Curves) -> Any:
    made, (axes,) = _new(4.4 + 0.2 * (len(chart.curves) // 3))
    for curve in chart.curves:
        _step(axes, curve, chart.highlighted)
    _set_axis(axes, "x", chart.x)
    _set_axis(axes, "y", chart.y)
    _legend(made, axes)
    return made


def _strips(chart: Curves) -> Any:
    made, panels = _new(1.2 + 1.1 * max(1, len(chart.curves)), max(1, len(chart.curves)))
    for axes, curve in zip(panels, chart.curves, strict=False):
        _step(axes, curve, frozenset(), linewidth=1.0, linestyle="-")
        axes.fill_between(
            curve.x, curve.y, step="post", color=palette.colour_of(curve.place), alpha=0.25, lw=0
        )
        axes.set_title(_text(curve.label), loc="left", fontsize=9, color=palette.INK)
        if chart.limit is not None:
            axes.axhline(chart.limit[0], color=palette.MUTED, lw=1, ls=":")
        _set_axis(axes, "y", Axis("", chart.y.scale, chart.y.ends))
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    _set_axis(panels[-1], "x", chart.x)
    made.supylabel(_text(chart.y.title), fontsize=10, color=palette.INK)
    return made


def _dots(chart: Dots) -> Any:
    made, (axes,) = _new(1.6 + 0.3 * max(3, len(chart.groups)))
    for curve in chart.curves:
        marker = _MARKERS[curve.place // len(palette.COLOURS) % len(_MARKERS)]
        axes.plot(
            curve.x, curve.y, marker, color=palette.colour_of(curve.place),
            label=_text(curve.label), alpha=palette.opacity_of(curve.place, chart.highlighted),
        )  # fmt: skip
    _set_axis(axes, "x", chart.x)
    axes.set_yticks(range(len(chart.groups)), [_text(name) for name in chart.groups])
    axes.set_ylim(-0.6, len(chart.groups) - 0.4)
    _legend(made, axes)
    return made


def _gantt(chart: Gantt) -> Any:
    from matplotlib.collections import PolyCollection

    size = min(7.0, max(1.6, 0.4 + 0.035 * chart.top))
    made, panels = _new(0.8 + size * len(chart.policies), len(chart.policies))
    step = -(-len(chart.ticks) // 16)
    for axes, bars in zip(panels, chart.policies, strict=True):
        colours = [palette.JOB_COLOURS[job % len(palette.JOB_COLOURS)] for job in bars.job.tolist()]
        axes.add_collection(PolyCollection(_corners(bars), facecolors=colours, linewidths=0))
        axes.set_title(_text(bars.label), loc="left", fontsize=9, color=palette.INK)
        axes.grid(visible=False)
        axes.set_yticks(*zip(*chart.ticks[::step], strict=True))
        axes.set_ylim(chart.top + 0.3, -0.3)
    _set_axis(panels[-1], "x", chart.x)
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
    made, panels = _new(0.8 + size * len(chart.policies), len(chart.policies))
    step = -(-len(chart.rows) // 12)
    places = np.arange(0, len(chart.rows), step)
    mesh = None
    for axes, grid in zip(panels, chart.policies, strict=True):
        bottoms = np.arange(len(chart.rows) + 1) - 0.5
        mesh = axes.pcolormesh(chart.edges, bottoms, grid.percent, cmap=colours, vmin=0, vmax=100)
        axes.set_title(_text(grid.label), loc="left", fontsize=9, color=palette.INK)
        axes.grid(visible=False)
        axes.set_yticks(places, [chart.rows[place] for place in places])
        axes.set_ylim(len(chart.rows) - 0.5, -0.5)
    _set_axis(panels[-1], "x", chart.x)
    made.colorbar(mesh, ax=panels, label="allocated, %", shrink=0.6)
    return made
