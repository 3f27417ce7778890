"""Mean waits and JCTs by user and by number of GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.libraries import altair as alt
from gpusched.base.wording import duration, plural
from gpusched.reporting.charts.highlights import comparison_of, highlighted, marked
from gpusched.reporting.drawing import style
from gpusched.results.breakdown import NOT_GIVEN

if TYPE_CHECKING:
    import polars

    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison
    from gpusched.traces.workload import Trace

By = Literal["user", "width"]
Measure = Literal["wait", "jct"]

MOST_USERS: Final = 15
"""Users with their own line; the others share one."""
_WIDTHS: Final = {
    "below 1": "below 1 GPU", "1": "1 GPU", "2-8": "2-8 GPUs", "9+": "9 or more GPUs",
}  # fmt: skip
_WORDS: Final = {"wait": "wait", "jct": "JCT"}
_LEAST: Final = {"wait": 1.0, "jct": 1e-6}  # seconds; lower end of the logarithmic axis


def has_users(trace: Trace) -> bool:
    """Whether the trace has users."""
    return trace.user is not None and any(trace.user.names)


def jct_by_width(source: Result | Comparison) -> alt.Chart:
    """Draw the mean JCT of the finished jobs of 1, of 2 to 8 and of 9 or more GPUs.

    A dot per policy. Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.Chart

    Raises
    ------
    TypeError
        If ``source`` is neither a result nor a comparison.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.jct_by_width(result)
    """
    return _means(comparison_of(source), "width", "jct")


def wait_by_width(source: Result | Comparison) -> alt.Chart:
    """Draw the mean wait of the finished jobs of 1, of 2 to 8 and of 9 or more GPUs.

    A dot per policy. Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.Chart

    Raises
    ------
    TypeError
        If ``source`` is neither a result nor a comparison.

    Examples
    --------
    >>> trace = gs.generate("philly", 200, seed=1)
    >>> result = gs.simulate(trace, gs.Cluster.uniform(64, 8), policy="fifo")
    >>> chart = gs.plot.wait_by_width(result)
    """
    return _means(comparison_of(source), "width", "wait")


def jct_by_user(source: Result | Comparison) -> alt.Chart:
    """Draw the mean JCT of the finished jobs of each user, a dot per policy.

    The fifteen users with the most requested GPU time have a line each, all others share one.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ValueError
        If the trace has no users.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 5, 9], [60, 60, 60], [1, 2, 1], user=["a", "b", "a"])
    >>> result = gs.simulate(trace, gs.Cluster.uniform(2, 8), policy="fifo")
    >>> chart = gs.plot.jct_by_user(result)
    """
    return _means(comparison_of(source), "user", "jct")


def wait_by_user(source: Result | Comparison) -> alt.Chart:
    """Draw the mean wait of the finished jobs of each user, a dot per policy.

    The fifteen users with the most requested GPU time have a line each, all others share one.
    Parameters: as :func:`jct_cdf`.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ValueError
        If the trace has no users.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 5, 9], [60, 60, 60], [1, 2, 1], user=["a", "b", "a"])
    >>> result = gs.simulate(trace, gs.Cluster.uniform(2, 8), policy="fifo")
    >>> chart = gs.plot.wait_by_user(result)
    """
    return _means(comparison_of(source), "user", "wait")


def _means(comparison: Comparison, by: By, measure: Measure) -> alt.Chart:
    """Mean wait or JCT of the finished jobs of each group under each policy.

    The values are those of :meth:`gpusched.Comparison.by`, pooled for users who share a line.
    """
    groups = _users(comparison) if by == "user" else _widths(comparison)
    column = "user" if by == "user" else "gpus"
    every = None if not comparison.results else comparison.by(column)
    names = [
        f"{name} ({plural(count, 'job')})"
        for name, count in zip(groups.names, groups.counts, strict=True)
    ]
    dots, findings, ends = style.Rows(), [], [1.0]
    labels = list(marked(comparison))
    for label, plain in zip(labels, comparison.results, strict=True):
        if every is None:
            break
        code, value = _pooled(groups, every.filter(every["policy"] == plain), column, measure)
        if not len(code):
            continue
        worst = int(value.argmax())
        findings.append(
            f"{label}: longest for {groups.names[code[worst]]}, "
            f"{duration(float(value[worst]))} on average"
        )
        x = np.maximum(value, _LEAST[measure])
        ends = [*x.tolist(), *(ends if ends != [1.0] else [])]
        dots.add(
            label, group=[names[line] for line in code], mean_s=x,
            text=[duration(mean) for mean in x.tolist()],
        )  # fmt: skip
    word = _WORDS[measure]
    small = " Less than 1 s is drawn at 1 s." if measure == "wait" else ""
    axis = style.duration_scale(min(ends) / 1.4, max(ends) * 1.4, title=f"mean {word} (log scale)")
    # Names are above their lines: next to them, long ones would not fit on a phone.
    over = alt.Axis(
        labelAlign="left", labelBaseline="bottom", labelPadding=-6, labelOffset=-7, ticks=False,
        domain=False, grid=True, labelLimit=330,
    )  # fmt: skip
    chart: alt.Chart = dots.chart(height=40 * max(2, len(names))).mark_point(clip=True)
    chart = chart.encode(
        x=alt.X("mean_s:Q", **axis),
        y=alt.Y("group:N", title=None, axis=over, scale=alt.Scale(domain=names)),
        color=style.policy_colour(labels), shape=style.policy_shape(labels),
        opacity=style.stands_out(),
        tooltip=["policy:N", "group:N", alt.Tooltip("text:N", title="mean")],
    ).add_params(style.highlight(highlighted(comparison)))  # fmt: skip
    return style.picture(
        chart, f"{measure}_by_{by}",
        f"Mean {word} by {'user' if by == 'user' else 'number of GPUs'}",
        f"Mean {word} of the finished jobs, one dot per policy: left is better.{small}"
        + groups.note,
        findings, has_lines=True,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Groups:
    """The lines of a chart from the top, and the line of each group of ``Result.by``."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    line_of: Mapping[str, int]
    note: str = ""


