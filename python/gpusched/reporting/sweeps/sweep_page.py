"""Write a study as one self-contained HTML page: :func:`write_sweep`."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.replacing import write_text
from gpusched.base.wording import plural
from gpusched.reporting.page import render, specification
from gpusched.reporting.sweeps import pictures
from gpusched.reporting.sweeps.measures import Measure, measure
from gpusched.reporting.sweeps.pictures import MOST_ROWS, WORDS, Found, Ruler, value_text
from gpusched.reporting.sweeps.settled import (
    Cell,
    Cells,
    Settled,
    Shown,
    Span,
    settled,
    text_of,
)
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
from gpusched.results.shown_metrics import main_metrics
from gpusched.studies.verdicts import Scale

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.sweep_result import SweepResult

_MOST_BYTES: Final = 1_500_000
_CELL_BYTES: Final = 1_300  # per metric: the table row, and the points in five charts
_MOST_FAILURES: Final = 200


@dataclass(frozen=True, eq=False)
class SweepPage:
    """The cells of a page, and the settings that its reader can select.

    ``axes``: axes in which the runs differ, each with the positions of its values.
    ``cells``: cells of each metric, the initial one first.
    ``left_out``: metrics that did not fit.
    """

    study: Settled
    axes: dict[str, dict[Any, int]]
    cells: dict[str, Cells]
    left_out: tuple[str, ...]

    @property
    def first(self) -> Cells:
        """The cells of the first metric."""
        return next(iter(self.cells.values()))

    @property
    def along(self) -> int:
        """The horizontal axis of the charts: the load, or that with most values; -1 without one."""
        sizes = [len(places) + 1_000 * (axis == "load") for axis, places in self.axes.items()]
        return sizes.index(max(sizes)) if sizes else -1

    @property
    def axis(self) -> str:
        """The name of the horizontal axis."""
        return list(self.axes)[self.along]

    @property
    def start(self) -> tuple[Any, ...]:
        """The initial setting: the load closest to 0.9."""
        settings = [cell.setting for cell in self.first.cells]
        if "load" not in self.axes:
            return settings[0]
        return min(settings, key=lambda setting: abs(0.9 - (setting[self.along] or 0.0)))

    def key(self, setting: Sequence[Any], *, free: bool) -> str:
        """Return the positions of a setting, as in the menus; ``free``: along the axis."""
        return ",".join(
            "*" if free and place == self.along else str(places[value])
            for place, (places, value) in enumerate(zip(self.axes.values(), setting, strict=True))
        )

    def chosen(
        self, found_of: Callable[[list[Cell]], Found], cells: Iterable[Cell], *, free: bool = False
    ) -> Found:
        """Return the rows of all settings, and the findings at the initial one."""
        by_setting: dict[str, list[Cell]] = {}
        keys: dict[tuple[Any, ...], str] = {}
        for cell in cells:
            if cell.setting not in keys:
                keys[cell.setting] = self.key(cell.setting, free=free)
            by_setting.setdefault(keys[cell.setting], []).append(cell)
        rows: pictures.Rows = []
        findings: list[str] = []
        for key, own in by_setting.items():
            found, told = found_of(own)
            rows += [each | {"at": key} for each in found]
            if key == self.key(self.start, free=free):
                findings = told
        return rows, findings

    def with_choice(
        self, chart: Any, key: str, *, free: bool = False, **more: str
    ) -> dict[str, Any]:
        """Return the specification of a chart of the selected setting, and its findings."""
        chosen = {"free" if free else "at": self.key(self.start, free=free)} | more
        spec = specification(chart)
        spec["params"] += [{"name": name, "value": value} for name, value in chosen.items()]
        columns = {"free": "at", "shown": "policy"}
        spec.setdefault("transform", []).extend(
            {"filter": f"datum.{columns.get(name, name)} === {name}"} for name in chosen
        )
        spec["usermeta"]["name"] += f"-{key}"
        return spec


def sweep_page(study: Settled, metrics: Sequence[str] | None) -> SweepPage:
    """Compare the runs of a study.

    ``metrics``: metrics to show; None takes those of tables that the runs have and that vary, the
        most important ones first.
    """
    axes = {
        axis: {value: place for place, value in enumerate(values_of(study.runs, axis))}
        for axis in varying(study.runs)
    }
    chosen = _present(study) if metrics is None else list(dict.fromkeys(metrics))
    found: dict[str, Cells] = {}
    room = 1
    for key in chosen:
        if len(found) >= room:
            break
        found[key] = study.cells(key, list(axes))
        count = len(found[key].cells)
        if count > MOST_ROWS:
            raise ValueError(
                f"{count:,} settings and policies do not fit on one page; "
                "select some with where={...}"
            )
        room = max(1, _MOST_BYTES // (_CELL_BYTES * max(1, count)))
    return SweepPage(study, axes, found, tuple(chosen[len(found) :]))


def _present(study: Settled) -> list[str]:
    """The main metrics of tables; others must be requested."""
    known = main_metrics()
    # The wall time of a run depends on the machine, not on the policy.
    known = [metric for metric in known if "clock" not in metric.needs]
    columns = [metric.key for metric in known if metric.key in study.runs.columns]
    numbers = [name for name in columns if study.runs[name].dtype.is_numeric()]
    found = [name for name in numbers if study.runs[name].drop_nulls().n_unique() > 1]
    if not found:
        raise ValueError("metrics: the runs do not differ in any metric of tables")
    found.sort(key=lambda name: name != "mean_jct_s")
    return found


def charts_of(page: SweepPage, key: str) -> Iterator[dict[str, Any]]:
    """Yield the charts of a metric, each with all settings; the page shows one."""
    study, cells = page.study, page.cells[key]
    several = len(study.policies) > 1
    at = page.along
    ruler = Ruler.of_cells(study, key, cells, "typical")
    changes = Ruler.of_cells(study, key, cells, "change")
    if page.axes:
        found = page.chosen(
            lambda own: pictures.lines_found(ruler, own, at), cells.cells, free=True
        )
        yield page.with_choice(pictures.lines_chart(ruler, found, page.axis), key, free=True)
    if several:
        found = page.chosen(lambda own: pictures.forest_found(changes, own), cells.cells)
        yield page.with_choice(pictures.forest_chart(changes, found), key)
        if page.axes:
            found = page.chosen(
                lambda own: pictures.heat_map_found(changes, own, at), cells.cells, free=True
            )
            chart = pictures.heat_map_chart(changes, found, page.axis)
            yield page.with_choice(chart, key, free=True)
        second = next(
            (other for other in ("p99_jct_s", *page.cells) if other in page.cells and other != key),
            None,
        )
        if second is not None:
            yield page.with_choice(_pareto(page, ruler, key, second), key)
    if page.axes:
        yield from _sensitivity(page, ruler, key)


def _pareto(page: SweepPage, of_x: Ruler, key: str, second: str) -> Any:
    others = page.cells[second]
    of_y = Ruler.of_cells(page.study, second, others, "typical")
    up: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in others.cells:
        up.setdefault(cell.setting, []).append(cell)
    found = page.chosen(
        lambda own: pictures.pareto_found(of_x, of_y, own, up.get(own[0].setting, [])),
        page.cells[key].cells,
    )
    return pictures.pareto_chart(of_x, of_y, found)


def _sensitivity(page: SweepPage, ruler: Ruler, key: str) -> Iterator[dict[str, Any]]:
    """Yield the effect of each axis on a metric at each setting, one policy at a time."""
    cells = page.cells[key].cells
    by_policy = {
        policy: [cell for cell in cells if cell.policy == policy] for policy in page.study.policies
    }

    def found_of(own: list[Cell]) -> Found:
        rows: pictures.Rows = []
        findings: list[str] = []
        for cell in own:
            at = dict(zip(page.axes, cell.setting, strict=True)) | {"policy": cell.policy}
            found, told = pictures.sensitivity_found(ruler, by_policy[cell.policy], at, page.axes)
            rows += found
            findings += [f"{page.study.names[cell.policy]}, {line}" for line in told]
        return rows, findings

    found = page.chosen(found_of, cells)
    if len(found[0]) <= MOST_ROWS:
        caption = "One axis at a time from the selected setting and policy. Typical runs."
        chart = pictures.sensitivity_chart(ruler, found, caption)
        yield page.with_choice(chart, key, shown=page.study.names[page.study.policies[0]])


def distributions(page: SweepPage) -> Iterator[dict[str, Any]]:
    """Yield the distributions of JCT and wait, if the runs have their quantiles."""
    for quantity in WORDS:
        shares = pictures.quantile_columns(page.study.runs.columns, quantity)
        if len(shares) > 1:
            yield from _distribution(page, quantity, list(shares))


def _distribution(
    page: SweepPage, quantity: pictures.Quantity, keys: Sequence[str]
) -> Iterator[dict[str, Any]]:
    cells = {key: page.study.cells(key, list(page.axes)).cells for key in keys}
    by_setting: dict[tuple[Any, ...], dict[str, list[Cell]]] = {}
    for key, own in cells.items():
        for cell in own:
            by_setting.setdefault(cell.setting, {}).setdefault(key, []).append(cell)

    def found_of(own: list[Cell]) -> Found:
        curves = pictures.curves_of(page.study, by_setting[own[0].setting], quantity)
        return pictures.cdf_found(curves, quantity)

    found = page.chosen(found_of, cells[keys[0]])
    if len(found[0]) <= MOST_ROWS:
        chart = pictures.cdf_chart(page.study.labels, found, quantity, page.study.note)
        yield page.with_choice(chart, quantity)


def cells_table(page: SweepPage, key: str) -> str:
    """Return the table of a metric at every setting, which the page's script filters."""
    of, study, cells = measure(key), page.study, page.cells[key]
    share = f"{study.level:.0%} interval"
    heads = [
        ("policy", "ascending", ""), *((axis, "ascending", "") for axis in page.axes),
        ("typical", "descending" if of.better == "higher" else "ascending", "over all seeds"),
        (share, "ascending", "of a typical run"),
        ("change", "ascending", f"ratio or difference to {study.baseline}, on the same jobs"),
        (share, "ascending", "of the change"),
        ("better", "descending", f"seeds in which it was better than {study.baseline}"),
        ("p", "ascending", "p value of no change, corrected for the number of rows"),
        ("growth", "descending", "growth of the queue, if jobs pile up"),
        ("mean", "ascending", "of the runs"), ("worst", "ascending", "of the runs"),
        ("seeds", "descending", "runs that did not fail"),
    ]  # fmt: skip
    head = [
        _on_axis(made) if 0 < place <= len(page.axes) else made
        for place, made in enumerate(sorting(escape(name), *more) for name, *more in heads)
    ]
    body = [_row(page, of, cell, cells.scale) for cell in cells.cells]
    caption = f'<caption>{escape(of.label)} <span class="setting"></span></caption>'
    return grid(
        f"{of.label} of each policy at each setting", head, body, ' class="metrics"', caption
    )


