"""The figures of a result as a person reads them, in a terminal and in the report alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from gpusched.base.wording import Kind, decimals_of, scale_of, text_of

MARK: Final = "*"


@dataclass(frozen=True)
class Metric:
    """An entry of ``Result.summary()`` that is worth a column.

    Attributes
    ----------
    short
        The label where room is scarce, with ``|`` where its lines break.
    group
        Metrics of one group stand together.
    better
        Which direction is.
    """

    key: str
    label: str
    short: str
    kind: Kind
    group: Literal["jobs", "cluster", "run"]
    better: Literal["lower", "higher"]
    help: str


METRICS: Final = (
    Metric("dsr", "deadlines met", "deadlines|met", "percent", "jobs", "higher",
           "Deadline satisfactory ratio: jobs done by their deadline, of all that have one."),
    Metric("dsr_bound", "bound on deadlines met", "deadline|bound", "percent", "jobs", "higher",
           "A proven upper bound on the deadlines met, for any schedule of these jobs."),
    Metric("dsr_gap", "gap of deadlines met", "deadline|gap", "percent", "jobs", "lower",
           "That bound over the deadlines met, less 1: no schedule meets more deadlines by more."),
    Metric("mean_jct_s", "mean JCT", "mean|JCT", "time", "jobs", "lower",
           "Mean job completion time: finish - submit."),
    Metric("p50_jct_s", "p50 JCT", "p50|JCT", "time", "jobs", "lower",
           "Median JCT (all percentiles are nearest-rank)."),
    Metric("p95_jct_s", "p95 JCT", "p95|JCT", "time", "jobs", "lower",
           "95th percentile of the JCT."),
    Metric("p99_jct_s", "p99 JCT", "p99|JCT", "time", "jobs", "lower",
           "99th percentile of the JCT."),
    Metric("mean_wait_s", "mean wait", "mean|wait", "time", "jobs", "lower",
           "Mean of all time without GPUs, after preemptions too."),
    Metric("mean_queueing_delay_s", "queueing delay", "queueing|delay", "time", "jobs", "lower",
           "Mean time from submit to the first start."),
    Metric("mean_bounded_slowdown", "bounded slowdown", "bounded|slowdown", "ratio", "jobs",
           "lower", "Mean of JCT / service, a service under 10 s counted as 10 s, at least 1."),
    Metric("mean_slowdown_contention", "slowdown from contention", "contention|slowdown", "ratio",
           "jobs", "lower", "Mean of run time / run time on the same GPUs if no link were shared."),
    Metric("gap", "gap to lower bound", "gap to|bound", "percent", "jobs", "lower",
           "Excess of the mean JCT over a proven lower bound for any schedule of these jobs."),
    Metric("completion_ratio", "completions / bound", "compl.|/ bound", "ratio", "jobs", "lower",
           "Sum of the completion times over a proven lower bound of it."),
    Metric("prediction_mape", "prediction error", "pred.|error", "percent", "jobs", "lower",
           "Mean absolute error of the predicted services, in percent of the services."),
    Metric("prediction_r2_log", "R2 of log prediction", "R2|(log)", "ratio", "jobs", "higher",
           "R2 of the logarithms: 1 is perfect, 0 no better than a constant."),
    Metric("prediction_rank_correlation", "rank correlation", "rank|corr.", "ratio", "jobs",
           "higher", "Spearman's rank correlation of predicted and true services."),
    Metric("makespan_s", "makespan", "makespan", "time", "cluster", "lower",
           "First submit to last finish."),
    Metric("allocation", "allocation", "alloc.", "percent", "cluster", "higher",
           "Share of the cluster's GPU time that jobs held."),
    Metric("utilisation", "utilisation", "util.", "percent", "cluster", "higher",
           "Share of the cluster's GPU time that did useful work."),
    Metric("lost_to_contention", "lost to contention", "lost to|contention", "percent", "cluster",
           "lower", "Share of the cluster's GPU time that jobs ran longer as links were shared."),
    Metric("max_contention_level", "most rings on a link", "rings on|a link", "count", "cluster",
           "lower", "Most gangs on several servers that shared a link at a time."),
    Metric("preemptions", "preemptions", "preempt.", "count", "cluster", "lower",
           "Times that a job lost its GPUs."),
    Metric("wall_s", "wall time", "wall|time", "time", "run", "lower",
           "Time that the simulation took."),
    Metric("prediction_share", "time predicting", "pred.|time", "percent", "run", "lower",
           "Share of the wall time that went into prediction."),
    Metric("jobs_per_s", "jobs/s", "jobs/s", "rate", "run", "higher",
           "Jobs simulated per second of wall time."),
)  # fmt: skip

EXTRA_METRICS: Final = (
    Metric("value_met", "value met", "value|met", "percent", "jobs", "higher",
           "Value of the deadlines that were met, of the value of all."),
    Metric("tardiness_s", "tardiness", "tardi-|ness", "time", "jobs", "lower",
           "Sum of finish - deadline over the jobs that finished too late."),
    Metric("broken_promises", "broken promises", "broken|promises", "count", "jobs", "lower",
           "Jobs that were admitted and missed their deadline."),
    Metric("resizes", "resizes", "resizes", "count", "cluster", "lower",
           "Times that a running job went on with other GPUs."),
    Metric("prediction_median_abs_log_error", "median log error", "median|log err.", "ratio",
           "jobs", "lower", "Median of abs(ln predicted - ln true): 0.69 is a factor of two."),
    Metric("p90_jct_s", "p90 JCT", "p90|JCT", "time", "jobs", "lower",
           "90th percentile of the JCT."),
    Metric("max_jct_s", "max JCT", "max|JCT", "time", "jobs", "lower", "The longest JCT."),
    Metric("geomean_jct_s", "geomean JCT", "geomean|JCT", "time", "jobs", "lower",
           "Geometric mean of the JCT."),
    Metric("area_weighted_jct_s", "area-weighted JCT", "area|JCT", "time", "jobs", "lower",
           "Mean JCT weighted by GPUs x service."),
    Metric("weighted_jct_s", "weighted JCT", "weighted|JCT", "time", "jobs", "lower",
           "Mean JCT weighted by the jobs' weights."),
    Metric("p99_slowdown_contention", "p99 slowdown from contention", "p99 cont.|slowdown", "ratio",
           "jobs", "lower", "99th percentile of the slowdown from contention."),
    Metric("max_slowdown_contention", "max slowdown from contention", "max cont.|slowdown", "ratio",
           "jobs", "lower", "The largest slowdown from contention."),
    Metric("lost_to_placement", "lost to placement", "lost to|placement", "percent", "cluster",
           "lower", "Share of the cluster's GPU time that jobs ran longer where they were put."),
    Metric("mean_contention_level", "rings on a link", "mean rings|on a link", "ratio", "cluster",
           "lower", "Mean number of rings on a link while it was used, over all links."),
    Metric("makespan_gap", "makespan gap", "makespan|gap", "percent", "cluster", "lower",
           "Excess of the makespan over a proven lower bound for any schedule."),
    Metric("mean_servers", "servers per job", "servers|/ job", "ratio", "cluster", "lower",
           "Mean number of servers over which a job's GPUs are spread."),
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One figure: its text without unit, and whether it is the best of its metric."""

    text: str
    best: bool


