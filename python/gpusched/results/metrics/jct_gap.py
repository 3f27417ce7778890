"""How far from the best possible the mean JCT is, at most."""

from __future__ import annotations

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.bounds.certificates import LowerBounds
from gpusched.results.exact_means import excess
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "lower_bound_mean_jct_s",
    unit="s",
    summary="A proven lower bound on the mean JCT, for any schedule of these jobs.",
    definition="the larger of the [bounds](bounds.md) on the mean JCT",
    table="none",
    rank=410,
)
def _lower_bound_mean_jct_s(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    bound_us = run.lower.best[1]
    return bound_us.numerator / (bound_us.denominator * run.measures.num_finished) / US_PER_S


@register_metric(
    "gap",
    unit="ratio",
    summary="Excess of the mean JCT over a proven lower bound for any schedule of these jobs.",
    definition="mean JCT / bound - 1: 0.12 means at most 12 % above the optimum",
    better="lower",
    kind="percent",
    label="gap to lower bound",
    short="gap to|bound",
    table="main",
    place=120,
    gives_way=None,
    rank=420,
)
def _gap(run: RunFacts) -> float:
    return _over(run, run.lower)


@register_metric(
    "lower_bound_name",
    unit="text",
    summary="Which bound `lower_bound_mean_jct_s` is.",
    rank=430,
)
def _lower_bound_name(run: RunFacts) -> str:
    if run.lower is None:
        return ""
    return run.lower.best[0]


@register_metric(
    "thorough_gap",
    unit="ratio",
    summary="As `gap`, over the larger of all bounds, those as well that take seconds.",
    definition="mean JCT / bound - 1, with the [thorough bounds](bounds.md)",
    better="lower",
    kind="percent",
    label="gap to thorough bound",
    short="gap to|thorough bound",
    is_default=False,
    rank=440,
)
def _thorough_gap(run: RunFacts) -> float:
    return _over(run, run.thorough)


def _over(run: RunFacts, bounds: LowerBounds | None) -> float:
    return np.nan if bounds is None else excess(run.measures.flow_us, bounds.best[1])