def _row(page: SweepPage, of: Measure, cell: Cell, scale: Scale) -> str:
    cells = [_on_axis(figure(value_text(value), value)) for value in cell.setting]
    typical = of.text(cell.typical.value)
    cells += [
        figure(typical, cell.typical.value, is_best=cell.is_ahead),
        _between(of, cell.typical, "typical", scale),
    ]
    if cell.policy == page.study.baseline:
        cells += map(figure, ("baseline", "", "", ""))
    else:
        value = cell.change.value
        cells += [
            figure(text_of(of, value, "change", scale), value),
            _between(of, cell.change, "change", scale),
            figure(
                "" if math.isnan(cell.num_better) else f"{cell.num_better:.0f}/{cell.num_pairs}",
                cell.num_better,
            ),
            figure(_p_text(cell.p), cell.p),
        ]
    cells += [
        figure(cell.mark),
        figure(of.text(cell.mean), cell.mean),
        figure(of.text(cell.worst), cell.worst),
        figure(str(cell.num), cell.num),
    ]
    at = f' data-at="{page.key(cell.setting, free=False)}"'
    return row(escape(page.study.names[cell.policy]), cells, at)


def _on_axis(html: str) -> str:
    """Mark a cell or heading of an axis: for a single setting it is hidden."""
    return re.sub(r"^<(t[hd])", r'<\1 class="axis"', html)


