"""The page of a search and its chart: trials, the best so far, and the baseline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import altair as alt
from gpusched.base.replacing import write_text
from gpusched.base.wording import scale_of, written
from gpusched.reporting.drawing import style
from gpusched.reporting.page import figure_html, render
from gpusched.reporting.tables import figure, grid, heading, items, paragraphs, row
from gpusched.results.metric_registry import metrics
from gpusched.studies.paper_tables import notes_of

if TYPE_CHECKING:
    from gpusched.studies.tune import Tuning

BEST: Final = "best so far"
TRIAL: Final = "a trial"
_MOST_TRIALS: Final = 1_000


def tuning(source: Tuning) -> alt.LayerChart:
    """Draw the result of each trial of a search in the whole search window.

    Trials that were pruned or failed have no point.

    Parameters
    ----------
    source
        The result of :func:`gpusched.tune`.

    Returns
    -------
    altair.LayerChart
        A chart for notebooks; :func:`gpusched.plot.save` writes it as PDF, SVG or PNG.

    Raises
    ------
    TypeError
        If the source is not a search.

    Examples
    --------
    >>> study = {
    ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
    ...     "clusters": [{"servers": 2, "gpus": 8}],
    ... }
    >>> space = {"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}
    >>> found = gs.tune(space, study, "mean_jct_s", trials=2, held_out=3)
    >>> chart = gs.plot.tuning(found)
    """
    from gpusched.studies.tune import Tuning

    if not isinstance(source, Tuning):
        raise TypeError(f"expected a Tuning, not {type(source).__name__}")
    done = source.trials.drop_nulls("value")
    trials, values = done["trial"].to_list(), done["value"].to_list()
    metric = metrics()[source.metric]
    scale, unit = scale_of(metric.kind, [abs(value) for value in values])
    last = len(source.trials) - 1

    def point(series: str, trial: int, value: float) -> dict[str, Any]:
        text = written(value, metric.kind)
        return {"series": series, "trial": trial, "value": value / scale, "text": text}

    best = list(accumulate(values, min if source.better == "lower" else max))
    rows = [point(BEST, *pair) for pair in zip((*trials, last), (*best, best[-1]), strict=True)]
    findings = [f"best {rows[-1]['text']}"]
    names = [BEST, f"{source.baseline} (baseline)", TRIAL]
    if source.default_value is not None:
        rows += [point(names[1], trial, source.default_value) for trial in (0, max(last, 1))]
        findings.append(f"baseline {rows[-1]['text']}")
    rows += [point(TRIAL, *pair) for pair in zip(trials, values, strict=True)]
    known = [each["value"] for each in rows]
    is_log = min(known) > 0 and max(known) >= 10 * min(known)
    title = f"{metric.label}, {unit}" if unit else metric.label
    upright = alt.Y(
        "value:Q", title=title, axis=alt.Axis(format=",.4~g", labelOverlap="greedy"),
        scale=alt.Scale(type="log" if is_log else "linear", zero=False, nice=not is_log),
    )  # fmt: skip
    base = alt.Chart().encode(
        x=alt.X(
            "trial:Q", title="trial", axis=alt.Axis(format="d", tickMinStep=1, grid=False),
            scale=alt.Scale(nice=False, padding=8),
        ),
        y=upright,
        color=alt.Color("series:N", scale=alt.Scale(domain=names), legend=alt.Legend(title=None)),
        tooltip=[alt.Tooltip("series:N", title="of"), alt.Tooltip("trial:Q"),
                 alt.Tooltip("text:N", title="is")],
    )  # fmt: skip
    lines = base.mark_line(interpolate="step-after")
    layers = [
        lines.transform_filter(alt.FieldOneOfPredicate(field="series", oneOf=names[:2])),
        base.transform_filter(alt.FieldEqualPredicate(field="series", equal=TRIAL)).mark_point(
            filled=True, opacity=1, size=36
        ),
    ]
    made: Any = alt.layer(*layers, data=alt.InlineData(values=rows), width=style.WIDTH, height=300)
    drawn: alt.LayerChart = style.picture(
        made,
        "tuning",
        f"{metric.label} by trial",
        f"Each trial in the whole search window: {source.counts}. "
        f"{metric.label}: {source.better} is better.",
        findings,
    )
    return drawn


def write_tuning(
    tuning: Tuning,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
) -> None:
    """Write a search as one HTML file that needs no network.

    It has the best policy, the results of the best few and the baseline in the search and on the
    held-out jobs, warnings about the best one, the course of the search, the search space, and all
    trials.

    Parameters
    ----------
    path
        The file to write.
    assumptions
        Choices made for the user, shown at the top.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> study = {
    ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
    ...     "clusters": [{"servers": 2, "gpus": 8}],
    ... }
    >>> space = {"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}
    >>> found = gs.tune(space, study, "mean_jct_s", trials=2, held_out=3)
    >>> gs.reporting.write_tuning(found, "tuning.html")
    """
    write_text(path, render_tuning(tuning, assumptions))


def render_tuning(found: Tuning, assumptions: Sequence[str] = ()) -> str:
    """Return the page that :func:`write_tuning` writes."""
    title = found.study.title or found.study.name
    headings, rows = found.rows
    body = [
        "<h2>Search and held-out jobs</h2>",
        table_of(headings, rows, is_first_best=True),
        paragraphs(
            [
                f"Compared with {found.baseline}. The search selected by the search columns "
                "and never saw the held-out jobs.",
                " ".join(notes_of(found.compared)),
                f"Recommended: {found.recommended}.",
            ],
            "caption",
        ),
        f"<h2>Remarks</h2>{items(found.warnings)}" if found.warnings else "",
        f'<div class="figures">{figure_html(tuning(found), kind="wide")}</div>',
        "<h2>Search space</h2>",
        items(str(found.space).splitlines()),
        "<h2>Trials</h2>",
        _trials(found),
    ]
    return render(
        "answer.html.j2",
        title=f"tuning {title}",
        heading=f"{title}: best {found.best}",
        caption=paragraphs([*found.windows, *assumptions], "caption"),
        body="\n".join(body),
    )


def table_of(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, is_first_best: bool = False
) -> str:
    """Return a table of strings; the first row may be marked as the answer."""
    body = [
        row(escape(name), map(figure, cells), " class=answer" if is_first_best and not at else "")
        for at, (name, *cells) in enumerate(rows)
    ]
    return grid("policies", map(heading, headings), body, ' class="text"')


def _trials(tuning: Tuning) -> str:
    has_errors = tuning.trials["error"].null_count() < len(tuning.trials)
    left_out = ("policy", "values") if has_errors else ("policy", "values", "error")
    frame = tuning.trials.drop(left_out)
    shown = frame.head(_MOST_TRIALS)
    rows = [[_cell(value) for value in values] for values in shown.iter_rows()]
    told = ""
    if len(frame) > len(shown):
        told = paragraphs([f"{len(frame) - len(shown):,} more are not shown."], "caption")
    return table_of([name.replace("num_", "") for name in frame.columns], rows) + told


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, list):
        return " / ".join(map(_cell, value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"
