"""Pictures of studies as figures of Matplotlib, for files (extra: plot)."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from gpusched.reporting.charts.chart import Chart
from gpusched.reporting.charts.study_charts import (
    Estimates,
    Forest,
    Front,
    HeatMap,
    Lines,
    Tornado,
)
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.colour_scale import ends_of, halves
from gpusched.reporting.drawing.matplotlib_parts import (
    DASHES,
    MARKERS,
    legend,
    new,
    set_axis,
    text,
)

_BAND: Final = 0.18
_DODGE: Final = 0.6  # of the room between two names, shared by the policies


def figure(chart: Chart) -> Any:
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
