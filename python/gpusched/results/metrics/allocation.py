"""GPU time that jobs held."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


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
    if run.window is None and run.is_fixed and not run.measures.num_unfinished:
        return run.of_gpu_time(run.held_gpu_us)
    # Unfinished jobs may hold GPUs for longer than until the last finish.
    return run.of_gpu_time(float(np.sum(run.gpu_us_within)))
