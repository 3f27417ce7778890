"""One self-contained HTML page of a comparison: :func:`write_report`."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from string import Template
from typing import TYPE_CHECKING

from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.base.wording import plural
from gpusched.reporting.chart_library import INLINE, library_tag
from gpusched.reporting.drawing.drawn import comparison_of
from gpusched.reporting.charts.bar_rows import TICKS as TICKS
from gpusched.reporting.charts.bar_rows import BarRows as BarRows
from gpusched.reporting.charts.bar_rows import bar_rows as bar_rows
from gpusched.reporting.figures import cluster_figures, job_figures
from gpusched.reporting.headline import headline as headline
from gpusched.reporting.notes import caption, footnotes, remarks
from gpusched.reporting.page_parts import asset, colours
from gpusched.reporting.tables import (
    definitions,
    items,
    metrics_table,
    paragraphs,
    settings_table,
    wait_tables,
)

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison


def write_report(
    comparison: Comparison | Result,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    plotly: str = INLINE,
    window_s: tuple[float, float] | None = None,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
) -> None:
    """Write the report of ``comparison`` as one HTML file that needs no network.

    It holds the table of metrics, the distributions of JCT and wait, both by number of GPUs and by
    user, tables of waits by these and by queue, group, type and month, allocation and queue over
    time (where links are shared the slowdowns and the rings, too), the servers over time and a
    Gantt chart, what was left out and warned about, the settings, the version and the digests.
    Beside the chart library it has at most 2 MB, however many jobs there are; captions say by which
    rule points are left out. :mod:`gpusched.plot` draws its pictures one by one.

    Parameters
    ----------
    comparison
        What to report; a single result will do.
    path
        The file, which is overwritten.
    assumptions
        Choices that were made for the user, to be named beside the workload.
    plotly
        The chart library: ``"inline"`` puts it into the file (4.7 MB), ``"cdn"`` links it, so that
        the charts need a network. Anything else that ends in ``.js`` is the path, relative to the
        report, or the address of a copy.
    window_s
        Of the Gantt chart as it is first shown: from and to, in seconds since the first
        submission. None takes the whole run, or as much around the longest queue as is readable.
        The reader may go to any other window and servers; where a run has too many bars for the
        page, it has all of this window and of the others those of the most GPU time.
    warm_up_s, tail_s
        Let the figures, and the charts of jobs, be of a part of the runs, see
        :meth:`gpusched.Result.summary`; None and None: of the part that the comparison is of.
        What is drawn over time is of the whole runs.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    ImportError
        Without Plotly; the message says what to install.
    ValueError
        If ``plotly`` is none of these, the window is empty, or no job is submitted between
        warm-up and tail.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> comparison = gs.compare(trace, cluster, ["fifo", "sjf"])
    >>> gs.write_report(comparison, "report.html", plotly="cdn")
    """
    comparison = comparison_of(comparison)
    if warm_up_s is not None or tail_s is not None:
        comparison = comparison.within(warm_up_s, tail_s)
    page = render_report(comparison, assumptions, plotly=plotly, window_s=window_s)
    write_text(path, page)


def render_report(
    comparison: Comparison | Result,
    assumptions: Sequence[str] = (),
    *,
    plotly: str = INLINE,
    window_s: tuple[float, float] | None = None,
) -> str:
    """Return the page that :func:`write_report` writes."""
    need("plotly", "the report", "plotly")
    library = library_tag(plotly)
    comparison = comparison_of(comparison)
    of_jobs = _apart(comparison)
    jobs, waits = job_figures(of_jobs), wait_tables(of_jobs)
    del of_jobs
    notes = remarks(comparison)
    count = len(comparison.results)
    title = "Scheduling policies compared" if count > 1 else "A scheduling policy"
    return Template(asset("page.html")).substitute(
        title=escape(f"{comparison.trace.name}: {plural(count, 'policy').replace('ys', 'ies')}"),
        heading=title,
        style=colours() + asset("report.css"),
        script=asset("gantt.js") + asset("report.js"),
        library=library,
        caption=paragraphs([*caption(comparison), *assumptions], "caption"),
        headline=paragraphs(headline(comparison), "headline"),
        metrics=metrics_table(comparison),
        footnotes=paragraphs(footnotes(comparison), "footnote"),
        figures=jobs + cluster_figures(_apart(comparison), window_s),
        waits=waits,
        remarks=f"<h2>Remarks</h2>{items(notes)}" if notes else "",
        sources=paragraphs(_sources(comparison), "caption"),
        settings=settings_table(comparison),
        definitions=definitions(comparison),
    )


def _apart(comparison: Comparison) -> Comparison:
    """Return the comparison with results that remember apart.

    What a part of the page needs of long runs is as large as these, and goes with it.
    """
    results = {label: copy.copy(result) for label, result in comparison.results.items()}
    return replace(comparison, results=results)


def _sources(comparison: Comparison) -> list[str]:
    """Where the jobs come from, and the fingerprint by which they are known again."""
    lines = [f"trace: {comparison.trace.source}", f"cluster: {comparison.cluster}"]
    for result in list(comparison.results.values())[:1]:
        lines.insert(1, f"SHA-256 of its jobs: {result.spec.trace.sha256}")
    return lines
