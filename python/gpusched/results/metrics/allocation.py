"""GPU time that jobs held."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts
from gpusched.schedules.schedule import UNFINISHED


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
    window="time",
    rank=280,
)
def _allocation(run: RunFacts) -> float:
    is_done = not (np.asarray(run.schedule.status) == UNFINISHED).any()
    if run.window is None and run.is_fixed and is_done:
        return run.of_gpu_time(float(np.dot(run.gpus, run.schedule.held_us)))
    # Unfinished jobs may hold GPUs for longer than until the last finish.
    return run.of_gpu_time(float(np.sum(run.gpu_us_within)))
