"""The tables and filters of the page of a study; what comes from outside is text, never markup."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import plural
from gpusched.reporting.drawing import palette
from gpusched.reporting.sweeps.cells import Cell, Span
from gpusched.reporting.sweeps.measures import Measure, plain
from gpusched.reporting.sweeps.page_cells import PageCells, text_of_value
from gpusched.reporting.sweeps.study_runs import axes_of, name_of, values_of
from gpusched.reporting.tables import figure, grid, heading, row, sorting
from gpusched.results.metric_registry import METRICS

if TYPE_CHECKING:
    import polars as pl

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
        parts.append(_menu("show", "Shown as", ["mean", "ratio", "difference"], by_name=True))
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
    heads = [
        ("policy", "ascending", ""), *((axis, "ascending", "") for axis in page.axes),
        ("seeds", "descending", "runs that did not fail"),
        ("mean", "descending" if of.better == "higher" else "ascending", "over the seeds"),
        (f"{study.level:.0%} interval", "ascending", "of the mean"),
        ("ratio", "ascending", f"of the means, to {study.baseline}, paired by seeds"),
        (f"{study.level:.0%} interval", "ascending", "of the ratio"),
        ("p", "ascending", "of the paired comparison, corrected for the number of policies"),
        ("rank", "ascending", "mean over the seeds, 1 is best"),
    ]  # fmt: skip
    head = [sorting(escape(name), first, title) for name, first, title in heads]
    cells = next(iter(page.by_metric.values()))
    known = [cell for cell in cells if cell is not None][:_MOST_STATIC]
    body = [_row(of, study.names[c.policy], c, c.policy == study.baseline) for c in known]
    caption = f'<caption id="metric-name">{escape(of.label)}</caption>'
    return grid("each policy at each setting", head, body, ' id="metrics"', caption)


def _row(of: Measure, name: str, cell: Cell, is_baseline: bool) -> str:
    cells = [figure(text_of_value(value), value) for value in cell.setting]
    cells += [figure(str(cell.num), cell.num), figure(of.text(cell.mean.value), cell.mean.value)]
    cells.append(_between(cell.mean, of))
    if is_baseline:
        cells += map(figure, ("baseline", "", ""))
    else:
        cells += [
            figure(plain(cell.ratio.value, 3), cell.ratio.value),
            _between(cell.ratio),
            figure(p_text(cell.p), cell.p),
        ]
    cells.append(figure("" if math.isnan(cell.rank) else f"{cell.rank:.2g}", cell.rank))
    return row(escape(name), cells)


def _between(span: Span, of: Measure | None = None) -> str:
    if math.isnan(span.low) or math.isnan(span.high):
        return figure("-")
    low, high = (plain(end, 3) if of is None else of.text(end) for end in (span.low, span.high))
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
