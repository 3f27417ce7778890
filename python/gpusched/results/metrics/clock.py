"""How long the simulation took."""

from __future__ import annotations

import numpy as np

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "wall_s",
    unit="s",
    summary="Time that the simulation took.",
    definition="time of the simulation",
    better="lower",
    needs=("clock",),
    label="wall time",
    short="wall|time",
    group="run",
    table="main",
    place=230,
    gives_way=1,
    window="run",
    rank=900,
)
def _wall_s(run: RunFacts) -> float:
    assert run.wall_s is not None
    return run.wall_s


@register_metric(
    "jobs_per_s",
    unit="1/s",
    summary="Jobs simulated per second of wall time.",
    definition="jobs over that time",
    better="higher",
    needs=("clock",),
    label="jobs/s",
    short="jobs/s",
    group="run",
    table="main",
    place=250,
    gives_way=2,
    window="run",
    rank=910,
)
def _jobs_per_s(run: RunFacts) -> float:
    assert run.wall_s is not None
    return len(run.trace) / run.wall_s if run.wall_s > 0 else np.inf
