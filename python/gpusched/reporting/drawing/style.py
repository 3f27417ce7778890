"""The look of all charts: the Vega-Lite configuration, scales and axes, and export to files."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from gpusched.base.libraries import altair as alt
from gpusched.base.libraries import need
from gpusched.base.replacing import write_bytes
from gpusched.reporting.drawing import palette

OneChart = TypeVar("OneChart")
WIDTH: Final = 640
"""Size of a chart outside a page, in pixels; a page makes it as wide as there is room."""
_MM_PER_POINT: Final = 25.4 / 72
_COLUMNS: Final = {"column": 84.0, "text": 178.0}
_SHAPES: Final = ("circle", "diamond", "square", "triangle-up")
_PAPER_LETTERS: Final = 8
_LEAST_HEIGHT: Final = 0.55  # relative to that of a chart outside a page
_WIDTH: Final = re.compile('width="([^"]+)')
_DASHES: Final = {"solid": [1, 0], "dash": [6, 3], "dot": [2, 2], "dashdot": [6, 2, 2, 2]}


class Rows:
    """The data of a chart: one row per policy with lists as columns, which the chart unfolds.

    This form is several times smaller than rows, in notebooks, files and pages.
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def add(self, policy: str, **columns: Any) -> None:
        """Add the rows of a policy: arrays or lists of equal length, rounded to six digits."""
        lists = {name: getattr(values, "tolist", values.copy)() for name, values in columns.items()}
        row = {name: [_short(value) for value in values] for name, values in lists.items()}
        self._rows.append({"policy": policy} | row)

    def chart(self, chart: Any = None, **properties: Any) -> Any:
        """Return a chart of these rows, or use them in a layered one."""
        made = alt.Chart(**properties) if chart is None else chart
        made.data = {"values": self._rows}
        columns: list[Any] = [name for row in self._rows[:1] for name in row if name != "policy"]
        return made.transform_flatten(columns) if columns else made


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def picture(
    chart: OneChart, name: str, title: str, caption: str, findings: Sequence[str] = (), *,
    has_lines: bool = False,
) -> OneChart:  # fmt: skip
    """Add title, caption, alternative text and look to a chart.

    ``chart``: an Altair chart of any kind; the heights of its plots are in pixels.
    ``name``: as in :mod:`gpusched.plot`; the id of the figure in a page.
    ``caption``: how to read the chart, and how points were thinned.
    ``findings``: a few words on each policy.
    ``has_lines``: whether it is a list, whose lines need the height of text on paper as well.
    """
    made: Any = chart
    made = made.copy(deep=False)  # Altair's methods copy and validate all of it at each step
    made.title = title
    made.description = " ".join([f"{title}.", *(f"{finding}." for finding in findings)])
    made.usermeta = {"name": name, "caption": caption, "has_lines": has_lines}
    made.config = config()
    return cast("OneChart", made)


def config(*, in_page: bool = False, points: float = 12) -> dict[str, Any]:
    """Return the configuration of Vega-Lite.

    ``in_page``: whether colours are CSS variables of the page, so that light, dark and print need
        no redrawing. Otherwise they are those of a light page.
    ``points``: font size.
    """

    def colour(name: str, light: str) -> str:
        return f"var(--{name})" if in_page else light

    def scale(name: str, light: Sequence[str]) -> list[str]:
        return [colour(f"{name}-{index}", each) for index, each in enumerate(light)]

    ink, muted = colour("ink", palette.INK), colour("muted", palette.MUTED)
    line, grid = colour("strong-rule", palette.LINE), colour("rule", palette.GRID)
    text = {
        "labelColor": ink, "titleColor": ink, "labelFontSize": points, "titleFontSize": points,
        "titleFontWeight": "normal",
    }  # fmt: skip
    return {
        "background": None if in_page else "white",
        "font": "system-ui, sans-serif" if in_page else "Liberation Sans, Arial, sans-serif",
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": 300},
        "axis": text | {
            "domainColor": line, "tickColor": line, "gridColor": grid, "labelLimit": 260,
        },
        "legend": text | {
            "orient": "bottom", "labelLimit": 260, "symbolStrokeWidth": 2, "symbolOpacity": 1,
        },
        "header": text | {
            "labelOrient": "top", "labelAnchor": "start", "labelPadding": 3, "title": None,
        },
        "title": {"color": ink, "anchor": "start", "fontSize": points * 1.2},
        "line": {"strokeWidth": 0.15 * points},
        "circle": {"size": 3.5 * points},
        "point": {"size": 6 * points, "filled": True},
        "rule": {"color": muted},
        "text": {"color": ink, "fontSize": points},
        "style": {
            "limit": {"color": muted, "stroke": muted, "strokeDash": [2, 3]},
            "strong": {"color": colour("paper", "white")},
        },
        "facet": {"spacing": 12},
        "range": {
            "category": scale("policy", palette.COLOURS),
            "heatmap": scale("share", palette.steps(palette.SHARE_COLOURS, 10)),
            "diverging": scale("ratio", palette.steps(palette.RATIO_COLOURS)),
            "ordinal": scale("job", palette.JOB_COLOURS),
        },
    }  # fmt: skip


