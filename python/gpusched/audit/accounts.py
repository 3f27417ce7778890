"""Rules of honest books: work, restart costs, rejects, columns, digest and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpusched.audit.declarations import RestartRule
from gpusched.audit.evidence import Case
from gpusched.audit.log_format import FINISHED, REJECT_REASONS, REJECTED, log_digest
from gpusched.audit.refusals import rejects_for_good
from gpusched.base.arrays import AnyArray, Int64


def check(case: Case, summary: Callable[[], Mapping[str, Any]]) -> None:
    """Check what the schedule and the summary claim against the log."""
    _check_ends(case)
    _check_columns(case)
    _check_work(case)
    _check_rejects(case)
    _check_digest(case)
    try:
        figures = summary()
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        case.problems.append(f"no metrics: they cannot be computed of this run: {error}")
    else:
        _check_metrics(case, figures)


def _check_ends(case: Case) -> None:
    """Every job is finished or rejected."""
    status = np.asarray(case.schedule.status)
    has_run = np.zeros(len(case.trace), dtype=np.bool_)
    has_run[case.ran] = True
    case.report(
        "job never ends",
        (status != FINISHED) & (status != REJECTED),
        lambda j: f"job {j} is neither finished nor rejected",
    )
    case.report("job lost", case.finished & ~has_run, lambda j: f"job {j} finished but never ran")
    case.report(
        "rejected job runs", (status == REJECTED) & has_run, lambda j: f"job {j} is in the log"
    )


def _check_columns(case: Case) -> None:
    """The schedule's columns say what the log says."""
    has_run = case.num_intervals > 0
    start_us = np.full(len(case.trace), -1, dtype=np.int64)
    start_us[case.ran] = case.start_us[case.opens]
    finish_us = np.full(len(case.trace), -1, dtype=np.int64)
    finish_us[case.ran] = case.end_us[case.closes]
    finish_us[~case.finished] = -1
    preemptions = case.num_intervals - case.num_resizes - 1
    # The log does not say what a job that did not end was left with: a run cut off counts not.
    claimed = np.asarray(case.schedule.preemptions)
    is_cut = has_run & ~case.finished & np.isin(claimed - preemptions, (0, 1))
    width = np.diff(np.append(case.first, len(case.rows["job"])))
    servers = np.zeros(len(case.trace), dtype=np.int64)
    servers[case.ran] = 0 if case.pooled else width[case.closes]
    expected = {
        "start_us": start_us,
        "finish_us": finish_us,
        "held_us": case.held_us,
        "preemptions": np.where(is_cut, claimed, np.maximum(preemptions, 0)),
        "resizes": case.num_resizes,
        "num_servers": servers,
    }
    for name, truth in expected.items():
        _compare(case, name, truth)
    if case.flags.preempts is False:
        case.report(
            "non-preemptive policy preempts",
            preemptions > 0,
            lambda j: f"job {j} has {case.num_intervals[j]} intervals under {case.spec.policy}",
        )


def _compare(case: Case, name: str, truth: AnyArray) -> None:
    claimed = np.asarray(getattr(case.schedule, name))
    case.report(
        f"wrong {name}",
        claimed != truth,
        lambda j: f"job {j}: {claimed[j]}, the log says {truth[j]}",
    )


def _check_work(case: Case) -> None:
    """Restarts are paid; under fixed run times the rest of the time with GPUs is the service."""
    rule = RestartRule.of(case.spec.policy, case.flags.alias_of)
    cost_us = rule.cost_us(case.trace, case.job, case.width)
    length = case.end_us - case.start_us
    due = np.where(case.resumed & rule.on_time, np.minimum(length, cost_us), 0)
    paid_us = case.per_job(due)
    _compare(case, "paid_us", paid_us)
    done_us = case.held_us - paid_us - redo_us(case, rule)
    off = done_us - case.trace.service_us
    fixed = case.flags.is_steady  # see gpusched.audit.rates for all others
    for name, wrong in (("work lost", off < 0), ("work invented", off > 0)):
        case.report(
            name,
            case.finished & wrong & fixed,
            lambda j: (
                f"job {j} did {done_us[j]} us of {case.trace.service_us[j]} us, restart costs apart"
            ),
        )
    last = case.closes
    # Where rates vary, what is left may be less than rounding tells from nothing.
    least_us = cost_us[last] + (1 if fixed else 0)
    idle = case.resumed[last] & rule.on_time & (length[last] < least_us)
    case.report(
        "restart cost not paid",
        idle & case.finished[case.ran],
        lambda i: f"job {case.ran[i]} ends before the {cost_us[last[i]]} us of its last resume",
    )


