"""Time without GPUs."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "mean_wait_s",
    unit="s",
    summary="Mean of all time without GPUs, after preemptions too.",
    definition="all time without GPUs: C - r - e",
    better="lower",
    label="mean wait",
    short="mean|wait",
    table="main",
    place=80,
    gives_way=None,
    window="jobs",
    rank=120,
)
def _mean_wait_s(run: RunFacts) -> float:
    return run.mean_s(run.measures.wait_us)


@register_metric(
    "mean_queueing_delay_s",
    unit="s",
    summary="Mean time from submit to the first start.",
    definition="time to the first start: s - r",
    better="lower",
    label="queueing delay",
    short="queueing|delay",
    table="main",
    place=90,
    gives_way=8,
    window="jobs",
    rank=130,
)
def _mean_queueing_delay_s(run: RunFacts) -> float:
    return run.mean_s(run.measures.delay_us)
