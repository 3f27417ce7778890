"""Completion times over the least that they could be."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "completion_ratio",
    unit="ratio",
    summary="Sum of the completion times over a proven lower bound of it.",
    definition="sum of completion times since the first submit / its bound: the larger of that "
    "of the squashed SRPT machine and the sum of submit + service",
    better="lower",
    label="completions / bound",
    short="compl.|/ bound",
    table="main",
    place=130,
    gives_way=None,
    rank=440,
)
def _completion_ratio(run: RunFacts) -> float:
    if run.lower is None:
        return np.nan
    measures, completion_us = run.measures, run.lower.completion_us
    parts = completion_us.denominator
    since_us = measures.since_first_us
    # Whole numbers divide to the nearest double, as fractions do.
    return (measures.flow_us + since_us) * parts / (completion_us.numerator + since_us * parts)
