"""The summary of a run without the jobs of its first hours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.results.metric_registry import Metric, metrics
from gpusched.results.run_facts import RunFacts
from gpusched.results.summarising import computed
from gpusched.schedules.schedule import OPTIONAL_COLUMNS, SCHEDULE_COLUMNS, StoredSchedule

if TYPE_CHECKING:
    from gpusched.results.result import Result


def summary_after(result: Result, warm_up_s: float) -> dict[str, Any]:
    """Return ``result.summary()``, its metrics of jobs without those of the warm-up.

    Those are the jobs submitted less than ``warm_up_s`` seconds after the first one. Metrics of
    the cluster and of the run (makespan, allocation, load) are of all jobs.

    Raises
    ------
    ValueError
        If no job was submitted later.
    """
    summary = result.summary()
    if warm_up_s <= 0:
        return summary
    trace = result.trace
    later = trace.submit_us >= trace.submit_us[0] + round(warm_up_s * US_PER_S)
    if not later.any():
        raise ValueError(f"warm_up_s: all {len(trace):,} jobs are submitted within {warm_up_s:g} s")
    if later.all():
        return summary
    return summary | computed(facts_of(result, later), _of_jobs())


def facts_of(result: Result, later: Bool) -> RunFacts:
    """Return the run as if it had no other jobs than those of a mask."""
    whole = result._facts
    place = np.cumsum(later) - 1  # of each job among those that are left
    columns = {
        name: getattr(whole.schedule, name)[later]
        for name in (*SCHEDULE_COLUMNS, *OPTIONAL_COLUMNS)
        if len(getattr(whole.schedule, name))
    }
    part = StoredSchedule(
        **columns,
        rows=_of_jobs_left(whole.schedule.intervals(), later, place),
        digest=whole.schedule.digest,
        counters=whole.schedule.counters,
        warnings=whole.schedule.warnings,
        decision_rows=_of_jobs_left(whole.schedule.decisions(), later, place),
    )
    costs = whole.costs
    return RunFacts(
        result.trace.filter(later),
        result.cluster,
        part,
        contention=whole.contention,
        costs=None if costs is None else {key: value[later] for key, value in costs.items()},
        speed=whole.speed,
        wall_s=whole.wall_s,
        prediction=whole.prediction,
    )


def _of_jobs_left(rows: Mapping[str, Any], later: Bool, place: Int64) -> dict[str, Any]:
    kept = later[rows["job"]]
    left = {column: np.asarray(values)[kept] for column, values in rows.items()}
    left["job"] = place[left["job"]]
    return left


def _of_jobs() -> list[Metric]:
    return [metric for metric in metrics().values() if metric.is_default and metric.group == "jobs"]
