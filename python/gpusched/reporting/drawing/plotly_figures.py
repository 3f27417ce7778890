"""Charts as figures of Plotly: for notebooks, and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64
from gpusched.base.libraries import need
from gpusched.base.wording import duration
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
    Grid,
    Grids,
    HeatMap,
    Lines,
    Tornado,
)
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.palette import ends_of, halves
from gpusched.reporting.drawing.plotly_values import plain
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
    if axis.scale == "ratio":
        made |= {"type": "log", "tickformat": ",~g"}
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


_SYMBOLS: Final = ("circle", "diamond", "square", "x")
_DODGE: Final = 0.6  # of the room between two names, shared by the policies
_PANEL: Final = 250  # pixels


def _study_parts(chart: Chart, layout: Layout) -> tuple[list[Any], Layout]:
    """Return traces and layout of a picture of a study.

    Raises
    ------
    TypeError
        If it is of another kind.
    """
    if isinstance(chart, Lines):
        return _lines(chart, layout)
    if isinstance(chart, HeatMap):
        return _heat_map(chart, layout)
    if isinstance(chart, Forest):
        return _forest(chart, layout)
    if isinstance(chart, Front):
        return _front(chart, layout)
    if isinstance(chart, Tornado):
        return _tornado(chart, layout)
    raise TypeError(f"no drawing of a {type(chart).__name__}")


def _lines(chart: Lines, layout: Layout) -> tuple[list[Any], Layout]:
    """Draw the panels one below the other; all share both axes."""
    data: list[Any] = []
    notes = []
    seen: set[int] = set()
    count = max(1, len(chart.panels))
    size = 1 / (count + 0.22 * (count - 1))
    for index, panel in enumerate(chart.panels):
        name = "" if index == 0 else str(index + 1)
        top = 1 - index * size * 1.22
        layout[f"yaxis{name}"] = axis_of(chart.y) | {
            "domain": [max(0.0, top - size), top], "matches": "y" if index else None,
        }  # fmt: skip
        if panel.title:
            notes.append({
                "text": text(cut(panel.title)), "xref": "paper", "yref": "paper", "x": 0, "y": top,
                "xanchor": "left", "yanchor": "bottom", "showarrow": False, "font": {"size": 12},
            })  # fmt: skip
        for curve in panel.curves:
            drawn = _points(curve) | {"yaxis": f"y{name}", "showlegend": curve.place not in seen}
            seen.add(curve.place)
            if chart.names:
                offset = _DODGE * (
                    (curve.place % len(panel.curves) + 0.5) / len(panel.curves) - 0.5
                )
                drawn |= {"x": _plain(curve.x + offset), "error_y": _error_bars(curve.y, curve)}
            else:
                data.append(_band(curve, is_across=chart.is_across) | {"yaxis": f"y{name}"})
                drawn |= _joined(curve) if curve.is_joined else {}
            data.append(drawn)
    if chart.names:
        layout["xaxis"] |= {
            "tickvals": list(range(len(chart.names))), "ticktext": [text(n) for n in chart.names],
            "range": [-0.5, len(chart.names) - 0.5],
        }  # fmt: skip
    layout["xaxis"]["anchor"] = f"y{count}" if count > 1 else "y"
    layout |= {"annotations": notes, "height": max(380, 100 + _PANEL * count)}
    layout["margin"]["t"] += 14 if notes else 0
    return data, layout


def _plain(values: Float64) -> list[float | None]:
    """Numbers as JSON has them: nothing where there is none."""
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values.tolist()]


def _points(curve: Estimates) -> Layout:
    colour = palette.colour_of(curve.place)
    return {
        "type": "scatter", "mode": "markers", "x": _plain(curve.x), "y": _plain(curve.y),
        "name": text(curve.label), "legendgroup": str(curve.place),
        "marker": {
            "color": colour, "size": 8,
            "symbol": _SYMBOLS[curve.place // len(palette.COLOURS) % len(_SYMBOLS)],
        },
        "hovertemplate": f"%{{x:,.4~g}}: %{{y:,.4~g}}<extra>{text(curve.label)}</extra>",
        "meta": {"policy": curve.place},
    }  # fmt: skip


def _joined(curve: Estimates) -> Layout:
    line = {
        "color": palette.colour_of(curve.place),
        "dash": palette.dash_of(curve.place),
        "width": 1.8,
    }
    return {"mode": "lines" if len(curve.x) > 20 else "lines+markers", "line": line}


def _band(curve: Estimates, *, is_across: bool) -> Layout:
    known = np.isfinite(curve.low) & np.isfinite(curve.high)
    along = (curve.y if is_across else curve.x)[known]
    there = np.concatenate((along, along[::-1]))
    ends = np.concatenate((curve.low[known], curve.high[known][::-1]))
    x, y = (ends, there) if is_across else (there, ends)
    red, green, blue = bytes.fromhex(palette.colour_of(curve.place).removeprefix("#"))
    return {
        "type": "scatter", "mode": "none", "x": _plain(x), "y": _plain(y), "fill": "toself",
        "fillcolor": f"rgba({red}, {green}, {blue}, 0.18)", "hoverinfo": "skip",
        "showlegend": False, "legendgroup": str(curve.place), "meta": {"policy": curve.place},
        "name": text(curve.label),
    }  # fmt: skip


def _error_bars(middle: Float64, curve: Estimates) -> Layout:
    return _reach(middle, curve.low, curve.high)


def _reach(middle: Float64, low: Float64, high: Float64) -> Layout:
    return {
        "type": "data", "symmetric": False, "thickness": 1.4, "width": 4,
        "array": _plain(np.nan_to_num(np.maximum(high - middle, 0.0))),
        "arrayminus": _plain(np.nan_to_num(np.maximum(middle - low, 0.0))),
    }  # fmt: skip


def _heat_map(chart: HeatMap, layout: Layout) -> tuple[list[Any], Layout]:
    low, high = ends_of(chart)
    shades = palette.SHARE_COLOURS if chart.middle is None else palette.RATIO_COLOURS
    told = [
        [
            f"{text(row)}, {text(name)}: {text(shown)}"
            for name, shown in zip(chart.columns, texts, strict=True)
        ]
        for row, texts in zip(chart.rows, chart.texts, strict=True)
    ]
    data = [{
        "type": "heatmap", "z": [_plain(row) for row in chart.values],
        "text": [[text(shown) for shown in row] for row in chart.texts], "hovertext": told,
        "texttemplate": "%{text}", "hovertemplate": "%{hovertext}<extra></extra>",
        "zmin": low, "zmax": high, "xgap": 1, "ygap": 1,
        "colorscale": [[step / 2, shade] for step, shade in enumerate(shades)],
        "colorbar": {"thickness": 10, "outlinewidth": 0, "title": {"text": text(chart.scale_title),
                     "side": "right"}},
        "meta": {"scale": "value" if chart.middle is None else "ratio"},
    }]  # fmt: skip
    # Fields stand at numbers: of two names that are cut to the same, neither covers the other.
    layout["xaxis"] |= _named(chart.columns) | {"showgrid": False}
    layout["yaxis"] = axis_of(Axis("")) | _named(chart.rows) | {
        "showgrid": False, "title": None, "range": [len(chart.rows) - 0.5, -0.5],
    }  # fmt: skip
    layout |= {"height": 150 + 36 * max(2, len(chart.rows)), "showlegend": False}
    return data, layout


def _named(names: tuple[str, ...]) -> Layout:
    return {
        "tickvals": list(range(len(names))), "ticktext": [text(cut(name, 24)) for name in names]
    }  # fmt: skip


def _forest(chart: Forest, layout: Layout) -> tuple[list[Any], Layout]:
    data = [
        _points(curve) | {"error_x": _error_bars(curve.x, curve), "hovertemplate": _FOREST_HOVER}
        for curve in chart.curves
    ]
    # Names stand above their lines: beside them, long ones would leave no room on a phone.
    layout["annotations"] = [
        {"text": text(cut(name)), "xref": "paper", "x": 0, "xanchor": "left", "yref": "y",
         "y": row - 0.16, "yanchor": "bottom", "showarrow": False, "borderpad": 0,
         "font": {"size": 12}}
        for row, name in enumerate(chart.rows)
    ]  # fmt: skip
    layout["yaxis"] = axis_of(Axis("")) | {
        "tickvals": list(range(len(chart.rows))), "showticklabels": False, "ticks": "",
        "title": None, "range": [len(chart.rows) - 0.6, -0.75],
    }  # fmt: skip
    layout["shapes"] = [_upright(chart.reference)]
    layout |= {"height": 120 + 38 * max(2, len(chart.rows)), "showlegend": False}
    layout["margin"] |= {"l": 16}
    return data, layout


_FOREST_HOVER: Final = "%{x:,.4~g} (-%{error_x.arrayminus:,.3~g}, +%{error_x.array:,.3~g})"


def _upright(x: float, dash: str = "dash") -> Layout:
    return {
        "type": "line", "xref": "x", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": palette.MUTED, "width": 1.3, "dash": dash},
    }  # fmt: skip


def _front(chart: Front, layout: Layout) -> tuple[list[Any], Layout]:
    front = [chart.points[index] for index in chart.front]
    data: list[Any] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "front",
            "hoverinfo": "skip",
            "x": [x for point in front for x in _plain(point.x)],
            "y": [y for point in front for y in _plain(point.y)],
            "line": {"color": palette.LINE, "width": 1.3, "dash": "dash"},
            "showlegend": False,
        }
    ]
    for index, point in enumerate(chart.points):
        ends = chart.x_low[index : index + 1], chart.x_high[index : index + 1]
        drawn = {"error_x": _reach(point.x, *ends), "error_y": _error_bars(point.y, point)}
        data.append(_points(point) | drawn)
    layout |= {"yaxis": axis_of(chart.y), "height": 420}
    return data, layout


def _tornado(chart: Tornado, layout: Layout) -> tuple[list[Any], Layout]:
    data, notes = [], []
    for row, swing in enumerate(chart.swings):
        for begin, end, colour in halves(chart.base, swing.low, swing.high):
            data.append({
                "type": "bar", "orientation": "h", "base": begin, "x": [end - begin], "y": [row],
                "width": 0.5, "marker": {"color": colour}, "showlegend": False,
                "hovertemplate": f"{text(swing.low_text)} to {text(swing.high_text)}"
                f"<extra>{text(swing.name)}</extra>",
            })  # fmt: skip
        label = f"{swing.name}: {swing.low_text} to {swing.high_text}"
        notes.append({
            "text": text(cut(label, 60)), "xref": "paper", "x": 0, "xanchor": "left", "yref": "y",
            "y": row - 0.27, "yanchor": "bottom", "showarrow": False, "font": {"size": 12},
        })  # fmt: skip
    layout["yaxis"] = axis_of(Axis("")) | {
        "tickvals": [], "title": None, "range": [len(chart.swings) - 0.5, -0.85],
        "showgrid": False,
    }  # fmt: skip
    layout |= {
        "annotations": notes, "shapes": [_upright(chart.base, "solid")], "barmode": "overlay",
        "height": 120 + 62 * max(2, len(chart.swings)), "showlegend": False,
    }  # fmt: skip
    layout["margin"] |= {"l": 16}
    return data, layout


_STRIP_GAP = 0.28  # of the height of a strip


def figure(chart: Chart) -> Any:
    """Return the chart as a ``plotly.graph_objects.Figure``."""
    need("plotly", "this figure", "plotly")
    import plotly.graph_objects as go

    data, layout = _parts(chart, in_page=False)
    return go.Figure(data=data, layout=layout)


def page_figure(chart: Chart) -> dict[str, Any]:
    """Return the chart as values of JSON, for the script of a page.

    Without title and legend, which the page has itself, and with all policies of a chart that
    shows one at a time. Plotly is not loaded: its checks take several times as long.
    """
    data, layout = _parts(chart, in_page=True)
    del layout["template"]  # "none", as it is for the script where there is none
    return {"data": plain(data), "layout": plain(layout)}


def empty_figure(*, title: str, x_title: str, y_title: str) -> Any:
    """Return a figure without data, with axes, legend and colours as all have them."""
    import plotly.graph_objects as go

    chart = Chart(name="", title=title, caption="", x=Axis(x_title))
    layout = layout_of(chart, in_page=False)
    return go.Figure(layout=layout | {"yaxis": axis_of(Axis(y_title)) | {"rangemode": "tozero"}})


def _parts(chart: Chart, *, in_page: bool) -> tuple[list[Any], Layout]:
    layout = layout_of(chart, in_page=in_page)
    if isinstance(chart, Curves):
        return (_strips if chart.in_strips else _overlaid)(chart, layout)
    if isinstance(chart, Dots):
        return _dots(chart, layout)
    if isinstance(chart, Gantt):
        return _gantt(chart, layout)
    if isinstance(chart, Grids):
        return _grids(chart, layout)
    return _study_parts(chart, layout)


def _line(curve: Curve, highlighted: frozenset[int] = frozenset()) -> Layout:
    return {
        "type": "scatter",
        "x": short(curve.x),
        "y": short(curve.y),
        "name": text(curve.label),
        "mode": "lines",
        "opacity": palette.opacity_of(curve.place, highlighted),
        "line": {
            "color": palette.colour_of(curve.place), "dash": palette.dash_of(curve.place),
            "width": 1.8, "shape": "hv",
        },
        "meta": {"policy": curve.place},
    }  # fmt: skip


def _overlaid(chart: Curves, layout: Layout) -> tuple[list[Any], Layout]:
    form, unit = chart.hover
    layout |= {"yaxis": axis_of(chart.y), "hovermode": "x unified"}
    hover = f"%{{y:{form}}} {text(unit)}"
    return [_line(c, chart.highlighted) | {"hovertemplate": hover} for c in chart.curves], layout


def _strips(chart: Curves, layout: Layout) -> tuple[list[Any], Layout]:
    """Draw the first policy at the top; all strips share both axes."""
    form, unit = chart.hover
    data, notes, lines = [], [], []
    count = max(1, len(chart.curves))
    size = 1 / (count + _STRIP_GAP * (count - 1))
    for index, curve in enumerate(chart.curves):
        name = "" if index == 0 else str(index + 1)
        top = 1 - index * size * (1 + _STRIP_GAP)
        layout[f"yaxis{name}"] = axis_of(Axis("", chart.y.scale, chart.y.ends)) | {
            "domain": [max(0.0, top - size), top], "nticks": 3, "matches": "y" if index else None,
            "title": None,
        }  # fmt: skip
        if chart.y.scale == "log":
            layout[f"yaxis{name}"] |= {"dtick": None}
        data.append(
            _line(curve)
            | {
                "yaxis": f"y{name}",
                "fill": "tozeroy",
                "hovertemplate": f"%{{y:{form}}} {text(unit)}<extra>{text(curve.label)}</extra>",
            }
        )
        data[-1]["line"] |= {"dash": "solid", "width": 1.2}
        notes.append(_note(cut(curve.label, 30), 0, top, "left") | {"font": {"size": 12}})
        if chart.limit is not None:
            height, what = chart.limit
            lines.append({
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": f"y{name}",
                "y0": height, "y1": height,
                "line": {"color": palette.MUTED, "width": 1, "dash": "dot"},
            })  # fmt: skip
            if index == 0:
                notes.append(_note(what, 1, top, "right") | {"font": {"size": 11}})
    height = max(240, 84 + 84 * count)
    layout["xaxis"]["anchor"] = f"y{count}" if count > 1 else "y"
    layout["margin"]["t"] += 18  # the name of the first strip stands below the toolbar
    layout |= {"annotations": notes, "shapes": lines, "height": height, "showlegend": False}
    return data, layout


def _note(label: str, x: float, y: float, side: str) -> Layout:
    return {
        "text": text(label), "xref": "paper", "yref": "paper", "x": x, "y": y, "xanchor": side,
        "yanchor": "bottom", "showarrow": False, "borderpad": 0,
    }  # fmt: skip


def _dots(chart: Dots, layout: Layout) -> tuple[list[Any], Layout]:
    data = []
    for curve in chart.curves:
        drawn = _line(curve, chart.highlighted) | {
            "mode": "markers",
            "marker": {
                "color": palette.colour_of(curve.place), "size": 10,
                "symbol": ("circle", "diamond", "square", "x")[
                    curve.place // len(palette.COLOURS) % 4
                ],
            },
            "text": [duration(value) for value in curve.x.tolist()],
            "hovertemplate": f"%{{text}}<extra>{text(curve.label)}</extra>",
        }  # fmt: skip
        del drawn["line"]
        data.append(drawn)
    count = len(chart.groups)
    # Names stand above their lines: beside them, long ones would leave no room on a phone.
    layout["annotations"] = [
        {"text": text(cut(name)), "xref": "paper", "x": 0, "xanchor": "left", "yref": "y",
         "y": place + 0.2, "yanchor": "bottom", "showarrow": False, "borderpad": 0,
         "font": {"size": 12}}
        for place, name in enumerate(chart.groups)
    ]  # fmt: skip
    layout["yaxis"] = axis_of(Axis("")) | {
        "tickvals": list(range(count)), "showticklabels": False, "ticks": "", "title": None,
        "range": [-0.5, count - 0.35],
    }  # fmt: skip
    layout["height"] = 110 + 44 * max(2, count)
    layout["margin"] |= {"l": 16}
    return data, layout


def _gantt(chart: Gantt, layout: Layout) -> tuple[list[Any], Layout]:
    data = [_bars(bars) | {"visible": index == 0} for index, bars in enumerate(chart.policies)]
    layout["yaxis"] = _one_at_a_time(chart, layout, {
        "tickvals": [place for place, _ in chart.ticks],
        "ticktext": [name for _, name in chart.ticks],
        "range": [chart.top + 0.3, -0.3],
        "showgrid": False,
    })  # fmt: skip
    layout |= {"height": int(min(900, max(260, 110 + 3.2 * chart.top))), "bargap": 0}
    layout["barmode"] = "overlay"
    return data, layout


def _bars(bars: Bars) -> Layout:
    count = len(palette.JOB_COLOURS)
    steps = [
        [edge / count, colour]
        for index, colour in enumerate(palette.JOB_COLOURS)
        for edge in (index, index + 1)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": text(bars.label),
        "x": short(bars.length),
        "base": bars.begin,
        "y": short(bars.bottom + bars.height / 2),
        "width": short(bars.height * 0.94),
        "customdata": np.stack((bars.job, bars.gpus), axis=1).astype(np.int32),
        "hovertemplate": (
            "job %{customdata[0]}: %{customdata[1]} GPUs<br>from %{base:.4~f} to %{x:.4~f}"
            f"<extra>{text(bars.label)}</extra>"
        ),
        "marker": {
            "color": (bars.job % count).astype(np.uint8), "colorscale": steps, "cmin": -0.5,
            "cmax": count - 0.5, "line": {"width": 0},
        },
        "showlegend": False,
        "meta": {"alone": bars.place},
    }  # fmt: skip


def _grids(chart: Grids, layout: Layout) -> tuple[list[Any], Layout]:
    data = [
        _grid(chart, grid) | {"visible": index == 0} for index, grid in enumerate(chart.policies)
    ]
    layout["yaxis"] = _one_at_a_time(chart, layout, {
        "autorange": "reversed", "showgrid": False, "nticks": 12, "type": "category",
    })  # fmt: skip
    layout["height"] = int(min(620, max(240, 120 + 11 * len(chart.rows))))
    return data, layout


def _grid(chart: Grids, grid: Grid) -> Layout:
    middles = (chart.edges[1:] + chart.edges[:-1]) / 2
    low, middle, high = palette.SHARE_COLOURS
    return {
        "type": "heatmap",
        "name": text(grid.label),
        "z": grid.percent,
        "x": short(middles),
        "y": list(chart.rows),
        "zmin": 0,
        "zmax": 100,
        "colorscale": [[0, low], [0.5, middle], [1, high]],
        "colorbar": {"thickness": 10, "ticksuffix": " %", "outlinewidth": 0, "len": 1},
        "hovertemplate": f"%{{y}}: %{{z}} %<extra>{text(grid.label)}</extra>",
        "meta": {"alone": grid.place},
    }


def _one_at_a_time(chart: Gantt | Grids, layout: Layout, axis: Mapping[str, Any]) -> Layout:
    """Return the vertical axis; a figure that stands alone gets a menu of the policies."""
    names = [text(policy.label) for policy in chart.policies]
    if layout["showlegend"] and len(names) > 1:
        layout["updatemenus"] = [{
            "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom", "pad": {"t": 0, "b": 0},
            "buttons": [
                {"label": name, "method": "update",
                 "args": [{"visible": [other == index for other in range(len(names))]}]}
                for index, name in enumerate(names)
            ],
        }]  # fmt: skip
    layout["showlegend"] = False
    return axis_of(Axis("")) | {"title": None} | dict(axis)
