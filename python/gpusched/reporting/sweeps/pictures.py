"""The charts of a study: rows from the cells of its runs, and the chart of the rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.libraries import altair as alt
from gpusched.base.suggest import nearest
from gpusched.base.wording import duration, scale_of
from gpusched.reporting.drawing import style
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import (
    Cell,
    Cells,
    Settled,
    Shown,
    Span,
    settled,
    span_of,
    text_of,
)
from gpusched.reporting.sweeps.study_runs import (
    Where,
    along,
    axes_of,
    chosen_runs,
    name_of,
    runs_of,
    values_of,
    varying,
)
from gpusched.results.result import Result
from gpusched.studies.hodges_lehmann import typical
from gpusched.studies.verdicts import Scale

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult

Quantity = Literal["jct_s", "wait_s"]
Rows = list[dict[str, Any]]
Found = tuple[Rows, list[str]]
"""The rows of a chart, and its findings in words."""

MOST_ROWS: Final = 2_000
"""The minimum number of points for a chart."""
_WIDE: Final = 30  # ratio of the ends of an axis; times then need several units
_MOST_PANELS: Final = 12
_MOST_LINES: Final = 60  # in a forest plot
_DOT: Final = {"size": 32}
_MOST_TEXTS: Final = 12  # columns of a heat map whose fields have room for numbers
_SHARES: Final = np.concatenate((np.linspace(0.01, 0.99, 99), [0.995, 0.999, 1.0]))
_LEAST: Final = {"jct_s": 1e-6, "wait_s": 1.0}  # seconds; lower end of the logarithmic axis
WORDS: Final[dict[Quantity, str]] = {"jct_s": "JCT", "wait_s": "Wait"}


@dataclass(frozen=True, eq=False)
class Ruler:
    """The axis of a metric: its unit, its ends, and whether it is logarithmic.

    ``scale``: for changes: ``"ratio"`` or ``"difference"``.
    ``kind``: ``"duration"`` is logarithmic, in seconds with ticks in several units.
    ``ends``: range of all estimates and intervals, in ``unit``.
    """

    study: Settled
    of: Measure
    scale: Scale
    show: Shown
    kind: Literal["linear", "log", "duration"]
    unit: float
    title: str
    ends: tuple[float, float]

    @classmethod
    def of_cells(cls, study: Settled, metric: str, cells: Cells, show: Shown) -> Ruler:
        """Return an axis that fits the given cells."""
        of, is_ratio = measure(metric), show == "change" and cells.scale == "ratio"
        spans = [
            span_of(cell, show)
            for cell in cells.cells
            if show == "typical" or cell.policy != study.baseline
        ]
        known = [end for span in spans for end in span if not math.isnan(end)]
        if show == "change":
            known.append(1.0 if is_ratio else 0.0)
        low, high = (min(known), max(known)) if known else (1.0, 1.0)
        is_log = low > 0 and of.kind != "percent" and (cells.scale == "ratio" or high >= 10 * low)
        unit, name = scale_of(of.kind, [abs(value) for value in known if math.isfinite(value)])
        if is_ratio:
            unit, title = 1.0, f"{of.label}, ratio to {study.baseline}"
        elif show == "change":
            title = f"{of.title(name)}: difference to {study.baseline}"
        elif is_log and of.kind == "time" and high >= _WIDE * low:
            title = f"{of.label} (log scale)"
            return cls(study, of, cells.scale, show, "duration", 1.0, title, (low, high))
        else:
            title = of.title(name)
        kind: Literal["linear", "log"] = "log" if is_log else "linear"
        return cls(study, of, cells.scale, show, kind, unit, title, (low / unit, high / unit))

    @property
    def against(self) -> str:
        """Text for a title: how changes are expressed."""
        return f": {self.scale} to {self.study.baseline}" if self.show == "change" else ""

    def text(self, value: float) -> str:
        """Format an estimate for reading."""
        return text_of(self.of, value, self.show, self.scale)

    def rows(self, cells: Iterable[Cell]) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """Yield the positions of the cells with an estimate on the axis, and their texts."""
        for cell in cells:
            span = span_of(cell, self.show)
            if not span.is_known or (self.show, cell.policy) == ("change", self.study.baseline):
                continue
            value, low, high = map(self.text, span)
            text = value if math.isnan(span.low) else f"{value} ({low} to {high})"
            places = (short(end / self.unit) for end in span)
            named = dict(zip(("value", "low", "high"), places, strict=True))
            yield cell, {"policy": self.study.names[cell.policy], **named, "text": text}

    def channel(self, channel: type[Any], field: str) -> Any:
        """Return the encoding of a field on this axis."""
        low, high = self.padded
        if self.kind == "duration":
            return channel(field, **style.duration_scale(low, high, title=self.title))
        scale = alt.Scale(type=self.kind, domain=[low, high], nice=False)
        axis = alt.Axis(format=",.4~g", tickCount=6, labelOverlap="greedy")
        return channel(field, title=self.title, scale=scale, axis=axis)

    @property
    def padded(self) -> tuple[float, float]:
        """The range with a margin."""
        low, high = self.ends
        if self.kind == "linear":
            margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
            return low - margin, high + margin
        factor = max((high / low) ** 0.05, 1.01)
        return low / factor, high * factor

    @property
    def colours(self) -> tuple[float, float]:
        """The range of a colour scale, centred on "no change" if changes are shown."""
        low, high = self.ends
        if self.show == "change" and self.kind == "linear":
            reach = max(-low, high) or 1.0
            return -reach, reach
        if self.show == "change":
            reach = max(1 / low, high, 1.001)
            return 1 / reach, reach
        return (low, high) if high > low else (low, low + (abs(low) or 1.0))

    def share(self, value: float) -> float:
        """Return the position of a value on the colour scale, from 0 to 1."""
        low, high = self.colours
        if self.kind == "linear":
            return (value - low) / (high - low)
        return math.log(value / low) / math.log(high / low)

    @property
    def colour_label(self) -> str:
        """The value at a position on the colour scale, as a Vega expression."""
        low, high = self.colours
        value = f"({low} + max(0, datum.value) * {high - low})"
        if self.kind != "linear":
            value = f"({low} * pow({high / low}, max(0, datum.value)))"
        return (
            style.DURATION.format(value) if self.kind == "duration" else f"format({value}, ',.3~g')"
        )


def short(value: float) -> float | None:
    """Round to six digits; None for NaN."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def value_text(value: Any) -> str:
    """Format a value of an axis for reading."""
    if value is None:
        return "none"
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def lines(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    x: str | None = None,
    panels: str | None = None,
    show: Shown = "typical",
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
) -> alt.LayerChart | alt.FacetChart:
    """Draw a metric of each policy along an axis, with a band for its interval over the seeds.

    The vertical axis is logarithmic, except for shares and metrics that may be zero.

    Parameters
    ----------
    source
        A study, or its runs: a Polars frame with one row per run.
    metric
        A numeric column of the runs.
    x
        Horizontal axis, such as ``"load"``. None takes the load if runs differ in it, otherwise the
        first axis in which they do. Names instead of numbers (traces, clusters) have points with
        bars and no lines.
    panels
        An axis with a panel for each value; at most 12.
    show
        A ``"typical"`` run, or the ``"change"`` from the baseline on the same jobs: the ratio, for
        shares and for metrics that may be zero the difference.
    where
        The value, or the list of values, of each axis to draw. Runs must differ only in the
        policy, the seed, ``x`` and ``panels``.
    baseline
        A policy; None takes the baseline of the study, or the first policy.
    level
        Share of the intervals that contain the true value.

    Returns
    -------
    altair.LayerChart or altair.FacetChart
        A chart for notebooks; :func:`gpusched.plot.save` writes it as PDF, SVG or PNG.

    Raises
    ------
    TypeError
        If the source is neither.
    ValueError
        If a name is unknown, no run is left, runs differ in an axis that is not drawn, or there
        are more than 2,000 points.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 4, "load": [0.7] * 4 + [0.9] * 4,
    ...     "seed": [1, 1, 2, 2] * 2, "mean_jct_s": [60.0, 50, 70, 55, 90, 65, 99, 70],
    ... })
    >>> chart = gs.plot.lines(runs, "mean_jct_s", x="load")
    """
    axis = along(chosen_runs(runs_of(source), where), x)
    shown = [axis] if panels is None else [axis, panels]
    study = settled(source, shown, where, baseline, level=level)
    cells = study.cells(metric, shown)
    ruler = Ruler.of_cells(study, metric, cells, show)
    if panels is None:
        return lines_chart(ruler, lines_found(ruler, cells.cells), axis)
    values = values_of(study.runs, panels)
    if len(values) > _MOST_PANELS:
        raise ValueError(
            f"panels: {panels!r} has {len(values)} values, at most {_MOST_PANELS} are possible; "
            f"choose some with where={{{panels!r}: [...]}}"
        )
    rows: Rows = []
    findings = []
    titles = [f"{panels} {value_text(value)}" for value in values]
    for value, title in zip(values, titles, strict=True):
        own = [cell for cell in cells.cells if cell.setting[1] == value]
        found, told = lines_found(ruler, own)
        rows += [row | {"panel": title} for row in found]
        findings += [f"{title}: {line}" for line in told]
    return lines_chart(ruler, (rows, findings), axis, titles)


