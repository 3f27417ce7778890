"""Charts as figures of Matplotlib, for files (extra: plot)."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from gpusched.base.libraries import need
from gpusched.reporting.charts.chart import (
    Axis,
    Bars,
    Chart,
    Curve,
    Curves,
    Dots,
    Estimates,
    Forest,
    Front,
    Gantt,
    Grids,
    HeatMap,
    Lines,
    Tornado,
)
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.palette import ends_of, halves
from gpusched.reporting.drawing.time_ticks import time_ticks

_WIDTH: Final = 8.0
DASHES: Final = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
MARKERS: Final = ("o", "D", "s", "X")


def text(label: str) -> str:
    """Return a name as Matplotlib takes it: between two dollars it reads formulas."""
    return label.replace("$", r"\$")


def new(height: float, rows: int = 1, columns: int = 1) -> tuple[Any, list[Any]]:
    """Return a figure of 8 inches by ``height``, and its panels, row by row."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(_WIDTH, height), layout="constrained")
    panels = made.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    for axes in panels:
        axes.grid(color=palette.GRID, zorder=0)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(palette.LINE)
        axes.tick_params(colors=palette.INK, labelsize=9)
    return made, list(panels)


def set_axis(axes: Any, which: str, axis: Axis) -> None:
    """Give an axis (``x`` or ``y``) its title, scale, ticks and ends."""
    getattr(axes, f"set_{which}label")(text(axis.title), color=palette.INK, fontsize=10)
    side = getattr(axes, f"{which}axis")
    limits = axis.ends
    if axis.scale == "share":
        side.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        limits = (0.0, 1.02)
    if axis.scale in ("log", "ratio", "duration"):
        getattr(axes, f"set_{which}scale")("log")
        side.set_minor_locator(_no_ticks())
    if axis.scale == "ratio":
        side.set_major_locator(_ticks_within_decades())
    if axis.scale == "duration" and limits is not None:
        limits = (limits[0], max(limits[1], 2 * limits[0]))
        shown = time_ticks(*limits)
        side.set_ticks(list(shown), list(shown.values()))
    elif axis.scale != "share":
        side.set_major_formatter(lambda value, _: f"{value:,.6g}")
    if limits is not None:
        getattr(axes, f"set_{which}lim")(limits)


def _no_ticks() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _ticks_within_decades() -> Any:
    from matplotlib.ticker import LogLocator

    return LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0), numticks=99)