def _pooled(
    groups: _Groups, table: polars.DataFrame, column: str, measure: Measure
) -> tuple[Int64, Float64]:
    """Return the lines that have finished jobs, and the mean over those jobs, seconds."""
    table = table.filter(table["num_finished"] > 0)
    line = np.array([groups.line_of[name] for name in table[column]], dtype=np.int64)
    count, size = table["num_finished"].to_numpy(), len(groups.names)
    finished = np.bincount(line, weights=count, minlength=size)
    total = np.bincount(line, weights=count * table[f"mean_{measure}_s"].to_numpy(), minlength=size)
    there = np.flatnonzero(finished)
    return there, total[there] / finished[there]


def _widths(comparison: Comparison) -> _Groups:
    """A line for each number of GPUs that occurs, the smallest at the top."""
    counts = _job_counts(comparison, "gpus")
    return _lines([(_WIDTHS[name], (name,)) for name in counts], counts)


def _users(comparison: Comparison) -> _Groups:
    """The users with the most requested GPU time, then all others together."""
    trace = comparison.trace
    if not has_users(trace) or trace.user is None:
        raise ValueError("the trace has no users")
    labels, counted = trace.user, comparison.counted
    asked = np.bincount(
        labels.codes[counted],
        weights=(trace.service_s * trace.gpus)[counted],
        minlength=len(labels.names),
    )
    counts = _job_counts(comparison, "user")
    named = [labels.names[code] or NOT_GIVEN for code in np.argsort(-asked, kind="stable")]
    order = [name for name in dict.fromkeys(named) if name in counts]
    shown, rest = order, order[:0]
    if len(order) > MOST_USERS + 1:
        shown, rest = order[:MOST_USERS], order[MOST_USERS:]
    lines: list[tuple[str, tuple[str, ...]]] = [(name, (name,)) for name in shown]
    note = " Users with the most requested GPU time are at the top."
    if rest:
        lines.append((f"{len(rest):,} others", tuple(rest)))
        note = (
            f" The {len(shown)} users with the most requested GPU time, in that order; "
            f"the other {len(rest):,} share the last line."
        )
    return _lines(lines, counts, note)


def _job_counts(comparison: Comparison, by: str) -> dict[str, int]:
    """Number of jobs in each group of ``Result.by``, the same under every policy."""
    if not comparison.results:
        return {}
    table = comparison.by(by)
    table = table.filter(table["policy"] == table["policy"][0])
    return dict(zip(table[by], table["num_jobs"], strict=True))


def _lines(
    lines: Sequence[tuple[str, tuple[str, ...]]], counts: Mapping[str, int], note: str = ""
) -> _Groups:
    """Number the lines, each with a name and its groups, from the top."""
    return _Groups(
        tuple(name for name, _ in lines),
        tuple(sum(counts[group] for group in groups) for _, groups in lines),
        {group: line for line, (_, groups) in enumerate(lines) for group in groups},
        note,
    )
