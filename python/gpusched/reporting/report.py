"""Write a comparison as one self-contained HTML page: :func:`write_report`."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from gpusched.base.replacing import write_text
from gpusched.base.wording import duration, plural
from gpusched.plugins.registry import has_flag_of
from gpusched.reporting.charts.breakdowns import (
    has_users,
    jct_by_user,
    jct_by_width,
    wait_by_user,
    wait_by_width,
)
from gpusched.reporting.charts.distributions import jct_cdf, slowdown_cdf, wait_cdf
from gpusched.reporting.charts.highlights import best, chosen, comparison_of, highlighted, marked
from gpusched.reporting.charts.occupancy import servers
from gpusched.reporting.charts.over_time import ALLOCATION, DOWN, POINTS, QUEUE, contention, strips
from gpusched.reporting.charts.timeline import MOST_BARS, first_of, gantt, knows_servers
from gpusched.reporting.notes import caption, footnotes, policy_name, remarks
from gpusched.reporting.page import render
from gpusched.reporting.tables import (
    definitions,
    items,
    metrics_table,
    paragraphs,
    settings_table,
    wait_tables,
)
from gpusched.schedules.series import series_of

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.schedules.series import Series
    from gpusched.studies.comparison import Comparison

_TRUTH = "which uses true run times"


def headline(comparison: Comparison) -> list[str]:
    """Return the findings, if there are any."""
    if len(comparison.results) == 1:
        return _single(comparison)
    return _mean_jct(comparison) + _deadlines(comparison)


def _single(comparison: Comparison) -> list[str]:
    ((label, result),) = comparison.results.items()
    row = comparison.summaries[label]
    if not math.isfinite(row["mean_jct_s"]):
        return []
    sentence = f"{policy_name(label, result)}: mean JCT {duration(row['mean_jct_s'])}"
    if math.isfinite(row.get("mean_wait_s", math.nan)):
        sentence += f", mean wait {duration(row['mean_wait_s'])}"
    return [f"{sentence}.{_room(comparison, label)}"]


def _mean_jct(comparison: Comparison) -> list[str]:
    found = _best_two(comparison, "mean_jct_s", "lower")
    if found is None:
        return []
    label, clairvoyant = found
    means = {name: duration(row["mean_jct_s"]) for name, row in comparison.summaries.items()}
    sentence = f"{_lead(comparison, label)} the lowest mean JCT in this trace: {means[label]}."
    sentence += _room(comparison, label)
    if clairvoyant is not None:
        sentence += f" {_marked(comparison, clairvoyant)}, {_TRUTH}, has {means[clairvoyant]}."
    return [sentence]


def _deadlines(comparison: Comparison) -> list[str]:
    found = _best_two(comparison, "dsr", "higher")
    if found is None:
        return []
    label, clairvoyant = found
    shares = {
        name: f"{100 * row.get('dsr', math.nan):.1f}%" for name, row in comparison.summaries.items()
    }
    sentence = f"{_lead(comparison, label)} the most deadlines met: {shares[label]}."
    bound = comparison.summaries[label].get("dsr_bound", math.nan)
    if math.isfinite(bound):
        sentence += (
            f" No schedule of these jobs meets more than {math.ceil(1_000 * bound) / 10:g}%."
        )
    if clairvoyant is not None:
        sentence += f" {_marked(comparison, clairvoyant)}, {_TRUTH}, meets {shares[clairvoyant]}."
    return [sentence]


def _best_two(
    comparison: Comparison, key: str, better: Literal["lower", "higher"]
) -> tuple[str, str | None] | None:
    """Return the best deployable policy, and a clairvoyant one that is better still.

    The best of all, if none is deployable; None if the metric is undefined for all.
    """
    overall = best(comparison, key, better, deployable=False)
    deployable = best(comparison, key, better, deployable=True)
    if overall is None:
        return None
    if deployable is None:
        return overall, None
    rows = comparison.summaries
    is_beaten = rows[overall][key] != rows[deployable][key]
    return deployable, overall if is_beaten else None


def _lead(comparison: Comparison, label: str) -> str:
    """Introduce the best policy and those it was chosen from: ``srtf † has``."""
    results = comparison.results
    deployable = [name for name, result in results.items() if not result.clairvoyant]
    if not deployable:
        return (
            f"None of these policies is deployable: all use true run times. "
            f"Of them, {_marked(comparison, label)} has"
        )
    if len(deployable) == len(results):
        return f"{label} has"
    if len(deployable) == 1:
        return f"{label}, the only deployable one of these, has"
    return f"Of the deployable policies, {label} has"


def _marked(comparison: Comparison, label: str) -> str:
    return policy_name(label, comparison.results[label])


def _room(comparison: Comparison, label: str) -> str:
    """Bound how far the mean JCT is from the best possible.

    The gap is relative to the bound, the room for improvement to the mean itself. It is rounded
    up, so that the sentence stays true.
    """
    gap = comparison.summaries[label].get("gap", math.nan)
    if not math.isfinite(gap):
        return ""
    room = math.ceil(1_000 * gap / (1 + gap)) / 10
    return f" No schedule of these jobs can lower it by more than {room:g}%."


_BARS: Final = 7_500
_MOST_MAPPED: Final = 12
"""Policies with charts of servers and jobs; of more, the one in focus and the first ones."""


def _job_charts(comparison: Comparison) -> Iterator[Any]:
    yield jct_cdf(comparison)
    yield wait_cdf(comparison)
    yield jct_by_width(comparison)
    yield wait_by_width(comparison)
    if has_users(comparison.trace):
        yield jct_by_user(comparison)
        yield wait_by_user(comparison)
    if _has_contention(comparison):
        yield slowdown_cdf(comparison)


def _over_time(comparison: Comparison) -> list[Any]:
    fails = any(result.outages is not None for result in comparison.results.values())
    shown = [ALLOCATION, *([DOWN] if fails else []), QUEUE]
    charts = strips(comparison, partial(_series, comparison), POINTS, shown)
    return [*charts, contention(comparison)] if _has_contention(comparison) else charts


def _series(comparison: Comparison, result: Result) -> Series:
    """Return a series, which is large: cached only if it is needed again."""
    first = chosen(comparison)
    if first is not None and result is comparison.results[first]:
        return result.series
    return series_of(
        result.trace, result.schedule, result.intervals, result.cluster, result.outages
    )


def _mapped(comparison: Comparison) -> Comparison:
    """Return the policies whose runs record servers, up to a limit."""
    labels = [label for label, r in comparison.results.items() if knows_servers(r)]
    first = chosen(comparison)
    labels.sort(key=lambda label: label != first)  # keep the one in focus
    return comparison.select(labels[:_MOST_MAPPED])


def _has_contention(comparison: Comparison) -> bool:
    used = {result.spec.contention for result in comparison.results.values()}
    return not all(has_flag_of("contention", contention, "uncontended") for contention in used)


def write_report(
    comparison: Comparison | Result,
    path: str | os.PathLike[str],
    assumptions: Sequence[str] = (),
    *,
    window_s: tuple[float, float] | None = None,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
) -> None:
    """Write a comparison as one HTML file that needs no network.

    It has the conclusion, the table of metrics, the distributions of JCT and wait, both by number
    of GPUs and by user, tables of waits by these and by queue, group, type and month, allocation
    and queue over time (with shared links also slowdowns and jobs per link), the servers over time
    and a window of the timeline, rejected rows and warnings, settings, version and digests. If a
    run has outages, time limits or checkpoints, a section has the metrics of failures. No
    chart has more than 2,000 rows, however many jobs there are; captions say how points were
    thinned. :mod:`gpusched.plot` draws the charts one by one.

    Parameters
    ----------
    comparison
        The comparison, or a single result.
    path
        The file to write.
    assumptions
        Choices made for the user, shown with the workload.
    window_s
        Window of the timeline: from and to, in seconds since the first submission. None takes the
        whole run, or a window around the longest queue with few enough bars.
    warm_up_s, tail_s
        Measure a part of the runs in the metrics and charts of jobs, see
        :meth:`gpusched.Result.summary`; None and None: the window of the comparison. Charts over
        time cover the whole runs.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    ValueError
        If the window is empty, or no job is submitted between warm-up and tail.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> comparison = gs.compare(trace, cluster, ["fifo", "sjf"])
    >>> gs.write_report(comparison, "report.html")
    """
    comparison = comparison_of(comparison)
    if warm_up_s is not None or tail_s is not None:
        comparison = comparison.within(warm_up_s, tail_s)
    write_text(path, render_report(comparison, assumptions, window_s=window_s))


def render_report(
    comparison: Comparison | Result,
    assumptions: Sequence[str] = (),
    *,
    window_s: tuple[float, float] | None = None,
) -> str:
    """Return the page that :func:`write_report` writes."""
    comparison = comparison_of(comparison)
    has_any = bool(comparison.results)
    of_jobs = _apart(comparison)
    jobs, waits = list(_job_charts(of_jobs)) if has_any else [], wait_tables(of_jobs)
    del of_jobs
    over_time = _apart(comparison)
    drawn = _over_time(over_time) if has_any else []
    mapped = _mapped(over_time)
    places, known = [], list(marked(mapped))
    if known:
        most = min(MOST_BARS, _BARS // len(known))
        places = [servers(mapped), gantt(mapped, window_s=window_s, most_bars=most)]
    notes = remarks(comparison)
    count = len(comparison.results)
    return render(
        "report.html.j2",
        title=f"{comparison.trace.name}: {plural(count, 'policy').replace('ys', 'ies')}",
        heading="Scheduling policies compared" if count > 1 else "A scheduling policy",
        headline=headline(comparison),
        caption=[*caption(comparison), *assumptions],
        metrics=metrics_table(comparison),
        failures=metrics_table(comparison, of_failures=True),
        footnotes=paragraphs(footnotes(comparison), "footnote"),
        labels=list(marked(comparison)),
        highlighted=highlighted(comparison),
        jobs=jobs,
        over_time=drawn,
        places=places,
        known=known,
        shown=first_of(mapped, known) if known else "",
        waits=waits,
        remarks=items(notes) if notes else "",
        sources=_sources(comparison),
        settings=settings_table(comparison),
        definitions=definitions(comparison),
    )


def _apart(comparison: Comparison) -> Comparison:
    """Return the comparison with copies of its results that have their own caches.

    What a part of the page computes from long runs is large, and is freed with the copy.
    """
    results = {label: copy.copy(result) for label, result in comparison.results.items()}
    return replace(comparison, results=results)


def _sources(comparison: Comparison) -> list[str]:
    """The source of the jobs, and the digest that identifies them."""
    lines = [f"trace: {comparison.trace.source}", f"cluster: {comparison.cluster}"]
    for result in list(comparison.results.values())[:1]:
        lines.insert(1, f"SHA-256 of its jobs: {result.spec.trace.sha256}")
    return lines
