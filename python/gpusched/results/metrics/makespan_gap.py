"""How far from the best possible the makespan is, at most."""

from __future__ import annotations

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.results.exact_means import excess
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "makespan_bound_s",
    unit="s",
    summary="A proven lower bound on the makespan, for any schedule of these jobs.",
    definition="the largest of the [bounds](bounds.md) on the makespan",
    table="none",
    rank=450,
)
def _makespan_bound_s(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    return float(run.lower.makespan_us) / US_PER_S


@register_metric(
    "makespan_gap",
    unit="ratio",
    summary="Excess of the makespan over a proven lower bound for any schedule.",
    definition="makespan / bound - 1",
    better="lower",
    kind="percent",
    label="makespan gap",
    short="makespan|gap",
    group="cluster",
    place=1150,
    rank=460,
)
def _makespan_gap(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    return excess(run.window_us, run.lower.makespan_us)
