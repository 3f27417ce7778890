"""JCT by the size or the weight of the jobs."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts, mean_s, weighted_mean


@register_metric(
    "area_weighted_jct_s",
    unit="s",
    summary="Mean JCT weighted by GPUs x service.",
    definition="JCT weighted by g p: splitting or merging jobs does not change it",
    better="lower",
    label="area-weighted JCT",
    short="area|JCT",
    place=1090,
    window="jobs",
    rank=150,
)
def _area_weighted_jct_s(run: RunFacts) -> float:
    return weighted_mean(run.jct_s, run.trace.gpus[run.finished] * run.service_s)


@register_metric(
    "weighted_jct_s",
    unit="s",
    summary="Mean JCT weighted by the jobs' weights.",
    definition="JCT weighted by `weight`",
    better="lower",
    label="weighted JCT",
    short="weighted|JCT",
    place=1100,
    window="jobs",
    rank=160,
)
def _weighted_jct_s(run: RunFacts) -> float:
    weight = run.trace.weight
    if weight is None:
        return mean_s(run.flow_us)
    return weighted_mean(run.jct_s, weight[run.finished])
