"""Rules of honest books: work, restart costs, rejects, columns, digest and metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpusched.audit.course import Course
from gpusched.audit.evidence import Case
from gpusched.audit.log.log_format import REJECT_REASONS, log_digest
from gpusched.audit.refusals import rejects
from gpusched.base.arrays import AnyArray, Bool, Int64


def check(
    case: Case, course: Course, digest: str, summary: Callable[[], Mapping[str, Any]]
) -> None:
    """Check what the schedule, its digest and the summary claim against the log."""
    _check_ends(case, course)
    _check_columns(case)
    _check_work(case)
    _check_rejects(case, course)
    _check_digest(case, digest)
    try:
        figures = summary()
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        case.problems.append(f"no metrics: they cannot be computed of this run: {error}")
    else:
        _check_metrics(case, figures)


def _check_ends(case: Case, course: Course) -> None:
    """Every job is finished or rejected, or the run tells that it was cancelled."""
    if case.all_finished:
        return
    case.report(
        "job never ends",
        ~course.ends(case),
        lambda j: f"job {j} is neither finished nor rejected, nor was it cancelled",
    )
    case.report(
        "job lost", case.finished & ~case.has_run, lambda j: f"job {j} finished but never ran"
    )


def _check_columns(case: Case) -> None:
    """The schedule's columns say what the log says."""
    expected = {
        "start_us": case.first_start_us,
        "finish_us": _finish_us(case),
        "held_us": case.held_us,
        "preemptions": _preemptions(case),
        "resizes": case.num_resizes,
        "num_servers": case.of_jobs(case.last_servers),
        "paid_us": case.per_job(case.paid_us),
    }
    for name, truth in expected.items():
        wrong = case.claimed[name] != truth
        if np.count_nonzero(wrong):
            _report_column(case, name, wrong, truth)
    if any(flags.preempts is False for _, flags in case.policies):
        _check_breaks(case)


def _check_breaks(case: Case) -> None:
    """Policies that do not preempt take no GPUs back; one that takes over finds no job running."""
    ends = case.resumed - 1
    ends = ends[~case.is_resize[case.resumed]]
    if case.num_rejected:
        ends = np.append(ends, case.closes[case.rejected[case.ran]])
    ends = ends[~np.isin(case.end_us[ends], case.handed_over_us)]
    if not len(ends):
        return
    keeps = np.array([flags.preempts is False for _, flags in case.policies])
    era = case.era(case.start_us[ends])
    broken = np.zeros(case.num_jobs, np.int64)
    np.maximum.at(broken, case.job[ends], np.where(keeps[era], era + 1, 0))
    case.report(
        "non-preemptive policy preempts",
        broken > 0,
        lambda j: (
            f"job {j} has {case.num_intervals[j]} intervals under {case.policies[broken[j] - 1][0]}"
        ),
    )


def _finish_us(case: Case) -> Int64:
    if case.all_finished:
        return case.last_end_us
    return np.where(case.finished, case.last_end_us, -1)


def _preemptions(case: Case) -> Int64:
    """Return how often each job was; what the log does not say as it is claimed."""
    preemptions = case.num_breaks
    if case.all_finished:
        return preemptions
    # Who is rejected after it ran was preempted by the policy that took over.
    preemptions = preemptions + (case.rejected & case.has_run)
    # The log does not say what a job that did not end was left with: a run cut off counts not.
    claimed = case.claimed["preemptions"]
    is_cut = case.has_run & ~case.finished & ~case.rejected
    if np.count_nonzero(is_cut):
        is_cut &= np.isin(claimed - preemptions, (0, 1))
    return np.where(is_cut, claimed, np.maximum(preemptions, 0))


def _report_column(case: Case, name: str, wrong: Bool, truth: AnyArray) -> None:
    claimed = case.claimed[name]
    case.report(f"wrong {name}", wrong, lambda j: f"job {j}: {claimed[j]}, the log says {truth[j]}")


def _check_work(case: Case) -> None:
    """Restarts are paid; under fixed run times the rest of the time with GPUs is the service."""
    fixed = case.flags.is_steady  # see gpusched.audit.rates for all others
    if fixed:
        done_us = case.held_us - case.per_job(case.paid_us) - redo_us(case)
        off = done_us - case.trace.service_us
        if np.count_nonzero(off):
            _report_work(case, done_us, off)
    if not len(case.resumed):
        return
    last = case.closes[case.closes > case.opens]
    # Where rates vary, what is left may be less than rounding tells from nothing.
    cost_us = case.restart_us[last]
    idle = case.end_us[last] - case.start_us[last] < cost_us + fixed
    case.report(
        "restart cost not paid",
        idle & case.finished[case.job[last]],
        lambda i: f"job {case.job[last[i]]} ends before the {cost_us[i]} us of its last resume",
    )


