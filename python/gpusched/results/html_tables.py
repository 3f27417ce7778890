"""Results as tables in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched.base.html import page, table
from gpusched.results.shown_metrics import MARK, columns

if TYPE_CHECKING:
    from gpusched.results.summarising import Summary


def table_of_summaries(summaries: Sequence[tuple[str, Summary]], title: str) -> str:
    """Return a table of the metrics that tables show: a row for each of several policies."""
    shown = columns([summary for _, summary in summaries]) if summaries else ()
    headings = [f"{column.metric.label} ({column.unit})".removesuffix(" ()") for column in shown]
    cells = [
        [label, *(column.cells[index].text + MARK * column.cells[index].best for column in shown)]
        for index, (label, _) in enumerate(summaries)
    ]
    if len(summaries) == 1:
        pairs = zip(headings, cells[0][1:], strict=True)
        return page(title, table(["metric", summaries[0][0]], [list(pair) for pair in pairs]))
    return page(title, table(["policy", *headings], cells))
