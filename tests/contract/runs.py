"""A run of any policy and placement on the golden workload, and what must hold of every run."""

from __future__ import annotations

from typing import Any

import numpy as np

import gpusched as gs
from gpusched.policy import Choice
from tests.golden.workload import cluster, networked, networked_cluster, trace

CLUSTER = cluster()
UNTYPED, TYPED = trace(is_typed=False), trace(is_typed=True)
NETWORKED, NETWORKED_CLUSTER = networked(), networked_cluster()
FINISHED, REJECTED = 0, 1


def run(policy: Any, placement: Any = "consolidated", **options: Any) -> gs.Result:
    """Simulate the golden workload; jobs are restricted to GPU types where servers are known."""
    name = placement if isinstance(placement, str) else placement.name
    jobs = UNTYPED if "pooled" in gs.placements()[name].flags else TYPED
    return gs.simulate(jobs, CLUSTER, policy=policy, placement=placement, **options)


def run_networked(policy: Any = "fifo", placement: Any = "spread", **options: Any) -> gs.Result:
    """Simulate the jobs with profiles on the servers with links, verifying every rate."""
    return gs.simulate(
        NETWORKED, NETWORKED_CLUSTER, policy=policy, placement=placement, verify=True, **options
    )


def run_choice(chosen: Choice, beside: str | None = None) -> gs.Result:
    """Simulate what was chosen, of whatever kind.

    ``beside`` is the placement of a policy, the policy of all others.
    """
    if isinstance(chosen, gs.Policy):
        return run(chosen, beside or "consolidated")
    if isinstance(chosen, gs.PlacementChoice):
        return run(beside or "srtf", chosen)
    if isinstance(chosen, gs.SpeedChoice):
        return run_networked(beside or "srtf", speed=chosen)
    return run_networked(beside or "srtf", speed="ring", contention=chosen)


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
