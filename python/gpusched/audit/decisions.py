"""The second level of an audit: compare with decisions of the documented policy.

The reference engine, written from the documentation and independent of the core, repeats the
decisions. Decisions depend only on the past, so for long runs the first jobs can be checked
alone; if the log has all that decisions depend on, windows starting later can be checked, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.declarations import Given, resolved, values_of
from gpusched.audit.log import FAULT_COLUMNS, HOLD_COLUMNS, JOB_COLUMNS, LOG_COLUMNS
from gpusched.audit.readable_run import (
    array_limits,
    jobs_of,
    network_of,
    outages_of,
    parts_of,
    room_of,
    servers_of,
)
from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.reference import BY_DEADLINE, PLACEMENTS, POLICIES, make_engine, make_scheduler
from gpusched.reference.engine import Change, Engine, Snapshot
from gpusched.reference.model import Outcome
from gpusched.reference.packing import OWN as PACKINGS

MOST_LOOKS: Final = 3_500_000
"""Limit on jobs times instants, about 600,000 a second: the part of a run that is repeated."""

_WINDOWS: Final = 2
"""Number of later windows of a long run that are repeated, each an eighth of that limit."""


def check(case: Case, course: Course, most_looks: int = MOST_LOOKS) -> None:
    """Repeat the decisions of the run, or of parts, and compare the intervals.

    For long runs the parts are the first jobs, and windows that start from the state in the log.
    The notes list what was not checked.
    """
    why = _unshown(case, course)
    if why:
        case.notes.append(f"decisions not shown: {why}")
        return
    count = _affordable(case, course, most_looks)
    try:
        if count == case.num_jobs:
            outcome = _decided(case, course, np.arange(case.num_jobs)).run()
            _compare_counters(case, outcome)
            _compare_columns(case, outcome)
            _compare_log(case, outcome, -1, None)
            return
        engine = _decided(case, course, _with_targets(case, count))
        packing = engine.placer.packing
        if packing is not None and packing.rule.sees_workload:
            case.notes.append(
                f"decisions not shown: placement {case.spec.placement} depends on the requests of "
                f"all jobs, and {case.num_jobs:,} are too many to repeat"
            )
            return
        until_us = int(case.trace.submit_us[count])
        _compare_log(case, engine.run(until_us), -1, until_us)
        _check_windows(case, course, most_looks)
        case.notes.append(
            f"decisions shown: those before {until_us / 1e6:g} s, when the first {count:,} of "
            f"{case.num_jobs:,} jobs had arrived"
        )
    except (ValueError, RuntimeError) as error:
        case.problems.append(f"decided otherwise: the documented rules fail: {error}")


def _with_targets(case: Case, count: int) -> Int64:
    """Return the first jobs, and all that they wait for."""
    chosen = np.arange(case.num_jobs) < count
    begin, target = (case.hold_columns.get(f"dependency_{of}") for of in ("begin", "target"))
    if begin is not None and target is not None:
        owner = np.repeat(np.arange(case.num_jobs), np.diff(begin))
        while not chosen[more := target[chosen[owner]]].all():
            chosen[more] = True
    return np.flatnonzero(chosen)


def _has_memory(policy: str, given: Given) -> bool:
    """Whether decisions depend on more than the waiting and running jobs with their history."""
    return getattr(make_scheduler(policy, given), "has_memory", True)


def _check_windows(case: Case, course: Course, most_looks: int) -> None:
    """Repeat the decisions in later windows, if the log has all that they depend on.

    That is the waiting and running jobs with their history: not if jobs slow each other down or
    are held, nor under a policy with more state.
    """
    policy, given = resolved(case.spec.policy, case.flags.alias_of)
    may_hold = case.has_holds or course.held
    if _has_memory(policy, given) or not case.flags.is_steady or may_hold:
        return
    us, looks = case.moments.us, _looks(case, course)
    part = most_looks / (4 * _WINDOWS)
    spans = []
    for window in range(_WINDOWS):
        middle = most_looks + (looks[-1] - most_looks) * (window + 1) / (_WINDOWS + 1)
        begin, end = np.searchsorted(looks, (middle, middle + part))
        at_us, until_us = int(us[begin]), int(us[min(end + 1, len(us) - 1)])
        spans.append(f"{at_us / 1e6:g} to {until_us / 1e6:g} s")
        snapshot = _snapshot(case, course, at_us)
        submit_us = case.trace.submit_us
        coming = np.flatnonzero((submit_us > at_us) & (submit_us < until_us))
        engine = _decided(case, course, np.array([*sorted(snapshot), *coming.tolist()]), at_us)
        engine.begin(at_us, snapshot)
        _compare_log(case, engine.run(until_us), at_us, until_us)
    case.notes.append(f"decisions shown: those from {', '.join(spans)}, starting from the log")


def _snapshot(case: Case, course: Course, at_us: int) -> dict[int, Snapshot]:
    """Return the jobs after the decision of an instant, each with its history."""
    is_there = (case.trace.submit_us <= at_us) & ~case.rejected
    is_there &= ~((case.finished | case.over) & (case.last_end_us <= at_us))
    gone, gone_us = course.taken_back(case)
    is_there[gone[gone_us <= at_us]] = False
    past = np.flatnonzero((case.end_us <= at_us) & is_there[case.job])
    is_hit, progress = case.is_hit.astype(np.int64), case.progress
    held, paid, added, times, failures, lost, written = (
        np.bincount(case.job[past], values[past], case.num_jobs).astype(np.int64).tolist()
        for values in (
            case.lasts_us, case.paid_us, case.added_us, 1 - is_hit, case.is_failure,
            progress.lost_us, progress.written_us,
        )
    )  # fmt: skip
    released = np.full(case.num_jobs, -1, np.int64)
    np.maximum.at(released, case.job[past], case.end_us[past])
    now = np.flatnonzero((case.start_us <= at_us) & (at_us < case.end_us))
    interval = dict(zip(case.job[now].tolist(), now.tolist(), strict=True))
    queued_us = case.queue_us(np.arange(case.num_jobs), np.full(case.num_jobs, at_us))
    ends = np.append(case.first[1:], len(case.rows["job"]))
    snapshot, in_pool = {}, 0
    for job in np.flatnonzero(is_there).tolist():
        start = int(case.first_start_us[job])
        since, allocation = -1, None
        if (i := interval.get(job)) is not None:
            since, own = int(case.start_us[i]), slice(case.first[i], ends[i])
            servers, masks = case.rows["server"][own].tolist(), case.rows["mask"][own].tolist()
            allocation = dict(zip(servers, masks, strict=True))
            if case.pooled:  # all GPUs are alike
                width = int(case.trace.gpus[job])
                allocation = {-1: ((1 << width) - 1) << in_pool}
                in_pool += width
        snapshot[job] = Snapshot(
            start if 0 <= start <= at_us else -1, held[job], paid[job], added[job], times[job],
            int(released[job]), since, allocation, failures[job], lost[job], written[job],
            int(queued_us[job]),
        )  # fmt: skip
    return snapshot


def _unshown(case: Case, course: Course) -> str:
    """Return why the reference engine cannot repeat the run; empty if it can."""
    name, given = resolved(case.spec.policy, case.flags.alias_of)
    if any(thing.role in ("policy", "placement") for thing in case.spec.python):
        return "the run has a policy or placement written in Python"
    if name not in (*POLICIES, *BY_DEADLINE):
        return f"policy {name} has no reference implementation"
    placement, placing = values_of(case.spec.placement)
    if placement not in (*PLACEMENTS, *PACKINGS) or placing.get("artefact"):
        return f"placement {case.spec.placement} has no reference implementation"
    if not case.flags.predicted:
        return f"the trace lacks the predictions of {case.spec.predictor}"
    if course.is_handed_over:
        return "the policy changed during the run"
    if case.has_outages and _has_memory(name, given):
        return f"there are outages of servers, and policy {name} remembers what it decided"
    return ""


def _looks(case: Case, course: Course) -> Float64:
    """Return cumulative jobs times instants at the end of each instant, at least one each."""
    moments, came = case.moments, ~case.rejected
    size = len(moments.us)
    change = np.bincount(moments.submits[came], minlength=size)
    if not case.has_holds:  # else all are looked at, also those that are over
        change -= np.bincount(moments.ends[case.closes], minlength=size)
        jobs, at_us = course.taken_back(case)
        change -= np.bincount(moments.before(at_us[~case.has_run[jobs]]), minlength=size)
    # Timers are further instants, which the log does not record.
    many = max(1.0, case.schedule.counters.get("instants", size) / size)
    looks: Float64 = np.cumsum(np.maximum(np.cumsum(change), 0) + 1.0) * many
    return looks


def _affordable(case: Case, course: Course, most_looks: int) -> int:
    """Return how many of the first jobs fit the limit, at least one."""
    moments = case.moments
    last = int(np.searchsorted(_looks(case, course), most_looks))
    if last >= len(moments.us):
        return len(case.trace)
    return max(1, int(np.count_nonzero(case.trace.submit_us < moments.us[last])))


def _decided(case: Case, course: Course, jobs: Int64, after_us: int = -1) -> Engine:
    """Return a reference engine for some of the run's jobs, and the changes to them."""
    spec = case.spec
    policy, given = resolved(spec.policy, case.flags.alias_of)
    placement, placing = values_of(spec.placement)
    speed, pace = values_of(spec.speed)
    contention, sharing = values_of(spec.contention)
    numbers = jobs.tolist()
    there = set(numbers)
    changes = [Change(us, job) for job, us in course.cancelled.items() if us > after_us]
    changes += [
        Change(us, job, what="hold" if is_held else "release") for job, us, is_held in course.held
    ]
    return make_engine(
        jobs_of(case.trace, jobs, case.flags.predicted, speed, case.precedence),
        servers_of(case.cluster),
        make_scheduler(policy, given),
        placement,
        placement_params=placing,
        seed=spec.seed,
        speed=speed,
        contention=contention,
        speed_params=pace,
        contention_params=sharing,
        network=network_of(case.cluster),
        room=room_of(case.cluster),
        changes=[change for change in changes if change.job in there],
        outages=outages_of(case.outages, case.cluster),
        max_instants=int(case.schedule.counters.get("instants", 0)) + 1_000 * len(numbers),
        numbers=numbers,
        has_demands=case.alike.has_demands,
        part_of=parts_of(case.cluster),
        array_limits=array_limits(case.trace),
        kill_invalid_depend=bool(case.spec.kill_invalid_depend),
    )


