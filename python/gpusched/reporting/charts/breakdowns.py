"""Means by user and by number of GPUs: who waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.wording import duration, plural
from gpusched.reporting.charts.chart import Axis, Curve, Dots, policies_of
from gpusched.reporting.charts.highlights import highlighted

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison_result import Comparison
    from gpusched.traces.workload import Trace

By = Literal["user", "width"]
Measure = Literal["wait", "jct"]

MOST_USERS: Final = 15
"""Users that have a line of their own; the others share one."""
_WIDTHS: Final = ((1, "1 GPU"), (8, "2-8 GPUs"), (None, "9 or more GPUs"))
_WORDS: Final = {"wait": "wait", "jct": "JCT"}
_LEAST: Final = {"wait": 1.0, "jct": 1e-6}  # seconds that a logarithmic axis can show


def has_users(trace: Trace) -> bool:
    """Whether the trace says of whom jobs are."""
    return trace.user is not None and any(trace.user.names)


def means(comparison: Comparison, by: By, measure: Measure) -> Dots:
    """Mean wait or JCT of the finished jobs of each group under each policy.

    Raises
    ------
    ValueError
        By user, if the trace has none.
    """
    trace = comparison.trace
    groups = _users(trace) if by == "user" else _widths(trace)
    curves = []
    for place, label, result in policies_of(comparison):
        table = _group_means(result, groups.codes, measure)
        code, value = table["group"].to_numpy(), table["mean_s"].to_numpy()
        if len(code):
            worst = int(value.argmax())
            finding = (
                f"{label}: longest for {groups.names[code[worst]]}, "
                f"{duration(float(value[worst]))} on average"
            )
            x = np.maximum(value, _LEAST[measure])
            curves.append(Curve(place, label, x, code.astype(np.float64), finding))
    names = tuple(
        f"{name} ({plural(count, 'job')})"
        for name, count in zip(groups.names, groups.counts, strict=True)
    )
    every = np.concatenate([curve.x for curve in curves] or [np.ones(1)])
    word = _WORDS[measure]
    small = " Less than 1 s is drawn at 1 s." if measure == "wait" else ""
    return Dots(
        f"{measure}_by_{by}",
        f"Mean {word} by {'user' if by == 'user' else 'number of GPUs'}",
        f"Mean {word} of the finished jobs, a dot per policy: further left is better.{small}"
        + groups.note,
        Axis(f"mean {word} (log scale)", "duration", (every.min() / 1.4, every.max() * 1.4)),
        groups=names,
        curves=tuple(curves),
        highlighted=highlighted(comparison),
    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """A group number of each job; names and numbers of jobs of the groups, from the bottom."""

    codes: AnyArray
    names: tuple[str, ...]
    counts: tuple[int, ...]
    note: str = ""


def _group_means(result: Result, codes: AnyArray, measure: Measure) -> Any:
    """Mean over the finished jobs of each group that has any: columns group and mean_s."""
    import polars as pl

    values = result.jobs.wait_s if measure == "wait" else result.jobs.jct_s
    frame = pl.DataFrame({"group": codes, "value": values}).filter(pl.col("value").is_not_nan())
    return frame.group_by("group").agg(pl.col("value").mean().alias("mean_s")).sort("group")


def _widths(trace: Trace) -> _Groups:
    edges = [most for most, _ in _WIDTHS if most is not None]
    codes = np.searchsorted(edges, trace.gpus, side="left")
    return _compact(codes, [name for _, name in _WIDTHS])


def _users(trace: Trace) -> _Groups:
    """Those who ask for most GPU time, then all others together."""
    if not has_users(trace) or trace.user is None:
        raise ValueError("the trace does not say whose jobs they are: it has no users")
    labels = trace.user
    weights = trace.service_s * trace.gpus
    asked = np.bincount(labels.codes, weights=weights, minlength=len(labels.names))
    jobs = np.bincount(labels.codes, minlength=len(labels.names))
    order = [code for code in np.argsort(-asked, kind="stable").tolist() if jobs[code]]
    shown, rest = order, order[:0]
    if len(order) > MOST_USERS + 1:
        shown, rest = order[:MOST_USERS], order[MOST_USERS:]
    rank_of = np.full(len(labels.names), len(shown), dtype=np.int64)
    rank_of[shown] = np.arange(len(shown))
    names = [labels.names[code] or "(no user)" for code in shown]
    note = ""
    if rest:
        names.append(f"{len(rest):,} others")
        note = (
            f" The {len(shown)} users who ask for most GPU time, most at the top; "
            f"the other {len(rest):,} share the last line."
        )
    else:
        note = " Users who ask for most GPU time are at the top."
    return _compact(rank_of[labels.codes], names, note)


def _compact(codes: AnyArray, names: list[str], note: str = "") -> _Groups:
    """Leave out groups without jobs, and count from the bottom: the first is drawn at the top."""
    counts = np.bincount(codes, minlength=len(names))
    kept = np.flatnonzero(counts)[::-1]
    place_of = np.zeros(len(names), dtype=np.int64)
    place_of[kept] = np.arange(len(kept))
    return _Groups(
        place_of[codes],
        tuple(names[group] for group in kept),
        tuple(int(counts[group]) for group in kept),
        note,
    )
