"""GPU time that jobs held."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts
from gpusched.schedules.schedule import whole_intervals, widths_of


@register_metric(
    "allocation",
    unit="ratio",
    summary="Share of the cluster's GPU time that jobs held.",
    definition="GPU time held by jobs / (M x makespan)",
    better="higher",
    kind="percent",
    label="allocation",
    short="alloc.",
    group="cluster",
    table="main",
    place=180,
    gives_way=6,
    rank=280,
)
def _allocation(run: RunFacts) -> float:
    if run.is_fixed and not run.figures.num_unfinished:
        return run.of_gpu_time(run.held_gpu_us)
    return run.of_gpu_time(_held_gpu_us(run))


def _held_gpu_us(run: RunFacts) -> float:
    """GPU time held until the last finish: unfinished jobs may hold theirs for longer."""
    rows = run.intervals
    first, _ = whole_intervals(rows)
    last_us = run.schedule.finish_us.max()
    length = np.minimum(rows["end_us"][first], last_us) - rows["start_us"][first]
    share = (run.gpus / run.trace.gpus)[rows["job"][first]]
    held = widths_of(rows, first, run.trace.gpus) * share
    return float(np.dot(held, np.maximum(length, 0)))
