"""What a schedule achieved, in numbers. The job metrics are over the jobs that finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds import lower_bounds as bounds
from gpusched.bounds.deadline_bounds import dsr_bound
from gpusched.schedules.schedule import (
    FINISHED,
    REJECTED,
    UNFINISHED,
    Schedule,
    contention_excess_us,
    contention_slowdown,
    whole_intervals,
    widths_of,
)
from gpusched.traces.trace_facts import nearest_rank

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.schedules.contention import Contention
    from gpusched.traces.workload import Trace

Summary = dict[str, float | int | str | bool]

SHORT_SERVICE_S: Final = 10.0
"""Bounded slowdown counts a shorter service as this long."""
_PERCENTILES: Final = (50, 90, 95, 99)


def summarise(
    trace: Trace,
    cluster: Cluster,
    schedule: Schedule,
    contention: Contention | None = None,
    costs: Mapping[str, Float64] | None = None,
    speed: str | None = None,
) -> Summary:
    """Compute all metrics that follow from the schedule alone.

    Parameters
    ----------
    contention
        The rings on the links, where run times depend on the placement: adds the last metrics.
    costs
        What a job can save at other widths than its own, see :func:`gpusched.lower_bounds`.
    speed
        By which the jobs ran: the deadlines that could be met are bounded for it. None: unknown.

    Notes
    -----

    Times are seconds, percentiles are nearest-rank, ``gap`` and ``makespan_gap`` are ratios (0.12
    is 12 %). What is undefined because no job finished is NaN.

    - JCT: finish - submit. Wait: JCT - time with GPUs. Queueing delay: first start - submit.
    - Bounded slowdown: max(1, JCT / max(service, 10 s)).
    - Area-weighted JCT: weighted by gpus x service; weighted JCT: by the jobs' weights.
    - Allocation and utilisation: GPU time held by jobs, and GPU time of useful work in finished
      jobs, over the GPU time of the cluster from the first submit to the last finish. Useful is
      the service at the job's own width, whatever widths it ran at.
    - Deadlines, where the trace has them: the deadline satisfactory ratio (DSR) is over all jobs
      with a deadline, rejected ones too. No schedule of them has a greater one than its bound, see
      :func:`gpusched.bounds.deadline_bounds.dsr_bound`; its gap is bound / DSR - 1. Tardiness is
      the sum of finish - deadline where positive. Of policies that admit jobs: how many, and how
      many of those missed.
    - Gap: (sum of JCT - lower bound) / lower bound, see :mod:`gpusched.bounds.lower_bounds`.
    - Completion ratio: sum of completion times since the first submit over its lower bound, the
      larger of that of the squashed SRPT machine and the sum of submit + service.
    - Slowdown from contention: run time over what it would have been on the same GPUs if no link
      were shared. Contention level: rings on a link, see :mod:`gpusched.schedules.contention`.
    - Lost to contention and to placement: GPU time that finished jobs held beyond that run time,
      and that run time beyond the service, over the GPU time of the cluster.
    """
    finished: Bool = np.asarray(schedule.status) == FINISHED
    summary: Summary = {
        "num_jobs": len(trace),
        "num_finished": int(np.count_nonzero(finished)),
        "num_rejected": int(np.count_nonzero(np.asarray(schedule.status) == REJECTED)),
        "num_unfinished": int(np.count_nonzero(np.asarray(schedule.status) == UNFINISHED)),
    }
    flow_us: Int64 = (schedule.finish_us - trace.submit_us)[finished]
    summary |= _jct_metrics(trace, schedule, finished, flow_us)
    if trace.deadline_us is not None:
        summary |= _deadline_metrics(trace, cluster, schedule, finished, speed)
    summary |= _cluster_metrics(trace, cluster, schedule, finished, is_fixed=contention is None)
    if contention is not None:
        summary |= _contention_metrics(trace, cluster, schedule, finished, contention)
    summary |= _certificate(trace, cluster, schedule, finished, flow_us, costs)
    summary["load"] = trace.load(cluster.num_gpus)
    return summary


def exact_sum(values: Int64) -> int:
    """Sum without overflow or rounding."""
    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFFFFFF))


def _jct_metrics(trace: Trace, schedule: Schedule, finished: Bool, flow_us: Int64) -> Summary:
    jct_s = flow_us / US_PER_S
    service_s = trace.service_us[finished] / US_PER_S
    wait_us = flow_us - schedule.held_us[finished]
    delay_us = (schedule.start_us - trace.submit_us)[finished]
    area = trace.gpus[finished] * service_s
    weight = None if trace.weight is None else trace.weight[finished]
    ordered = np.sort(jct_s)
    mean_jct_s = _mean_s(flow_us)
    summary: Summary = {"mean_jct_s": mean_jct_s}
    summary |= {f"p{percent}_jct_s": nearest_rank(ordered, percent) for percent in _PERCENTILES}
    slowdown = np.maximum(1.0, jct_s / np.maximum(service_s, SHORT_SERVICE_S))
    return summary | {
        "max_jct_s": nearest_rank(ordered, 100),
        "geomean_jct_s": float(np.exp(_mean(np.log(jct_s)))),
        "mean_wait_s": _mean_s(wait_us),
        "mean_queueing_delay_s": _mean_s(delay_us),
        "mean_bounded_slowdown": _mean(slowdown),
        "area_weighted_jct_s": _weighted_mean(jct_s, area),
        "weighted_jct_s": mean_jct_s if weight is None else _weighted_mean(jct_s, weight),
    }


def _deadline_metrics(
    trace: Trace, cluster: Cluster, schedule: Schedule, finished: Bool, speed: str | None
) -> Summary:
    deadline_us = np.asarray(trace.deadline_us)
    has_deadline: Bool = deadline_us >= 0
    late_us = np.asarray(schedule.finish_us) - deadline_us
    met: Bool = has_deadline & finished & (late_us <= 0)
    value = np.ones(len(trace)) if trace.value is None else trace.value
    worth = float(np.sum(value[has_deadline]))
    num_deadlines = int(np.count_nonzero(has_deadline))
    num_met = int(np.count_nonzero(met))
    dsr = num_met / num_deadlines if num_deadlines else np.nan
    bound, bound_name = np.nan, ""
    if speed is not None:
        bound, bound_name = dsr_bound(trace, cluster, speed=speed, met=num_met)
    missed = has_deadline & finished & (late_us > 0)
    summary: Summary = {
        "num_deadlines": num_deadlines,
        "deadlines_met": num_met,
        "dsr": dsr,
        "dsr_bound": bound,
        "dsr_gap": bound / dsr - 1 if num_met else np.nan,
        "dsr_bound_name": bound_name,
        "value_met": float(np.sum(value[met])) / worth if num_deadlines else np.nan,
        "tardiness_s": exact_sum(late_us[missed]) / US_PER_S,
    }
    decisions = schedule.decisions()
    if len(decisions["job"]):
        admitted = np.zeros(len(trace), dtype=np.bool_)
        admitted[decisions["job"]] = decisions["admitted"] != 0  # the last word counts
        summary["num_admitted"] = int(np.count_nonzero(admitted))
        summary["broken_promises"] = int(np.count_nonzero(admitted & has_deadline & ~met))
    return summary


def _cluster_metrics(
    trace: Trace, cluster: Cluster, schedule: Schedule, finished: Bool, *, is_fixed: bool
) -> Summary:
    window_us = _window_us(trace, schedule, finished)
    gpu_us = cluster.num_gpus * float(window_us)
    gpus: Float64 = trace.gpus.astype(np.float64)
    if trace.share_milli is not None:
        gpus *= trace.share_milli / WHOLE_GPU
    if is_fixed and not (np.asarray(schedule.status) == UNFINISHED).any():
        allocated = float(np.dot(gpus, schedule.held_us))
    else:
        allocated = _allocated_gpu_us(trace, schedule, gpus)
    useful = float(np.dot(gpus[finished], trace.service_us[finished]))
    return {
        "makespan_s": window_us / US_PER_S if finished.any() else np.nan,
        "allocation": allocated / gpu_us if window_us else np.nan,
        "utilisation": useful / gpu_us if window_us else np.nan,
        "preemptions": int(np.sum(schedule.preemptions, dtype=np.int64)),
        "resizes": int(np.sum(schedule.resizes, dtype=np.int64)),
        "mean_servers": _mean(schedule.num_servers[finished]),
    }


def _contention_metrics(
    trace: Trace, cluster: Cluster, schedule: Schedule, finished: Bool, contention: Contention
) -> Summary:
    slowdown = np.sort(contention_slowdown(schedule)[finished])
    gpu_us = cluster.num_gpus * float(_window_us(trace, schedule, finished))
    gpus = _mean_widths(trace, schedule)[finished]
    alone_us = schedule.uncontended_us[finished]
    to_others = float(np.dot(gpus, contention_excess_us(schedule)[finished]))
    to_placement = float(np.dot(gpus, np.maximum(alone_us - trace.service_us[finished], 0.0)))
    return {
        "mean_slowdown_contention": _mean(slowdown),
        "p99_slowdown_contention": nearest_rank(slowdown, 99),
        "max_slowdown_contention": nearest_rank(slowdown, 100),
        "mean_contention_level": contention.mean_level,
        "max_contention_level": contention.max_level,
        "num_contended_links": contention.num_contended,
        "lost_to_contention": to_others / gpu_us if gpu_us else np.nan,
        "lost_to_placement": to_placement / gpu_us if gpu_us else np.nan,
    }


def _certificate(
    trace: Trace,
    cluster: Cluster,
    schedule: Schedule,
    finished: Bool,
    flow_us: Int64,
    costs: Mapping[str, Float64] | None,
) -> Summary:
    if not finished.any():
        return {
            "lower_bound_mean_jct_s": np.nan,
            "gap": np.nan,
            "lower_bound_name": "",
            "completion_ratio": np.nan,
            "makespan_bound_s": np.nan,
            "makespan_gap": np.nan,
        }
    lower = bounds.lower_bounds(trace, cluster, jobs=finished, costs=costs)
    name, total_us = lower.best
    makespan_us = _window_us(trace, schedule, finished)
    completion_us = max(lower.total_jct_us[key] for key in ("squashed-srpt", "trivial"))
    submit_us = trace.submit_us[finished]
    since_us = exact_sum(submit_us - submit_us[0])
    return {
        "lower_bound_mean_jct_s": float(total_us / len(flow_us)) / US_PER_S,
        "gap": float(exact_sum(flow_us) / total_us - 1),
        "lower_bound_name": name,
        "completion_ratio": float((exact_sum(flow_us) + since_us) / (completion_us + since_us)),
        "makespan_bound_s": float(lower.makespan_us) / US_PER_S,
        "makespan_gap": float(makespan_us / lower.makespan_us - 1),
    }


def _window_us(trace: Trace, schedule: Schedule, finished: Bool) -> int:
    """From the first submit to the last finish, over the finished jobs; 0 if there is none."""
    if not finished.any():
        return 0
    return int(schedule.finish_us.max()) - int(trace.submit_us[np.argmax(finished)])


def _allocated_gpu_us(trace: Trace, schedule: Schedule, gpus: Float64) -> float:
    """GPU time held until the last finish: unfinished jobs may hold theirs for longer."""
    rows = schedule.intervals()
    first, _ = whole_intervals(rows)
    length = np.minimum(rows["end_us"][first], schedule.finish_us.max()) - rows["start_us"][first]
    share = (gpus / trace.gpus)[rows["job"][first]]
    held = widths_of(rows, first, trace.gpus) * share
    return float(np.dot(held, np.maximum(length, 0)))


def _mean_widths(trace: Trace, schedule: Schedule) -> Float64:
    """GPUs of each job over the time that it held some, on average; its own where it never did."""
    rows = schedule.intervals()
    first, _ = whole_intervals(rows)
    job = rows["job"][first]
    length = (rows["end_us"][first] - rows["start_us"][first]).astype(np.float64)
    held = np.bincount(job, length, minlength=len(trace))
    area = np.bincount(job, length * widths_of(rows, first, trace.gpus), minlength=len(trace))
    return np.where(held > 0, area / np.where(held > 0, held, 1.0), trace.gpus)


def _mean_s(ticks: Int64) -> float:
    return exact_sum(ticks) / len(ticks) / US_PER_S if len(ticks) else np.nan


def _mean(values: AnyArray) -> float:
    return float(np.mean(values)) if len(values) else np.nan


def _weighted_mean(values: Float64, weight: Float64) -> float:
    return float(np.dot(values, weight) / np.sum(weight)) if len(values) else np.nan
