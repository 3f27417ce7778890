"""What the jobs ask for of what there is."""

from __future__ import annotations

import numpy as np

from gpusched.base.memo import Memo
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts
from gpusched.schedules.schedule import REJECTED
from gpusched.traces.workload import Trace


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
    num_gpus = run.cluster.num_gpus
    load = _loads.of(run.trace, num_gpus, lambda: run.trace.load(num_gpus))
    if not run.figures.num_rejected:
        return load
    runs = np.asarray(run.schedule.status) != REJECTED
    part = run.trace.filter(runs).gpu_seconds / run.trace.gpu_seconds if runs.any() else 0.0
    return load * part


_loads: Memo[Trace, float] = Memo(4)
