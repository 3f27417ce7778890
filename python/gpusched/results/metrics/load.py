"""What the jobs ask for of what there is."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "load",
    unit="ratio",
    summary="GPU time of the jobs over the cluster's while they were submitted.",
    definition="sum of g p / (M x time from first to last submit)",
    table="none",
    rank=470,
)
def _load(run: RunFacts) -> float:
    return run.trace.load(run.cluster.num_gpus)
