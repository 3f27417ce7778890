"""One self-contained HTML page of a search: :func:`write_tuning`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.reporting.chart_library import INLINE, library_tag
from gpusched.reporting.page_parts import answer_page, figure_html
from gpusched.reporting.tables import figure, grid, heading, items, paragraphs, row
from gpusched.studies.paper_tables import notes_of

if TYPE_CHECKING:
    from gpusched.studies.tune import Tuning

_MOST_TRIALS: Final = 1_000


def write_tuning(
    tuning: Tuning,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    plotly: str = INLINE,
) -> None:
    """Write a search as one HTML file that needs no network.

    It holds the best policy, what the best few and the baseline achieved in the search and on the
    jobs that it never saw, side by side, what speaks against the best one, the course of the
    search, what was searched, and all trials.

    Parameters
    ----------
    path
        The file, which is overwritten.
    assumptions
        Choices that were made for the user, to be named at the top.
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
    >>> study = {
    ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
    ...     "clusters": [{"servers": 2, "gpus": 8}],
    ... }
    >>> space = {"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}
    >>> found = gs.tune(space, study, "mean_jct_s", trials=2, held_out=3)
    >>> gs.reporting.write_tuning(found, "tuning.html", plotly="cdn")
    """
    write_text(path, render_tuning(tuning, assumptions, plotly=plotly))


def render_tuning(tuning: Tuning, assumptions: Sequence[str] = (), *, plotly: str = INLINE) -> str:
    """Return the page that :func:`write_tuning` writes."""
    need("plotly", "the picture", "plotly")
    from gpusched.reporting.tuning_figure import tuning as draw

    title = tuning.study.title or tuning.study.name
    text = f"the {tuning.metric} of each trial, the best so far and the baseline"
    picture = draw(tuning)
    picture.update_layout(title=None, margin_t=36)
    headings, rows = tuning.rows
    body = [
        "<h2>Search and held-out jobs side by side</h2>",
        table_of(headings, rows, is_first_best=True),
        paragraphs(
            [
                f"Compared with {tuning.baseline}. The search chose by the columns of the search, "
                "and never saw what was held out.",
                " ".join(notes_of(tuning.compared)),
                f"Recommended: {tuning.recommended}.",
            ],
            "caption",
        ),
        f"<h2>Remarks</h2>{items(tuning.warnings)}" if tuning.warnings else "",
        '<div class="figures">',
        figure_html(
            "search",
            "The search",
            f"{text[0].upper()}{text[1:]}.",
            text,
            picture.layout.height,
            picture.to_json(validate=False),
            kind="wide",
        ),
        "</div>",
        "<h2>What was searched</h2>",
        items(str(tuning.space).splitlines()),
        "<h2>Trials</h2>",
        _trials(tuning),
    ]
    return answer_page(
        f"tuning {title}",
        f"{title}: best {tuning.best}",
        paragraphs([*tuning.windows, *assumptions], "caption"),
        library_tag(plotly),
        "\n".join(body),
    )


def table_of(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, is_first_best: bool = False
) -> str:
    """Return a table of texts; the first row may be marked as the answer."""
    body = [
        row(escape(name), map(figure, cells), " class=answer" if is_first_best and not at else "")
        for at, (name, *cells) in enumerate(rows)
    ]
    return grid("policies", map(heading, headings), body, ' class="text"')


def _trials(tuning: Tuning) -> str:
    left_out = ("policy", "values", "error") if not _has_errors(tuning) else ("policy", "values")
    frame = tuning.trials.drop(left_out)
    shown = frame.head(_MOST_TRIALS)
    rows = [[_cell(value) for value in values] for values in shown.iter_rows()]
    told = ""
    if len(frame) > len(shown):
        told = paragraphs([f"{len(frame) - len(shown):,} more are not shown."], "caption")
    return table_of([name.replace("num_", "") for name in frame.columns], rows) + told


def _has_errors(tuning: Tuning) -> bool:
    return tuning.trials["error"].null_count() < len(tuning.trials)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, list):
        return " / ".join(map(_cell, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"
