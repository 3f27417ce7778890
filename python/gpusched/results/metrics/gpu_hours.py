"""GPU time that jobs held."""

from __future__ import annotations

from gpusched.results.gpu_time import US_PER_H
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "gpu_hours",
    unit="GPU h",
    summary="GPU hours that jobs held.",
    definition="GPU time held by jobs, those that did not finish too",
    label="GPU hours",
    short="GPU|hours",
    group="cluster",
    place=1125,
    window="time",
    rank=285,
)
def _gpu_hours(run: RunFacts) -> float:
    return run.held_gpu_us / US_PER_H
