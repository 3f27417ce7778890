"""Deadlines met and missed."""

from __future__ import annotations

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.results.exact_means import exact_sum
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "num_deadlines",
    unit="count",
    summary="Jobs that have a deadline.",
    needs=("deadlines",),
    table="none",
    window="jobs",
    rank=170,
)
def _num_deadlines(run: RunFacts) -> int:
    return int(np.count_nonzero(run.has_deadline))


@register_metric(
    "deadlines_met",
    unit="count",
    summary="Jobs that finished by their deadline.",
    needs=("deadlines",),
    table="none",
    window="jobs",
    rank=180,
)
def _deadlines_met(run: RunFacts) -> int:
    return run.num_met


@register_metric(
    "dsr",
    unit="ratio",
    summary="Deadline satisfactory ratio: jobs done by their deadline, of all that have one.",
    definition="deadline satisfactory ratio: jobs that finished by their deadline, over all "
    "jobs that have one; rejected and unfinished ones are misses",
    better="higher",
    needs=("deadlines",),
    kind="percent",
    label="deadlines met",
    short="deadlines|met",
    table="main",
    place=10,
    gives_way=None,
    window="jobs",
    rank=190,
)
def _dsr(run: RunFacts) -> float:
    num_deadlines = np.count_nonzero(run.has_deadline)
    return float(run.num_met / num_deadlines) if num_deadlines else np.nan


@register_metric(
    "value_met",
    unit="ratio",
    summary="Value of the deadlines that were met, of the value of all.",
    definition="the same ratio, in value",
    better="higher",
    needs=("deadlines",),
    kind="percent",
    label="value met",
    short="value|met",
    place=1010,
    window="jobs",
    rank=230,
)
def _value_met(run: RunFacts) -> float:
    value = np.ones(len(run.trace)) if run.trace.value is None else run.trace.value
    if not run.has_deadline.any():
        return np.nan
    return float(np.sum(value[run.met])) / float(np.sum(value[run.has_deadline]))


@register_metric(
    "tardiness_s",
    unit="s",
    summary="Sum of finish - deadline over the jobs that finished too late.",
    definition="sum of finish - deadline over the jobs that finished too late",
    better="lower",
    needs=("deadlines",),
    label="tardiness",
    short="tardi-|ness",
    place=1020,
    window="jobs",
    rank=240,
)
def _tardiness_s(run: RunFacts) -> float:
    missed = run.has_deadline & run.finished & (run.late_us > 0)
    return exact_sum(run.late_us[missed]) / US_PER_S
