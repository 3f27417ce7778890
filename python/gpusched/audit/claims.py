"""Check the claims of a run: names, jobs, digest, metrics, counters and decisions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Final

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.declarations import Given, resolved
from gpusched.audit.holds import UNTIL_NEVER
from gpusched.audit.log import DECISION_COLUMNS, FAULT_COLUMNS, HOLD_COLUMNS, log_digest
from gpusched.audit.orders import order_of
from gpusched.audit.rules import ADMISSIONS, AdmissionRule
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.model.outages import NEVER_US
from gpusched.reference.model import REJECT_REASONS
from gpusched.specs.fingerprints import fingerprint

_VERSION: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(\w*)")
_SEEDS: Final = 2**64
_FACTS: Final = ("name", "source", "num_jobs", "first_submit_us", "sha256")
_facts_of = attrgetter(*_FACTS)

KNOWN = ("events", "instants", "max_running", "rates_changed", "rates_computed")


def check_well_formed(case: Case) -> None:
    """Check lengths, job ids and codes."""
    problems, job = case.problems, case.columns["job"]
    num_jobs, num_rows = case.num_jobs, len(job)
    for name, column in case.columns.items():
        if column.shape != (num_rows,):
            problems.append(f"malformed log: {name} has shape {column.shape}")
    for name, column in case.claimed.items():
        if column.shape != (num_jobs,):
            problems.append(f"malformed columns: {name} is not one value per job")
    low, high = case.job_range if num_rows else (0, 0)
    if not 0 <= low <= high < num_jobs:
        problems.append(f"malformed log: it has a job beyond the {num_jobs:,} of the trace")
    if problems or not np.count_nonzero(case.claimed["reason"]):
        return
    if (most := int(case.claimed["reason"].max())) >= len(REJECT_REASONS):
        problems.append(f"malformed columns: unknown reason {most}")


def check_shape(case: Case) -> None:
    """Check that times without contention exist if and only if run times are not fixed."""
    claimed_us = np.asarray(case.schedule.uncontended_us)
    wanted = 0 if case.flags.is_steady else case.num_jobs
    if claimed_us.shape != (wanted,):
        case.problems.append(f"malformed columns: uncontended_us has shape {claimed_us.shape}")
    unused = dict.fromkeys(FAULT_COLUMNS * (not case.has_faults), "outages or limits")
    unused |= dict.fromkeys(HOLD_COLUMNS * (not case.has_holds), "jobs that are held")
    for name, what in unused.items():
        if len(getattr(case.schedule, name)):
            case.problems.append(f"malformed columns: {name} in a run without {what}")


def check_claims(case: Case) -> None:
    """Check the specification against the jobs, the cluster and the registered names."""
    spec, trace, problems = case.spec, case.trace, case.problems
    problems += [f"no such run: {fault}" for fault in case.flags.faults]
    if not 0 <= spec.seed < _SEEDS:
        problems.append(f"no such run: seed {spec.seed} must be below 2^64")
    if spec.cluster != case.cluster:
        problems.append("another cluster: the specification and the result have different servers")
    first_submit_us = int(trace.submit_us[0])
    truth = (trace.name, trace.source, case.num_jobs, first_submit_us, fingerprint(trace))
    claimed = _facts_of(spec.trace)
    if claimed != truth:
        problems += [
            f"other jobs: {name} is {said!r}, but {value!r} for these jobs"
            for name, said, value in zip(_FACTS, claimed, truth, strict=True)
            if said != value
        ]
    _check_outages(case)
    _check_version(case)


def _check_outages(case: Case) -> None:
    """Check that the specification names these outages."""
    said, outages = case.spec.outages, case.outages if case.has_outages else None
    claimed = (said.source, said.num_rows, said.sha256) if said else None
    truth = (outages.source, len(outages), outages.sha256) if outages else None
    if claimed != truth:
        case.problems.append(
            f"other outages: {claimed or 'none'} by the specification, the result has "
            f"{truth or 'none'}"
        )


def _check_version(case: Case) -> None:
    """Check the version: that of these rules, or an earlier one, which is noted."""
    claimed, known = case.spec.version, case.flags.version
    if not known or claimed == known:
        return
    parts, own = _VERSION.fullmatch(claimed), _VERSION.fullmatch(known)
    if parts is None or own is None:
        case.problems.append(f"no such version: {claimed!r}; the rules are those of {known}")
        return
    if [*map(int, parts.groups()[:3])] > [*map(int, own.groups()[:3])]:
        case.problems.append(f"no such version: {claimed} is newer than {known}")
    else:
        case.notes.append(f"version {claimed}: checked by the rules of {known}")


def check_figures(case: Case, digest: str, summary: Callable[[], Mapping[str, Any]]) -> None:
    """Check the claimed digest and summary against the log."""
    _check_digest(case, digest)
    try:
        figures = summary()
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        case.problems.append(f"no metrics: computing them failed: {error}")
    else:
        _check_metrics(case, figures)


def _check_digest(case: Case, digest: str) -> None:
    """Check that the log is sorted, and has the claimed digest."""
    if not case.is_in_order:
        case.report(
            "log out of order",
            case.order != np.arange(len(case.order)),
            lambda i: f"row {i} is out of order",
        )
    truth = log_digest(case.log, case.claimed["status"], case.claimed["reason"])
    if truth != digest:
        case.problems.append(f"wrong digest: {digest}; the log has {truth}")


def _check_metrics(case: Case, summary: Mapping[str, Any]) -> None:
    """Check that metrics follow from the log, and no lower bound exceeds them."""
    trace = case.trace
    without_estimates = trace.estimate_us is None
    sees = {"always": True, "never": False, "without estimates": without_estimates}
    is_clairvoyant = sees.get(case.flags.clairvoyant, summary["clairvoyant"])
    if summary["clairvoyant"] != is_clairvoyant:
        case.problems.append(
            f"wrong claim: clairvoyant is {summary['clairvoyant']}, expected {is_clairvoyant}"
        )
    num_finished = case.num_finished
    resizes = int(np.count_nonzero(case.is_resize)) if len(case.resumed) else 0
    preemptions = len(case.resumed) - resizes - int(np.count_nonzero(case.is_hit))
    if not case.all_finished:
        # The log does not record the work left by an unfinished job, cut interval or preemption:
        # there the schedule's own count is used.
        breaks = np.where(case.finished, case.num_breaks, case.claimed["preemptions"])
        preemptions = int(breaks.sum())
    truth: dict[str, float] = {
        "num_jobs": case.num_jobs,
        "num_finished": num_finished,
        "num_rejected": case.num_rejected,
        "preemptions": preemptions,
        "resizes": resizes,
        **_deadline_metrics(case),
    }
    if case.holds is not None:
        eligible_us, was_queued = case.holds.eligible_us, case.queued_us < NEVER_US
        hold_us = (eligible_us - trace.submit_us)[was_queued]
        truth["num_never"] = int(np.count_nonzero(eligible_us == UNTIL_NEVER))
        truth["mean_hold_s"] = _mean_s(hold_us) if len(hold_us) else np.nan
    if num_finished:
        columns = [trace.submit_us, case.first_start_us, case.last_end_us, case.held_us]
        if not case.all_finished:
            columns = [column[case.finished] for column in columns]
        submit_us, start_us, end_us, held_us = columns
        jct_us = end_us - submit_us
        window_us = int(np.maximum.reduce(end_us)) - int(submit_us[0])
        truth |= {
            "mean_jct_s": _mean_s(jct_us),
            "max_jct_s": int(np.maximum.reduce(jct_us)) / 1e6,
            "mean_wait_s": _mean_s(jct_us - held_us),
            "mean_queueing_delay_s": _mean_s(start_us - submit_us),
            "makespan_s": window_us / 1e6,
        }
        if window_us <= 0:
            case.problems.append(
                f"wrong metric: the last job ends {-window_us / 1e6:g} s before the first submit"
                if window_us < 0
                else "wrong metric: the last job ends at the first submit"
            )
        elif case.all_finished or case.finished[case.ran].all():
            gpus: AnyArray = case.width
            if trace.share_milli is not None:
                gpus = gpus * (trace.share_milli / 1000.0)[case.job]
            gpu_us = float(np.dot(gpus, case.lasts_us.astype(np.float64)))
            truth["allocation"] = gpu_us / (case.cluster.num_gpus * window_us)
    for name, value in truth.items():
        if summary[name] != value and not _is_near(summary[name], value):
            case.problems.append(f"wrong metric: {name} is {summary[name]}, expected {value}")
    for gap in ("gap", "makespan_gap"):
        if summary[gap] < -1e-12:
            case.problems.append(f"wrong metric: {gap} is {summary[gap]}, below the lower bound")
    if summary.get("dsr_gap", 0.0) < -1e-12:
        case.problems.append(f"wrong metric: dsr_gap is {summary['dsr_gap']}, above the bound")


def _mean_s(values_us: Int64) -> float:
    return float(np.add.reduce(values_us, dtype=np.float64)) / len(values_us) / 1e6


def _is_near(claimed: float, truth: float) -> bool:
    """Whether two values agree up to rounding; NaN agrees with NaN."""
    if math.isnan(truth):
        return math.isnan(claimed)
    return abs(claimed - truth) <= 1e-9 + 1e-9 * abs(truth)


def _deadline_metrics(case: Case) -> dict[str, float]:
    """Number of deadlines met; an unfinished job misses its deadline."""
    deadline_us = case.trace.deadline_us
    if deadline_us is None:
        return {}
    asked, finish_us = deadline_us >= 0, case.last_end_us
    met = asked & case.finished & (finish_us <= deadline_us)
    late_us = np.where(asked & case.finished, np.maximum(finish_us - deadline_us, 0), 0)
    value = np.ones(len(asked)) if case.trace.value is None else case.trace.value
    truth: dict[str, float] = {
        "num_deadlines": int(asked.sum()),
        "deadlines_met": int(met.sum()),
        "dsr": met.sum() / asked.sum() if asked.any() else np.nan,
        "value_met": value[met].sum() / value[asked].sum() if asked.any() else np.nan,
        "tardiness_s": float(late_us.sum()) / 1e6,
    }
    decisions = case.schedule.decisions()
    if len(decisions["job"]):
        last = dict(zip(decisions["job"].tolist(), decisions["admitted"].tolist(), strict=True))
        admitted = np.array([bool(last.get(job, 0)) for job in range(len(asked))])
        truth["num_admitted"] = int(admitted.sum())
        truth["broken_promises"] = int((admitted & asked & ~met).sum())
    return truth


def check_counters(case: Case, course: Course) -> None:
    """Check the counters of a schedule, if any, against each other and the log."""
    counters = dict(case.schedule.counters)
    if not counters:
        return
    if counters.keys() != set(KNOWN):
        case.problems.append(f"wrong counters: {sorted(counters)}; known are {list(KNOWN)}")
        return
    wrong = partial(_wrong, case, counters)
    num_finished, num_arrived = case.num_finished, case.num_jobs - case.num_rejected
    num_open = num_arrived - num_finished
    if case.holds is not None:  # only who joins the queue is announced
        num_arrived = int(np.count_nonzero((case.queued_us < NEVER_US) & ~case.rejected))
    if not course.is_handed_over:
        num_killed = int(np.count_nonzero(case.is_killed))
        events = num_arrived + num_finished + len(course.cut_off(case)) + num_killed
        # When servers go or return, all waiting jobs arrive anew, and who was held from outside.
        again = sum(until_us < NEVER_US for _, _, until_us in course.holds_us())
        wrong("events", events, 2**63 if case.has_outages else events + again)
        running = case.moments.most_running
        wrong("max_running", running, running)
    least = case.moments.num_instants
    order = None if course.changes else order_of(case)
    is_exact = order is not None and not (order.has_timers or num_open or case.has_outages)
    wrong("instants", least, least if is_exact else 2**63)
    if case.flags.is_steady:
        wrong("rates_computed", 0, 0)
        wrong("rates_changed", 0, 0)
        return
    # Each start sets a rate, and so does each change of one.
    num_starts, changed = len(case.first), int(counters["rates_changed"])
    wrong("rates_computed", num_starts + changed, 2**63)
    if not case.flags.interacts:
        wrong("rates_changed", 0, 0)
        wrong("rates_computed", num_starts, num_starts)


def _wrong(case: Case, counters: dict[str, int], name: str, least: int, most: int) -> None:
    claimed = counters[name]
    if not least <= claimed <= most:
        truth = f"{least}" if least == most else f"at least {least}"
        case.problems.append(f"wrong counter: {name} is {claimed}, expected {truth}")


# Decisions of a policy that admits or declines jobs.


def check_decisions(case: Case, course: Course) -> None:
    """Check each row of decisions; a policy without admission has none."""
    decisions = case.schedule.decisions()
    if decisions.keys() != DECISION_COLUMNS or len({*map(len, decisions.values())}) != 1:
        named = sorted(decisions)
        case.problems.append(f"malformed decisions: {named} are not columns of equal length")
        return
    if not len(decisions["job"]):
        return
    rows = {name: np.asarray(values) for name, values in decisions.items()}
    job = rows["job"]
    name, given = resolved(case.spec.policy, case.flags.alias_of)
    rule = ADMISSIONS.get(name)
    if rule is None:
        if not any(thing.role == "policy" for thing in case.spec.python):
            case.problems.append(f"wrong decisions: {case.spec.policy} has no admission decisions")
        return
    if not 0 <= job.min() <= job.max() < case.num_jobs:
        case.problems.append("malformed decisions: they have a job beyond those of the trace")
        return
    slot_us = _slot_us(rule, given)
    _check_jobs(case, course, rows, slot_us)
    _check_decided_figures(case, rows, rule, slot_us)


def _slot_us(rule: AdmissionRule, given: Given) -> int:
    if rule.slot_s < 0:
        return 1
    if rule.slotted_by is not None and given.get(rule.slotted_by[0]) != rule.slotted_by[1]:
        return 0
    return round(float(given.get("slot_s", rule.slot_s)) * 1e6)


def _check_jobs(case: Case, course: Course, rows: dict[str, AnyArray], slot_us: int) -> None:
    job, time_us, deadline_us = rows["job"], rows["time_us"], case.trace.deadline_us
    count = np.bincount(job, minlength=case.num_jobs)
    returned = [job for job, _, until_us in course.holds_us() if until_us < NEVER_US]
    most = 1 + np.bincount(returned, minlength=case.num_jobs) if returned else 1
    case.report("wrong decisions", count > most, lambda j: f"job {j} has {count[j]} decisions")
    asks = np.zeros(case.num_jobs, np.bool_) if deadline_us is None else deadline_us >= 0
    case.report(
        "wrong decisions",
        (count > 0) & (case.rejected | ~asks),
        lambda j: f"job {j} has a decision, but is rejected or has no deadline",
    )
    case.report(
        "wrong decisions",
        (count == 0) & asks & ~case.rejected & ~_left_unheard(case, course),
        lambda j: f"job {j} has a deadline, but no decision",
    )
    ends_us = np.asarray(case.schedule.finish_us)[job]
    case.report(
        "decided at a wrong time",
        (time_us < case.queued_us[job]) | ((ends_us >= 0) & (time_us > ends_us)),
        lambda i: f"job {job[i]} at {time_us[i]} us",
    )
    case.report(
        "decided at a wrong time",
        ~_is_border(case, course, time_us, slot_us),
        lambda i: f"job {job[i]} at {time_us[i]} us, without an event",
    )


def _left_unheard(case: Case, course: Course) -> Bool:
    """Jobs that may lack a decision: held, cancelled before they ran, or ended under another
    policy.
    """
    left: Bool = case.queued_us == NEVER_US
    left[[job for job, _, _ in course.holds_us()]] = True
    jobs, at_us = course.taken_back(case)
    left[jobs] = ~case.has_run[jobs]
    if course.is_handed_over:
        last_us = course.handed_over_us[-1]
        left |= case.has_run & (case.last_end_us <= last_us)
        left[jobs] |= at_us <= last_us
    return left


def _is_border(case: Case, course: Course, time_us: AnyArray, slot_us: int) -> AnyArray:
    """Whether there is an event at a time, or a slot begins."""
    at = np.minimum(case.moments.of(time_us), len(case.moments.us) - 1)
    is_border: AnyArray = case.moments.us[at] == time_us
    is_border |= np.isin(
        time_us,
        [*course.cancelled.values(), *course.handed_over_us, *(us for _, us, _ in course.held)],
    )
    if slot_us > 0:
        is_border |= time_us % slot_us == 0
    return is_border


def _check_decided_figures(
    case: Case, rows: dict[str, AnyArray], rule: AdmissionRule, slot_us: int
) -> None:
    job, cost, value, payoff = (rows[name] for name in ("job", "cost", "value", "payoff"))
    is_admitted = rows["admitted"] == 1
    case.report(
        "wrong decisions",
        ~np.isin(rows["admitted"], (0, 1)),
        lambda i: f"job {job[i]} is admitted: {rows['admitted'][i]}",
    )
    known = np.where(
        is_admitted,
        np.isin(rows["reason"], sorted(rule.admitted)),
        np.isin(rows["reason"], sorted(rule.turned_down)),
    )
    case.report("wrong decisions", ~known, lambda i: f"job {job[i]}: {str(rows['reason'][i])!r}")
    worth = np.ones(case.num_jobs) if case.trace.value is None else case.trace.value
    case.report(
        "wrong value", value != worth[job], lambda i: f"job {job[i]}: {value[i]} is not the job's"
    )
    with np.errstate(invalid="ignore"):
        due = np.where(is_admitted & rule.is_priced, value - cost, 0.0)
    case.report(
        "wrong payoff", payoff != due, lambda i: f"job {job[i]}: {payoff[i]}, expected {due[i]}"
    )
    bad_cost = ~(cost >= 0) | (is_admitted & (cost > value)) if rule.is_priced else cost != 0
    case.report("wrong cost", bad_cost, lambda i: f"job {job[i]}: {cost[i]}")
    _check_windows(case, rows, rule, slot_us)


def _check_windows(
    case: Case, rows: dict[str, AnyArray], rule: AdmissionRule, slot_us: int
) -> None:
    job, time_us, kind = rows["job"], rows["time_us"], rows["type"]
    begin_us, end_us = rows["from_us"], rows["until_us"]
    bad_type = (kind < -1) | (kind >= len(case.cluster.gpu_types))
    case.report("wrong decisions", bad_type, lambda i: f"job {job[i]} has GPU type {kind[i]}")
    if rule.names_window is None:
        assert case.trace.deadline_us is not None
        bad = (begin_us != time_us) | (end_us != case.trace.deadline_us[job])
    else:
        has = np.isin(rows["reason"], sorted(rule.names_window))
        none = (kind == -1) & (begin_us == 0) & (end_us == 0)
        fits = (begin_us >= time_us) & (end_us >= begin_us)
        if slot_us > 0:
            fits &= ((begin_us == time_us) | (begin_us % slot_us == 0)) & (end_us % slot_us == 0)
        # No type is the scarcest if none could ever provide the request.
        fits |= (kind == -1) & (begin_us == time_us) & (end_us == 0)
        bad = np.where(has, ~fits, ~none)
    case.report(
        "wrong window",
        bad,
        lambda i: f"job {job[i]} decided at {time_us[i]} us: {begin_us[i]} to {end_us[i]} us",
    )
