"""The figures of all reproductions: curves with bands, and bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

from gpusched.base.replacing import replacing
from gpusched_papers.intervals import Interval

INK: Final = "#1f2933"
GRID: Final = "#e3e6ea"
# Okabe and Ito (2008): told apart by colour-blind readers as well.
COLOURS: Final = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#000000",
)  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """Lines over the same places.

    ``title``, ``heading``: of the panel, and of its horizontal axis.
    ``places``, ``labels``: where the points are, and what the axis calls these places; None: their
        numbers.
    ``lines``: by name: a mean with its interval, or a number, at each place; NaN: nothing is there.
    ``marks``: what is beside them, published or possible, by name and place: dashed, in the colour
        of the line of that name, or in ink where there is none.
    """

    title: str
    heading: str
    places: Sequence[float]
    lines: Mapping[str, Sequence[Interval | float]]
    marks: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)
    labels: Sequence[str] | None = None


def need_files() -> None:
    """Raise ImportError, which names the extra, if figures cannot become files."""
    if find_spec("vl_convert") is None:
        raise ImportError("figures need vl_convert: pip install 'gpusched-core[plot]'")


def curves(
    panels: Sequence[Panel],
    y: str,
    note: str,
    *,
    columns: int = 0,
    scale: float = 1.0,
    top: float | None = None,
    marked: str = "published",
    x_scale: Mapping[str, Any] | None = None,
    y_scale: Mapping[str, Any] | None = None,
) -> Any:
    """Draw lines with the bands of their intervals, the same colour for a name in all panels.

    ``y``: what the vertical axis shows: the values times ``scale``, from 0 to ``top``.
    ``note``: above all panels.
    ``columns``: panels in a row; 0: all.
    ``marked``: what the marks of lines are.
    ``x_scale``, ``y_scale``: as of ``altair.Scale``, such as its ``type``; None: linear.
    """
    import altair as alt

    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    others = [name for panel in panels for name in panel.marks if name not in names]
    colours = [COLOURS[min(place, len(COLOURS) - 1)] for place in range(len(names))]
    domain = [*names, *dict.fromkeys(others)]
    colours += [INK] * (len(domain) - len(names))
    colour = alt.Color(
        "name:N", title=None, scale=alt.Scale(domain=domain, range=colours),
        legend=alt.Legend(symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=2),
    )  # fmt: skip
    bounds: dict[str, Any] = (
        {} if y_scale else {"domainMin": 0} | ({} if top is None else {"domainMax": top})
    )
    upright = alt.Y("value:Q", title=y, scale=alt.Scale(**(y_scale or {}), **bounds))
    drawn = [_panel(panel, scale, colour, upright, x_scale or {}) for panel in panels]
    if any(name in names for panel in panels for name in panel.marks) and "dashed" not in note:
        note += f"; dashed: {marked}"
    made = alt.concat(*drawn, columns=columns or len(panels)).resolve_scale(y="shared")
    return _finished(made, note)


def bars(
    panels: Mapping[str, Mapping[str, tuple[Interval, float]]],
    heading: str,
    note: str,
    *,
    scale: float = 1.0,
    x_scale: Literal["linear", "log"] = "linear",
) -> Any:
    """Draw a horizontal bar for each mean with its interval, and a diamond for what is beside it.

    ``panels``: by title and name.
    """
    import altair as alt

    drawn = []
    for title, values in panels.items():
        rows: list[dict[str, Any]] = [
            {"name": name, "mark": mark * scale} | _ends(mean, scale)
            for name, (mean, mark) in values.items()
        ]
        least = min(min(row["low"], row["mark"]) for row in rows)
        rows = [row | {"from": least / 2 if x_scale == "log" else 0.0} for row in rows]
        base = alt.Chart({"values": rows}, title=title, width=300, height=26 * len(rows)).encode(
            y=alt.Y("name:N", title=None, sort=list(values))
        )
        across = alt.X("value:Q", title=heading, scale=alt.Scale(type=x_scale, nice=False))
        drawn.append(
            base.mark_bar(color=COLOURS[0], height=16).encode(x=across, x2="from:Q")
            + base.mark_rule(color=INK).encode(x="low:Q", x2="high:Q")
            + base.mark_point(shape="diamond", color=INK, fill="white", opacity=1).encode(
                x="mark:Q"
            )
        )
    return _finished(alt.hconcat(*drawn), note)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG."""
    with replacing(path) as partial:
        figure.save(str(partial), format="png", ppi=150)


def _panel(panel: Panel, scale: float, colour: Any, y: Any, x_scale: Mapping[str, Any]) -> Any:
    import altair as alt

    rows: list[dict[str, Any]] = []
    for name, values in panel.lines.items():
        for place, value in zip(panel.places, values, strict=True):
            rows.append({"name": name, "place": place} | _ends(value, scale))
    rows = [row for row in rows if math.isfinite(row["value"])]
    marks = [
        {"name": name, "place": place, "value": height * scale}
        for name, beside in panel.marks.items()
        for place, height in beside.items()
    ]
    ticks: dict[str, Any] = {}
    if len(panel.places) <= 10:  # so few are all named
        labels = panel.labels or [f"{place:g}" for place in panel.places]
        texts = dict(zip(map("{:g}".format, panel.places), labels, strict=True))
        ticks = {"values": list(panel.places), "labelExpr": f"({texts})[format(datum.value, '~r')]"}
    x = alt.X("place:Q", title=panel.heading, axis=alt.Axis(grid=False, **ticks),
              scale=alt.Scale(zero=False, nice=False, **x_scale))  # fmt: skip
    base = alt.Chart({"values": rows}).encode(x=x, color=colour)
    beside = alt.Chart({"values": marks}).encode(x=x, y=y, color=colour)
    return alt.layer(
        base.mark_area(opacity=0.12, clip=True).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(point=len(panel.places) <= 20).encode(y=y),
        beside.mark_line(strokeDash=[4, 3], point={"shape": "diamond", "fill": "white"}),
        title=panel.title, width=260, height=230,
    )  # fmt: skip


def _ends(value: Interval | float, scale: float) -> dict[str, Any]:
    """Return a value and the limits of its interval; where there is none it is its own."""
    if not isinstance(value, Interval):
        value = Interval(value, value, value, 1)
    limits = {"low": value.low, "high": value.high}
    ends = {name: value.value if math.isnan(limit) else limit for name, limit in limits.items()}
    return {name: end * scale for name, end in {"value": value.value, **ends}.items()}


def _finished(chart: Any, note: str) -> Any:
    return chart.properties(title=note).configure(
        view={"stroke": None}, axis={"gridColor": GRID, "labelColor": INK, "titleColor": INK},
        title={"anchor": "start", "fontSize": 12, "fontWeight": "normal"},
        line={"strokeWidth": 1.4}, point={"size": 24}, legend={"labelLimit": 300},
    )  # fmt: skip