def _report_work(case: Case, done_us: Int64, off: Int64) -> None:
    for name, wrong in (("work lost", off < 0), ("work invented", off > 0)):
        case.report(
            name,
            case.finished & wrong,
            lambda j: (
                f"job {j} did {done_us[j]} us of {case.trace.service_us[j]} us, restart costs apart"
            ),
        )


def redo_us(case: Case) -> Int64 | int:
    """Return the work that each job of the trace has beyond its service, in microseconds."""
    if not len(case.resumed):
        return case.overrun_us
    return case.per_job(case.added_us) + case.overrun_us


def _check_rejects(case: Case, course: Course) -> None:
    """A job is rejected if and only if it can never run, for that reason, and runs no more."""
    reason = case.claimed["reason"]
    truth, at_us = rejects(case, course)
    if not (case.num_rejected or np.count_nonzero(truth) or np.count_nonzero(reason)):
        return
    rejected = case.rejected
    case.report(
        "rejected job runs",
        rejected & (case.last_end_us > at_us),
        lambda j: f"job {j} is in the log",
    )
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


def _check_digest(case: Case, digest: str) -> None:
    """The log is in its order, and has the digest that is named."""
    if not case.is_in_order:
        case.report(
            "log out of order",
            case.order != np.arange(len(case.order)),
            lambda i: f"row {i} is not in its place",
        )
    truth = log_digest(case.log, case.claimed["status"], case.claimed["reason"])
    if truth != digest:
        case.problems.append(f"wrong digest: {digest}, the log has {truth}")


def _check_metrics(case: Case, summary: Mapping[str, Any]) -> None:
    """The metrics follow from the log, and no lower bound is above them."""
    trace = case.trace
    without_estimates = trace.estimate_us is None
    sees = {"always": True, "never": False, "without estimates": without_estimates}
    is_clairvoyant = sees.get(case.flags.clairvoyant, summary["clairvoyant"])
    if summary["clairvoyant"] != is_clairvoyant:
        case.problems.append(
            f"wrong claim: clairvoyant is {summary['clairvoyant']}, in truth {is_clairvoyant}"
        )
    num_finished = case.num_finished
    resizes = int(np.count_nonzero(case.is_resize)) if len(case.resumed) else 0
    preemptions = len(case.resumed) - resizes
    if not case.all_finished:
        # What an unfinished job was left with, an interval cut off or a preemption, the log does
        # not say: there the schedule's own count stands.
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
                else "wrong metric: the last job ends as the first one is submitted"
            )
        elif case.all_finished or case.finished[case.ran].all():
            gpus: AnyArray = case.width
            if trace.share_milli is not None:
                gpus = gpus * (trace.share_milli / 1000.0)[case.job]
            gpu_us = float(np.dot(gpus, case.lasts_us.astype(np.float64)))
            truth["allocation"] = gpu_us / (case.cluster.num_gpus * window_us)
    for name, value in truth.items():
        if summary[name] != value and not _is_near(summary[name], value):
            case.problems.append(f"wrong metric: {name} is {summary[name]}, in truth {value}")
    for gap in ("gap", "makespan_gap"):
        if summary[gap] < -1e-12:
            case.problems.append(f"wrong metric: {gap} is {summary[gap]}, below the lower bound")
    if summary.get("dsr_gap", 0.0) < -1e-12:
        case.problems.append(f"wrong metric: dsr_gap is {summary['dsr_gap']}, above the bound")


def _mean_s(values_us: Int64) -> float:
    return float(np.add.reduce(values_us, dtype=np.float64)) / len(values_us) / 1e6


def _is_near(claimed: float, truth: float) -> bool:
    """Whether a figure is right but for rounding; NaN stands for NaN."""
    if math.isnan(truth):
        return math.isnan(claimed)
    return abs(claimed - truth) <= 1e-9 + 1e-9 * abs(truth)


def _deadline_metrics(case: Case) -> dict[str, float]:
    """How many deadlines were met: a job that did not finish misses its own."""
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
