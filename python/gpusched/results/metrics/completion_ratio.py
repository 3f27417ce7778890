"""Completion times over the least that they could be."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts, exact_sum


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
    completion_us = max(run.lower.total_jct_us[key] for key in ("squashed-srpt", "trivial"))
    submit_us = run.trace.submit_us[run.finished]
    since_us = exact_sum(submit_us - submit_us[0])
    return float((exact_sum(run.flow_us) + since_us) / (completion_us + since_us))
