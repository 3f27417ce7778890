"""The built-in metrics, one row each.

A row has its rank in a summary, key, unit, better direction, window, label, summary and function;
further arguments as for :func:`~gpusched.results.metric_registry.register_metric`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Int64, nearest_rank
from gpusched.base.memo import Memo
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds.certificates import LowerBounds
from gpusched.results.cost import US_PER_H
from gpusched.results.metric_registry import Window, register_metric
from gpusched.results.run_facts import RunFacts, exact_sum, excess, mean
from gpusched.schedules.schedule import FAILED, KILLED, NEVER, REJECTED, contention_excess_us
from gpusched.traces.workload import Trace

_LEAST_THIRD: Final = 100
_loads: Memo[Trace, float] = Memo(4)


def row(
    rank: int, key: str, unit: str, better: str, window: Window, label: str, summary: str,
    compute: Callable[[RunFacts], Any], **more: Any,
) -> None:  # fmt: skip
    """Register a metric."""
    given = {"unit": unit, "better": better, "window": window, "label": label, **more}
    register_metric(key, summary=summary, rank=rank, **given)(compute)


def _over(run: RunFacts, bounds: LowerBounds | None) -> float:
    return np.nan if bounds is None else excess(run.measures.flow_us, bounds.best[1])


def _of_gpu_time(run: RunFacts, lost_us: float) -> float:
    return lost_us / run.gpu_us if run.gpu_us else np.nan


def _ratio(weighted: float, weight: float) -> float:
    return weighted / weight if weight else np.nan


def _figure(run: RunFacts, key: str) -> float:
    assert run.prediction is not None
    return run.prediction.summary()[key]


def _load_within(run: RunFacts) -> float:
    """Return the load of the counted jobs over the time of the window's submissions."""
    begin_us, end_us = run.ends_us
    length_us = min(end_us, int(run.trace.submit_us[-1])) - begin_us
    runs = run.counted & (np.asarray(run.schedule.status) != REJECTED)
    asked = float(np.dot(run.gpus[runs], run.trace.service_us[runs]))
    return asked / (run.cluster.num_gpus * length_us) if length_us > 0 else np.nan


def _p95_bounded_slowdown(run: RunFacts) -> float:
    measures = run.measures
    return measures.bounded_slowdown_percentile(95) if measures.num_finished else np.nan


def _dsr(run: RunFacts) -> float:
    num_deadlines = np.count_nonzero(run.has_deadline)
    return float(run.num_met / num_deadlines) if num_deadlines else np.nan


def _dsr_gap(run: RunFacts) -> float:
    num_deadlines = np.count_nonzero(run.has_deadline)
    dsr = run.num_met / num_deadlines if num_deadlines else np.nan
    return float(run.dsr_bound[0] / dsr - 1) if run.num_met else np.nan


def _value_met(run: RunFacts) -> float:
    value = np.ones(len(run.trace)) if run.trace.value is None else run.trace.value
    if not run.has_deadline.any():
        return np.nan
    return float(np.sum(value[run.met])) / float(np.sum(value[run.has_deadline]))


def _tardiness_s(run: RunFacts) -> float:
    missed = run.has_deadline & run.finished & (run.late_us > 0)
    return exact_sum(run.late_us[missed]) / US_PER_S


def _allocation(run: RunFacts) -> float:
    if run.window is None and run.is_fixed and not run.measures.num_unfinished:
        return run.of_gpu_time(run.held_gpu_us)
    # Unfinished jobs may hold GPUs beyond the last finish.
    return run.of_gpu_time(float(np.sum(run.gpu_us_within)))


def _utilisation(run: RunFacts) -> float:
    if run.window is None:
        return run.of_gpu_time(run.measures.useful_gpu_milli_us / WHOLE_GPU)
    done = run.all_finished
    useful = np.dot(run.within(run.gpus)[done], run.trace.service_us[done])
    return run.of_gpu_time(float(useful))