def _between(of: Measure, span: Span, show: Shown, scale: Scale) -> str:
    if math.isnan(span.low) or math.isnan(span.high):
        return figure("-")
    low, high = (text_of(of, end, show, scale) for end in (span.low, span.high))
    return figure(f"{low} to {high}", span.low)


def _p_text(value: float) -> str:
    """Format a p value for a table."""
    if math.isnan(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def failures(runs: pl.DataFrame) -> str:
    """Return the failed runs, each with its error and the command that repeats it."""
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


def remarks(source: Any, page: SweepPage) -> list[str]:
    """Return the warnings of the study, or of its runs, and of the comparison."""
    told = getattr(source, "warnings", None)
    lines = _warnings_of(page.study.runs) if told is None else list(told)
    return list(dict.fromkeys([*lines, *page.first.warnings]))


def _warnings_of(runs: pl.DataFrame) -> list[str]:
    """The warnings of runs, each once, with the number of runs."""
    if "warnings" not in runs.columns or not runs["warnings"].dtype.is_nested():
        return []
    counts = runs["warnings"].drop_nulls().explode().drop_nulls().value_counts(sort=True)
    return [f"{line} ({plural(count, 'run')})" for line, count in counts.iter_rows()]


def definitions(page: SweepPage) -> str:
    """Return the definitions of the metrics."""
    known = METRICS.all()
    terms = "".join(
        f"<dt>{escape(of.label)}</dt><dd>{escape(known[of.key].summary)}</dd>"
        for of in map(measure, page.cells)
        if of.key in known
    )
    lines = []
    if page.left_out:
        shown, others = len(page.cells), ", ".join(page.left_out)
        lines.append(f"Limited to {shown} metrics for lack of space; left out: {others}.")
    return f"<dl>{terms}</dl>{paragraphs(lines, 'footnote')}"


def write_sweep(
    source: SweepResult | pl.DataFrame,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    metrics: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
) -> None:
    """Write a study as one HTML file that needs no network.

    It has the table of all policies at all settings with intervals over the seeds, a metric along
    an axis, paired differences as a forest plot and as a heat map, two metrics against each other,
    the distributions of JCT and wait, the effect of each axis on a metric, failed runs with the
    commands that repeat them, and the warnings. Readers select the metric and the setting. Without
    the charts' script it has at most 2 MB; metrics that do not fit are named.
    :mod:`gpusched.plot` draws its charts one by one.

    Parameters
    ----------
    source
        A study, or its runs: a Polars frame with one row per run.
    path
        The file to write.
    assumptions
        Choices made for the user, shown at the top.
    metrics
        Metrics to select from, the initial one first. None takes the study's, or those of tables in
        which the runs differ.
    where
        The value, or the list of values, of each axis on the page.
    baseline
        A policy; None takes the baseline of the study, or the first policy.
    level
        Coverage of the intervals.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    TypeError
        If the source is neither.
    ValueError
        If a name is unknown, no run is left, or the settings do not fit on a page.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "sjf"] * 4, "load": [0.7] * 4 + [0.9] * 4,
    ...     "seed": [1, 1, 2, 2] * 2, "mean_jct_s": [60.0, 50, 70, 55, 90, 65, 99, 70],
    ... })
    >>> gs.reporting.write_sweep(runs, "study.html")
    """
    write_text(
        path,
        render_sweep(
            source, assumptions, metrics=metrics, where=where, baseline=baseline, level=level
        ),
    )


def render_sweep(
    source: SweepResult | pl.DataFrame,
    assumptions: Sequence[str] = (),
    *,
    metrics: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
) -> str:
    """Return the page that :func:`write_sweep` writes."""
    runs = runs_of(source)
    study = settled(source, varying(runs), where, baseline, level=level, tells=False)
    asked = metrics or getattr(getattr(source, "study", None), "metrics", None) or None
    page = sweep_page(study, asked)
    name = getattr(getattr(source, "study", None), "name", "")
    notes = remarks(source, page)
    return render(
        "study.html.j2",
        title=name or "a study",
        heading=f"Study: {name}" if name else "A study of scheduling policies",
        caption=paragraphs([*_caption(page), *assumptions], "caption"),
        headline=paragraphs(page.first.headline, "headline"),
        axes=[
            {
                "name": axis,
                "texts": list(map(value_text, places)),
                "start": places[value],
            }
            for (axis, places), value in zip(page.axes.items(), page.start, strict=True)
        ],
        along=page.along,
        labels=study.labels,
        shown=[study.names[policy] for policy in study.policies],
        sections=[
            {
                "key": key, "label": measure(key).label, "cells": cells_table(page, key),
                "charts": list(charts_of(page, key)),
            }
            for key in page.cells
        ],
        footnotes=paragraphs(_footnotes(page), "footnote"),
        charts=list(distributions(page)),
        failures=failures(study.runs),
        remarks=items(notes) if notes else "",
        definitions=definitions(page),
        sources=paragraphs(_sources(source, study.runs), "caption"),
    )  # fmt: skip


def _caption(page: SweepPage) -> list[str]:
    study = page.study
    counts = [
        plural(len(study.runs), "run"),
        plural(len(study.policies), "policy").replace("policys", "policies"),
        *(f"{study.runs[axis].n_unique()} values of {axis}" for axis in page.axes),
    ]
    return [f"{', '.join(counts)}. {study.note} Baseline: {study.baseline}."]


def _footnotes(page: SweepPage) -> list[str]:
    notes = [
        f"Changes: typical pairs of runs on the same jobs, against {page.study.baseline} at the "
        "same setting, as ratios (differences for shares and metrics that may be zero). p: exact "
        "signed-rank, corrected by Holm. Marked: not beaten significantly and by 2% or more."
    ]
    if any(label != name for name, label in page.study.names.items()):
        notes.append("† clairvoyant: uses true run times")
    return notes


def _sources(source: Any, runs: pl.DataFrame) -> list[str]:
    lines = []
    folder = getattr(source, "folder", None)
    if folder is not None:
        lines.append(f"saved in {folder}")
    for axis in ("trace", "cluster", "placement", "speed", "contention", "predictor"):
        if axis in runs.columns:
            values = runs[axis].drop_nulls().unique(maintain_order=True).to_list()
            shown = ", ".join(str(value) for value in values[:12])
            more = f" and {len(values) - 12:,} more" if len(values) > 12 else ""
            lines.append(f"{axis}: {shown}{more}")
    return lines
