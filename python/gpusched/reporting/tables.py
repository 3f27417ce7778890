"""The tables of the report as HTML; external strings are always escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import duration
from gpusched.plugins.info import APPROXIMATE
from gpusched.reporting.charts.breakdowns import has_users
from gpusched.reporting.charts.highlights import chosen
from gpusched.reporting.notes import (
    CLAIRVOYANT,
    IS_APPROXIMATE,
    SEES_TRUTH,
    is_approximate,
)
from gpusched.results.metric_registry import OF_FAILURES, Metric
from gpusched.results.shown_metrics import MARK, Column, all_metrics, columns, main_metrics

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

MOST_GROUPS: Final = 30
"""Rows of a table: the groups with the most GPU time; the others are counted."""
_SHOWN: Final = ("p50_wait_s", "p95_wait_s", "p99_wait_s")
_LEAD: Final = (
    '<p class="footnote">Total wait of the finished jobs: half, 95% and 99% of them '
    "waited at most this long. Headings sort by the 95%.</p>"
)
_TITLES: Final = {
    "gpus": "number of GPUs", "user": "user", "queue": "queue", "group": "group",
    "type": "GPU type of the job", "month": "month of submission",
}  # fmt: skip


def metrics_table(comparison: Comparison, *, of_failures: bool = False) -> str:
    """Return a row per policy; buttons in the headings sort them.

    ``of_failures``: whether to show the metrics of failures, and an empty text if no run has them.
    """
    rows = list(comparison.summaries.values())
    shown = columns(rows, _metrics(of_failures=of_failures))
    if of_failures and not shown:
        return ""
    head = map(_heading, shown)
    best = chosen(comparison) if len(comparison.results) > 1 else None
    body = []
    for index, (label, result) in enumerate(comparison.results.items()):
        cells = (_cell(c, index, rows[index].get(c.metric.key)) for c in shown)
        name = policy_html(label, result, is_best=label == best)
        body.append(row(name, cells, ' class="chosen"' if label == best else ""))
    what, attributes = ("failures", "") if of_failures else ("metrics", ' id="metrics"')
    return grid(f"{what} of each policy", [sorting("policy"), *head], body, attributes)


def _metrics(*, of_failures: bool) -> list[Metric]:
    """Return the main metrics, or all of failures, which have a section of their own."""
    known = all_metrics() if of_failures else main_metrics()
    return [metric for metric in known if (metric.group == OF_FAILURES) == of_failures]


def policy_html(label: str, result: Result, *, is_best: bool = False) -> str:
    """Return the name of a policy with its marks, and whether it is the lowest to deploy."""
    marks = ""
    if result.clairvoyant:
        marks += f'<abbr title="{SEES_TRUTH}">{CLAIRVOYANT}</abbr>'
    if is_approximate(result):
        marks += f'<abbr title="{IS_APPROXIMATE}">{APPROXIMATE}</abbr>'
    name = f"{escape(label)}&nbsp;{marks}" if marks else escape(label)
    if is_best and not result.clairvoyant:
        name += " <small>lowest deployable</small>"
    return name


def settings_table(comparison: Comparison) -> str:
    """Return the settings of each policy, and the digest that identifies its schedule."""
    names = ["placement", "predictor", "seed"]
    if not all(result.is_fixed for result in comparison.results.values()):
        names += ["speed", "contention"]
    names.append("version")
    rows = []
    for label, result in comparison.results.items():
        digest = escape(str(comparison.summaries[label]["digest"]))
        cells = [figure(str(getattr(result.spec, name))) for name in names]
        cells.append(f"<td><code>{digest}</code></td>")
        rows.append(row(policy_html(label, result), cells))
    headings = ["policy", *names[:-1], "gpusched", "digest of the schedule"]
    return grid("settings of each run", map(heading, headings), rows, ' class="text"')


def wait_tables(comparison: Comparison) -> str:
    """Return a section with a table for every grouping of the jobs."""
    if not comparison.results:
        return ""
    tables = [(by, _waits(comparison, by)) for by in _groupings(comparison)]
    parts = [
        f"<details{' open' if by == 'gpus' else ''}><summary>Waits by {_TITLES[by]}</summary>"
        f"{table}</details>"
        for by, table in tables
        if table
    ]
    return f"<h2>Waiting times</h2>{_LEAD}{''.join(parts)}"


def _groupings(comparison: Comparison) -> Iterator[str]:
    trace = comparison.trace
    yield "gpus"
    if has_users(trace):
        yield "user"
    for name in ("queue", "group"):
        labels = getattr(trace, name)
        if labels is not None and len(labels.names) > 1:
            yield name
    if len(set(comparison.cluster.gpu_types)) > 1:
        yield "type"
    yield "month"


def _waits(comparison: Comparison, by: str) -> str:
    """Return a row per group and a column per policy; empty for a single month."""
    frame = comparison.by(by)
    names = frame[by].unique(maintain_order=True)
    if by == "month" and len(names) < 2:
        return ""
    most = len(names) if by in ("gpus", "month") else MOST_GROUPS
    rows: dict[str, dict[str, dict[str, Any]]] = {str(name): {} for name in names.head(most)}
    for found in frame.filter(frame[by].is_in(names.head(most).to_list())).iter_rows(named=True):
        rows[str(found[by])][str(found["policy"])] = found
    head = [sorting("GPUs" if by == "gpus" else by), sorting("jobs", "descending")]
    for label, result in comparison.results.items():
        told = f"{policy_html(label, result)}<br><small>p50 / p95 / p99</small>"
        head.append(sorting(told, "descending"))
    policies = list(comparison.results)
    body = [
        row(escape(name), [_jobs(of), *(_percentiles(of.get(policy)) for policy in policies)])
        for name, of in rows.items()
    ]
    left = len(names) - len(rows)
    more = f'<p class="footnote">{left:,} more with less GPU time are not shown.</p>'
    return grid(f"waits by {_TITLES[by]}", head, body) + (more if left else "")


def _jobs(of: dict[str, dict[str, Any]]) -> str:
    """Format the number of jobs of a group, a range if it depends on the policy."""
    counts = [int(each["num_jobs"]) for each in of.values()]
    low, high = min(counts), max(counts)
    text = f"{low:,}" if low == high else f"{low:,}-{high:,}"
    return figure(text, high)


def _percentiles(of: dict[str, Any] | None) -> str:
    values = [math.nan if of is None or of[name] is None else of[name] for name in _SHOWN]
    if any(map(math.isnan, values)):
        return figure("-")
    text = " / ".join(duration(value) if value else "0" for value in values)
    return figure(text, values[1])


def definitions(comparison: Comparison) -> str:
    """Return the definitions of the table's metrics."""
    every = [*_metrics(of_failures=False), *_metrics(of_failures=True)]
    shown = [column.metric for column in columns(comparison.summaries.values(), every)]
    terms = "".join(f"<dt>{escape(m.label)}</dt><dd>{escape(m.summary)}</dd>" for m in shown)
    return f"<dl>{terms}</dl>"


