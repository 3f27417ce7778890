"""How far from the best possible the deadlines met are, at most."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "dsr_bound",
    unit="ratio",
    summary="A proven upper bound on the deadlines met, for any schedule of these jobs.",
    definition="no schedule of these jobs has a greater `dsr`",
    better="higher",
    needs=("deadlines",),
    kind="percent",
    label="bound on deadlines met",
    short="deadline|bound",
    table="main",
    place=20,
    gives_way=14,
    rank=200,
)
def _dsr_bound(run: RunFacts) -> float:
    return run.dsr_bound[0]


@register_metric(
    "dsr_gap",
    unit="ratio",
    summary="That bound over the deadlines met, less 1: no schedule meets more deadlines by more.",
    definition="`dsr_bound` / `dsr` - 1: 0.12 means that no schedule meets 12 % more deadlines; "
    "NaN where none was met",
    better="lower",
    needs=("deadlines",),
    kind="percent",
    label="gap of deadlines met",
    short="deadline|gap",
    table="main",
    place=30,
    gives_way=None,
    rank=210,
)
def _dsr_gap(run: RunFacts) -> float:
    num_deadlines = np.count_nonzero(run.has_deadline)
    dsr = run.num_met / num_deadlines if num_deadlines else np.nan
    return float(run.dsr_bound[0] / dsr - 1) if run.num_met else np.nan


@register_metric(
    "dsr_bound_name",
    unit="text",
    summary="Which bound `dsr_bound` is.",
    needs=("deadlines",),
    rank=220,
)
def _dsr_bound_name(run: RunFacts) -> str:
    return run.dsr_bound[1]
