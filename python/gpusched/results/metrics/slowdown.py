"""JCT relative to the service."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "mean_bounded_slowdown",
    unit="ratio",
    summary="Mean of JCT / service, a service under 10 s counted as 10 s, at least 1.",
    definition="max(1, (C - r) / max(p, 10 s))",
    source="Feitelson and Rudolph, JSSPP 1998.",
    better="lower",
    label="bounded slowdown",
    short="bounded|slowdown",
    table="main",
    place=100,
    gives_way=13,
    window="jobs",
    rank=140,
)
def _mean_bounded_slowdown(run: RunFacts) -> float:
    return run.mean(run.measures.bounded_slowdown)


@register_metric(
    "p95_bounded_slowdown",
    unit="ratio",
    summary="95th percentile of the bounded slowdown.",
    definition="its 95th percentile, nearest rank",
    source="Feitelson and Rudolph, JSSPP 1998.",
    better="lower",
    label="p95 bounded slowdown",
    short="p95|slowdown",
    place=1102,
    window="jobs",
    rank=142,
)
def _p95_bounded_slowdown(run: RunFacts) -> float:
    measures = run.measures
    return measures.bounded_slowdown_percentile(95) if measures.num_finished else np.nan
