"""Waits by width, user, queue, type and month, as tables of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import duration
from gpusched.reporting.charts.breakdowns import has_users
from gpusched.reporting.tables import box, policy_html

if TYPE_CHECKING:
    from gpusched.studies.comparison_result import Comparison

MOST_GROUPS: Final = 30
"""Rows of a table: the groups that held most GPU time; the others are counted."""
_SHOWN: Final = ("p50_wait_s", "p95_wait_s", "p99_wait_s")
_LEAD: Final = (
    '<p class="footnote">Time without GPUs of the finished jobs: half of them, 95 % and 99 % '
    "waited no longer. A heading sorts by the 95 %.</p>"
)
_TITLES: Final = {
    "gpus": "number of GPUs", "user": "user", "queue": "queue", "group": "group",
    "type": "GPU type that jobs held", "month": "month of submission",
}  # fmt: skip


def wait_tables(comparison: Comparison) -> str:
    """Return a section with a table for every way in which the jobs fall into groups."""
    if not comparison.results:
        return ""
    tables = [(by, _table(comparison, by)) for by in _groupings(comparison)]
    parts = [
        f"<details{' open' if by == 'gpus' else ''}><summary>Waits by {_TITLES[by]}</summary>"
        f"{table}</details>"
        for by, table in tables
        if table
    ]
    return f"<h2>Who waits</h2>{_LEAD}{''.join(parts)}"


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


def _table(comparison: Comparison, by: str) -> str:
    """Return a row for each group and a column for each policy; nothing of a single month."""
    frame = comparison.by(by)
    names = frame[by].unique(maintain_order=True)
    if by == "month" and len(names) < 2:
        return ""
    most = len(names) if by in ("gpus", "month") else MOST_GROUPS
    rows: dict[str, dict[str, dict[str, Any]]] = {str(name): {} for name in names.head(most)}
    for row in frame.filter(frame[by].is_in(names.head(most).to_list())).iter_rows(named=True):
        rows[str(row[by])][str(row["policy"])] = row
    head = "".join(
        '<th scope="col" aria-sort="none"><button type="button" data-first="descending">'
        f"{policy_html(label, result)}<br><small>p50 / p95 / p99</small></button></th>"
        for label, result in comparison.results.items()
    )
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{_jobs(of)}'
        f"{''.join(_cell(of.get(label)) for label in comparison.results)}</tr>"
        for name, of in rows.items()
    )
    lead = "GPUs" if by == "gpus" else by
    first = f'<th scope="col" aria-sort="none"><button type="button">{lead}</button></th>'
    jobs = (
        '<th scope="col" aria-sort="none"><button type="button" data-first="descending">jobs'
        "</button></th>"
    )
    left = len(names) - len(rows)
    more = f'<p class="footnote">{left:,} more, of less GPU time, are not shown.</p>'
    return box(
        f"waits by {_TITLES[by]}",
        f"<table><thead><tr>{first}{jobs}{head}</tr></thead><tbody>{body}</tbody></table>",
    ) + (more if left else "")


def _jobs(of: dict[str, dict[str, Any]]) -> str:
    """Write how many jobs a group has; which types a job held depends on the policy."""
    counts = [int(row["num_jobs"]) for row in of.values()]
    low, high = min(counts), max(counts)
    text = f"{low:,}" if low == high else f"{low:,}-{high:,}"
    return f'<td data-value="{high}">{text}</td>'


def _cell(row: dict[str, Any] | None) -> str:
    values = [math.nan if row is None or row[name] is None else row[name] for name in _SHOWN]
    if any(map(math.isnan, values)):
        return "<td>-</td>"
    text = " / ".join(duration(value) if value else "0" for value in values)
    return f'<td data-value="{values[1]!r}">{text}</td>'