def legend(made: Any, axes: Any) -> None:
    """Put the names of the curves of a panel below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        made.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize=9)


_BAND: Final = 0.18
_DODGE: Final = 0.6  # of the room between two names, shared by the policies


def _study_figure(chart: Chart) -> Any:
    """Return the figure of a picture of a study, without its title.

    Raises
    ------
    TypeError
        If it is of another kind.
    """
    if isinstance(chart, Lines):
        return _lines(chart)
    if isinstance(chart, HeatMap):
        return _heat_map(chart)
    if isinstance(chart, Forest):
        return _forest(chart)
    if isinstance(chart, Front):
        return _front(chart)
    if isinstance(chart, Tornado):
        return _tornado(chart)
    raise TypeError(f"no drawing of a {type(chart).__name__}")


def _lines(chart: Lines) -> Any:
    columns = 1 if len(chart.panels) < 2 else 2
    rows = -(-len(chart.panels) // columns)
    made, panels = new(1.4 + 2.9 * rows, rows, columns)
    for axes, panel in zip(panels, chart.panels, strict=False):
        for curve in panel.curves:
            if chart.names:
                _bars_of_names(axes, curve, len(panel.curves))
            else:
                _banded(axes, curve, is_across=chart.is_across)
        if panel.title:
            axes.set_title(text(panel.title), loc="left", fontsize=9, color=palette.INK)
        set_axis(axes, "x", chart.x)
        set_axis(axes, "y", chart.y)
        if chart.names:
            axes.set_xticks(range(len(chart.names)), [text(name) for name in chart.names])
            axes.set_xlim(-0.5, len(chart.names) - 0.5)
    for axes in panels[len(chart.panels) :]:
        axes.set_visible(False)
    legend(made, panels[0])
    return made


def _banded(axes: Any, curve: Estimates, *, is_across: bool) -> None:
    colour = palette.colour_of(curve.place)
    marker = MARKERS[curve.place // len(palette.COLOURS) % 4]
    if curve.is_joined and len(curve.x) > 20:
        marker = ""
    axes.plot(
        curve.x, curve.y, color=colour,
        linestyle=DASHES[palette.dash_of(curve.place)] if curve.is_joined else "none",
        linewidth=1.6, marker=marker, markersize=4, label=text(curve.label),
    )  # fmt: skip
    fill = axes.fill_betweenx if is_across else axes.fill_between
    along = curve.y if is_across else curve.x
    fill(along, curve.low, curve.high, color=colour, alpha=_BAND, linewidth=0)


def _bars_of_names(axes: Any, curve: Estimates, count: int) -> None:
    x = curve.x + _DODGE * ((curve.place % count + 0.5) / count - 0.5)
    _with_bars(axes, curve, x, curve.y, y_ends=(curve.low, curve.high))


def _with_bars(
    axes: Any, curve: Estimates, x: Any, y: Any, *, x_ends: Any = None, y_ends: Any = None
) -> None:
    axes.errorbar(
        x, y, xerr=_reach(x, x_ends), yerr=_reach(y, y_ends),
        fmt=MARKERS[curve.place // len(palette.COLOURS) % len(MARKERS)],
        color=palette.colour_of(curve.place), markersize=5, linewidth=1.3, capsize=2.5,
        label=text(curve.label),
    )  # fmt: skip


def _reach(middle: Any, ends: Any) -> Any:
    """How far an interval reaches below and above; nothing where there is none."""
    if ends is None:
        return None
    low, high = ends
    return np.nan_to_num(np.maximum(np.stack((middle - low, high - middle)), 0.0))


def _heat_map(chart: HeatMap) -> Any:
    from matplotlib.colors import LinearSegmentedColormap, Normalize, TwoSlopeNorm

    size = 1.5 + 0.42 * len(chart.rows)
    made, (axes,) = new(size)
    low, high = ends_of(chart)
    if chart.middle is None:
        norm, shades = Normalize(low, high), palette.SHARE_COLOURS
    else:
        norm, shades = TwoSlopeNorm(chart.middle, low, high), palette.RATIO_COLOURS
    colours = LinearSegmentedColormap.from_list("value", list(shades))
    values = np.ma.masked_invalid(chart.values)
    mesh = axes.imshow(values, cmap=colours, norm=norm, aspect="auto")
    axes.set_xticks(range(len(chart.columns)), [text(name) for name in chart.columns])
    axes.set_yticks(range(len(chart.rows)), [text(name) for name in chart.rows])
    axes.set_xlabel(text(chart.x.title), color=palette.INK, fontsize=10)
    axes.grid(visible=False)
    for row, texts in enumerate(chart.texts):
        for column, shown in enumerate(texts):
            value = chart.values[row, column]
            shade = colours(norm(value)) if math.isfinite(value) else (1.0, 1.0, 1.0, 1.0)
            axes.text(
                column, row, text(shown), ha="center", va="center", fontsize=8,
                color="white" if _luminance(shade) < 0.45 else palette.INK,
            )  # fmt: skip
    made.colorbar(mesh, ax=axes, label=text(chart.scale_title), shrink=0.9)
    return made


def _luminance(colour: Any) -> float:
    red, green, blue = colour[:3]
    return float(0.299 * red + 0.587 * green + 0.114 * blue)


def _forest(chart: Forest) -> Any:
    made, (axes,) = new(1.3 + 0.3 * max(3, len(chart.rows)))
    axes.axvline(chart.reference, color=palette.MUTED, linewidth=1.2, linestyle="--")
    for curve in chart.curves:
        _with_bars(axes, curve, curve.x, curve.y, x_ends=(curve.low, curve.high))
    set_axis(axes, "x", chart.x)
    axes.set_yticks(range(len(chart.rows)), [text(name) for name in chart.rows])
    axes.set_ylim(len(chart.rows) - 0.4, -0.6)
    return made


def _front(chart: Front) -> Any:
    made, (axes,) = new(4.6 + 0.2 * (len(chart.points) // 3))
    front = [chart.points[index] for index in chart.front]
    axes.plot(
        [float(point.x[0]) for point in front], [float(point.y[0]) for point in front],
        color=palette.LINE, linewidth=1.2, linestyle="--", zorder=1,
    )  # fmt: skip
    for index, point in enumerate(chart.points):
        x_ends = (chart.x_low[index : index + 1], chart.x_high[index : index + 1])
        _with_bars(axes, point, point.x, point.y, x_ends=x_ends, y_ends=(point.low, point.high))
    set_axis(axes, "x", chart.x)
    set_axis(axes, "y", chart.y)
    legend(made, axes)
    return made


def _tornado(chart: Tornado) -> Any:
    made, (axes,) = new(1.4 + 0.5 * max(2, len(chart.swings)))
    for row, swing in enumerate(chart.swings):
        for begin, end, colour in halves(chart.base, swing.low, swing.high):
            axes.barh(row, end - begin, left=begin, color=colour, height=0.55, zorder=2)
        for value, shown, side in ((swing.low, swing.low_text, "right"),
                                   (swing.high, swing.high_text, "left")):  # fmt: skip
            axes.annotate(
                text(shown), (value, row), xytext=(-4 if side == "right" else 4, 0),
                textcoords="offset points", ha=side, va="center", fontsize=8, color=palette.INK,
            )  # fmt: skip
    axes.axvline(chart.base, color=palette.INK, linewidth=1.2, zorder=3)
    axes.set_yticks(range(len(chart.swings)), [text(swing.name) for swing in chart.swings])
    axes.set_ylim(len(chart.swings) - 0.4, -0.6)
    ends = [chart.base, *(s.low for s in chart.swings), *(s.high for s in chart.swings)]
    room = 0.3 * (max(ends) - min(ends) or 1.0)
    axes.set_xlim(min(ends) - room, max(ends) + room)
    set_axis(axes, "x", chart.x)
    return made


def figure(chart: Chart) -> Any:
    """Return the chart as a ``matplotlib.figure.Figure``; it needs no screen.

    Charts that show one policy at a time have a panel for each.
    """
    need("matplotlib", "this figure", "gpusched-core[plot]")
    if isinstance(chart, Curves):
        made = _strips(chart) if chart.in_strips else _overlaid(chart)
    elif isinstance(chart, Dots):
        made = _dots(chart)
    elif isinstance(chart, Gantt):
        made = _gantt(chart)
    elif isinstance(chart, Grids):
        made = _grids(chart)
    else:
        made = _study_figure(chart)
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
