"""One self-contained HTML page of a study, with filters: :func:`write_sweep`."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.base.wording import plural
from gpusched.reporting.chart_library import INLINE, library_tag
from gpusched.reporting.charts.chart import Axis, Chart
from gpusched.reporting.drawing import palette
from gpusched.reporting.drawing.plotly_figures import layout_of
from gpusched.reporting.drawing.time_ticks import COARSE
from gpusched.reporting.page_parts import asset, colours
from gpusched.reporting.sweeps.cdf_over_seeds import LEAST, WORDS, quantile_columns
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.settled import Cell, Settled, Shown, Span, settled, text_of
from gpusched.reporting.sweeps.study_runs import (
    Where,
    axes_of,
    name_of,
    runs_of,
    values_of,
    varying,
)
from gpusched.reporting.tables import figure, grid, heading, items, paragraphs, row, sorting
from gpusched.results.metric_registry import METRICS
from gpusched.results.shown_metrics import all_metrics
from gpusched.studies.verdicts import Scale

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult

_MOST_BYTES: Final = 1_500_000
_CELL_BYTES: Final = 92  # of one metric: twelve numbers of six digits and less
_SETTING_BYTES: Final = 44
MOST_ROWS: Final = 2_000
"""Of the table that is seen at once."""


@dataclass(frozen=True, eq=False)
class PageCells:
    """The cells of a page.

    Attributes
    ----------
    axes
        In which the runs differ.
    settings
        Position of the value on each axis, and the policy, of each cell.
    by_metric
        The cells of each metric, in the order of ``settings``; None where a metric has no cell.
    left_out
        Metrics for which there was no room.
    scales
        Of the changes of each metric: ``"ratio"`` or ``"difference"``.
    warnings, headline
        Of the comparison by the first metric.
    """

    study: Settled
    axes: tuple[str, ...]
    settings: tuple[tuple[tuple[int, ...], str], ...]
    by_metric: dict[str, list[Cell | None]]
    left_out: tuple[str, ...]
    scales: dict[str, Scale]
    warnings: tuple[str, ...]
    headline: tuple[str, ...]

    @property
    def measures(self) -> list[Measure]:
        """The metrics, the first one chosen at first."""
        return [measure(key) for key in self.by_metric]

    @property
    def first(self) -> list[Cell]:
        """The cells of the first metric."""
        return [cell for cell in next(iter(self.by_metric.values())) if cell is not None]

    @property
    def quantiles(self) -> dict[str, dict[str, float]]:
        """By time of jobs the metrics that are its quantiles, with their shares."""
        found = {quantity: quantile_columns(list(self.by_metric), quantity) for quantity in WORDS}
        return {quantity: shares for quantity, shares in found.items() if len(shares) > 1}

    def along(self) -> int:
        """Return the axis along which pictures go at first: the load, or that of most values."""
        if "load" in self.axes:
            return self.axes.index("load")
        sizes = [len(values_of(self.study.runs, axis)) for axis in self.axes]
        return sizes.index(max(sizes)) if sizes else 0


def page_cells(study: Settled, metrics: Sequence[str] | None) -> PageCells:
    """Return the cells of a study.

    Parameters
    ----------
    metrics
        Those that are shown; None takes those of tables that the runs have and that are not all
        the same, the most important ones first.

    Raises
    ------
    ValueError
        If a metric is not known, or the cells of a single one are too many for a page.
    """
    axes = tuple(varying(study.runs))
    places = {axis: {v: i for i, v in enumerate(values_of(study.runs, axis))} for axis in axes}
    chosen = _present(study) if metrics is None else list(dict.fromkeys(metrics))
    found: dict[str, list[Cell]] = {}
    room = 1
    scales: dict[str, Scale] = {}
    first = None
    for key in chosen:
        if len(found) == room:
            break
        compared = study.cells(key, axes)
        found[key], scales[key] = compared.cells, compared.scale
        if first is None:
            first, room = compared, _room(len(compared.cells))
    at: dict[tuple[tuple[int, ...], str], int] = {}
    for cells in found.values():
        for cell in cells:
            at.setdefault((_position(cell, axes, places), cell.policy), len(at))
    by_metric: dict[str, list[Cell | None]] = {}
    for key, cells in found.items():
        column: list[Cell | None] = [None] * len(at)
        for cell in cells:
            column[at[_position(cell, axes, places), cell.policy]] = cell
        by_metric[key] = column
    assert first is not None
    return PageCells(
        study=study,
        axes=axes,
        settings=tuple(at),
        by_metric=by_metric,
        left_out=tuple(chosen[len(found) :]),
        scales=scales,
        warnings=first.warnings,
        headline=first.headline,
    )


def _position(
    cell: Cell, axes: Sequence[str], places: dict[str, dict[Any, int]]
) -> tuple[int, ...]:
    return tuple(places[axis][value] for axis, value in zip(axes, cell.setting, strict=True))


def _room(num_cells: int) -> int:
    """Return how many metrics the page has room for."""
    room = (_MOST_BYTES - _SETTING_BYTES * num_cells) // (_CELL_BYTES * max(1, num_cells))
    if room < 1:
        raise ValueError(
            f"{num_cells:,} settings and policies are too many for one page: "
            "choose some of them with where={...}"
        )
    return room


def _present(study: Settled) -> list[str]:
    """The metrics of tables, the main ones first, then other quantiles of JCT and wait."""
    known = sorted(all_metrics(), key=lambda metric: metric.table != "main")
    # What a run's speed was says something of the machine, and nothing of the policy.
    known = [metric for metric in known if "clock" not in metric.needs]
    columns = [metric.key for metric in known if metric.key in study.runs.columns]
    numbers = [name for name in columns if study.runs[name].dtype.is_numeric()]
    found = [name for name in numbers if study.runs[name].drop_nulls().n_unique() > 1]
    if not found:
        raise ValueError("metrics: the runs have no metric of tables in which they differ")
    found.sort(key=lambda name: name != "mean_jct_s")
    return found


def page_data(page: PageCells) -> dict[str, Any]:
    """Return all that the script of the page reads, as plain values."""
    study, keys = page.study, list(page.by_metric)
    index = {name: place for place, name in enumerate(study.policies)}
    chart = Chart(name="", title="", caption="", x=Axis(""))
    return {
        "baseline": study.baseline,
        "base": layout_of(chart, in_page=True),
        "ticks": [[at, name] for at, name in COARSE.items()],
        "mostRows": MOST_ROWS,
        "axes": [_axis(page, axis) for axis in page.axes],
        "policies": [
            {"name": name, "label": study.names[name], "place": study.places[name]}
            for name in study.policies
        ],
        "metrics": [
            {
                "key": of.key, "label": of.label, "kind": of.kind, "better": of.better,
                "scale": page.scales[of.key], "values": _columns(page.by_metric[of.key]),
            }
            for of in page.measures
        ],
        "cells": [
            {"at": list(at), "policy": index[policy], "num": _num(page, row)} | _mark(page, row)
            for row, (at, policy) in enumerate(page.settings)
        ],
        "quantiles": [
            {
                "label": WORDS[quantity], "least": LEAST[quantity], "shares": list(shares.values()),
                "metrics": [keys.index(key) for key in shares],
            }
            for quantity, shares in page.quantiles.items()
        ],
    }  # fmt: skip


def _axis(page: PageCells, axis: str) -> dict[str, Any]:
    values = values_of(page.study.runs, axis)
    is_number = page.study.runs[axis].dtype.is_numeric() and None not in values
    return {
        "name": axis,
        "isNumber": is_number,
        "values": values if is_number else list(range(len(values))),
        "texts": [text_of_value(value) for value in values],
    }


def text_of_value(value: Any) -> str:
    """Return a value on an axis as a cell of a table has it."""
    if value is None:
        return "none"
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def _num(page: PageCells, row: int) -> int:
    return max((cells[row].num for cells in page.by_metric.values() if cells[row]), default=0)  # type: ignore[union-attr]


def _mark(page: PageCells, row: int) -> dict[str, str]:
    marks = (cells[row].mark for cells in page.by_metric.values() if cells[row])  # type: ignore[union-attr]
    found = next(marks, "")
    return {"mark": found} if found else {}


def _columns(cells: Sequence[Cell | None]) -> list[list[float | None]]:
    spans = [
        [_ends(span) for cell in cells for span in [getattr(cell, name, Span())]]
        for name in ("typical", "change")
    ]
    made = [[ends[place] for ends in column] for column in spans for place in range(3)]
    for name in ("mean", "worst", "num_better", "num_pairs", "p", "is_ahead"):
        made.append([_short(getattr(cell, name)) if cell else None for cell in cells])
    return made


def _ends(span: Span) -> tuple[float | None, float | None, float | None]:
    return _short(span.value), _short(span.low), _short(span.high)


def _short(value: float) -> float | None:
    """Six digits are more than a page shows."""
    return float(f"{value:.6g}") if value == value else None


_MOST_STATIC: Final = 400
_MOST_FAILURES: Final = 200


def filters(page: PageCells) -> str:
    """Return the controls that choose what is seen."""
    study = page.study
    labels = [of.label for of in page.measures]
    keys = list(page.by_metric)
    second = keys.index("p99_jct_s") if "p99_jct_s" in keys[1:] else min(1, len(labels) - 1)
    parts = [_menu("metric", "Metric", labels)]
    if len(study.policies) > 1:
        parts.append(_menu("show", "Shown as", ["typical", "change"], by_name=True))
    if page.axes:
        parts.append(_menu("along", "Along", page.axes, first=page.along()))
    for place, axis in enumerate(page.axes):
        names = [text_of_value(value) for value in values_of(study.runs, axis)]
        parts.append(_menu(f"axis-{place}", axis, names))
    if len(labels) > 1:
        parts.append(_menu("second", "Against", labels, first=second))
    if page.axes:
        parts.append('<label><input type="checkbox" id="every"> table of all settings</label>')
    boxes = "".join(
        f'<label><input type="checkbox" id="policy-{index}" checked>'
        f'<i class="{palette.dash_of(study.places[name])}" '
        f'style="--c:var(--policy-{study.places[name] % len(palette.COLOURS)})"></i>'
        f"{escape(study.names[name])}</label>"
        for index, name in enumerate(study.policies)
    )
    fieldset = f"<fieldset><legend>Policies</legend>{boxes}</fieldset>"
    return f'<form id="filters" aria-label="filters" hidden>{"".join(parts)}{fieldset}</form>'


def _menu(
    name: str, label: str, options: Sequence[str], *, first: int = 0, by_name: bool = False
) -> str:
    made = "".join(
        f'<option value="{escape(option) if by_name else place}"'
        f"{' selected' if place == first else ''}>{escape(option)}</option>"
        for place, option in enumerate(options)
    )
    return f'<label>{escape(label)} <select id="{name}">{made}</select></label>'


def choice(name: str, label: str, options: Sequence[str]) -> str:
    """Return a menu that stands above one chart."""
    return f'<p class="choice">{_menu(name, label, options)}</p>'


def cells_table(page: PageCells) -> str:
    """Return the table that is there without a script: the first metric at every setting."""
    of, study = page.measures[0], page.study
    share = f"{study.level:.0%} interval"
    heads = [
        ("policy", "ascending", ""), *((axis, "ascending", "") for axis in page.axes),
        ("seeds", "descending", "runs that did not fail"),
        ("typical", "descending" if of.better == "higher" else "ascending", "of all seeds"),
        (share, "ascending", "of a typical run"),
        ("mean", "ascending", "of these runs"), ("worst", "ascending", "of these runs"),
        ("change", "ascending", f"ratio or difference to {study.baseline}, on the same jobs"),
        (share, "ascending", "of the change"),
        ("better", "descending", f"seeds in which it was better than {study.baseline}"),
        ("p", "ascending", "of no change, corrected for the number of rows"),
        ("growth", "descending", "where jobs pile up"),
    ]  # fmt: skip
    head = [sorting(escape(name), first, title) for name, first, title in heads]
    cells = next(iter(page.by_metric.values()))
    known = [cell for cell in cells if cell is not None][:_MOST_STATIC]
    scale = page.scales[of.key]
    body = [_row(of, study.names[c.policy], c, scale, c.policy == study.baseline) for c in known]
    caption = f'<caption id="metric-name">{escape(of.label)}</caption>'
    return grid("each policy at each setting", head, body, ' id="metrics"', caption)


def _row(of: Measure, name: str, cell: Cell, scale: Scale, is_baseline: bool) -> str:
    cells = [figure(text_of_value(value), value) for value in cell.setting]
    typical = of.text(cell.typical.value)
    cells += [
        figure(str(cell.num), cell.num),
        figure(typical, cell.typical.value, is_best=cell.is_ahead),
        _between(of, cell.typical, "typical", scale),
        figure(of.text(cell.mean), cell.mean),
        figure(of.text(cell.worst), cell.worst),
    ]
    if is_baseline:
        cells += map(figure, ("baseline", "", "", ""))
    else:
        value = cell.change.value
        cells += [
            figure(text_of(of, value, "change", scale), value),
            _between(of, cell.change, "change", scale),
            figure(better_text(cell), cell.num_better),
            figure(p_text(cell.p), cell.p),
        ]
    cells.append(figure(cell.mark))
    return row(escape(name), cells)


def better_text(cell: Cell) -> str:
    """Return in how many seeds a policy was better than the baseline."""
    return "" if math.isnan(cell.num_better) else f"{cell.num_better:.0f}/{cell.num_pairs}"


def _between(of: Measure, span: Span, show: Shown, scale: Scale) -> str:
    if math.isnan(span.low) or math.isnan(span.high):
        return figure("-")
    low, high = (text_of(of, end, show, scale) for end in (span.low, span.high))
    return figure(f"{low} to {high}", span.low)


def p_text(value: float) -> str:
    """Return a p value as a table has it."""
    if math.isnan(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def failures(runs: pl.DataFrame) -> str:
    """Return the runs that failed, each with its error and the line that repeats it."""
    if "error" not in runs.columns:
        return ""
    failed = runs.filter(runs["error"].is_not_null())
    if failed.is_empty():
        return ""
    axes = [name for name in axes_of(runs) if runs[name].n_unique() > 1]
    rows = [_failure(run, axes) for run in failed.head(_MOST_FAILURES).iter_rows(named=True)]
    more = len(failed) - len(rows)
    note = f'<p class="footnote">and {plural(more, "more failed run")}</p>' if more else ""
    headings = map(heading, ("policy", "setting", "error", "repeat with"))
    table = grid("failed runs", headings, rows, ' class="text" id="failed"')
    return f"<h2>{plural(len(failed), 'failed run')}</h2>{table}{note}"


def _failure(run: dict[str, Any], axes: Iterable[str]) -> str:
    setting = ", ".join([*(name_of(axis, run[axis]) for axis in axes), f"seed {run['seed']}"])
    repeat = run.get("repeat")
    line = f"<td><code>{escape(repeat)}</code></td>" if repeat else figure("-")
    return row(escape(run["policy"]), [figure(setting), figure(run["error"]), line])


def remarks(source: Any, page: PageCells) -> list[str]:
    """Return the warnings of the study, or of its runs, and of the comparison."""
    told = getattr(source, "warnings", None)
    lines = _warnings_of(page.study.runs) if told is None else list(told)
    return list(dict.fromkeys([*lines, *page.warnings]))


def _warnings_of(runs: pl.DataFrame) -> list[str]:
    """What runs were warned of, each once, with the number of runs."""
    if "warnings" not in runs.columns or not runs["warnings"].dtype.is_nested():
        return []
    counts = runs["warnings"].drop_nulls().explode().drop_nulls().value_counts(sort=True)
    return [f"{line} ({plural(count, 'run')})" for line, count in counts.iter_rows()]


def definitions(page: PageCells) -> str:
    """Return what the metrics mean."""
    known = METRICS.all()
    terms = "".join(
        f"<dt>{escape(of.label)}</dt><dd>{escape(known[of.key].summary)}</dd>"
        for of in page.measures
        if of.key in known
    )
    return f"<dl>{terms}</dl>"


def write_sweep(
    source: SweepResult | pl.DataFrame,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    metrics: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    plotly: str = INLINE,
) -> None:
    """Write a study as one HTML file that needs no network.

    It holds the table of all policies at all settings with intervals over the seeds, a metric
    along an axis, as a field of colours and as paired differences, two metrics against each other,
    the distributions of JCT and wait, how far each axis moves a metric, the runs that failed with
    the lines that repeat them, and the warnings. Filters choose the metric, the axis, the setting
    and the policies. Beside the chart library it has at most 2 MB: metrics for which there is no
    room are named. :mod:`gpusched.reporting.plot` draws its pictures one by one.

    Parameters
    ----------
    source
        A study, or its runs: a Polars frame with a row for each run.
    path
        The file, which is overwritten.
    assumptions
        Choices that were made for the user, to be named at the top.
    metrics
        Those that can be chosen, the first one at first. None takes the study's, or those of
        tables in which the runs differ.
    where
        By axis the value, or the list of values, that the page has.
    baseline
        A policy; None takes the study's, or the first.
    level
        Of the intervals.
    plotly
        The chart library: ``"inline"`` puts it into the file (4.7 MB), ``"cdn"`` links it, so that
        the charts need a network. Anything else that ends in ``.js`` is the path, relative to the
        page, or the address of a copy.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    ImportError
        Without Plotly; the message says what to install.
    TypeError
        If the source is neither.
    ValueError
        If a name is not known, no run is left, or the settings are too many for a page.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 4, "load": [0.7] * 4 + [0.9] * 4,
    ...     "seed": [1, 1, 2, 2] * 2, "mean_jct_s": [60.0, 50, 70, 55, 90, 65, 99, 70],
    ... })
    >>> gs.reporting.write_sweep(runs, "study.html", plotly="cdn")
    """
    page = render_sweep(
        source, assumptions, metrics=metrics, where=where, baseline=baseline, level=level,
        plotly=plotly,
    )  # fmt: skip
    write_text(path, page)


def render_sweep(
    source: SweepResult | pl.DataFrame,
    assumptions: Sequence[str] = (),
    *,
    metrics: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    plotly: str = INLINE,
) -> str:
    """Return the page that :func:`write_sweep` writes."""
    need("plotly", "the page", "plotly")
    library = library_tag(plotly)
    runs = runs_of(source)
    study = settled(source, varying(runs), where, baseline, level=level, tells=False)
    asked = metrics or getattr(getattr(source, "study", None), "metrics", None) or None
    page = page_cells(study, asked)
    name = getattr(getattr(source, "study", None), "name", "")
    notes = remarks(source, page)
    return Template(asset("study.html")).substitute(
        title=escape(name or "a study"),
        heading=escape(f"Study: {name}") if name else "A study of scheduling policies",
        style=colours() + asset("report.css") + asset("study.css"),
        script=asset("study.js") + asset("report.js"),
        library=library,
        caption=paragraphs([*_caption(page), *assumptions], "caption"),
        headline=paragraphs(page.headline, "headline"),
        filters=filters(page),
        table=cells_table(page),
        footnotes=paragraphs(_footnotes(page), "footnote"),
        figures=f'<div class="figures">{"".join(_figures(page))}</div>',
        failures=failures(study.runs),
        remarks=f"<h2>Remarks</h2>{items(notes)}" if notes else "",
        definitions=definitions(page),
        sources=paragraphs(_sources(source, study.runs), "caption"),
        data=_data(page),
    )


def _caption(page: PageCells) -> list[str]:
    study = page.study
    counts = [
        plural(len(study.runs), "run"),
        plural(len(study.policies), "policy").replace("policys", "policies"),
        *(f"{study.runs[axis].n_unique()} values of {axis}" for axis in page.axes),
    ]
    return [f"{', '.join(counts)}. {study.note} Baseline: {study.baseline}."]


def _footnotes(page: PageCells) -> list[str]:
    notes = [
        f"Changes are of typical pairs of runs on the same jobs, to {page.study.baseline} at the "
        "same setting: ratios, of shares and of metrics that may be zero differences. p: exact "
        "signed-rank, corrected by Holm. Marked: not beaten significantly and by 2 % or more."
    ]
    if any(label != name for name, label in page.study.names.items()):
        notes.append("† clairvoyant: decides by the true service times")
    if page.left_out:
        notes.append(
            f"For lack of room there are {len(page.by_metric)} metrics; without: "
            f"{', '.join(page.left_out)}."
        )
    return notes


def _sources(source: Any, runs: pl.DataFrame) -> list[str]:
    lines = []
    folder = getattr(source, "folder", None)
    if folder is not None:
        lines.append(f"kept in {folder}")
    for axis in ("trace", "cluster", "placement", "speed", "contention", "predictor"):
        if axis in runs.columns:
            values = runs[axis].drop_nulls().unique(maintain_order=True).to_list()
            shown = ", ".join(str(value) for value in values[:12])
            more = f" and {len(values) - 12:,} more" if len(values) > 12 else ""
            lines.append(f"{axis}: {shown}{more}")
    return lines


def _figures(page: PageCells) -> Iterator[str]:
    study = page.study
    several = len(study.policies) > 1
    band = f"bands are {study.level:.0%} intervals over the seeds"
    if page.axes:
        yield _figure("lines", f"Typical runs; {band}.")
        yield _figure("heat_map", "The same, as a field for each policy and value.")
    if several:
        yield _figure(
            "forest_plot",
            "Each policy against the baseline, paired over the seeds: an interval that does not "
            "cross the dashed line is a change that the seeds do not explain.",
        )
        if len(page.by_metric) > 1:
            yield _figure(
                "pareto", "The dashed line joins the policies that none beats in both metrics."
            )
    if page.quantiles:
        menu = choice("quantity", "Of", [WORDS[quantity] for quantity in page.quantiles])
        yield _figure(
            "cdf_over_seeds", f"At the quantiles that runs have as metrics; {band}.", menu
        )
    if page.axes:
        menu = choice("swung", "Policy", [study.names[name] for name in study.policies])
        yield _figure(
            "sensitivity",
            "The least and the largest mean along each axis, from the chosen setting; "
            "one axis is moved at a time.",
            menu,
        )


def _figure(name: str, caption: str, menu: str = "") -> str:
    return (
        f'<figure><figcaption><h3 id="{name}-title"></h3><p id="{name}-setting"></p>'
        f"<p>{escape(caption)}</p></figcaption>{menu}"
        f'<div class="legend" id="{name}-legend"></div>'
        f'<div class="chart" id="{name}" role="img" tabindex="0" aria-label=""></div></figure>'
    )


def _data(page: PageCells) -> str:
    """The cells as JSON in which nothing can end the element that it stands in."""
    text = json.dumps(page_data(page), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
