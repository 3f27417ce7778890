"""How often jobs lost or changed their GPUs."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "preemptions",
    unit="count",
    summary="Times that a job lost its GPUs.",
    definition="how often a job lost its GPUs",
    better="lower",
    label="preemptions",
    short="preempt.",
    group="cluster",
    table="main",
    place=220,
    gives_way=10,
    window="jobs",
    rank=300,
)
def _preemptions(run: RunFacts) -> int:
    return run.measures.num_preemptions


@register_metric(
    "resizes",
    unit="count",
    summary="Times that a running job went on with other GPUs.",
    definition="how often a running job went on with other GPUs",
    better="lower",
    label="resizes",
    short="resizes",
    group="cluster",
    place=1040,
    window="jobs",
    rank=310,
)
def _resizes(run: RunFacts) -> int:
    return run.measures.num_resizes
