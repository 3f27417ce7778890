"""Charts as figures of Plotly: for notebooks, and for the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched.base.libraries import need
from gpusched.base.wording import duration
from gpusched.reporting.charts.chart import (
    Axis,
    Bars,
    Chart,
    Curve,
    Curves,
    Dots,
    Gantt,
    Grid,
    Grids,
)
from gpusched.reporting.drawing import palette, plotly_studies
from gpusched.reporting.drawing.plotly_parts import Layout, axis_of, cut, layout_of, short, text
from gpusched.reporting.drawing.plotly_values import plain

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
    return plotly_studies.parts(chart, layout)


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
