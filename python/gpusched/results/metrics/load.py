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
    window="jobs",
    rank=470,
)
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


def _load_within(run: RunFacts) -> float:
    """The load of the jobs that count, over the part of the window in which jobs are submitted."""
    begin_us, end_us = run.ends_us
    length_us = min(end_us, int(run.trace.submit_us[-1])) - begin_us
    runs = run.counted & (np.asarray(run.schedule.status) != REJECTED)
    asked = float(np.dot(run.gpus[runs], run.trace.service_us[runs]))
    return asked / (run.cluster.num_gpus * length_us) if length_us > 0 else np.nan


_loads: Memo[Trace, float] = Memo(4)