def lines_found(ruler: Ruler, cells: Iterable[Cell], at: int = 0) -> Found:
    """Return the points of all policies along an axis, the setting's number ``at``."""
    rows: Rows = []
    said: dict[str, list[str]] = {}
    for cell, row in ruler.rows(cells):
        value = cell.setting[at]
        rows.append(row | {"x": value if isinstance(value, int | float) else value_text(value)})
        told = f"{value_text(value)}: {ruler.text(span_of(cell, ruler.show).value)}"
        said.setdefault(row["policy"], []).append(told)
    return rows, [f"{name}: {', '.join(e[:1] + e[1:][-1:])}" for name, e in said.items()]


def lines_chart(
    ruler: Ruler, found: Found, x: str, panels: Sequence[str] = ()
) -> alt.LayerChart | alt.FacetChart:
    """Return lines with bands; points with bars if x has names instead of numbers."""
    study, (rows, findings) = ruler.study, found
    places = values_of(study.runs, x)
    tips = [alt.Tooltip("policy:N"), alt.Tooltip("x:N", title=x), alt.Tooltip("text:N", title="is")]
    upright = ruler.channel(alt.Y, "value:Q")
    if study.runs[x].dtype.is_numeric() and None not in places:
        is_log = min(places) > 0 and max(places) >= 10 * min(places)
        scale = alt.Scale(type="log" if is_log else "linear", nice=False, zero=False, padding=12)
        ticks: dict[str, Any] = {"values": places} if len(places) <= 10 else {}
        axis = alt.Axis(format=",.6~g", labelOverlap="greedy", grid=False, **ticks)
        base = _base(study, rows).encode(x=alt.X("x:Q", title=x, scale=scale, axis=axis))
        layers = [
            base.mark_area(opacity=0.1).encode(y=alt.Y("low:Q"), y2=alt.Y2(field="high")),
            base.mark_line(point=_DOT).encode(
                y=upright, tooltip=tips, opacity=style.stands_out(),
                strokeDash=style.policy_dash(study.labels, {row["policy"] for row in rows}),
            ),
        ]  # fmt: skip
    else:
        order = list(map(value_text, places))
        names = [name for name in study.labels if any(row["policy"] == name for row in rows)]
        aside = alt.XOffset("policy:N", scale=alt.Scale(domain=names, paddingOuter=0.5))
        across = alt.X("x:N", title=x, sort=order, axis=alt.Axis(labelAngle=0))
        base = _base(study, rows).encode(x=across, xOffset=aside)
        layers = [
            base.mark_rule(strokeWidth=1.6).encode(y=alt.Y("low:Q"), y2=alt.Y2(field="high")),
            base.mark_point(filled=True).encode(
                y=upright, tooltip=tips, opacity=style.stands_out()
            ),
        ]
    made: alt.LayerChart | alt.FacetChart = _layered(layers, rows)
    if panels:
        facet = alt.Row("panel:N", title=None, sort=list(panels))
        made = made.properties(height=180).facet(row=facet)
    return style.picture(
        made, "lines", f"{ruler.of.label} by {x}{ruler.against}",
        f"A typical run of each policy. {study.note}", findings,
    )  # fmt: skip


