"""What the jobs ask for of what there is."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts
from gpusched.schedules.schedule import REJECTED


@register_metric(
    "load",
    unit="ratio",
    summary="GPU time of the jobs that run over the cluster's while all were submitted.",
    definition="sum of g p of the jobs that were not rejected / "
    "(M x time from first to last submit of all)",
    table="none",
    rank=470,
)
def _load(run: RunFacts) -> float:
    load = run.trace.load(run.cluster.num_gpus)
    runs = np.asarray(run.schedule.status) != REJECTED
    if runs.all():
        return load
    part = run.trace.filter(runs).gpu_seconds / run.trace.gpu_seconds if runs.any() else 0.0
    return load * part