@dataclass(frozen=True)
class Column:
    """One metric of all policies, in one unit so that the figures compare at a glance."""

    metric: Metric
    unit: str
    cells: tuple[Cell, ...]

    @property
    def heading(self) -> str:
        """The label with its unit: ``mean JCT, h``."""
        return f"{self.metric.label}, {self.unit}" if self.unit else self.metric.label


def columns(
    summaries: Iterable[Mapping[str, Any]], metrics: Sequence[Metric] = METRICS
) -> list[Column]:
    """Lay out ``metrics`` of some summaries; one that no summary defines is left out."""
    rows = list(summaries)
    laid_out = (_column(m, [_number(row.get(m.key)) for row in rows]) for m in metrics)
    return [column for column in laid_out if any(cell.text != "-" for cell in column.cells)]


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _column(metric: Metric, values: Sequence[float | None]) -> Column:
    known = [value for value in values if value is not None]
    scale, unit = scale_of(metric.kind, known)
    decimals = decimals_of(metric.kind, [value / scale for value in known])
    texts = ["-" if v is None else text_of(v / scale, decimals, metric.kind) for v in values]
    # Equal as shown is equal: a lead behind the last digit is not worth a mark.
    best = None
    if known:
        value = min(known) if metric.better == "lower" else max(known)
        best = text_of(value / scale, decimals, metric.kind)
    differ = len(set(texts)) > 1
    return Column(metric, unit, tuple(Cell(text, differ and text == best) for text in texts))
