"""From the first submit to the last finish."""

from __future__ import annotations

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "makespan_s",
    unit="s",
    summary="First submit to last finish.",
    definition="last finish - first submit",
    better="lower",
    label="makespan",
    short="makespan",
    group="cluster",
    table="main",
    place=170,
    gives_way=7,
    rank=270,
)
def _makespan_s(run: RunFacts) -> float:
    return run.window_us / US_PER_S if run.measures.num_finished else np.nan
