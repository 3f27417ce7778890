"""GPU time that did useful work."""

from __future__ import annotations

import numpy as np

from gpusched.base.units import WHOLE_GPU
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "utilisation",
    unit="ratio",
    summary="Share of the cluster's GPU time that did useful work.",
    definition="GPU time of useful work, g p of finished jobs / (M x makespan)",
    better="higher",
    kind="percent",
    label="utilisation",
    short="util.",
    group="cluster",
    table="main",
    place=190,
    gives_way=12,
    window="time",
    rank=290,
)
def _utilisation(run: RunFacts) -> float:
    if run.window is None:
        return run.of_gpu_time(run.measures.useful_gpu_milli_us / WHOLE_GPU)
    done = run.all_finished
    useful = np.dot(run.within(run.gpus)[done], run.trace.service_us[done])
    return run.of_gpu_time(float(useful))
