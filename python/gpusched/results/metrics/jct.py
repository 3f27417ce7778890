"""Job completion time (JCT)."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "mean_jct_s",
    unit="s",
    summary="Mean job completion time: finish - submit.",
    definition="job completion time (JCT): C - r",
    better="lower",
    label="mean JCT",
    short="mean|JCT",
    table="main",
    place=40,
    gives_way=None,
    window="jobs",
    rank=50,
)
def _mean_jct_s(run: RunFacts) -> float:
    return run.mean_s(run.measures.flow_us)


@register_metric(
    "p50_jct_s",
    unit="s",
    summary="Median JCT (all percentiles are nearest-rank).",
    definition="its 50th percentile",
    better="lower",
    label="p50 JCT",
    short="p50|JCT",
    table="main",
    place=50,
    gives_way=9,
    window="jobs",
    rank=60,
)
def _p50_jct_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.flow_percentile_us(50))


@register_metric(
    "p90_jct_s",
    unit="s",
    summary="90th percentile of the JCT.",
    definition="its 90th percentile",
    better="lower",
    label="p90 JCT",
    short="p90|JCT",
    place=1060,
    window="jobs",
    rank=70,
)
def _p90_jct_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.flow_percentile_us(90))


@register_metric(
    "p95_jct_s",
    unit="s",
    summary="95th percentile of the JCT.",
    definition="its 95th percentile",
    better="lower",
    label="p95 JCT",
    short="p95|JCT",
    table="main",
    place=60,
    gives_way=11,
    window="jobs",
    rank=80,
)
def _p95_jct_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.flow_percentile_us(95))


@register_metric(
    "p99_jct_s",
    unit="s",
    summary="99th percentile of the JCT.",
    definition="its 99th percentile",
    better="lower",
    label="p99 JCT",
    short="p99|JCT",
    table="main",
    place=70,
    gives_way=15,
    window="jobs",
    rank=90,
)
def _p99_jct_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.flow_percentile_us(99))


@register_metric(
    "max_jct_s",
    unit="s",
    summary="The longest JCT.",
    definition="the longest",
    better="lower",
    label="max JCT",
    short="max|JCT",
    place=1070,
    window="jobs",
    rank=100,
)
def _max_jct_s(run: RunFacts) -> float:
    return run.percentile_s(run.measures.flow_percentile_us(100))


@register_metric(
    "geomean_jct_s",
    unit="s",
    summary="Geometric mean of the JCT.",
    definition="its geometric mean",
    better="lower",
    label="geomean JCT",
    short="geomean|JCT",
    place=1080,
    window="jobs",
    rank=110,
)
def _geomean_jct_s(run: RunFacts) -> float:
    return float(np.exp(run.mean(run.measures.log_jct)))
