"""Run time over what it would have been if no link were shared."""

from __future__ import annotations

from gpusched.results.exact_means import mean
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts
from gpusched.traces.trace_facts import nearest_rank


@register_metric(
    "mean_slowdown_contention",
    unit="ratio",
    summary="Mean of run time / run time on the same GPUs if no link were shared.",
    definition="(e - q) / u; an excess within the rounding to a microsecond counts as none",
    better="lower",
    needs=("contention",),
    label="slowdown from contention",
    short="contention|slowdown",
    table="main",
    place=110,
    gives_way=5,
    window="jobs",
    rank=330,
)
def _mean_slowdown_contention(run: RunFacts) -> float:
    return mean(run.ordered_contention_slowdown)


@register_metric(
    "p99_slowdown_contention",
    unit="ratio",
    summary="99th percentile of the slowdown from contention.",
    better="lower",
    needs=("contention",),
    label="p99 slowdown from contention",
    short="p99 cont.|slowdown",
    place=1110,
    window="jobs",
    rank=340,
)
def _p99_slowdown_contention(run: RunFacts) -> float:
    return nearest_rank(run.ordered_contention_slowdown, 99)


@register_metric(
    "max_slowdown_contention",
    unit="ratio",
    summary="The largest slowdown from contention.",
    better="lower",
    needs=("contention",),
    label="max slowdown from contention",
    short="max cont.|slowdown",
    place=1120,
    window="jobs",
    rank=350,
)
def _max_slowdown_contention(run: RunFacts) -> float:
    return nearest_rank(run.ordered_contention_slowdown, 100)
