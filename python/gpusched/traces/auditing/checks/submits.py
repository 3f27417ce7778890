"""When jobs were submitted: gaps, a clock that goes back, order, bursts, a thin end."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence

_QUIETEST: Final = 0.24  # of the mean rate: a weekend's night where the week is as in most sites
_LEAST_GAP_S: Final = 12 * 3600.0
_SORTED: Final = 0.005  # of the steps go back in a file that is sorted but for a few
_FOLD_S: Final = (1_500.0, 7_500.0)
_BURST: Final = 0.005
_MANY: Final = 0.1
_WINDOWS: Final = 20
_THIN: Final = 0.1
_PER_WINDOW: Final = 20


@trace_check(
    "submit-gaps",
    summary="Long times in which nobody submits.",
    effect="The load over the whole time is too low, and queues drain that would not have: cut the "
    "trace at the gap, or give the load of its parts.",
    threshold="Odd from 12 h and (ln n + 14) / 0.24 mean gaps: where arrivals follow day and week "
    "and are else at random, the quietest hours have 0.24 of the mean rate, and one trace in a "
    "million has such a gap. Wrong where gaps are half of the time.",
    rank=10,
)
def submit_gaps(evidence: Evidence) -> Outcome:
    """Compare the times between submits with what chance makes."""
    gaps_s = np.diff(evidence.trace.submit_us) / US_PER_S
    if len(gaps_s) < 2 or not evidence.trace.span_us:
        return Outcome("unknown", "too few submits to tell")
    limit_s = max(
        _LEAST_GAP_S, float(gaps_s.mean()) * (math.log(evidence.num_jobs) + 14) / _QUIETEST
    )
    after = np.flatnonzero(gaps_s > limit_s) + 1
    if not after.size:
        return Outcome("fine", f"the longest time without a submit is {duration(gaps_s.max())}")
    share = float(gaps_s[after - 1].sum() / gaps_s.sum())
    what = (
        f"{plural(len(after), 'gap')} of more than {duration(limit_s)}, the longest "
        f"{duration(gaps_s.max())}, {share:.0%} of the time"
    )
    return Outcome("wrong" if share > 0.5 else "odd", what, after)


@trace_check(
    "clock-folds",
    summary="A clock that is set back while the file goes on: summer time ends, or a clock is "
    "mended.",
    effect="The jobs of one hour are laid over those of another: twice the rate there, and waits "
    "that are off by the fold.",
    threshold="In a file in which fewer than 0.5 % of the steps go back, a step back by 25 to 125 "
    "minutes is wrong (clocks change by 30, 60 or 120), one of more than 5 minutes odd.",
    rank=11,
)
def clock_folds(evidence: Evidence) -> Outcome:
    """Look at steps back in time, in the order of the file."""
    steps_s = evidence.steps_us / US_PER_S
    back = steps_s < 0
    if not back.any():
        return Outcome("fine", "the clock never goes back")
    if back.mean() > max(_SORTED, 1.5 / len(steps_s)):
        return Outcome("unknown", "the file is not in the order of submits")
    is_fold = (-steps_s >= _FOLD_S[0]) & (-steps_s <= _FOLD_S[1])
    far = -steps_s > 300
    jobs = evidence.file_order[np.flatnonzero(is_fold if is_fold.any() else far) + 1]
    if not jobs.size:
        return Outcome("fine", "the clock goes back by less than 5 minutes")
    most = duration(float(-steps_s[is_fold if is_fold.any() else far].min()))
    what = f"the clock goes back {plural(len(jobs), 'time')}, by {most} or more"
    return Outcome("wrong" if is_fold.any() else "odd", what, jobs)


@trace_check(
    "submit-order",
    summary="A file that is not in the order of submits.",
    effect="None on a run, which sorts: but jobs of one instant are queued in the order of the "
    "file, and the first rows are not the first jobs.",
    threshold="Odd where more than 0.5 % of the steps from row to row go back in time.",
    rank=12,
)
def submit_order(evidence: Evidence) -> Outcome:
    """Count the steps back in time, in the order of the file."""
    back = np.flatnonzero(evidence.steps_us < 0)
    if len(back) <= max(1, _SORTED * len(evidence.steps_us)):
        return Outcome("fine", "the file is in the order of submits")
    what = f"{len(back) / len(evidence.steps_us):.0%} of the rows are earlier than the row before"
    return Outcome("odd", what, evidence.file_order[back + 1])


@trace_check(
    "one-instant",
    summary="Very many submits at one instant.",
    effect="Such jobs queue behind each other whatever the policy: they rule the mean wait.",
    threshold="Odd from 0.5 % of the jobs and 20 of them, which is more than most sweeps; wrong "
    "from 10 %: then times are dates, or were not known.",
    rank=13,
)
def one_instant(evidence: Evidence) -> Outcome:
    """Find the instant with most submits."""
    submit_us = evidence.trace.submit_us
    instants, counts = np.unique(submit_us, return_counts=True)
    most = int(counts.max())
    if len(instants) == 1 and most > 1:
        return Outcome("wrong", "all jobs are submitted at one instant", np.arange(most))
    if most < max(20, _BURST * evidence.num_jobs):
        return Outcome("fine", f"at most {plural(most, 'job')} at one instant")
    jobs = np.flatnonzero(submit_us == instants[np.argmax(counts)])
    share = most / evidence.num_jobs
    what = f"{most:,} jobs ({share:.1%}) are submitted at one instant"
    return Outcome("wrong" if share >= _MANY else "odd", what, jobs)


@trace_check(
    "thin-end",
    summary="Last days with far fewer submits than the others.",
    effect="Queues drain at the end, and what is averaged over the whole time is too low: leave "
    "the end out.",
    threshold="The time is cut into 20 windows (10, where they would hold fewer than 20 jobs). "
    "Odd where the last one, or the first, holds less than a tenth of the median one, of all or "
    "of the five beside it: night and weekend together make a quarter.",
    rank=14,
)
def thin_end(evidence: Evidence) -> Outcome:
    """Compare the ends of the time with its middle."""
    submit_us = evidence.trace.submit_us
    num_windows = _WINDOWS if evidence.num_jobs >= _WINDOWS * _PER_WINDOW else _WINDOWS // 2
    if evidence.num_jobs < num_windows * _PER_WINDOW or not evidence.trace.span_us:
        return Outcome("unknown", "too few jobs to tell")
    counts, edges = np.histogram(submit_us, bins=num_windows)
    middle = float(np.median(counts))
    for name, at, near in (("last", -1, counts[-6:-1]), ("first", 0, counts[1:6])):
        usual = max(middle, float(np.median(near)))
        if middle < _PER_WINDOW / 2 or counts[at] >= _THIN * usual:
            continue
        is_in = submit_us >= edges[-2] if at else submit_us < edges[1]
        jobs = np.flatnonzero(is_in)
        span = duration(float(edges[1] - edges[0]) / US_PER_S)
        what = f"{plural(len(jobs), 'submit')} in the {name} {span}, usually {usual:,.0f}"
        return Outcome("odd", what, jobs)
    return Outcome("fine", "as many submits at both ends as between")