def heat_map(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    x: str | None = None,
    show: Shown = "typical",
    where: Where | None = None,
    baseline: str | None = None,
) -> alt.LayerChart:
    """Draw a metric, or its change from the baseline, as a coloured cell per policy and value.

    Parameters: as :func:`lines`.

    Returns
    -------
    altair.LayerChart
        As of :func:`lines`.

    Raises
    ------
    TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 4, "load": [0.7] * 4 + [0.9] * 4,
    ...     "seed": [1, 1, 2, 2] * 2, "mean_jct_s": [60.0, 50, 70, 55, 90, 65, 99, 70],
    ... })
    >>> chart = gs.plot.heat_map(runs, show="change", baseline="fifo")
    """
    axis = along(chosen_runs(runs_of(source), where), x)
    study = settled(source, [axis], where, baseline)
    cells = study.cells(metric, [axis])
    ruler = Ruler.of_cells(study, metric, cells, show)
    return heat_map_chart(ruler, heat_map_found(ruler, cells.cells), axis)


def heat_map_found(ruler: Ruler, cells: Iterable[Cell], at: int = 0) -> Found:
    """Return the cells of all policies along an axis."""
    rows: Rows = []
    said: dict[str, list[str]] = {}
    for cell, row in ruler.rows(cells):
        value, text = value_text(cell.setting[at]), ruler.text(span_of(cell, ruler.show).value)
        share = ruler.share(row["value"])
        # Strong colours need light text: for changes at both ends.
        strong = abs(share - 0.5) > 0.3 if ruler.show == "change" else share > 0.6
        named = {"x": value, "field": text, "share": short(share), "strong": int(strong)}
        rows.append(row | named)
        said.setdefault(row["policy"], []).append(f"{text} at {value}")
    return rows, [f"{name}: {', '.join(fields)}" for name, fields in said.items()]


