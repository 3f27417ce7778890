"""How long the jobs wait that wait longest."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "p50_wait_s",
    unit="s",
    summary="Median of all time without GPUs.",
    definition="its 50th percentile",
    better="lower",
    label="p50 wait",
    short="p50|wait",
    place=1082,
    window="jobs",
    rank=122,
)
def _p50_wait_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.wait_percentile_us(50))


@register_metric(
    "p90_wait_s",
    unit="s",
    summary="90th percentile of all time without GPUs.",
    definition="its 90th percentile",
    better="lower",
    label="p90 wait",
    short="p90|wait",
    place=1084,
    window="jobs",
    rank=124,
)
def _p90_wait_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.wait_percentile_us(90))


@register_metric(
    "p95_wait_s",
    unit="s",
    summary="95th percentile of all time without GPUs.",
    definition="its 95th percentile",
    better="lower",
    label="p95 wait",
    short="p95|wait",
    table="main",
    place=84,
    gives_way=3,
    window="jobs",
    rank=126,
)
def _p95_wait_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.wait_percentile_us(95))


@register_metric(
    "p99_wait_s",
    unit="s",
    summary="99th percentile of all time without GPUs.",
    definition="its 99th percentile",
    better="lower",
    label="p99 wait",
    short="p99|wait",
    table="main",
    place=86,
    gives_way=0,
    window="jobs",
    rank=128,
)
def _p99_wait_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.wait_percentile_us(99))