def paragraphs(lines: Iterable[Any], kind: str) -> str:
    """Return a paragraph with a class for each line."""
    return "".join(f'<p class="{kind}">{escape(str(line))}</p>' for line in lines)


def items(lines: Iterable[str]) -> str:
    """Return a list."""
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def grid(
    label: str, headings: Iterable[str], rows: Iterable[str], attributes: str = "", above: str = ""
) -> str:
    """A table that scrolls in its own box, also with the keyboard.

    ``headings``, ``rows``: from :func:`heading` or :func:`sorting`, and from :func:`row`.
    ``above``: HTML before the headings, such as a caption.
    """
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table{attributes}>'
        f"{above}<thead><tr>{''.join(headings)}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def heading(text: str) -> str:
    """The heading of a column."""
    return f'<th scope="col">{escape(text)}</th>'


def sorting(html: str, first: str = "", title: str | None = None) -> str:
    """The heading of a column that sorts the table, ``first`` ascending or descending."""
    told = "" if title is None else f' title="{escape(title)}"'
    order = f' data-first="{first}"' if first else ""
    return (
        f'<th scope="col" aria-sort="none"{told}><button type="button"{order}>{html}</button></th>'
    )


def row(name: str, cells: Iterable[str], attributes: str = "") -> str:
    """A row named by its first cell, in HTML; the others are from :func:`figure`."""
    return f'<tr{attributes}><th scope="row">{name}</th>{"".join(cells)}</tr>'


def figure(text: str, value: Any = None, *, is_best: bool = False) -> str:
    """A cell; ``value`` is its sort key, if it is a number."""
    is_number = isinstance(value, int | float) and math.isfinite(value)
    number = f' data-value="{float(value)!r}"' if is_number else ""
    best = ' class="best"' if is_best else ""
    return f"<td{best}{number}>{escape(text)}</td>"


def _heading(column: Column) -> str:
    metric = column.metric
    lines = "<br>".join(escape(line) for line in metric.short.split("|"))
    first = "descending" if metric.better == "higher" else "ascending"
    return sorting(lines, first, f"{metric.label}: {metric.summary}")


def _cell(column: Column, index: int, value: Any) -> str:
    cell = column.cells[index]
    return figure(cell.text + MARK * cell.best, value, is_best=cell.best)