def heat_map_chart(ruler: Ruler, found: Found, x: str) -> alt.LayerChart:
    """Return a row for each policy, a column for each value."""
    study, (rows, findings) = ruler.study, found
    columns = list(map(value_text, values_of(study.runs, x)))
    names = [name for name in study.labels if any(row["policy"] == name for row in rows)]
    base = alt.Chart().encode(
        x=alt.X("x:N", title=x, sort=columns, axis=alt.Axis(labelAngle=0, grid=False)),
        y=alt.Y("policy:N", title=None, sort=names, axis=alt.Axis(grid=False, labelLimit=160)),
        tooltip=[
            alt.Tooltip("policy:N"),
            alt.Tooltip("x:N", title=x),
            alt.Tooltip("text:N", title="is"),
        ],
    )
    kind = "diverging" if ruler.show == "change" else "heatmap"
    scale = alt.Scale(type="quantize", domain=[0, 1], range=kind)
    legend = alt.Legend(title=ruler.title, orient="bottom", gradientLength=200, titleLimit=400,
                        labelExpr=ruler.colour_label, titleAnchor="start")  # fmt: skip
    layers = [
        base.mark_rect(stroke=None).encode(color=alt.Color("share:Q", scale=scale, legend=legend))
    ]
    if len(columns) <= _MOST_TEXTS:
        text = base.encode(text=alt.Text("field:N"))
        layers += [
            text.transform_filter("!datum.strong").mark_text(),
            text.transform_filter("datum.strong").mark_text(style="strong"),
        ]
    return style.picture(
        _layered(layers, rows, 30 * len(names) + 10), "heat_map",
        f"{ruler.of.label} by policy and {x}{ruler.against}", f"Typical runs. {study.note}",
        findings, has_lines=True,
    )  # fmt: skip


def forest_plot(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
) -> alt.LayerChart:
    """Draw the ratio of each policy to the baseline with its interval, on a logarithmic axis.

    For shares, and for metrics that may be zero, it is the difference. An interval that does not
    cross the dashed line is a change beyond the variation between seeds.

    Parameters
    ----------
    by
        Axes whose combinations have their own rows; None takes those in which runs differ. At most
        60 rows. The other parameters: as :func:`lines`.

    Returns
    -------
    altair.LayerChart
        As of :func:`lines`.

    Raises
    ------
    TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 3, "seed": [1, 1, 2, 2, 3, 3],
    ...     "mean_jct_s": [60.0, 50, 70, 55, 90, 65],
    ... })
    >>> chart = gs.plot.forest_plot(runs, baseline="fifo")
    """
    runs = chosen_runs(runs_of(source), where)
    axes = varying(runs) if by is None else list(by)
    for axis in axes:
        if axis not in axes_of(runs):
            raise ValueError(f"by: no axis {axis!r}; there are {axes_of(runs)}")
    study = settled(source, axes, where, baseline, level=level)
    cells = study.cells(metric, axes)
    count = sum(cell.policy != study.baseline for cell in cells.cells)
    if not count:
        raise ValueError(f"forest_plot: only the baseline {study.baseline!r} has runs")
    if count > _MOST_LINES:
        raise ValueError(
            f"{count} rows, at most {_MOST_LINES} are possible; choose settings with where={{...}}"
        )
    ruler = Ruler.of_cells(study, metric, cells, "change")
    return forest_chart(ruler, forest_found(ruler, cells.cells, axes))


def forest_found(ruler: Ruler, cells: Iterable[Cell], axes: Sequence[str] = ()) -> Found:
    """Return a line for each setting and policy except the baseline."""
    rows: Rows = []
    findings = []
    for cell, row in ruler.rows(cells):
        setting = zip(axes, cell.setting, strict=False)
        line = ", ".join([row["policy"], *(name_of(axis, value) for axis, value in setting)])
        rows.append(row | {"line": line})
        findings.append(f"{line}: {row['text']}")
    return rows, findings


