"""Rules of honest books: work, restart costs, rejects, columns, digest and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusched.arrays import AnyArray
from gpusched.audit.case import Case
from gpusched.audit.rules import (
    RestartRule,
    is_non_preemptive,
    placement_of,
    rejects_for_good,
)
from gpusched.schedule import FINISHED, REJECT_REASONS, REJECTED, digest_of


def check(case: Case, summary: Mapping[str, Any]) -> None:
    """Check what the schedule and the summary claim against the log."""
    _check_ends(case)
    _check_columns(case)
    _check_work(case)
    _check_rejects(case)
    _check_digest(case)
    _check_metrics(case, summary)


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
    start_us = np.full(len(case.trace), -1, dtype=np.int64)
    start_us[case.ran] = case.start_us[case.opens]
    finish_us = np.full(len(case.trace), -1, dtype=np.int64)
    finish_us[case.ran] = case.end_us[case.closes]
    finish_us[~case.finished] = -1
    count = case.num_intervals
    width = np.diff(np.append(case.first, len(case.rows["job"])))
    servers = np.zeros(len(case.trace), dtype=np.int64)
    servers[case.ran] = 0 if case.pooled else width[case.closes]
    expected = {
        "start_us": start_us,
        "finish_us": finish_us,
        "held_us": case.held_us,
        "preemptions": np.where(case.finished, count - 1, case.schedule.preemptions),
        "num_servers": servers,
    }
    for name, truth in expected.items():
        _compare(case, name, truth)
    if is_non_preemptive(case.spec.policy):
        case.report(
            "non-preemptive policy preempts",
            count > 1,
            lambda j: f"job {j} has {count[j]} intervals under {case.spec.policy}",
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
    rule = RestartRule.of(case.spec.policy)
    cost_us = rule.cost_us(case.trace)
    length = case.end_us - case.start_us
    resumed = np.ones(len(case.job), dtype=np.bool_)
    resumed[case.opens] = False
    due = np.where(resumed & rule.on_time, np.minimum(length, cost_us[case.job]), 0)
    paid_us = case.per_job(due)
    _compare(case, "paid_us", paid_us)
    restarts = np.maximum(case.num_intervals - 1, 0)
    redo_us = np.zeros_like(cost_us) if rule.on_time else restarts * cost_us
    done_us = case.held_us - paid_us - redo_us
    off = done_us - case.trace.service_us
    fixed = case.spec.speed == "fixed"  # see gpusched.audit.rates for all others
    for name, wrong in (("work lost", off < 0), ("work invented", off > 0)):
        case.report(
            name,
            case.finished & wrong & fixed,
            lambda j: (
                f"job {j} did {done_us[j]} us of {case.trace.service_us[j]} us, restart costs apart"
            ),
        )
    last = case.closes
    idle = resumed[last] & rule.on_time & (length[last] <= cost_us[case.ran])
    case.report(
        "restart cost not paid",
        idle & case.finished[case.ran],
        lambda i: f"job {case.ran[i]} ends before the {cost_us[case.ran[i]]} us of its last resume",
    )


def _check_rejects(case: Case) -> None:
    """A job is rejected if and only if it can never run, and for that reason."""
    reason = np.asarray(case.schedule.reason).astype(np.int64)
    rejected = np.asarray(case.schedule.status) == REJECTED
    placement = placement_of(case.spec.policy, case.spec.placement)
    truth = rejects_for_good(case.trace, case.cluster, placement, reason)
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
    case.report(
        "log out of order",
        case.order != np.arange(len(case.order)),
        lambda i: f"row {i} is not in its place",
    )
    truth = digest_of(case.log, case.schedule.status, case.schedule.reason)
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
            np.where(case.finished, case.num_intervals - 1, case.schedule.preemptions).sum()
        ),
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
        if ends.all():
            gpu_us = float(np.dot(trace.gpus.astype(np.float64), case.held_us))
            truth["allocation"] = gpu_us / (case.cluster.num_gpus * window_us)
    for name, value in truth.items():
        if not np.isclose(summary[name], value, rtol=1e-9, atol=1e-9):
            case.problems.append(f"wrong metric: {name} is {summary[name]}, in truth {value}")
    for gap in ("gap", "makespan_gap"):
        if summary[gap] < -1e-12:
            case.problems.append(f"wrong metric: {gap} is {summary[gap]}, below the lower bound")