def _lost_to_contention(run: RunFacts) -> float:
    done = run.all_finished
    widths = run.within(run.mean_widths)
    lost_us = np.dot(widths[done], contention_excess_us(run.schedule)[done])
    return _of_gpu_time(run, float(lost_us))


def _lost_to_placement(run: RunFacts) -> float:
    done = run.all_finished
    alone_us = run.schedule.uncontended_us[done]
    lost_us = 0 if run.failures is None else run.schedule.lost_us[done]
    beyond_us = np.maximum(alone_us - run.trace.service_us[done] - lost_us, 0.0)
    return _of_gpu_time(run, float(np.dot(run.within(run.mean_widths)[done], beyond_us)))


def _lower_bound_mean_jct_s(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    bound_us = run.lower.best[1]
    return bound_us.numerator / (bound_us.denominator * run.measures.num_finished) / US_PER_S


def _lower_bound_name(run: RunFacts) -> str:
    if run.lower is None:
        return ""
    return run.lower.best[0]


def _completion_ratio(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    measures, completion_us = run.measures, run.lower.completion_us
    parts = completion_us.denominator
    since_us = measures.since_first_us
    # Integers divide to the nearest double, as fractions do.
    return (measures.flow_us + since_us) * parts / (completion_us.numerator + since_us * parts)


def _makespan_bound_s(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    return float(run.lower.makespan_us) / US_PER_S


def _makespan_gap(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    return excess(run.window_us, run.lower.makespan_us)


def _load(run: RunFacts) -> float:
    if run.window is not None:
        return _load_within(run)
    num_gpus = run.cluster.num_gpus
    load = _loads.of(run.trace, num_gpus, lambda: run.trace.offered_load(num_gpus))
    if not run.measures.num_rejected:
        return load
    runs = np.asarray(run.schedule.status) != REJECTED
    part = run.trace.filter(runs).gpu_seconds / run.trace.gpu_seconds if runs.any() else 0.0
    return load * part


def _growth(run: RunFacts) -> float:
    done = np.flatnonzero(run.finished)
    third = len(done) // 3
    if third < _LEAST_THIRD:
        return np.nan
    first, last = (_stretch(run, jobs) for jobs in (done[:third], done[-third:]))
    return last / first


def _stretch(run: RunFacts, jobs: Int64) -> float:
    flow_us = np.asarray(run.schedule.finish_us)[jobs] - run.trace.submit_us[jobs]
    return exact_sum(flow_us) / exact_sum(run.trace.service_us[jobs])


def _jobs_per_s(run: RunFacts) -> float:
    assert run.wall_s is not None
    return len(run.trace) / run.wall_s if run.wall_s > 0 else np.inf


def _num_of(run: RunFacts, status: int) -> int:
    return int(np.count_nonzero(run.counted & (np.asarray(run.schedule.status) == status)))


def _num_failures(run: RunFacts) -> int:
    assert run.failures is not None
    return int(np.sum(run.failures[run.counted]))


def _requeues_per_job(run: RunFacts) -> float:
    num_jobs = np.count_nonzero(run.counted) - run.measures.num_rejected
    num_hits = _num_failures(run) + run.num_maintained
    return _ratio(num_hits - _num_of(run, FAILED), float(num_jobs))


def _ettr(run: RunFacts, since_us: Int64) -> float:
    """Return run time / time since then of the finished jobs, the mean weighted by their GPUs."""
    done, gpus = run.finished, run.gpus[run.finished]
    taken_us = (np.asarray(run.schedule.finish_us) - since_us)[done]
    return _ratio(float(np.dot(gpus, run.trace.service_us[done] / taken_us)), float(np.sum(gpus)))


def _mean_hold_s(run: RunFacts) -> float:
    assert run.holds is not None
    joined = run.counted & (run.holds >= 0)
    held_us = exact_sum(run.holds[joined] - run.trace.submit_us[joined])
    return _ratio(held_us / US_PER_S, float(np.count_nonzero(joined)))


# fmt: off
row(10, "num_jobs", "count", "neutral", "jobs", "",
    "Jobs of the trace.",
    lambda run: len(run.trace) if run.window is None else int(np.count_nonzero(run.counted)),
    table="none")
row(20, "num_finished", "count", "neutral", "jobs", "",
    "Jobs that finished.", lambda run: run.measures.num_finished,
    table="none")
row(30, "num_rejected", "count", "neutral", "jobs", "",
    "Jobs that could never run (rejected).", lambda run: run.measures.num_rejected,
    table="none")
row(40, "num_unfinished", "count", "neutral", "jobs", "",
    "Jobs still held, waiting or running at the end of the run, or cancelled, killed or failed.",
    lambda run: run.measures.num_unfinished,
    table="none")
row(45, "num_cancelled", "count", "neutral", "jobs", "",
    "Jobs cancelled while held, waiting or running.", lambda run: run.measures.num_cancelled,
    table="none")
row(46, "num_never", "count", "lower", "jobs", "never eligible",
    "Jobs whose dependencies can never be met.",
    lambda run: int(np.count_nonzero(run.counted & (run.holds == NEVER))), short="never|eligible",
    group="holds", table="main", place=125, gives_way=2, needs=("holds",))
row(48, "mean_hold_s", "s", "lower", "jobs", "mean hold",
    "Mean time from submission to the queue, of the jobs that joined it.", _mean_hold_s,
    definition="time before the queue, of jobs that joined it: `eligible_s` - r", group="holds",
    table="main", place=126, gives_way=2, needs=("holds",))
row(50, "mean_jct_s", "s", "lower", "jobs", "mean JCT",
    "Mean job completion time: finish - submit.", lambda run: run.mean_s(run.measures.flow_us),
    definition="job completion time (JCT): C - r", table="main", place=40, gives_way=None)
row(60, "p50_jct_s", "s", "lower", "jobs", "p50 JCT",
    "Median JCT (all percentiles are nearest-rank).",
    lambda run: run.percentile_s(run.measures.flow_percentile_us(50)),
    definition="its 50th percentile", place=50)
row(70, "p90_jct_s", "s", "lower", "jobs", "p90 JCT",
    "90th percentile of the JCT.",
    lambda run: run.percentile_s(run.measures.flow_percentile_us(90)),
    definition="its 90th percentile", place=1060)
row(80, "p95_jct_s", "s", "lower", "jobs", "p95 JCT",
    "95th percentile of the JCT.",
    lambda run: run.percentile_s(run.measures.flow_percentile_us(95)),
    definition="its 95th percentile", place=60)
row(90, "p99_jct_s", "s", "lower", "jobs", "p99 JCT",
    "99th percentile of the JCT.",
    lambda run: run.percentile_s(run.measures.flow_percentile_us(99)),
    definition="its 99th percentile", table="main", place=70, gives_way=15)
row(100, "max_jct_s", "s", "lower", "jobs", "max JCT",
    "The longest JCT.", lambda run: run.percentile_s(run.measures.flow_percentile_us(100)),
    definition="the longest", place=1070)
row(110, "geomean_jct_s", "s", "lower", "jobs", "geomean JCT",
    "Geometric mean of the JCT.", lambda run: float(np.exp(run.mean(run.measures.log_jct))),
    definition="its geometric mean", place=1080)
row(120, "mean_wait_s", "s", "lower", "jobs", "mean wait",
    "Mean total time without GPUs, including waits after preemptions.",
    lambda run: run.mean_s(run.measures.wait_us),
    definition="all time without GPUs: C - r - e", table="main", place=80, gives_way=None)
row(122, "p50_wait_s", "s", "lower", "jobs", "p50 wait",
    "Median of the total wait.",
    lambda run: run.percentile_s(run.measures.wait_percentile_us(50)),
    definition="its 50th percentile", place=1082)
row(124, "p90_wait_s", "s", "lower", "jobs", "p90 wait",
    "90th percentile of the total wait.",
    lambda run: run.percentile_s(run.measures.wait_percentile_us(90)),
    definition="its 90th percentile", place=1084)
row(126, "p95_wait_s", "s", "lower", "jobs", "p95 wait",
    "95th percentile of the total wait.",
    lambda run: run.percentile_s(run.measures.wait_percentile_us(95)),
    definition="its 95th percentile", place=84)
row(128, "p99_wait_s", "s", "lower", "jobs", "p99 wait",
    "99th percentile of the total wait.",
    lambda run: run.percentile_s(run.measures.wait_percentile_us(99)),
    definition="its 99th percentile", table="main", place=86)
row(130, "mean_queueing_delay_s", "s", "lower", "jobs", "queueing delay",
    "Mean wait until the first start.", lambda run: run.mean_s(run.measures.delay_us),
    definition="time to the first start: s - r", place=90)
row(140, "mean_bounded_slowdown", "ratio", "lower", "jobs", "bounded slowdown",
    "Mean of JCT / run time, with run times of at least 10 s; at least 1.",
    lambda run: run.mean(run.measures.bounded_slowdown),
    definition="max(1, (C - r) / max(p, 10 s))",
    source="Feitelson and Rudolph, JSSPP 1998.", table="main", place=100, gives_way=13)
row(142, "p95_bounded_slowdown", "ratio", "lower", "jobs", "p95 bounded slowdown",
    "95th percentile of the bounded slowdown.", _p95_bounded_slowdown,
    definition="its 95th percentile, nearest rank",
    source="Feitelson and Rudolph, JSSPP 1998.", short="p95|slowdown", place=1102)
row(144, "tenant_fairness", "ratio", "higher", "jobs", "fairness by user",
    "Jain's fairness index of the users' mean bounded slowdowns; of queues without users.",
    lambda run: run.measures.tenant_fairness if run.measures.num_tenants else np.nan,
    definition="(Σ x)² / (n Σ x²) over the n tenants' mean bounded slowdowns x; "
    "1 if all are equal",
    source="Jain, Chiu, Hawe, DEC-TR-301, 1984; of slowdowns: ours.", place=1104,
    needs=("tenants",))
row(150, "area_weighted_jct_s", "s", "lower", "jobs", "area-weighted JCT",
    "Mean JCT weighted by GPUs x run time.",
    lambda run: _ratio(run.measures.area_jct, run.measures.area),
    definition="JCT weighted by g p: splitting or merging jobs does not change it",
    short="area|JCT", place=1090)
row(160, "weighted_jct_s", "s", "lower", "jobs", "weighted JCT",
    "Mean JCT weighted by the jobs' weights.",
    lambda run: _ratio(run.measures.weighted_jct, run.measures.weight),
    definition="JCT weighted by `weight`, if jobs have weights", place=1100, needs=("weights",))
row(170, "num_deadlines", "count", "neutral", "jobs", "",
    "Jobs that have a deadline.", lambda run: int(np.count_nonzero(run.has_deadline)),
    table="none", needs=("deadlines",))
row(180, "deadlines_met", "count", "neutral", "jobs", "",
    "Jobs that finished by their deadline.", lambda run: run.num_met,
    table="none", needs=("deadlines",))
row(190, "dsr", "ratio", "higher", "jobs", "deadlines met",
    "Deadline satisfactory ratio: share of jobs with a deadline that meet it.", _dsr,
    definition="deadline satisfactory ratio: jobs that finished by their deadline, over all jobs "
    "that have one; rejected and unfinished ones are misses", kind="percent", table="main",
    place=10, gives_way=None, needs=("deadlines",))
row(200, "dsr_bound", "ratio", "higher", "none", "bound on deadlines met",
    "A proven upper bound on the deadlines met, for any schedule of these jobs.",
    lambda run: run.dsr_bound[0],
    definition="no schedule of these jobs has a higher `dsr`", short="deadline|bound",
    kind="percent", place=20, needs=("deadlines",))
row(210, "dsr_gap", "ratio", "lower", "none", "gap of deadlines met",
    "Bound on deadlines met / deadlines met - 1: the most that any schedule could gain.",
    _dsr_gap,
    definition="`dsr_bound` / `dsr` - 1: 0.12 means that at most 12% more can be met; "
    "NaN if none was met", short="deadline|gap", kind="percent", place=30, needs=("deadlines",))
row(220, "dsr_bound_name", "text", "neutral", "none", "",
    "Name of the bound in `dsr_bound`.", lambda run: run.dsr_bound[1],
    needs=("deadlines",))
row(230, "value_met", "ratio", "higher", "jobs", "value met",
    "Share of the jobs' value that was earned by meeting deadlines.", _value_met,
    definition="`dsr` weighted by value", kind="percent", place=1010, needs=("deadlines",))
row(240, "tardiness_s", "s", "lower", "jobs", "tardiness",
    "Sum of finish - deadline over the jobs that finished late.", _tardiness_s,
    definition="sum of finish - deadline over the jobs that finished late", short="tardi-|ness",
    place=1020, needs=("deadlines",))
row(250, "num_admitted", "count", "neutral", "jobs", "",
    "Jobs that were admitted.", lambda run: int(np.count_nonzero(run.admitted)),
    table="none", needs=("admissions",))
row(260, "broken_promises", "count", "lower", "jobs", "broken promises",
    "Admitted jobs that missed their deadline (violated guarantees).",
    lambda run: int(np.count_nonzero(run.admitted & run.has_deadline & ~run.met)),
    definition="admitted jobs that missed their deadline", place=1030, needs=("admissions",))
row(270, "makespan_s", "s", "lower", "none", "makespan",
    "First submit to last finish.",
    lambda run: run.window_us / US_PER_S if run.measures.num_finished else np.nan,
    definition="last finish - first submit", group="cluster", table="main", place=170, gives_way=7)
row(280, "allocation", "ratio", "higher", "time", "allocation",
    "Share of the cluster's GPU time that jobs held.", _allocation,
    definition="GPU time held by jobs / (M x makespan)", short="alloc.", kind="percent",
    group="cluster", place=180)
row(285, "gpu_hours", "GPU h", "neutral", "time", "GPU hours",
    "GPU hours that jobs held.", lambda run: run.held_gpu_us / US_PER_H,
    definition="GPU time held by jobs, also unfinished ones", group="cluster", place=1125)
row(290, "utilisation", "ratio", "higher", "time", "utilisation",
    "Share of the cluster's GPU time that did useful work.", _utilisation,
    definition="GPU time of useful work, g p of finished jobs / (M x makespan)", short="util.",
    kind="percent", group="cluster", table="main", place=190, gives_way=12)
row(300, "preemptions", "count", "lower", "jobs", "preemptions",
    "Number of preemptions (the policy took a job's GPUs).",
    lambda run: run.measures.num_preemptions,
    definition="times that the policy took a job's GPUs", short="preempt.", group="cluster",
    table="main", place=220, gives_way=10)
row(310, "resizes", "count", "lower", "jobs", "resizes",
    "Number of resizes (a running job changed its GPUs).", lambda run: run.measures.num_resizes,
    definition="times that a running job changed its GPUs", group="cluster", place=1040)
row(320, "mean_servers", "ratio", "lower", "jobs", "servers per job",
    "Mean number of servers per job.",
    lambda run: run.mean(run.measures.num_servers),
    definition="servers of a job's last allocation; 0 under `count`", short="servers|/ job",
    group="cluster", place=1160)
row(330, "mean_slowdown_contention", "ratio", "lower", "jobs", "slowdown from contention",
    "Mean of run time / run time on the same GPUs without shared links.",
    lambda run: mean(run.ordered_contention_slowdown),
    definition="(e - q) / u; an excess within the rounding to a microsecond counts as 0",
    short="contention|slowdown", table="main", place=110, gives_way=5, needs=("contention",))
row(340, "p99_slowdown_contention", "ratio", "lower", "jobs", "p99 slowdown from contention",
    "99th percentile of the slowdown from contention.",
    lambda run: nearest_rank(run.ordered_contention_slowdown, 99),
    short="p99 cont.|slowdown", place=1110, needs=("contention",))
row(350, "max_slowdown_contention", "ratio", "lower", "jobs", "max slowdown from contention",
    "The largest slowdown from contention.",
    lambda run: nearest_rank(run.ordered_contention_slowdown, 100),
    short="max cont.|slowdown", place=1120, needs=("contention",))
row(360, "mean_contention_level", "ratio", "lower", "time", "rings on a link",
    "Mean number of multi-server jobs (rings) on a link in use, over all links.",
    lambda run: run.links.mean_level,
    definition="mean of the level over all links, each while in use",
    short="mean rings|on a link", group="cluster", place=1140, needs=("contention",))
row(370, "max_contention_level", "count", "lower", "time", "most rings on a link",
    "Most multi-server jobs (rings) on a link at a time.", lambda run: run.links.max_level,
    definition="the highest level of any link at any time", short="rings on|a link",
    group="cluster", place=210, needs=("contention",))
row(380, "num_contended_links", "count", "neutral", "time", "",
    "Links ever used by two or more rings at a time.", lambda run: run.links.num_contended,
    table="none", needs=("contention",))
row(390, "lost_to_contention", "ratio", "lower", "time", "lost to contention",
    "Share of the cluster's GPU time lost to sharing links.",
    _lost_to_contention,
    definition="sum of g (e - q - u) / (M x makespan): GPU time that sharing cost",
    short="lost to|contention", kind="percent", group="cluster", table="main", place=200,
    gives_way=4, needs=("contention",))
row(400, "lost_to_placement", "ratio", "lower", "time", "lost to placement",
    "Share of the cluster's GPU time lost to placement.", _lost_to_placement,
    definition="sum of g (u - p) / (M x makespan): GPU time that spread, slower links or slower "
    "GPUs cost", short="lost to|placement", kind="percent", group="cluster", place=1130,
    needs=("contention",))
row(410, "lower_bound_mean_jct_s", "s", "neutral", "none", "",
    "A proven lower bound on the mean JCT, for any schedule of these jobs.",
    _lower_bound_mean_jct_s,
    definition="the larger of the [bounds](bounds.md) on the mean JCT", table="none")
row(420, "gap", "ratio", "lower", "none", "gap to lower bound",
    "Excess of the mean JCT over a proven lower bound for any schedule of these jobs.",
    lambda run: _over(run, run.lower),
    definition="mean JCT / bound - 1: 0.12 means at most 12% above the optimum",
    short="gap to|bound", kind="percent", table="main", place=120, gives_way=None)
row(430, "lower_bound_name", "text", "neutral", "none", "",
    "Name of the bound in `lower_bound_mean_jct_s`.", _lower_bound_name)
row(440, "completion_ratio", "ratio", "lower", "none", "completions / bound",
    "Total completion time / a proven lower bound on it.", _completion_ratio,
    definition="sum of completion times since the first submit / its bound: the larger of that of "
    "the squashed SRPT machine and the sum of submit + service", short="compl.|/ bound", place=130)
row(440, "thorough_gap", "ratio", "lower", "none", "gap to thorough bound",
    "As `gap`, with all bounds, including those that take seconds.",
    lambda run: _over(run, run.thorough),
    definition="mean JCT / bound - 1, with the [thorough bounds](bounds.md)",
    short="gap to|thorough bound", kind="percent", is_default=False)
row(450, "makespan_bound_s", "s", "neutral", "none", "",
    "A proven lower bound on the makespan, for any schedule of these jobs.", _makespan_bound_s,
    definition="the largest of the [bounds](bounds.md) on the makespan", table="none")
row(460, "makespan_gap", "ratio", "lower", "none", "makespan gap",
    "Excess of the makespan over a proven lower bound for any schedule.", _makespan_gap,
    definition="makespan / bound - 1", kind="percent", group="cluster", place=1150)
row(470, "load", "ratio", "neutral", "jobs", "",
    "Offered load: GPU time of the jobs / that of the cluster during the submissions.", _load,
    definition="sum of g p of the jobs that were not rejected / (M x time from first to last "
    "submit of all)", table="none")
row(475, "growth", "ratio", "neutral", "jobs", "",
    "JCT / run time of the last third of the jobs over that of the first third: about 1 if jobs "
    "leave as fast as they arrive. Above 1.5, or a median over seeds above 1.25, the queue grows "
    "and metrics depend on the trace's length. Needs 300 finished jobs.",
    _growth,
    definition="finished jobs in thirds by submission; sum of C - r over sum of p of the last "
    "third, over the same of the first", table="none", is_default=False)
row(500, "prediction_num_jobs", "count", "neutral", "none", "",
    "Number of evaluated predictions (finished jobs).",
    lambda run: _figure(run, "prediction_num_jobs"),
    table="none", needs=("predictions",))
row(501, "prediction_mape", "ratio", "lower", "none", "prediction error",
    "Mean absolute percentage error of the predicted run times.",
    lambda run: _figure(run, "prediction_mape"),
    short="pred.|error", kind="percent", table="main", place=140, gives_way=None,
    needs=("predictions",))
row(502, "prediction_median_abs_log_error", "ratio", "lower", "none", "median log error",
    "Median of abs(ln predicted - ln true): 0.69 is a factor of two.",
    lambda run: _figure(run, "prediction_median_abs_log_error"),
    short="median|log err.", place=1050, needs=("predictions",))
row(503, "prediction_r2_log", "ratio", "higher", "none", "R2 of log prediction",
    "R2 of the logarithms of run times: 1 is perfect, 0 no better than a constant.",
    lambda run: _figure(run, "prediction_r2_log"),
    short="R2|(log)", place=150, needs=("predictions",))
row(504, "prediction_rank_correlation", "ratio", "higher", "none", "rank correlation",
    "Spearman's rank correlation of predicted and true run times.",
    lambda run: _figure(run, "prediction_rank_correlation"),
    short="rank|corr.", table="main", place=160, gives_way=None, needs=("predictions",))
row(505, "prediction_coverage", "ratio", "neutral", "none", "",
    "Share of the jobs with an earlier finished job of the same template.",
    lambda run: _figure(run, "prediction_coverage"),
    table="none", needs=("predictions",))
row(506, "prediction_num_fits", "count", "neutral", "none", "",
    "Number of model fits.", lambda run: _figure(run, "prediction_num_fits"),
    table="none", needs=("predictions",))
row(507, "prediction_share", "ratio", "lower", "none", "time predicting",
    "Share of the wall time spent on prediction.",
    lambda run: _figure(run, "prediction_share"),
    short="pred.|time", kind="percent", group="run", place=240,
    needs=("predictions",))
row(508, "prediction_bias", "ratio", "neutral", "none", "predicted / true sum",
    "Sum of predicted / sum of true run times: 1 is unbiased.",
    lambda run: _figure(run, "prediction_bias"),
    short="pred./|true", place=1055, needs=("predictions",))
row(600, "availability", "ratio", "higher", "time", "availability",
    "Share of the GPU time from the first submit to the last release in which the GPUs were up.",
    lambda run: _ratio(run.capacity.up, run.capacity.capacity),
    definition="1 - down / capacity; a GPU that a job still holds is not down", short="avail.",
    kind="percent", group="failures", table="main", place=300, gives_way=3, needs=("failures",))
row(602, "goodput", "ratio", "higher", "time", "goodput",
    "Share of the GPU time that was up which did useful work.",
    lambda run: _ratio(run.capacity.useful, run.capacity.up),
    definition="g p of finished jobs / (capacity - down)", kind="percent", group="failures",
    table="main", place=310, gives_way=3, needs=("failures",))
row(604, "num_failures", "count", "lower", "jobs", "failures",
    "Interruptions of jobs by failing servers.", _num_failures,
    definition="times that a failing server took a job's GPUs", group="failures", table="main",
    place=320, gives_way=2, needs=("failures",))
row(605, "num_maintained", "count", "lower", "jobs", "maintenance",
    "Interruptions of jobs by maintenance of servers.", lambda run: run.num_maintained,
    definition="times that maintenance took a job's GPUs", short="mainte-|nance", group="failures",
    place=325, needs=("failures",))
row(606, "num_failed", "count", "lower", "jobs", "failed jobs",
    "Jobs that failed: interrupted more often than they may be requeued.",
    lambda run: _num_of(run, FAILED), short="failed", group="failures", table="main", place=330,
    gives_way=2, needs=("failures",))
row(608, "num_killed", "count", "lower", "jobs", "killed jobs",
    "Jobs killed at their time limit.",
    lambda run: _num_of(run, KILLED), short="killed", group="failures", table="main", place=340,
    gives_way=2, needs=("failures",))
row(610, "lost_to_failures_gpu_s", "GPU s", "lower", "time", "GPU s lost to failures",
    "GPU seconds of work lost as servers failed or were maintained.",
    lambda run: run.capacity.gpu_s["lost_to_failures"],
    definition="work since the last checkpoint at each interruption of jobs that were not killed",
    short="GPU s lost|to failures", group="failures", table="main", place=350, gives_way=1,
    needs=("failures",))
row(612, "lost_to_limits_gpu_s", "GPU s", "lower", "time", "GPU s lost to limits",
    "GPU seconds of work that jobs killed at their time limit lost.",
    lambda run: run.capacity.gpu_s["lost_to_limits"],
    definition="work of killed jobs since the last checkpoint, also at their interruptions",
    short="GPU s lost|to limits", group="failures", table="main", place=360, gives_way=1,
    needs=("failures",))
row(614, "checkpoint_writes_gpu_s", "GPU s", "lower", "time", "GPU s writing checkpoints",
    "GPU seconds in which checkpoints were written.",
    lambda run: run.capacity.gpu_s["checkpoint_writes"], short="GPU s|writing",
    group="failures", place=370, needs=("failures",))
row(616, "restarts_gpu_s", "GPU s", "lower", "time", "GPU s of restarts",
    "GPU seconds of restart costs, after failures and preemptions.",
    lambda run: run.capacity.gpu_s["restarts"], short="GPU s|restarting",
    group="failures", place=380, needs=("failures",))
row(618, "ettr", "ratio", "higher", "jobs", "effective training time",
    "Effective training time ratio: run time / time since the first start, the mean of the "
    "finished jobs weighted by their GPUs.",
    lambda run: _ettr(run, np.asarray(run.schedule.start_us)),
    definition="sum of g p / (C - s) over sum of g",
    source="Kokolis et al., HPCA 2025, which count the queue.", short="ETTR", kind="percent",
    group="failures", place=390, needs=("failures",))
row(620, "ettr_queue", "ratio", "higher", "jobs", "effective training time with queue",
    "The same, with the time since the submission.", lambda run: _ettr(run, run.trace.submit_us),
    definition="sum of g p / (C - r) over sum of g", source="Kokolis et al., HPCA 2025.",
    short="ETTR|with queue", kind="percent", group="failures", place=400, needs=("failures",))
row(622, "requeues_per_job", "ratio", "lower", "jobs", "requeues per job",
    "Mean number of times that a job waited again after an interruption.", _requeues_per_job,
    definition="(interruptions - failed jobs) / jobs that were not rejected",
    short="requeues|/ job", group="failures", place=410, needs=("failures",))
row(624, "time_to_recover_s", "s", "lower", "jobs", "time to recover",
    "Mean time from an interruption to the next start of the job, if it starts again.",
    lambda run: mean(run.recoveries_us) / US_PER_S, group="failures", place=420,
    needs=("failures",))
row(900, "wall_s", "s", "lower", "run", "wall time",
    "Wall time of the simulation.", lambda run: run.wall_s,
    definition="time of the simulation", group="run", place=230,
    needs=("clock",))
row(910, "jobs_per_s", "1/s", "higher", "run", "jobs/s",
    "Jobs simulated per second of wall time.", _jobs_per_s,
    definition="jobs over that time", group="run", place=250,
    needs=("clock",))