def forest_chart(ruler: Ruler, found: Found) -> alt.LayerChart:
    """Return the lines one below the other, with a dashed line at "no change"."""
    rows, findings = found
    lines = list(dict.fromkeys(row["line"] for row in rows))
    base = _base(ruler.study, rows).encode(y=alt.Y("line:N", sort=lines, axis=None))
    layers = [
        _line_at(1.0 if ruler.kind == "log" else 0.0),
        base.mark_rule(strokeWidth=1.8, yOffset=7).encode(
            x=alt.X("low:Q"), x2=alt.X2(field="high")
        ),
        base.mark_point(filled=True, yOffset=7).encode(
            x=ruler.channel(alt.X, "value:Q"), opacity=style.stands_out(),
            tooltip=[alt.Tooltip("line:N", title="at"), alt.Tooltip("text:N", title="is")],
        ),
        _text_above(lines),
    ]  # fmt: skip
    better = {"lower": " Left is better.", "higher": " Right is better."}.get(ruler.of.better, "")
    return style.picture(
        _layered(layers, rows, _height(rows, 36, "at")), "forest_plot",
        f"{ruler.of.label}{ruler.against}", f"Paired over the seeds; {ruler.study.note}{better}",
        findings, has_lines=True,
    )  # fmt: skip


def pareto(
    source: SweepResult | pl.DataFrame,
    x: str = "mean_jct_s",
    y: str = "p99_jct_s",
    *,
    where: Where | None = None,
    level: float = 0.95,
) -> alt.LayerChart:
    """Draw two metrics of each policy, with intervals, and their Pareto front.

    A policy is on the front if no other is at least as good in both metrics and better in one. If
    a metric does not define which direction is better, lower is assumed.

    Parameters
    ----------
    x, y
        Numeric columns of the runs. The other parameters: as :func:`lines`.

    Returns
    -------
    altair.LayerChart
        As of :func:`lines`.

    Raises
    ------
    TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 2, "seed": [1, 1, 2, 2],
    ...     "mean_jct_s": [60.0, 50, 70, 55], "p99_jct_s": [90.0, 650, 95, 700],
    ... })
    >>> chart = gs.plot.pareto(runs)
    """
    study = settled(source, [], where, level=level)
    across, up = study.cells(x, []), study.cells(y, [])
    of_x = Ruler.of_cells(study, x, across, "typical")
    of_y = Ruler.of_cells(study, y, up, "typical")
    return pareto_chart(of_x, of_y, pareto_found(of_x, of_y, across.cells, up.cells))


def pareto_found(of_x: Ruler, of_y: Ruler, across: Iterable[Cell], up: Iterable[Cell]) -> Found:
    """Return a point for each policy, with those on the front marked."""
    theirs = {row["policy"]: (cell, row) for cell, row in of_y.rows(up)}
    pairs = [
        (cell, row, *theirs[row["policy"]])
        for cell, row in of_x.rows(across)
        if row["policy"] in theirs
    ]
    values = [(one.typical.value, other.typical.value) for one, _, other, _ in pairs]
    front = front_of(values, of_x.of, of_y.of)
    rows: Rows = []
    findings = []
    for place, (one, x, other, y) in enumerate(pairs):
        row = {"policy": x["policy"], "front": int(place in front)}
        for side, own in (("x", x), ("y", y)):
            row |= {f"{side}_{key}": own[key] for key in ("value", "low", "high", "text")}
        rows.append(row)
        texts = of_x.text(one.typical.value), of_y.text(other.typical.value)
        said = f"{of_x.of.label} {texts[0]}, {of_y.of.label} {texts[1]}"
        findings.append(f"{row['policy']}: {said}{', on the front' * (place in front)}")
    return rows, findings


def pareto_chart(of_x: Ruler, of_y: Ruler, found: Found) -> alt.LayerChart:
    """Return the points with their intervals, and a line along the front."""
    study, (rows, findings) = of_x.study, found
    base = _base(study, rows)
    front = alt.Chart().transform_filter("datum.front").mark_line(style="limit", strokeDash=[5, 4])
    tips = [alt.Tooltip(f"{side}_text:N", title=ruler.of.label)
            for side, ruler in (("x", of_x), ("y", of_y))]  # fmt: skip
    layers = [
        front.encode(x=alt.X("x_value:Q"), y=alt.Y("y_value:Q")),
        base.mark_rule().encode(
            x=alt.X("x_low:Q"), x2=alt.X2(field="x_high"), y=alt.Y("y_value:Q")
        ),
        base.mark_rule().encode(
            x=alt.X("x_value:Q"), y=alt.Y("y_low:Q"), y2=alt.Y2(field="y_high")
        ),
        base.mark_point(filled=True).encode(
            x=of_x.channel(alt.X, "x_value:Q"), y=of_y.channel(alt.Y, "y_value:Q"),
            tooltip=[alt.Tooltip("policy:N"), *tips], opacity=style.stands_out(),
        ),
    ]  # fmt: skip
    return style.picture(
        _layered(layers, rows), "pareto",
        f"{of_y.of.label} against {of_x.of.label}",
        f"Typical runs; the dashed line joins the policies that none beats in both. {study.note}",
        findings,
    )  # fmt: skip


