"""One self-contained HTML page of a sizing: :func:`write_sizing`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.base.wording import written
from gpusched.reporting.chart_library import INLINE, library_tag
from gpusched.reporting.page_parts import answer_page, figure_html
from gpusched.reporting.tables import figure, grid, heading, items, paragraphs, row
from gpusched.results.metric_registry import METRICS

if TYPE_CHECKING:
    from gpusched.studies.sizing import Sizing

_HEADINGS: Final = {
    "gpus": "GPUs", "jobs_without": "jobs not run", "is_met": "goal met", "wall_s": "wall time",
    "hourly_price": "price of an hour",
}  # fmt: skip


def write_sizing(
    sizing: Sizing,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    plotly: str = INLINE,
) -> None:
    """Write a sizing as one HTML file that needs no network.

    It holds the answer, each metric against the servers with its goal, of two types the mixes that
    were run, how sure the answer is, and all runs.

    Parameters
    ----------
    assumptions
        Choices that were made for the user, to be named beside the answer.
    plotly
        The chart library, in the file or linked, as for :func:`gpusched.write_report`.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    ImportError
        Without Plotly; the message says what to install.
    ValueError
        If ``plotly`` is none of these.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> found = gs.size(trace, "p95_wait_s < 10 min", resamples=0)
    >>> gs.reporting.write_sizing(found, "size.html")
    """
    write_text(path, render_sizing(sizing, assumptions, plotly=plotly))


def render_sizing(sizing: Sizing, assumptions: Sequence[str] = (), *, plotly: str = INLINE) -> str:
    """Return the page that :func:`write_sizing` writes."""
    need("plotly", "the picture", "plotly")
    trace = sizing.trace
    answer = str(sizing)
    return answer_page(
        "servers needed",
        answer[0].upper() + answer[1:],
        paragraphs([f"{trace.name}: {len(trace):,} jobs, {trace.source}", *assumptions], "caption"),
        library_tag(plotly),
        items(sizing.notes())
        + f'<div class="figures">{"".join(_figures(sizing))}</div><h2>Runs</h2>'
        + runs_table(sizing),
    )


def _figures(sizing: Sizing) -> Iterator[str]:
    from gpusched.reporting import sizing_figures

    drawn: list[tuple[str, Any]] = [
        (
            f"Each run against its size; the dashed line is the goal, {goal}.",
            sizing_figures.metric_by_servers(sizing, goal),
        )
        for goal in sizing.goals.goals
    ]
    if len(sizing.kinds.types) == 2:
        text = "Which counts of the two types met the goals."
        drawn.insert(0, (text, sizing_figures.mixes_of_two(sizing)))
    sure, servers = sizing.confidence, sizing.servers
    if sure is not None and servers is not None and (sure.servers >= 0).any():
        text = "The share of the traces drawn again for which so many servers are enough."
        drawn.append((text, sizing_figures.enough_by_servers(sure, servers)))
    for number, (text, picture) in enumerate(drawn):
        title = picture.layout.title.text
        picture.update_layout(title=None, margin_t=36)
        height, data = picture.layout.height, picture.to_json(validate=False)
        yield figure_html(f"figure{number}", title, text, f"{title}. {text}", height, data)


def runs_table(sizing: Sizing) -> str:
    """Return the runs as an HTML table, the answer marked."""
    frame = sizing.table().drop("wall_s")
    answer = sizing.counts and sum(sizing.counts)
    gpus = sizing.cluster and sizing.cluster.num_gpus
    rows = []
    for run in frame.iter_rows(named=True):
        first, *others = (cell_text(name, run[name]) for name in frame.columns)
        is_answer = run["is_met"] and (run["servers"], run["gpus"]) == (answer, gpus)
        rows.append(row(escape(first), map(figure, others), " class=answer" if is_answer else ""))
    headings = [heading(heading_of(name)) for name in frame.columns]
    return grid("runs", headings, rows)


def heading_of(column: str) -> str:
    """Write the name of a column of the runs as a person reads it."""
    if column in METRICS.own():
        return METRICS.find(column).label
    return _HEADINGS.get(column, column.replace("_", " "))


def cell_text(column: str, value: Any) -> str:
    """Write one cell of the runs as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if column == "hourly_price":
        return f"{value:,.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return written(value, METRICS.find(column).kind)
