"""A run of any policy and placement on the golden workload, and what must hold of every run."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpusched as gs
from tests.golden.workload import cluster, trace

CLUSTER = cluster()
UNTYPED, TYPED = trace(is_typed=False), trace(is_typed=True)
FINISHED, REJECTED = 0, 1


def run(policy: Any, placement: Any = "consolidated", **options: Any) -> gs.Result:
    """Simulate the golden workload; jobs are restricted to GPU types where servers are known."""
    name = placement if isinstance(placement, str) else placement.name
    jobs = UNTYPED if "pooled" in gs.placements()[name].flags else TYPED
    return gs.simulate(jobs, CLUSTER, policy=policy, placement=placement, **options)


def check(result: gs.Result) -> None:
    """The schedule is possible, complete and honestly reported."""
    result.audit().raise_if_bad()
    status, gpus = result.schedule.status, result.trace.gpus
    assert np.isin(status, [FINISHED, REJECTED]).all()
    fits_nowhere = (gpus > CLUSTER.num_gpus) | ~has_a_type(result.trace)
    fits_anywhere = (gpus <= CLUSTER.server_gpus.min()) & has_a_type(result.trace)
    assert (status[fits_nowhere] == REJECTED).all()
    assert (status[fits_anywhere] == FINISHED).all()


def has_a_type(jobs: gs.Trace) -> np.ndarray:
    """Whether the cluster has a GPU type that the job allows."""
    allowed = jobs.allowed_types or [()] * len(jobs)
    return np.array([not types or bool(set(types) & set(CLUSTER.gpu_types)) for types in allowed])
