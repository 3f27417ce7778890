"""How far from the best possible the mean JCT is, by bounds that take their time."""

from __future__ import annotations

import numpy as np

from gpusched.results.exact_means import excess
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "thorough_gap",
    unit="ratio",
    summary="As `gap`, over the larger of all bounds, those as well that take a second.",
    definition="mean JCT / bound - 1, with the [thorough bounds](bounds.md)",
    better="lower",
    kind="percent",
    label="gap to thorough bound",
    short="gap to|thorough bound",
    is_default=False,
    rank=440,
)
def _thorough_gap(run: RunFacts) -> float:
    if run.thorough is None:
        return np.nan
    return excess(run.measures.flow_us, run.thorough.best[1])