def redo_us(case: Case, rule: RestartRule) -> Int64:
    """Return the work that each job of the trace has beyond its service, in microseconds."""
    beyond = np.full(len(case.trace), rule.overrun_us, dtype=np.int64)
    if rule.on_time:
        return beyond
    added = rule.cost_us(case.trace, case.job, case.width)
    added[case.closes] = 0  # an interval adds to the work where it is cut off
    return beyond + case.per_job(added)


def _check_rejects(case: Case) -> None:
    """A job is rejected if and only if it can never run, and for that reason."""
    reason = np.asarray(case.schedule.reason).astype(np.int64)
    rejected = np.asarray(case.schedule.status) == REJECTED
    truth = rejects_for_good(case, case.measured)
    wrong = np.where(rejected, reason, 0) != truth
    case.report(
        "false reject",
        wrong,
        lambda j: (
            f"job {j} of {case.trace.gpus[j]} GPUs: "
            f"{REJECT_REASONS[reason[j]] if rejected[j] else 'not rejected'!r}, "
            f"in truth {REJECT_REASONS[truth[j]] or 'it fits'!r}"
        ),
    )
    case.report("wrong reason", ~rejected & (reason != 0), lambda j: f"job {j} is not rejected")


def _check_digest(case: Case) -> None:
    """The log is in its order, and has the digest that the schedule names."""
    if not case.is_in_order:
        case.report(
            "log out of order",
            case.order != np.arange(len(case.order)),
            lambda i: f"row {i} is not in its place",
        )
    truth = log_digest(case.log, case.schedule.status, case.schedule.reason)
    if truth != case.schedule.digest:
        case.problems.append(f"wrong digest: {case.schedule.digest}, the log has {truth}")


def _check_metrics(case: Case, summary: Mapping[str, Any]) -> None:
    """The metrics follow from the log, and no lower bound is above them."""
    trace, ends = case.trace, case.finished[case.ran]
    jobs = case.ran[ends]
    truth: dict[str, float] = {
        "num_jobs": len(trace),
        "num_finished": len(jobs),
        "num_rejected": int(np.sum(np.asarray(case.schedule.status) == REJECTED)),
        # What an unfinished job was left with, an interval cut off or a preemption, the log
        # does not say: there the schedule's own count stands.
        "preemptions": int(
            np.where(
                case.finished,
                case.num_intervals - case.num_resizes - 1,
                case.schedule.preemptions,
            ).sum()
        ),
        "resizes": int(case.num_resizes.sum()),
        **_deadline_metrics(case),
    }
    if len(jobs):
        submit_us, end_us = trace.submit_us[jobs], case.end_us[case.closes[ends]]
        jct_us = (end_us - submit_us).astype(np.float64)
        delay_us = case.start_us[case.opens[ends]] - submit_us
        window_us = float(end_us.max() - submit_us.min())
        truth |= {
            "mean_jct_s": jct_us.mean() / 1e6,
            "max_jct_s": jct_us.max() / 1e6,
            "mean_wait_s": (jct_us - case.held_us[jobs]).mean() / 1e6,
            "mean_queueing_delay_s": delay_us.mean() / 1e6,
            "makespan_s": window_us / 1e6,
        }
        if window_us <= 0:
            case.problems.append(
                f"wrong metric: the last job ends {-window_us / 1e6:g} s before the first submit"
                if window_us < 0
                else "wrong metric: the last job ends as the first one is submitted"
            )
        elif ends.all():
            length = (case.end_us - case.start_us).astype(np.float64)
            gpu_us = float(np.dot(case.width * case.share[case.job], length))
            truth["allocation"] = gpu_us / (case.cluster.num_gpus * window_us)
    for name, value in truth.items():
        if not _is_near(summary[name], value):
            case.problems.append(f"wrong metric: {name} is {summary[name]}, in truth {value}")
    for gap in ("gap", "makespan_gap"):
        if summary[gap] < -1e-12:
            case.problems.append(f"wrong metric: {gap} is {summary[gap]}, below the lower bound")
    if summary.get("dsr_gap", 0.0) < -1e-12:
        case.problems.append(f"wrong metric: dsr_gap is {summary['dsr_gap']}, above the bound")


def _is_near(claimed: float, truth: float) -> bool:
    """Whether a figure is right but for rounding; NaN stands for NaN."""
    if math.isnan(truth):
        return math.isnan(claimed)
    return claimed == truth or abs(claimed - truth) <= 1e-9 + 1e-9 * abs(truth)


def _deadline_metrics(case: Case) -> dict[str, float]:
    """How many deadlines were met: a job that did not finish misses its own."""
    deadline_us = case.trace.deadline_us
    if deadline_us is None:
        return {}
    asked = deadline_us >= 0
    finish_us = np.zeros(len(asked), dtype=np.int64)
    finish_us[case.ran] = case.end_us[case.closes]
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
