"""The checks of an audit of traces, one function each, in their order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.labels import Labels
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.base.wording import duration, plural
from gpusched.traces.auditing.check_registry import Evidence, Outcome, trace_check
from gpusched.traces.auditing.findings import Verdict
from gpusched.traces.job_columns import JOB_COLUMNS

_MANY_EQUAL: Final = 0.01
_QUIETEST: Final = 0.24  # of the mean rate: a weekend night of a typical site
_LEAST_GAP_S: Final = 12 * 3600.0
_SORTED: Final = 0.005  # share of backward steps in a file that is sorted but for a few rows
_FOLD_S: Final = (1_500.0, 7_500.0)
_BURST: Final = 0.005
_MANY_AT_ONCE: Final = 0.1
_WINDOWS: Final = 20
_THIN: Final = 0.1
_PER_WINDOW: Final = 20
_EXPECTED: Final = 20
_LIMIT_S: Final = 600.0
_FLOORS_S: Final = (30, 60, 120, 180, 300, 600, 900, 1200, 1800, 3600, 7200)
_MANY_LEFT_OUT: Final = 0.01
_TIMES: Final = ("submit_s", "service_s", "deadline_s", "estimate_s")
_NOT_ABOVE: Final = ("must be positive", "must not be negative")
_NO_INVENTORY: Final = "no cluster is given, and the file states none"
_ODD_WIDTHS: Final = 0.05
_USER_JOBS: Final = 0.5
_QUEUE_JOBS: Final = 0.9
_ENOUGH_JOBS: Final = 1_000
_GRACE_S: Final = 60
_BELOW: Final = 0.01
_EQUAL: Final = 0.05


# Duplicate jobs


def _repeats(columns: list[AnyArray]) -> Int64:
    """Return the jobs that equal an earlier one in all columns."""
    order = np.lexsort(columns[::-1])  # stable: equal jobs keep their order
    same = np.ones(len(order) - 1, dtype=np.bool_)
    for column in columns:
        sorted_values = column[order]
        same &= sorted_values[1:] == sorted_values[:-1]
    return np.sort(order[1:][same]).astype(np.int64)


@trace_check(
    "duplicate-ids",
    summary="Ids shared by several jobs.",
    effect="A requeued job counts as several, or a file was joined twice; runs need unique ids.",
    threshold="Wrong from the first: an id must name one job.",
    rank=0,
)
def _duplicate_ids(evidence: Evidence) -> Outcome:
    _, codes = np.unique(evidence.trace.id, return_inverse=True)
    jobs = _repeats([codes])
    if not jobs.size:
        return Outcome("fine", "every id is unique")
    has = "has" if len(jobs) == 1 else "have"
    return Outcome("wrong", f"{plural(len(jobs), 'job')} {has} the id of another", jobs)


@trace_check(
    "duplicate-rows",
    summary="Jobs that equal another in all columns except the id.",
    effect="Load and queues are too high, especially if a file was joined twice.",
    threshold="Odd from the first, wrong from 1% of the jobs if no id distinguishes them: a "
    "sweep submits equal jobs in one second, but they rarely run equally long.",
    rank=1,
    by_share=True,
)
def _duplicate_rows(evidence: Evidence) -> Outcome:
    trace = evidence.trace
    held = (getattr(trace, column.stored) for name, column in JOB_COLUMNS.items() if name != "id")
    columns = (values.codes if isinstance(values, Labels) else values for values in held)
    jobs = _repeats([values for values in columns if values is not None])
    if not jobs.size:
        return Outcome("fine", "no two jobs are equal in all columns")
    share = len(jobs) / evidence.num_jobs
    what = f"{plural(len(jobs), 'job')} ({share:.2%}) equal to another in all columns"
    return Outcome("odd" if _has_ids(evidence) or share < _MANY_EQUAL else "wrong", what, jobs)


def _has_ids(evidence: Evidence) -> bool:
    """Whether ids are more than row numbers."""
    ids = evidence.trace.id
    if ids.dtype.kind != "i":
        return True
    num_rows = evidence.num_jobs + evidence.trace.rejects.total
    is_ascending = bool((np.diff(ids[evidence.file_order]) > 0).all())
    return not (is_ascending and int(ids.min()) >= 0 and int(ids.max()) < num_rows)


# Submit times


@trace_check(
    "submit-gaps",
    summary="Long times without submissions.",
    effect="The load over the whole time is too low, and queues drain that did not in reality: cut "
    "the trace at the gap, or state the load of its parts.",
    threshold="Odd from 12 h and (ln n + 14) / 0.24 mean gaps: if arrivals follow day and week "
    "and are otherwise random, the quietest hours have 0.24 of the mean rate, and one trace in a "
    "million has such a gap. Wrong if gaps are half of the time.",
    rank=10,
)
def _submit_gaps(evidence: Evidence) -> Outcome:
    gaps_s = np.diff(evidence.trace.submit_us) / US_PER_S
    if len(gaps_s) < 2 or not evidence.trace.span_us:
        return Outcome("unknown", "too few submissions to judge")
    limit_s = max(
        _LEAST_GAP_S, float(gaps_s.mean()) * (math.log(evidence.num_jobs) + 14) / _QUIETEST
    )
    after = np.flatnonzero(gaps_s > limit_s) + 1
    if not after.size:
        return Outcome("fine", f"the longest time without a submission is {duration(gaps_s.max())}")
    share = float(gaps_s[after - 1].sum() / gaps_s.sum())
    what = (
        f"{plural(len(after), 'gap')} of more than {duration(limit_s)}, the longest "
        f"{duration(gaps_s.max())}, {share:.0%} of the time"
    )
    return Outcome("wrong" if share > 0.5 else "odd", what, after)


@trace_check(
    "clock-folds",
    summary="A clock that goes back within the file: summer time ends, or the clock is corrected.",
    effect="The jobs of two hours overlap: the rate doubles there, and waits are off by the step.",
    threshold="If fewer than 0.5% of the steps in the file go back, a step back by 25 to 125 "
    "minutes is wrong (clocks change by 30, 60 or 120), one of more than 5 minutes odd.",
    rank=11,
)
def _clock_folds(evidence: Evidence) -> Outcome:
    steps_s = evidence.steps_us / US_PER_S
    back = steps_s < 0
    if not back.any():
        return Outcome("fine", "the clock never goes back")
    if back.mean() > max(_SORTED, 1.5 / len(steps_s)):
        return Outcome("unknown", "the file is not sorted by submit time")
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
    summary="A file that is not sorted by submit time.",
    effect="None on a run, which sorts; but jobs of one instant are queued in file order, and the "
    "first rows are not the first jobs.",
    threshold="Odd if more than 0.5% of the steps from row to row go back in time.",
    rank=12,
)
def _submit_order(evidence: Evidence) -> Outcome:
    back = np.flatnonzero(evidence.steps_us < 0)
    if len(back) <= max(1, _SORTED * len(evidence.steps_us)):
        return Outcome("fine", "the file is sorted by submit time")
    what = f"{len(back) / len(evidence.steps_us):.0%} of the rows are earlier than the row before"
    return Outcome("odd", what, evidence.file_order[back + 1])


@trace_check(
    "one-instant",
    summary="Very many submissions at one instant.",
    effect="Such jobs queue behind each other under any policy and dominate the mean wait.",
    threshold="Odd from 0.5% of the jobs and 20 of them, more than most sweeps; wrong from 10%: "
    "then times are only dates, or were unknown.",
    rank=13,
    by_share=True,
)
def _one_instant(evidence: Evidence) -> Outcome:
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
    return Outcome("wrong" if share >= _MANY_AT_ONCE else "odd", what, jobs)


@trace_check(
    "thin-end",
    summary="Last days with far fewer submissions than the others.",
    effect="Queues drain at the end, and averages over the whole time are too low: leave out the "
    "end.",
    threshold="The time is cut into 20 windows (10 if they would hold fewer than 20 jobs). Odd if "
    "the last or the first holds less than a tenth of the median window, of all or of the five "
    "next to it: night and weekend together reach a quarter.",
    rank=14,
)
def _thin_end(evidence: Evidence) -> Outcome:
    submit_us = evidence.trace.submit_us
    num_windows = _WINDOWS if evidence.num_jobs >= _WINDOWS * _PER_WINDOW else _WINDOWS // 2
    if evidence.num_jobs < num_windows * _PER_WINDOW or not evidence.trace.span_us:
        return Outcome("unknown", "too few jobs to judge")
    counts, edges = np.histogram(submit_us, bins=num_windows)
    middle = float(np.median(counts))
    for name, at, near in (("last", -1, counts[-6:-1]), ("first", 0, counts[1:6])):
        usual = max(middle, float(np.median(near)))
        if middle < _PER_WINDOW / 2 or counts[at] >= _THIN * usual:
            continue
        is_in = submit_us >= edges[-2] if at else submit_us < edges[1]
        jobs = np.flatnonzero(is_in)
        span = duration(float(edges[1] - edges[0]) / US_PER_S)
        what = f"{plural(len(jobs), 'submission')} in the {name} {span}, usually {usual:,.0f}"
        return Outcome("odd", what, jobs)
    return Outcome("fine", "as many submissions at both ends as in between")


# Truncated run times


@trace_check(
    "running-at-end",
    summary="Jobs that were running when the log ended: many end at the same last instant.",
    effect="Their run times are cut off: long jobs look short, and the load is too low.",
    threshold="Odd if 5 jobs and 0.1% of them end within a second of the last end; wrong if they "
    "have 5% of the GPU time.",
    rank=20,
    by_share=True,
)
def _running_at_end(evidence: Evidence) -> Outcome:
    end_us = evidence.end_us
    jobs = np.flatnonzero(end_us >= end_us.max() - US_PER_S)
    if len(jobs) < max(5, 0.001 * evidence.num_jobs):
        return Outcome("fine", "jobs do not end with the log")
    share = float(evidence.gpu_seconds[jobs].sum() / evidence.gpu_seconds.sum())
    what = f"{plural(len(jobs), 'job')} with {share:.0%} of the GPU time end when the log does"
    return Outcome("wrong" if share >= 0.05 else "odd", what, jobs)


@trace_check(
    "missing-long-runs",
    summary="A truncated tail: jobs of the last days that would have run on are missing.",
    effect="Only finished jobs were recorded: late jobs look short, and the load falls towards the "
    "end. Leave out the last days, as many as a long job runs.",
    threshold="If run times did not change over time, 20 jobs or more would run beyond the last "
    "submission; wrong if fewer than a tenth of these do, odd if fewer than a fifth: since jobs of "
    "one sweep are similar, a quarter may be chance.",
    rank=21,
)
def _missing_long_runs(evidence: Evidence) -> Outcome:
    submit_us, service_us = evidence.trace.submit_us, evidence.trace.service_us
    last = int(submit_us[-1])
    # The first half is hardly affected: take run times from there.
    half = submit_us <= last // 2 + int(submit_us[0]) // 2
    if half.sum() < _EXPECTED or not evidence.trace.span_us:
        return Outcome("unknown", "too few jobs to judge")
    known = np.sort(service_us[half])
    # Exclude the last job, which always runs beyond its own submission.
    beyond = 1.0 - np.searchsorted(known, last - submit_us[:-1], side="right") / len(known)
    expected = float(beyond.sum())
    if expected < _EXPECTED:
        return Outcome("unknown", "runs are too short compared with the trace to judge")
    # Many long jobs submitted together would otherwise weigh too much.
    found = int(np.count_nonzero(submit_us[:-1] + service_us[:-1] > last))
    what = f"{plural(found, 'job')} run beyond the last submission, {expected:,.0f} expected"
    if found >= 0.2 * expected:
        return Outcome("fine", what)
    late = np.flatnonzero(last - submit_us <= float(np.percentile(known, 95)))
    return Outcome("wrong" if found < 0.1 * expected else "odd", what, late)


@trace_check(
    "service-limit",
    summary="Run times cut off at a limit: many have the same length of 10 minutes or more.",
    effect="The site's limit is mistaken for the work of its jobs, so a study of other limits or "
    "speeds is wrong.",
    threshold="Odd if 0.2% of the jobs and 8 of them have one length, ten times as many as lengths "
    "within 2% of it have on average; wrong if such jobs have 10% of the GPU time.",
    rank=22,
    by_share=True,
)
def _service_limit(evidence: Evidence) -> Outcome:
    service_s = np.rint(evidence.trace.service_us / US_PER_S).astype(np.int64)
    lengths, counts = np.unique(service_s, return_counts=True)
    least = max(8.0, 0.002 * evidence.num_jobs)
    heaps = []
    total = np.concatenate(([0], np.cumsum(counts)))
    for at in np.flatnonzero((counts >= least) & (lengths >= _LIMIT_S)).tolist():
        low = np.searchsorted(lengths, 0.98 * lengths[at])
        high = np.searchsorted(lengths, 1.02 * lengths[at], side="right")
        others = total[high] - total[low] - counts[at]
        # Compare per second: run times are mostly whole seconds.
        if counts[at] >= 10 * max(1.0, others / (0.04 * lengths[at])):
            heaps.append(int(lengths[at]))
    if not heaps:
        return Outcome("fine", "no run time is unusually frequent")
    jobs = np.flatnonzero(np.isin(service_s, heaps))
    share = float(evidence.gpu_seconds[jobs].sum() / evidence.gpu_seconds.sum())
    shown = ", ".join(f"{length:,} s" for length in heaps[:3]) + (", ..." if heaps[3:] else "")
    what = f"{plural(len(jobs), 'job')} with {share:.0%} of the GPU time run exactly {shown}"
    return Outcome("wrong" if share >= 0.1 else "odd", what, jobs)


@trace_check(
    "short-jobs-filtered",
    summary="A hard minimum of run times: shorter jobs were left out.",
    effect="Most jobs of a site are short, and a wait hurts them most: mean slowdown and the gain "
    "of serving short jobs first come out too small.",
    threshold="Odd if the shortest run lies within 5% above a round time of 30 s or more, and 5 "
    "jobs and 0.1% of all run at most 10% longer: without a cut, the shortest are few.",
    rank=23,
)
def _short_jobs_filtered(evidence: Evidence) -> Outcome:
    service_s = evidence.trace.service_s
    shortest = float(service_s.min())
    floor = next((f for f in _FLOORS_S if f <= shortest <= 1.05 * f), None)
    jobs = np.flatnonzero(service_s <= 1.1 * shortest)
    if floor is None or len(jobs) < max(5, 0.001 * evidence.num_jobs):
        return Outcome("fine", f"the shortest run is {duration(shortest)}, and few are as short")
    what = f"no run is shorter than {floor:,} s, and {len(jobs):,} are at most 10% longer"
    return Outcome("odd", what, jobs)


# Rejected rows


def _left_out(
    evidence: Evidence, chosen: Callable[[str, str], bool], fine: str, worst: Verdict = "wrong"
) -> Outcome:
    """Judge the reasons that are ``chosen(column, reason)``: odd below 1% of all rows."""
    rejects = evidence.trace.rejects
    reasons = [
        reason for reason in rejects.counts if chosen(rejects.columns.get(reason, ""), reason)
    ]
    count = sum(rejects.counts[reason] for reason in reasons)
    if not count:
        return Outcome("fine", fine)
    share = count / (evidence.num_jobs + rejects.total)
    ranked = sorted(reasons, key=lambda reason: -rejects.counts[reason])
    told = "; ".join(f"{reason}: {rejects.counts[reason]:,}" for reason in ranked)
    rows = tuple(sorted(row for reason in reasons for row in rejects.first[reason]))
    verdict = worst if share >= _MANY_LEFT_OUT else "odd"
    return Outcome(verdict, f"{told} ({share:.1%} of the rows)", (), count, rows)


def _is_time(column: str, reason: str) -> bool:
    return column in _TIMES and reason.endswith(_NOT_ABOVE)


def _is_wait(column: str, reason: str) -> bool:
    return column == "source_wait_s" and reason.endswith(_NOT_ABOVE)


def _is_width(column: str, reason: str) -> bool:
    return column == "gpus" and (
        "must be positive" in reason or reason.endswith((*_NOT_ABOVE, "(a job without GPUs)"))
    )


def _is_step(column: str, reason: str) -> bool:
    return column == "id" and reason.endswith("(this is a job step)")


@trace_check(
    "times-not-positive",
    summary="Run times, or other times, that are zero or negative.",
    effect="Such rows are left out. Zeros are mostly jobs that failed at once; negative times come "
    "from a wrong clock, which makes other times doubtful, too.",
    threshold="Odd from the first, wrong from 1% of the rows.",
    rank=30,
)
def _times_not_positive(evidence: Evidence) -> Outcome:
    return _left_out(evidence, _is_time, "no row was left out for its times")


@trace_check(
    "waits-below-zero",
    summary="Jobs that started before they were submitted.",
    effect="Such rows are left out. The clocks of submit and start differ, so other waits are off, "
    "too, and a comparison with the recorded starts is unreliable.",
    threshold="Odd from the first, wrong from 1% of the rows.",
    rank=31,
)
def _waits_below_zero(evidence: Evidence) -> Outcome:
    if evidence.trace.source_wait_us is None:
        return Outcome("unknown", "the trace has no waits")
    return _left_out(evidence, _is_wait, "no wait is negative")


@trace_check(
    "rows-without-gpus",
    summary="Rows without GPUs.",
    effect="None on a study of GPUs: they are left out. They matter if CPUs are scarce, too.",
    threshold="Never odd: sites log their CPU jobs in the same file.",
    rank=32,
)
def _rows_without_gpus(evidence: Evidence) -> Outcome:
    found = _left_out(evidence, _is_width, "every row has GPUs")
    return Outcome("fine", found.what, (), found.count or 0, found.rows)


@trace_check(
    "rows-unreadable",
    summary="Rows left out for another reason: not a number, not a time, empty, out of range.",
    effect="They are not missing at random: mostly jobs that failed, never started, or had not "
    "ended.",
    threshold="Odd from the first, wrong from 1% of the rows.",
    rank=33,
)
def _rows_unreadable(evidence: Evidence) -> Outcome:

    def other(column: str, reason: str) -> bool:
        kinds = (_is_time, _is_wait, _is_width, _is_step)
        return not any(kind(column, reason) for kind in kinds)

    return _left_out(evidence, other, "every other row was read")


# Demand and capacity


@trace_check(
    "wider-than-cluster",
    summary="Jobs that need more GPUs than exist, of all types or of those they allow.",
    effect="No policy can ever run them: they are rejected, or wait until the end.",
    threshold="Wrong from the first.",
    rank=40,
)
def _wider_than_cluster(evidence: Evidence) -> Outcome:
    trace, num_gpus = evidence.trace, evidence.num_gpus
    if num_gpus is None:
        return Outcome("unknown", _NO_INVENTORY)
    room = np.full(len(trace), num_gpus, dtype=np.int64)
    if evidence.cluster is not None and trace.type_set is not None:
        of_type: dict[str, int] = {}
        for group in evidence.cluster.servers:
            kind = group.gpu_type
            of_type[kind] = of_type.get(kind, 0) + group.count * group.gpus
        allowed = [
            sum(of_type.get(name, 0) for name in names) if names else num_gpus
            for names in trace.type_sets
        ]
        room = np.array(allowed, dtype=np.int64)[trace.type_set]
    jobs = np.flatnonzero(trace.gpus > room)
    if not jobs.size:
        return Outcome(
            "fine", f"the largest job has {int(trace.gpus.max()):,} of {num_gpus:,} GPUs"
        )
    widest = int(trace.gpus[jobs].max())
    what = f"{plural(len(jobs), 'job')} with more GPUs than exist for them, up to {widest:,}"
    return Outcome("wrong", what, jobs)


@trace_check(
    "more-gpus-in-use",
    summary="More GPUs in use at once, by the recorded starts, than exist.",
    effect="The inventory, or the starts and run times, do not match the site: a run on these GPUs "
    "has longer queues than the site had.",
    threshold="Odd from the first GPU too many, wrong if this lasts for 1% of the time.",
    rank=41,
)
def _more_gpus_in_use(evidence: Evidence) -> Outcome:
    if evidence.num_gpus is None:
        return Outcome("unknown", _NO_INVENTORY)
    if evidence.start_us is None:
        return Outcome("unknown", "the trace has no start times")
    times, held = _in_use(evidence)
    limit = evidence.num_gpus * WHOLE_GPU
    over = held[:-1] > limit
    most = int(held.max()) / WHOLE_GPU
    if not over.any():
        return Outcome("fine", f"at most {most:,.0f} of {evidence.num_gpus:,} GPUs are in use")
    share = float(np.diff(times)[over].sum() / (times[-1] - times[0]))
    # Jobs at the start of which too many GPUs are in use.
    starts = np.searchsorted(times, evidence.start_us)
    jobs = np.flatnonzero(held[starts] > limit)
    what = (
        f"up to {most:,.0f} of {evidence.num_gpus:,} GPUs in use, too many {share:.1%} of the time"
    )
    return Outcome("wrong" if share >= 0.01 else "odd", what, jobs)


def _in_use(evidence: Evidence) -> tuple[Int64, Int64]:
    """Return all instants, and the thousandths of GPUs in use after each."""
    assert evidence.start_us is not None
    trace = evidence.trace
    milli = trace.gpus * np.int64(WHOLE_GPU)
    if trace.share_milli is not None:
        milli = trace.gpus * trace.share_milli.astype(np.int64)
    times, at = np.unique(np.concatenate((evidence.start_us, evidence.end_us)), return_inverse=True)
    held = np.zeros(len(times), dtype=np.int64)
    np.add.at(held, at, np.concatenate((milli, -milli)))
    return times, np.cumsum(held)


@trace_check(
    "overload",
    summary="More work than the cluster can do in the time.",
    effect="The queue grows until the last submission: waits then depend on the length of the "
    "trace more than on the policy.",
    threshold="Odd if GPUs x run time of the jobs that fit exceeds the GPUs times the span of the "
    "submissions.",
    rank=42,
)
def _overload(evidence: Evidence) -> Outcome:
    if evidence.num_gpus is None:
        return Outcome("unknown", _NO_INVENTORY)
    if evidence.num_jobs < 2 or not evidence.trace.span_us:
        return Outcome("unknown", "all jobs arrive at one instant")
    work = evidence.fitting_gpu_seconds  # another check reports jobs that can never run
    share = float(work.sum() / evidence.gpu_seconds.sum())
    load = evidence.trace.offered_load(evidence.num_gpus) * share
    if load <= 1:
        return Outcome("fine", f"the load is {load:.2f}")
    done_us = np.cumsum(work) * US_PER_S / evidence.num_gpus
    behind = np.flatnonzero(done_us > evidence.trace.submit_us - evidence.trace.submit_us[0])
    return Outcome("odd", f"the load is {load:.2f}", behind)


@trace_check(
    "odd-widths",
    summary="Numbers of GPUs that are neither powers of two nor multiples of 8.",
    effect="Jobs of 3, 5 or 7 GPUs leave gaps, which placements handle differently; or the column "
    "counts something else than GPUs (cores, slots, shares).",
    threshold="Odd from 5% of the jobs: training jobs mostly have 1, 2, 4 GPUs or whole servers.",
    rank=43,
)
def _odd_widths(evidence: Evidence) -> Outcome:
    gpus = evidence.trace.gpus
    jobs = np.flatnonzero((gpus & (gpus - 1) != 0) & (gpus % 8 != 0))
    share = len(jobs) / evidence.num_jobs
    if share < _ODD_WIDTHS or len(jobs) < 5:
        return Outcome("fine", f"{share:.1%} of the jobs have numbers of GPUs like 3 or 6")
    widths, counts = np.unique(gpus[jobs], return_counts=True)
    shown = ", ".join(f"{widths[at]:,}" for at in np.argsort(-counts, kind="stable")[:3])
    what = f"{plural(len(jobs), 'job')} ({share:.1%}) have numbers of GPUs like {shown}"
    return Outcome("odd", what, jobs)


# Dominant users and queues


@trace_check(
    "dominant-user",
    summary="A user with most of the jobs.",
    effect="Means over jobs reflect that user: a policy that helps this user seems to help all. "
    "Look at results by user, or leave this user out.",
    threshold="Odd from half of 1,000 jobs or more, with at least two other users: in a Zipf "
    "distribution of hundreds of users the first has a sixth; in smaller traces one sweep is half.",
    rank=50,
)
def _dominant_user(evidence: Evidence) -> Outcome:
    return _dominant(evidence, evidence.trace.user, "user", _USER_JOBS)


@trace_check(
    "dominant-queue",
    summary="A queue, or virtual cluster, with almost all jobs.",
    effect="The trace is about one queue: rules between queues have nothing to decide.",
    threshold="Odd from nine tenths of 1,000 jobs or more, with at least two other queues.",
    rank=51,
)
def _dominant_queue(evidence: Evidence) -> Outcome:
    return _dominant(evidence, evidence.trace.queue, "queue", _QUEUE_JOBS)


def _dominant(evidence: Evidence, labels: Labels | None, noun: str, limit: float) -> Outcome:
    if labels is None:
        return Outcome("unknown", f"the trace has no {noun}s")
    counts = labels.counts() * np.array([bool(name) for name in labels.names])
    if np.count_nonzero(counts) < 3:
        return Outcome("unknown", f"there are fewer than three {noun}s")
    if evidence.num_jobs < _ENOUGH_JOBS:
        return Outcome("unknown", f"there are fewer than {_ENOUGH_JOBS:,} jobs")
    first = int(counts.argmax())
    jobs = np.flatnonzero(labels.codes == first)
    share = len(jobs) / evidence.num_jobs
    time = float(evidence.gpu_seconds[jobs].sum() / evidence.gpu_seconds.sum())
    what = (
        f"{noun} {labels.names[first]!r} has {share:.0%} of the jobs and {time:.0%} of the GPU time"
    )
    return Outcome("odd", what, jobs) if share >= limit else Outcome("fine", what)


# Run-time estimates


@trace_check(
    "estimates-below-services",
    summary="Jobs that ran longer than estimated.",
    effect="Backfilling reserves too short a time for them: easy and conservative miss reserved "
    "starts and lose their guarantees. If estimates are limits, the site did not enforce them.",
    threshold="Odd if 1% of the jobs with an estimate exceed it by more than a minute, a usual "
    "grace period before a job is killed.",
    rank=60,
)
def _estimates_below_services(evidence: Evidence) -> Outcome:
    estimate_us = evidence.trace.estimate_us
    if estimate_us is None:
        return Outcome("unknown", "the trace has no estimates")
    given = estimate_us >= 0
    over_us = evidence.trace.service_us - estimate_us
    jobs = np.flatnonzero(given & (over_us > _GRACE_S * US_PER_S))
    share = len(jobs) / max(1, int(given.sum()))
    if share < _BELOW:
        return Outcome("fine", f"{share:.2%} of the estimates are exceeded")
    most = duration(float(over_us[jobs].max()) / US_PER_S)
    return Outcome(
        "odd", f"{plural(len(jobs), 'job')} ({share:.0%}) exceed theirs, by up to {most}", jobs
    )


@trace_check(
    "estimates-equal-services",
    summary="Jobs that ran exactly as long as estimated.",
    effect="Either they were killed at their limit, and their work is unknown, or the estimate is "
    "a copy of the run time: then backfilling knows the future.",
    threshold="Odd from 5% of the jobs with an estimate, and 5 of them, within a second; wrong "
    "from half of them: no user guesses so well.",
    rank=61,
)
def _estimates_equal_services(evidence: Evidence) -> Outcome:
    estimate_us = evidence.trace.estimate_us
    if estimate_us is None:
        return Outcome("unknown", "the trace has no estimates")
    given = estimate_us >= 0
    near = np.abs(evidence.trace.service_us - estimate_us) <= US_PER_S
    jobs = np.flatnonzero(given & near)
    share = len(jobs) / max(1, int(given.sum()))
    if share < _EQUAL or len(jobs) < 5:
        return Outcome("fine", f"{share:.1%} of the jobs run exactly as long as estimated")
    what = f"{plural(len(jobs), 'job')} ({share:.0%}) run exactly as long as estimated"
    return Outcome("wrong" if share >= 0.5 else "odd", what, jobs)