def front_of(
    values: Sequence[tuple[float, float]], of_x: Measure, of_y: Measure
) -> tuple[int, ...]:
    """Return the indices of the pairs that no other beats, from the left."""
    signs = [-1.0 if of.better == "higher" else 1.0 for of in (of_x, of_y)]
    costs = [(x * signs[0], y * signs[1]) for x, y in values]
    best = [
        index
        for index, (x, y) in enumerate(costs)
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in costs)
    ]
    return tuple(sorted(best, key=lambda index: values[index]))


def cdf_over_seeds(
    source: SweepResult | pl.DataFrame | Mapping[str, Sequence[Result]],
    quantity: Quantity = "jct_s",
    *,
    where: Where | None = None,
    level: float = 0.95,
) -> alt.LayerChart:
    """Draw the distribution of a time over the jobs under each policy, with bands over the seeds.

    For each share of the jobs the curve shows the time within which that share is done in a typical
    run; the band is its interval. Results give 102 shares; the runs of a study give those with a
    column, such as ``p95_jct_s``.

    Parameters
    ----------
    source
        Results by policy, one for each seed; or a study, or its runs.
    quantity
        ``"jct_s"`` or ``"wait_s"``. Waits of less than 1 s are drawn at 1 s.
    where, level
        As :func:`lines`; ``where`` is for studies.

    Returns
    -------
    altair.LayerChart
        As of :func:`lines`.

    Raises
    ------
    TypeError, ValueError
        As :func:`lines`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(8, 8)
    >>> traces = [gs.generate("philly", 200, seed=seed) for seed in (1, 2, 3)]
    >>> results = {
    ...     policy: [gs.simulate(trace, cluster, policy=policy) for trace in traces]
    ...     for policy in ("fifo", "sjf")
    ... }
    >>> chart = gs.plot.cdf_over_seeds(results)
    """
    if quantity not in WORDS:
        raise ValueError(f"quantity: must be 'jct_s' or 'wait_s', not {quantity!r}")
    if isinstance(source, Mapping):
        if where is not None:
            raise ValueError("where: applies to studies only; select among the results instead")
        curves = _curves_of_results(source, quantity, level)
        seeds = max((len(own) for own in source.values()), default=0)
        note = f"{level:.0%} intervals over {seeds} seeds."
        return cdf_chart(list(source), cdf_found(curves, quantity), quantity, note)
    runs_of(source)
    study = settled(source, [], where, level=level)
    shares = quantile_columns(study.runs.columns, quantity)
    if len(shares) < 2:
        raise ValueError(f"the runs have no quantiles such as 'p95_{quantity}'")
    cells = {key: study.cells(key, []).cells for key in shares}
    found = cdf_found(curves_of(study, cells, quantity), quantity)
    return cdf_chart(study.labels, found, quantity, study.note)


Curves = dict[str, list[tuple[float, Span]]]
"""By policy the shares of the jobs, each with the times within which they are done."""