def _compare_columns(case: Case, outcome: Outcome) -> None:
    for name in JOB_COLUMNS + FAULT_COLUMNS * case.has_faults + HOLD_COLUMNS * case.has_holds:
        claimed = np.asarray(getattr(case.schedule, name)).astype(np.int64)
        truth = np.array(getattr(outcome, name), np.int64)
        case.report(
            "decided otherwise",
            claimed != truth,
            lambda j, name=name, claimed=claimed, truth=truth: (  # type: ignore[misc]
                f"job {j} has {name} {claimed[j]}, but {truth[j]} under {case.spec.policy} as "
                "documented"
            ),
        )


def _compare_log(case: Case, outcome: Outcome, after_us: int, until_us: int | None) -> None:
    """Compare the rows; for a part, those that overlap it, cut off at its end."""
    rows = np.array(outcome.rows, dtype=object).reshape(-1, len(LOG_COLUMNS))
    truth = {name: rows[:, i] for i, name in enumerate(LOG_COLUMNS)}
    claimed = {name: case.rows[name].astype(object) for name in LOG_COLUMNS}
    if until_us is not None:
        truth, claimed = (_cut(rows, after_us, until_us) for rows in (truth, claimed))
    size = min(len(truth["job"]), len(claimed["job"]))
    wrong = np.zeros(size + (len(truth["job"]) != len(claimed["job"])), np.bool_)
    for name in LOG_COLUMNS:
        wrong[:size] |= claimed[name][:size] != truth[name][:size]
    wrong[size:] = True
    case.report(
        "decided otherwise",
        wrong,
        lambda i: (
            f"the log has {_row(claimed, i)}, but {case.spec.policy} as documented has "
            f"{_row(truth, i)}"
        ),
    )


def _cut(rows: Mapping[str, AnyArray], after_us: int, until_us: int) -> dict[str, AnyArray]:
    inside = (rows["start_us"] < until_us) & (rows["end_us"] > after_us)
    cut = {name: column[inside] for name, column in rows.items()}
    cut["end_us"] = np.minimum(cut["end_us"], until_us)
    return cut


def _row(rows: Mapping[str, AnyArray], index: int) -> str:
    if index >= len(rows["job"]):
        return "no more rows"
    job, start_us, end_us, server, mask = (rows[name][index] for name in LOG_COLUMNS)
    return f"job {job} from {start_us} to {end_us} us on GPUs {int(mask):#x} of server {server}"


def _compare_counters(case: Case, outcome: Outcome) -> None:
    """Check the number of changed rates, which depends on the jobs that share links."""
    claimed = case.schedule.counters.get("rates_changed")
    if claimed is None or len(outcome.start_us) < len(case.trace):
        return
    if claimed != outcome.rates_changed:
        case.problems.append(
            f"decided otherwise: rates_changed is {claimed}, expected {outcome.rates_changed}"
        )
