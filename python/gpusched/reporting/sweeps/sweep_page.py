"""One self-contained HTML page of a study, with filters: :func:`write_sweep`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.base.wording import plural
from gpusched.reporting.chart_library import INLINE, library_tag
from gpusched.reporting.page_parts import asset, colours
from gpusched.reporting.sweeps.cdf_over_seeds import WORDS
from gpusched.reporting.sweeps.headlines import headlines
from gpusched.reporting.sweeps.page_cells import PageCells, page_cells, page_data
from gpusched.reporting.sweeps.page_tables import (
    cells_table,
    choice,
    definitions,
    failures,
    filters,
    remarks,
)
from gpusched.reporting.sweeps.settled import settled
from gpusched.reporting.sweeps.study_runs import Where, runs_of, varying
from gpusched.reporting.tables import items, paragraphs

if TYPE_CHECKING:
    import polars as pl

    from gpusched.statistics.intervals import Method
    from gpusched.sweeping.sweep_result import SweepResult


def write_sweep(
    source: SweepResult | pl.DataFrame,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    metrics: Sequence[str] | None = None,
    where: Where | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    method: Method | None = None,
    plotly: str = INLINE,
) -> None:
    """Write a study as one HTML file that needs no network.

    It holds the table of all policies at all settings with intervals over the seeds, a metric
    along an axis, as a field of colours and as paired differences, two metrics against each other,
    the distributions of JCT and wait, how far each axis moves a metric, the runs that failed with
    the lines that repeat them, and the warnings. Filters choose the metric, the axis, the setting
    and the policies. Beside the chart library it has at most 2 MB: metrics for which there is no
    room are named. :mod:`gpusched.plot` draws its pictures one by one.

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
    level, method
        Of the intervals, see :func:`gpusched.statistics.interval`.
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
        method=method, plotly=plotly,
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
    method: Method | None = None,
    plotly: str = INLINE,
) -> str:
    """Return the page that :func:`write_sweep` writes."""
    need("plotly", "the page", "plotly")
    library = library_tag(plotly)
    runs = runs_of(source)
    study = settled(source, varying(runs), where, baseline, level=level, method=method, tells=False)
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
        headline=paragraphs(headlines(page), "headline"),
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
        f"Ratios are of the means over the seeds, paired, to {page.study.baseline} at the same "
        "setting; below one is less."
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
        yield _figure("lines", f"Mean over the seeds; {band}.")
        yield _figure("heat_map", "The same, as a field for each policy and value.")
    if several:
        yield _figure(
            "forest_plot",
            "Each policy against the baseline, paired over the seeds: an interval that does not "
            "cross the dashed line is a difference that the seeds do not explain.",
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