def _curves_of_results(
    results: Mapping[str, Sequence[Result]], quantity: Quantity, level: float
) -> Curves:
    curves: Curves = {}
    step = -(-len(results) * len(_SHARES) // MOST_ROWS) or 1
    shares = _SHARES[::-1][::step][::-1]
    for policy, own in results.items():
        if not own or not all(isinstance(result, Result) for result in own):
            raise TypeError(f"{policy}: expected results, one for each seed, not {own!r:.80}")
        quantiles = [_quantiles(result, quantity, shares) for result in own]
        values = np.array([found for found in quantiles if found is not None])
        if len(values):
            spans = [typical(np.maximum(row, _LEAST[quantity]), level=level) for row in values.T]
            curves[policy] = [
                (float(share), Span(span.value, span.low, span.high))
                for share, span in zip(shares, spans, strict=True)
            ]
    return curves


def _quantiles(result: Result, quantity: Quantity, shares: Float64) -> Float64 | None:
    values = getattr(result.jobs, quantity)
    values = values[np.isfinite(values)]
    return np.quantile(values, shares, method="inverted_cdf") if len(values) else None


def curves_of(study: Settled, cells: Mapping[str, Iterable[Cell]], quantity: str) -> Curves:
    """Return the quantiles among the metrics of the runs, for policies that have all."""
    shares = quantile_columns(list(cells), quantity)
    curves: Curves = {}
    for key, share in shares.items():
        for cell in cells[key]:
            if cell.typical.is_known:
                curves.setdefault(study.names[cell.policy], []).append((share, cell.typical))
    return {name: curve for name, curve in curves.items() if len(curve) == len(shares)}


def quantile_columns(columns: Sequence[str], quantity: str) -> dict[str, float]:
    """Return the columns with quantiles of a quantity and their shares, ascending."""
    found = {}
    for name in columns:
        if match := re.fullmatch(rf"p(\d+)_{quantity}", name):
            found[name] = int(match[1]) / 10 ** len(match[1])
    if f"max_{quantity}" in columns:
        found[f"max_{quantity}"] = 1.0
    return dict(sorted(found.items(), key=lambda entry: entry[1]))


def cdf_found(curves: Curves, quantity: Quantity) -> Found:
    """Return the points of some curves."""
    least = _LEAST[quantity]
    rows = [
        {
            "policy": name,
            "share": short(share),
            "text": f"{100 * share:.4g}% within " + duration(max(span.value, least)),
        }
        | {
            key: short(max(end, least))
            for key, end in zip(("value", "low", "high"), span, strict=True)
        }
        for name, curve in curves.items()
        for share, span in curve
    ]
    findings = []
    for name, curve in curves.items():
        half, most = (
            duration(next(max(span.value, least) for at, span in curve if at >= share - 1e-9))
            for share in (0.5, 0.95)
        )
        findings.append(f"{name}: half of the jobs within {half}, 95% within {most}")
    return rows, findings


def cdf_chart(labels: Sequence[str], found: Found, quantity: Quantity, note: str) -> alt.LayerChart:
    """Return the curves with horizontal bands."""
    rows, findings = found
    word = WORDS[quantity]
    values = [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]
    title = f"{word if word == 'JCT' else word.lower()} (log scale)"
    ends = (min(values) / 1.2, max(values) * 1.2) if values else (1.0, 2.0)
    upright = alt.Y("share:Q", title="share of the jobs", axis=alt.Axis(format="%"),
                    scale=alt.Scale(domain=[0, 1]))  # fmt: skip
    base = alt.Chart().encode(y=upright, color=style.policy_colour(labels))
    across = alt.X("value:Q", **style.duration_scale(*ends, title=title))
    layers = [
        base.mark_area(opacity=0.1, orient="horizontal").encode(
            x=alt.X("low:Q"), x2=alt.X2(field="high")
        ),
        base.mark_line(point=_DOT if len(rows) < MOST_ROWS / 20 else False).encode(
            x=across, order=alt.Order("share:Q"), strokeDash=style.policy_dash(labels),
            opacity=style.stands_out(),
            tooltip=[alt.Tooltip("policy:N"), alt.Tooltip("text:N", title="is")],
        ),
    ]  # fmt: skip
    small = " Waits of less than 1 s are drawn at 1 s." if quantity == "wait_s" else ""
    return style.picture(
        _layered(layers, rows), "cdf_over_seeds",
        f"{word}: share of the jobs",
        f"The typical quantile over the seeds at each share. {note}{small}", findings,
    )  # fmt: skip


def sensitivity(
    source: SweepResult | pl.DataFrame,
    metric: str = "mean_jct_s",
    *,
    base: Mapping[str, Any] | None = None,
    parameters: Sequence[str] | None = None,
    where: Where | None = None,
) -> alt.LayerChart:
    """Draw how far each parameter moves a metric from its value at a base setting.

    One parameter changes at a time; the widest bar is at the top.

    Parameters
    ----------
    base
        Values of parameters at the base; others are at their first value.
    parameters
        Axes, or ``"policy"``; None takes all in which the runs differ.
    metric, where
        As :func:`lines`.

    Returns
    -------
    altair.LayerChart
        As of :func:`lines`.

    Raises
    ------
    TypeError, ValueError
        As :func:`lines`; also ValueError if no run is at the base.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["las"] * 6, "seed": [1, 2] * 3, "load": [0.7, 0.7, 0.9, 0.9, 0.7, 0.7],
    ...     "threshold": [1, 1, 1, 1, 2, 2], "mean_jct_s": [60.0, 62, 90, 95, 55, 59],
    ... })
    >>> chart = gs.plot.sensitivity(runs, base={"load": 0.7, "threshold": 1})
    """
    runs = chosen_runs(runs_of(source), where)
    differing = [*varying(runs), *(["policy"] if runs["policy"].n_unique() > 1 else [])]
    study = settled(source, differing, where)
    for name in (*(base or ()), *(parameters or ())):
        if name not in differing:
            raise ValueError(f"the runs do not differ in {name!r}{nearest(name, differing)}")
    if not differing:
        raise ValueError("the runs do not differ in any parameter")
    at = {name: (base or {}).get(name, values_of(runs, name)[0]) for name in differing}
    cells = study.cells(metric, [name for name in differing if name != "policy"])
    ruler = Ruler.of_cells(study, metric, cells, "typical")
    found = sensitivity_found(ruler, cells.cells, at, parameters or differing)
    if not found[0]:
        raise ValueError(f"base: no successful run is at {at}")
    setting = ", ".join(name_of(axis, value) for axis, value in at.items())
    return sensitivity_chart(ruler, found, f"One at a time from {setting}. Typical runs.")


def sensitivity_found(
    ruler: Ruler, cells: Iterable[Cell], at: Mapping[str, Any], parameters: Iterable[str]
) -> Found:
    """Return the swing of each parameter about a base; empty if no run is at the base."""
    study, of = ruler.study, ruler.of
    axes = [name for name in at if name != "policy"]
    values = {(cell.policy, *cell.setting): cell.typical.value for cell in cells}

    def value_at(setting: Mapping[str, Any]) -> float:
        policy = setting.get("policy", study.policies[0])
        return values.get((policy, *(setting[axis] for axis in axes)), math.nan)

    middle = value_at(at)
    if math.isnan(middle):
        return [], []
    swings = []
    for parameter in parameters:
        found = {v: value_at({**at, parameter: v}) for v in values_of(study.runs, parameter)}
        known = {value: own for value, own in found.items() if math.isfinite(own)}
        low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        texts = [f"{of.text(known[value])} ({value_text(value)})" for value in (low, high)]
        swings.append((known[low], known[high], f"{parameter}: {texts[0]} to {texts[1]}"))
    name = study.names[at.get("policy", study.policies[0])]
    swings.sort(key=lambda swing: swing[0] - swing[1])
    rows = [
        {"policy": name, "line": line, "side": side, "value": short(begin / ruler.unit),
         "end": short(end / ruler.unit), "middle": short(middle / ruler.unit)}
        for low, high, line in swings
        for side, begin, end in (("less", low, min(high, middle)), ("more", max(low, middle), high))
    ]  # fmt: skip
    return rows, [line for *_, line in swings]


def sensitivity_chart(ruler: Ruler, found: Found, caption: str) -> alt.LayerChart:
    """Return the bars, the widest at the top, with a line at the base."""
    rows, findings = found
    upright = alt.Y("line:N", sort=None, axis=None)
    side = alt.Color("side:N", scale=alt.Scale(domain=["less", "more"]), legend=None)
    layers = [
        alt.Chart().mark_bar(height=12, yOffset=8).encode(
            x=ruler.channel(alt.X, "value:Q"), x2=alt.X2(field="end"), y=upright, color=side,
            tooltip=alt.Tooltip("line:N", title="from"),
        ),
        alt.Chart().transform_aggregate(middle="min(middle)").mark_rule().encode(x=alt.X("middle:Q")),
        _text_above(None).transform_filter("datum.side === 'less'"),
    ]  # fmt: skip
    return style.picture(
        _layered(layers, rows, _height(rows, 40, "at", "policy")), "sensitivity",
        f"{ruler.of.label}: how far each parameter moves it", caption, findings, has_lines=True,
    )  # fmt: skip


def _layered(layers: Sequence[alt.Chart], rows: Rows, height: int = 280) -> alt.LayerChart:
    if len(rows) > MOST_ROWS:
        raise ValueError(
            f"{len(rows):,} points, at most {MOST_ROWS:,} are possible; select with where={{...}}"
        )
    table = style.Rows()
    for policy in dict.fromkeys(row["policy"] for row in rows):
        own = [row for row in rows if row["policy"] == policy]
        table.add(policy, **{key: [row[key] for row in own] for key in own[0] if key != "policy"})
    made = alt.layer(*layers, height=height, width=style.WIDTH)
    made.params = [style.highlight().param]  # type: ignore[list-item]
    drawn: alt.LayerChart = table.chart(made)
    return drawn


def _height(rows: Rows, each: int, *by: str) -> int:
    """Return the height of a list; for a page that of the setting with the most lines."""
    lines = dict.fromkeys(tuple(row.get(name) for name in (*by, "line")) for row in rows)
    return 10 + each * max(Counter(line[:-1] for line in lines).values(), default=1)


def _base(study: Settled, rows: Rows) -> alt.Chart:
    shown = {row["policy"] for row in rows}
    return alt.Chart().encode(color=style.policy_colour(study.labels, shown))


def _line_at(value: float) -> alt.Chart:
    one = alt.Chart(alt.InlineData(values=[{"at": value}])).mark_rule(strokeDash=[5, 4])
    made: alt.Chart = one.encode(x=alt.X("at:Q"))
    return made


def _text_above(order: Sequence[str] | None) -> alt.Chart:
    """Return the names of lines, each above its line at the left edge."""
    text = alt.Chart().mark_text(align="left", baseline="middle", dy=-7, limit=330)
    made: alt.Chart = text.encode(
        x=alt.value(0), y=alt.Y("line:N", sort=order, axis=None), text=alt.Text("line:N")
    )
    return made
