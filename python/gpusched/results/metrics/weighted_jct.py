"""JCT by the size or the weight of the jobs."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


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
    return _ratio(run.measures.area_jct, run.measures.area)


@register_metric(
    "weighted_jct_s",
    unit="s",
    needs=("weights",),
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
    return _ratio(run.measures.weighted_jct, run.measures.weight)


def _ratio(weighted: float, weight: float) -> float:
    return weighted / weight if weight else np.nan
