"""What a policy that admits jobs promised."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "num_admitted",
    unit="count",
    summary="Jobs that were admitted.",
    needs=("admissions",),
    table="none",
    window="jobs",
    rank=250,
)
def _num_admitted(run: RunFacts) -> int:
    return int(np.count_nonzero(run.admitted))


@register_metric(
    "broken_promises",
    unit="count",
    summary="Jobs that were admitted and missed their deadline.",
    definition="how many of those missed their deadline",
    better="lower",
    needs=("admissions",),
    label="broken promises",
    short="broken|promises",
    place=1030,
    window="jobs",
    rank=260,
)
def _broken_promises(run: RunFacts) -> int:
    return int(np.count_nonzero(run.admitted & run.has_deadline & ~run.met))
