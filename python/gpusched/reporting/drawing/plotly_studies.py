"""Pictures of studies as figures of Plotly."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.charts.chart import Axis, Chart
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
from gpusched.reporting.drawing.plotly_parts import Layout, axis_of, cut, text

_SYMBOLS: Final = ("circle", "diamond", "square", "x")
_DODGE: Final = 0.6  # of the room between two names, shared by the policies
_PANEL: Final = 250  # pixels


def parts(chart: Chart, layout: Layout) -> tuple[list[Any], Layout]:
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
                drawn |= {"x": _plain(curve.x + offset), "error_y": _bars(curve.y, curve)}
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


def _bars(middle: Float64, curve: Estimates) -> Layout:
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
        _points(curve) | {"error_x": _bars(curve.x, curve), "hovertemplate": _FOREST_HOVER}
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
        drawn = {"error_x": _reach(point.x, *ends), "error_y": _bars(point.y, point)}
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
