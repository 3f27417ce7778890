"""Rules of the decisions of a policy that takes jobs or turns them down."""

from __future__ import annotations

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.course import Course
from gpusched.audit.declarations import Given, resolved
from gpusched.audit.log import DECISION_COLUMNS
from gpusched.audit.rules import ADMISSIONS, AdmissionRule
from gpusched.base.arrays import AnyArray, Bool


def check(case: Case, course: Course) -> None:
    """Check each row of decisions; a policy without admission has none."""
    decisions = case.schedule.decisions()
    if decisions.keys() != DECISION_COLUMNS or len({*map(len, decisions.values())}) != 1:
        named = sorted(decisions)
        case.problems.append(f"malformed decisions: {named} are not columns of one length")
        return
    if not len(decisions["job"]):
        return
    rows = {name: np.asarray(values) for name, values in decisions.items()}
    job = rows["job"]
    name, given = resolved(case.spec.policy, case.flags.alias_of)
    rule = ADMISSIONS.get(name)
    if rule is None:
        if not any(thing.role == "policy" for thing in case.spec.python):
            case.problems.append(f"wrong decisions: {case.spec.policy} turns no job down")
        return
    if not 0 <= job.min() <= job.max() < case.num_jobs:
        case.problems.append("malformed decisions: they name a job beyond those of the trace")
        return
    slot_us = _slot_us(rule, given)
    _check_jobs(case, course, rows, slot_us)
    _check_figures(case, rows, rule, slot_us)


def _slot_us(rule: AdmissionRule, given: Given) -> int:
    if rule.slot_s < 0:
        return 1
    if rule.slotted_by is not None and given.get(rule.slotted_by[0]) != rule.slotted_by[1]:
        return 0
    return round(float(given.get("slot_s", rule.slot_s)) * 1e6)


def _check_jobs(case: Case, course: Course, rows: dict[str, AnyArray], slot_us: int) -> None:
    job, time_us, deadline_us = rows["job"], rows["time_us"], case.trace.deadline_us
    count = np.bincount(job, minlength=case.num_jobs)
    case.report("wrong decisions", count > 1, lambda j: f"job {j} is decided on {count[j]} times")
    asks = np.zeros(case.num_jobs, np.bool_) if deadline_us is None else deadline_us >= 0
    case.report(
        "wrong decisions",
        (count > 0) & (case.rejected | ~asks),
        lambda j: f"job {j} is rejected or has no deadline, and is decided on",
    )
    case.report(
        "wrong decisions",
        (count == 0) & asks & ~case.rejected & ~_left_unheard(case, course),
        lambda j: f"job {j} has a deadline, and nobody decides on it",
    )
    ends_us = np.asarray(case.schedule.finish_us)[job]
    case.report(
        "decided at a wrong time",
        (time_us < case.trace.submit_us[job]) | ((ends_us >= 0) & (time_us > ends_us)),
        lambda i: f"job {job[i]} at {time_us[i]} us",
    )
    case.report(
        "decided at a wrong time",
        ~_is_border(case, course, time_us, slot_us),
        lambda i: f"job {job[i]} at {time_us[i]} us, at which nothing happens",
    )


def _left_unheard(case: Case, course: Course) -> Bool:
    """Who may never have been decided on: cancelled before it ran, or over under another policy."""
    left = np.zeros(case.num_jobs, np.bool_)
    jobs, at_us = course.taken_back(case)
    left[jobs] = ~case.has_run[jobs]
    if course.is_handed_over:
        last_us = course.handed_over_us[-1]
        left |= case.has_run & (case.last_end_us <= last_us)
        left[jobs] |= at_us <= last_us
    return left


def _is_border(case: Case, course: Course, time_us: AnyArray, slot_us: int) -> AnyArray:
    """Whether something happens at a time, or a slot begins."""
    at = np.minimum(case.moments.of(time_us), len(case.moments.us) - 1)
    is_border: AnyArray = case.moments.us[at] == time_us
    is_border |= np.isin(time_us, [*course.cancelled.values(), *course.handed_over_us])
    if slot_us > 0:
        is_border |= time_us % slot_us == 0
    return is_border


def _check_figures(
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
        "wrong value", value != worth[job], lambda i: f"job {job[i]}: {value[i]} is not its own"
    )
    with np.errstate(invalid="ignore"):
        due = np.where(is_admitted & rule.is_priced, value - cost, 0.0)
    case.report(
        "wrong payoff", payoff != due, lambda i: f"job {job[i]}: {payoff[i]}, in truth {due[i]}"
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
    case.report("wrong decisions", bad_type, lambda i: f"job {job[i]} names GPU type {kind[i]}")
    if rule.names_window is None:
        assert case.trace.deadline_us is not None
        bad = (begin_us != time_us) | (end_us != case.trace.deadline_us[job])
    else:
        has = np.isin(rows["reason"], sorted(rule.names_window))
        none = (kind == -1) & (begin_us == 0) & (end_us == 0)
        fits = (begin_us >= time_us) & (end_us >= begin_us)
        if slot_us > 0:
            fits &= ((begin_us == time_us) | (begin_us % slot_us == 0)) & (end_us % slot_us == 0)
        # No type is the scarcest where none could ever give what is asked for.
        fits |= (kind == -1) & (begin_us == time_us) & (end_us == 0)
        bad = np.where(has, ~fits, ~none)
    case.report(
        "wrong window",
        bad,
        lambda i: f"job {job[i]} decided at {time_us[i]} us: {begin_us[i]} to {end_us[i]} us",
    )
