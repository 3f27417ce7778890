"""How evenly jobs of different tenants are delayed."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "tenant_fairness",
    unit="ratio",
    summary="How even the mean bounded slowdowns of users are; of queues if there are no users.",
    definition="(Σ x)² / (n Σ x²) over the n tenants' mean bounded slowdowns x; 1 if all are equal",
    source="Jain, Chiu, Hawe, DEC-TR-301, 1984; of slowdowns: ours.",
    better="higher",
    label="fairness by user",
    short="fairness|by user",
    needs=("tenants",),
    place=1104,
    window="jobs",
    rank=144,
)
def _tenant_fairness(run: RunFacts) -> float:
    return run.measures.tenant_fairness if run.measures.num_tenants else np.nan
