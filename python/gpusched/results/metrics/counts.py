"""How many jobs there were, and what became of them."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "num_jobs",
    unit="count",
    summary="Jobs of the trace.",
    table="none",
    window="jobs",
    rank=10,
)
def _num_jobs(run: RunFacts) -> int:
    return len(run.trace) if run.window is None else int(np.count_nonzero(run.counted))


@register_metric(
    "num_finished",
    unit="count",
    summary="Jobs that finished.",
    table="none",
    window="jobs",
    rank=20,
)
def _num_finished(run: RunFacts) -> int:
    return run.measures.num_finished


@register_metric(
    "num_rejected",
    unit="count",
    summary="Jobs that were refused.",
    table="none",
    window="jobs",
    rank=30,
)
def _num_rejected(run: RunFacts) -> int:
    return run.measures.num_rejected


@register_metric(
    "num_unfinished",
    unit="count",
    summary="Jobs that waited or ran when the run ended.",
    table="none",
    window="jobs",
    rank=40,
)
def _num_unfinished(run: RunFacts) -> int:
    return run.measures.num_unfinished
