"""The tables of the report as HTML; what comes from outside is text, never markup."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from gpusched.plugins.info import APPROXIMATE
from gpusched.reporting.charts.highlights import chosen
from gpusched.reporting.notes import (
    CLAIRVOYANT,
    IS_APPROXIMATE,
    SEES_TRUTH,
    is_approximate,
)
from gpusched.results.shown_metrics import MARK, Column, columns

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison_result import Comparison


def metrics_table(comparison: Comparison) -> str:
    """Return a row per policy, which buttons in the headings sort."""
    rows = list(comparison.summaries.values())
    shown = columns(rows)
    head = "".join(_heading(column) for column in shown)
    best = chosen(comparison) if len(comparison.results) > 1 else None
    body = []
    for index, (label, result) in enumerate(comparison.results.items()):
        cells = "".join(_cell(c, index, rows[index].get(c.metric.key)) for c in shown)
        attribute = ' class="chosen"' if label == best else ""
        name = policy_html(label, result, is_best=label == best)
        body.append(f'<tr{attribute}><th scope="row">{name}</th>{cells}</tr>')
    policy = '<th scope="col" aria-sort="none"><button type="button">policy</button></th>'
    return box(
        "metrics of each policy",
        f'<table id="metrics"><thead><tr>{policy}{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>",
    )


def policy_html(label: str, result: Result, *, is_best: bool = False) -> str:
    """Return the name of a policy with its marks, and whether it is the best to deploy."""
    marks = ""
    if result.clairvoyant:
        marks += f'<abbr title="{SEES_TRUTH}">{CLAIRVOYANT}</abbr>'
    if is_approximate(result):
        marks += f'<abbr title="{IS_APPROXIMATE}">{APPROXIMATE}</abbr>'
    name = f"{escape(label)}&nbsp;{marks}" if marks else escape(label)
    if is_best and not result.clairvoyant:
        name += " <small>best to deploy</small>"
    return name


def settings_table(comparison: Comparison) -> str:
    """Return what each policy ran with, and the digest by which its schedule is known again."""
    names = ["placement", "predictor", "seed"]
    if not all(result.is_fixed for result in comparison.results.values()):
        names += ["speed", "contention"]
    names.append("version")
    rows = []
    for label, result in comparison.results.items():
        cells = "".join(f"<td>{escape(str(getattr(result.spec, name)))}</td>" for name in names)
        digest = escape(str(comparison.summaries[label]["digest"]))
        rows.append(
            f'<tr><th scope="row">{policy_html(label, result)}</th>{cells}'
            f"<td><code>{digest}</code></td></tr>"
        )
    headings = ["policy", *names[:-1], "gpusched", "digest of the schedule"]
    head = "".join(f'<th scope="col">{name}</th>' for name in headings)
    return box(
        "settings of each run",
        f'<table class="text"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>',
    )


def definitions(comparison: Comparison) -> str:
    """Return what the metrics of the table mean."""
    shown = [column.metric for column in columns(comparison.summaries.values())]
    terms = "".join(f"<dt>{escape(m.label)}</dt><dd>{escape(m.summary)}</dd>" for m in shown)
    return f"<dl>{terms}</dl>"


def paragraphs(lines: Iterable[Any], kind: str) -> str:
    """Return a paragraph of a class for each line."""
    return "".join(f'<p class="{kind}">{escape(str(line))}</p>' for line in lines)


def items(lines: Iterable[str]) -> str:
    """Return a list."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def box(label: str, table: str) -> str:
    """A table that scrolls in its own box, by keys as well."""
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{table}</div>'


def _heading(column: Column) -> str:
    metric = column.metric
    lines = "<br>".join(escape(line) for line in metric.short.split("|"))
    title = escape(f"{metric.label}: {metric.summary}")
    first = "descending" if metric.better == "higher" else "ascending"
    return (
        f'<th scope="col" aria-sort="none" title="{title}">'
        f'<button type="button" data-first="{first}">{lines}'
        f"<br><small>{escape(column.unit)}</small></button></th>"
    )


def _cell(column: Column, index: int, value: Any) -> str:
    cell = column.cells[index]
    is_number = isinstance(value, int | float) and math.isfinite(value)
    number = f' data-value="{float(value)!r}"' if is_number else ""
    if cell.best:
        return f'<td class="best"{number}>{escape(cell.text)}{MARK}</td>'
    return f"<td{number}>{escape(cell.text)}</td>"