def by_policy(labels: Sequence[str], shown: Collection[str] | None = None) -> dict[str, Any]:
    """Return the encodings of lines by policy: colour and, from the eighth on, dash.

    ``labels``: all policies of the comparison or study, in order, so that a policy has the same
        colour in all charts. The column of the data is ``policy``.
    ``shown``: those in the legend; None: all.
    """
    return {"color": policy_colour(labels, shown), "strokeDash": policy_dash(labels, shown)}


def policy_colour(
    labels: Sequence[str], shown: Collection[str] | None = None, *, legend: bool = True
) -> alt.Color:
    """Return the colour of each policy; a page has its own legend."""
    return alt.Color(
        "policy:N", title=None, scale=alt.Scale(domain=list(labels)),
        legend=_legend(labels, shown) if legend else None,
    )  # fmt: skip


def policy_dash(labels: Sequence[str], shown: Collection[str] | None = None) -> alt.StrokeDash:
    """Return the dash of each policy."""
    dashes = [_DASHES[palette.dash_of(place)] for place in range(len(labels))]
    return alt.StrokeDash(
        "policy:N", title=None, scale=alt.Scale(domain=list(labels), range=dashes),
        legend=_legend(labels, shown),
    )  # fmt: skip


def policy_shape(labels: Sequence[str], shown: Collection[str] | None = None) -> alt.Shape:
    """Return the shape of each policy."""
    shapes = [_SHAPES[place // len(palette.COLOURS) % len(_SHAPES)] for place in range(len(labels))]
    return alt.Shape(
        "policy:N", title=None, scale=alt.Scale(domain=list(labels), range=shapes),
        legend=_legend(labels, shown),
    )  # fmt: skip


def _legend(labels: Sequence[str], shown: Collection[str] | None = None) -> alt.Legend | None:
    names = [label for label in labels if shown is None or label in shown]
    if len(labels) < 2:
        return None
    named: dict[str, Any] = {} if len(names) == len(labels) else {"values": names}
    return alt.Legend(columns=_fitting(names, WIDTH), symbolType="stroke", **named)


def _fitting(labels: Sequence[str], width: float) -> int:
    """Number of legend entries in a row."""
    return max(1, int(width // (6.2 * max(map(len, labels), default=1) + 30)))


def highlight(labels: Sequence[str] = ()) -> alt.Parameter:
    """Return the parameter ``highlight``: the highlighted policies, all if empty.

    One chart of a layered one takes it (``add_params``); :func:`stands_out` is the matching
    opacity. The legend of a page sets it.
    """
    return alt.param(name="highlight", value=list(labels))


def stands_out() -> alt.OpacityValue:
    """Return the opacity by the parameter ``highlight``."""
    test = "!length(highlight) || indexof(highlight, datum.policy) >= 0"
    return alt.OpacityValue(palette.FADED, condition={"test": test, "value": 1})


def shown(labels: Sequence[str], first: str) -> alt.Parameter:
    """Return the parameter ``shown``: the policy that a chart shows; a page has a menu.

    The chart filters by ``datum.policy === shown``.
    """
    bind = alt.binding_select(options=list(labels), name="Policy ") if len(labels) > 1 else None
    more: dict[str, Any] = {"bind": bind} if bind else {}
    return alt.param(name="shown", value=first, **more)


_UNITS: Final = (("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0))
_COARSE: Final = (
    1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3_600, 21_600, *(86_400 * 10**power for power in range(6)),
)  # fmt: skip
_FINE: Final = tuple(
    count * scale
    for scale, counts in (
        (1e-3, (1, 2, 5, 10, 20, 50, 100, 200, 500)), (1, (1, 2, 5, 10, 20, 30)),
        (60, (1, 2, 5, 10, 20, 30)), (3_600, (1, 2, 3, 6, 12)),
        (86_400, (1, 2, 4, 7, 14, 30, 60, 100, 200, 500, 1_000)),
    )
    for count in counts
)  # fmt: skip
DURATION: Final = (
    "{0} < 1 ? format({0} * 1000, ',.4~r') + ' ms' : "
    + "".join(
        f"{{0}} < {larger} ? format({{0}} / {scale}, ',.4~r') + ' {unit}' : "
        for (unit, scale), (_, larger) in pairwise(_UNITS[1:])
    )
    + "format({0} / 86400, ',.4~r') + ' d'"
)
"""Seconds in words, as a Vega expression: ``DURATION.format("datum.value")``."""


def duration_scale(low_s: float, high_s: float, *, title: str) -> dict[str, Any]:
    """Return scale, axis and title of a logarithmic axis of seconds, with readable ticks.

    For ``alt.X("jct_s:Q", **duration_scale(1, 90_000, title="JCT (log scale)"))``.
    """
    if not high_s > low_s:
        low_s, high_s = low_s / 2, low_s * 2
    ticks = next(
        (found for known in (_COARSE, _FINE)
         if len(found := [at for at in known if low_s <= at <= high_s]) >= 3),
        None,
    )  # fmt: skip
    chosen: dict[str, Any] = {"values": ticks} if ticks else {"tickCount": 4}
    return {
        "title": title,
        "scale": alt.Scale(type="log", domain=[low_s, high_s], nice=False, clamp=True),
        "axis": alt.Axis(labelExpr=DURATION.format("datum.value"), labelOverlap="greedy", **chosen),
    }


def save(
    chart: Any, path: str | os.PathLike[str], width: Literal["column", "text"] | float = "column"
) -> None:
    """Write a chart as PDF, SVG or PNG, at the width of a paper, without a browser (extra: plot).

    The text size is 8 points; the title is omitted, as papers have captions.

    Parameters
    ----------
    chart
        A chart from a function of :mod:`gpusched.plot`, or any other Altair chart.
    path
        The file to write; its suffix sets the format. PNG has 300 dots per inch.
    width
        ``"column"`` (84 mm), ``"text"`` (178 mm), or millimetres.

    Returns
    -------
    None
        The chart is in the file.

    Raises
    ------
    ImportError
        If vl-convert is missing; the message says what to install.
    ValueError
        If the suffix is none of these, or the width is not positive.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> gs.plot.save(gs.plot.jct_cdf(result), "jct.pdf")
    """
    ending = Path(path).suffix.lower()
    if ending not in (".pdf", ".svg", ".png"):
        raise ValueError(f"path: must end in .pdf, .svg or .png, not {os.fspath(path)!r}")
    mm = _COLUMNS.get(width, width) if isinstance(width, str) else width
    if not isinstance(mm, int | float) or not mm > 0:
        raise ValueError(f"width: must be 'column', 'text' or positive millimetres, not {width!r}")
    need("vl_convert", "a file of a chart", "gpusched-core[plot]")
    import vl_convert

    svg = _svg_of(chart.to_dict(), mm / _MM_PER_POINT)
    if ending == ".svg":
        write_bytes(path, re.sub(r'(width|height)="([\d.]+)"', r'\1="\2pt"', svg, count=2).encode())
    elif ending == ".png":
        write_bytes(path, vl_convert.svg_to_png(svg, ppi=300))
    else:
        write_bytes(path, vl_convert.svg_to_pdf(svg))


def _svg_of(spec: dict[str, Any], points: float) -> str:
    """Draw a specification at a width in points."""
    import vl_convert

    spec = {name: part for name, part in spec.items() if name != "title"}
    spec["config"] = config(points=_PAPER_LETTERS)
    sized = list(views(spec))
    has_lines = spec.get("usermeta", {}).get("has_lines")
    smaller = _PAPER_LETTERS / 12 if has_lines else max(_LEAST_HEIGHT, points / WIDTH)
    for view in sized:
        view["height"] = smaller * view.get("height", 300)
    for part in encodings_of_policies(spec):
        part["legend"]["columns"] = _fitting(part["scale"]["domain"], points * 12 / _PAPER_LETTERS)

    def drawn(width: float) -> str:
        for view in sized:
            view["width"] = width
        made: str = vl_convert.vegalite_to_svg(spec)
        return made

    if sized[0] is spec:
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
        return drawn(points)
    # The total width of several plots follows from two tries; a legend may be wider.
    first, second = (share * points / _abreast(spec) for share in (0.7, 0.8))
    one, two = (float(_WIDTH.findall(drawn(width))[0]) for width in (first, second))
    slope = (two - one) / (second - first)
    return drawn(max(20.0, first + (points - one) / slope)) if slope else drawn(second)


def _abreast(spec: dict[str, Any]) -> int:
    """Number of plots next to each other, as far as the specification shows."""
    return spec.get("columns") or len(spec.get("hconcat", ())) or 1


def views(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a specification that have a width and a height, or itself."""
    for part in inner(spec):
        yield from views(part)
    if not inner(spec):
        yield spec


def inner(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the specifications that one places next to each other, if it is of such a kind."""
    beside = [part for name in ("hconcat", "vconcat", "concat") for part in spec.get(name, [])]
    return [spec["spec"]] if "spec" in spec else beside


def encodings_of_policies(spec: Any) -> Iterator[dict[str, Any]]:
    """Yield each encoding by the column ``policy`` with a legend."""
    if isinstance(spec, dict):
        if spec.get("field") == "policy" and spec.get("legend"):
            yield spec
        for name, part in spec.items():
            if name != "datasets":
                yield from encodings_of_policies(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from encodings_of_policies(part)
