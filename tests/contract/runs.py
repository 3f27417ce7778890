"""A run of any policy and placement on the golden workload, and what must hold of every run."""

from typing import Any

import numpy as np

import gpusched as gs
from gpusched.plugins.policy import Choice
from tests.golden import workload as golden

CLUSTER = golden.cluster()
POOLED = {"plain": golden.trace(is_typed=False), "urgent": golden.urgent(is_typed=False)}
URGENT = golden.urgent(is_typed=True)
TYPED = {"plain": golden.trace(is_typed=True), "urgent": URGENT}
DEMANDING, ROOMY_CLUSTER = golden.demanding(), golden.roomy_cluster()
NETWORKED, NETWORKED_CLUSTER = golden.networked(), golden.networked_cluster()
FINISHED, REJECTED = 0, 1
NO_CONFIGURATION = 4


def run(
    policy: Any, placement: Any = "consolidated", *, jobs: gs.Trace | None = None, **options: Any
) -> gs.Result:
    """Simulate the golden workload; jobs are restricted to GPU types where servers are known.

    What a policy has a flag for the jobs have: deadlines, and there widths to choose from.
    """
    workload, speed = golden.fitting(name_of(policy))
    if "pooled" in gs.placements()[name_of(placement)].flags:
        jobs, speed = jobs or POOLED[workload], "fixed"
    else:
        jobs = jobs or TYPED[workload]
    # All jobs have estimates, and what is asked here is what policies make of the truth.
    options = {"speed": speed, "predictor": "oracle"} | options
    return gs.simulate(jobs, CLUSTER, policy=policy, placement=placement, **options)


def name_of(chosen: Any) -> str:
    """The registered name of what is chosen by text or by an object."""
    return chosen.partition(":")[0] if isinstance(chosen, str) else chosen.name


def run_demanding(placement: Any, policy: Any = "fifo") -> gs.Result:
    """Simulate the jobs that ask for shares, CPU and memory."""
    return gs.simulate(DEMANDING, ROOMY_CLUSTER, policy=policy, placement=placement)


def run_urgent(speed: Any, policy: Any = "srtf", placement: Any = "consolidated") -> gs.Result:
    """Simulate the jobs with deadlines and widths at a speed, on servers with links."""
    return gs.simulate(
        URGENT, NETWORKED_CLUSTER, policy=policy, placement=placement, speed=speed, verify=True
    )


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
    if isinstance(chosen, gs.plugins.PlacementChoice):
        return run(beside or "srtf", chosen)
    if isinstance(chosen, gs.plugins.SpeedChoice):
        return run_networked(beside or "srtf", speed=chosen)
    return run_networked(beside or "srtf", speed="ring", contention=chosen)


def check(result: gs.Result) -> None:
    """The schedule is possible, complete and honestly reported."""
    result.audit().raise_if_bad()
    status, gpus = result.schedule.status, result.trace.gpus
    assert np.isin(status, [FINISHED, REJECTED]).all()
    fits_nowhere = (gpus > CLUSTER.num_gpus) | ~has_a_type(result.trace)
    fits_anywhere = (gpus <= CLUSTER.server_gpus.min()) & has_a_type(result.trace)
    fits_anywhere &= result.schedule.reason != NO_CONFIGURATION  # the audit knows whether it is so
    assert (status[fits_nowhere] == REJECTED).all()
    if result.trace.cpu_milli is None:  # else a server may lack CPU or memory
        assert (status[fits_anywhere] == FINISHED).all()


def has_a_type(jobs: gs.Trace) -> np.ndarray:
    """Whether the cluster has a GPU type that the job allows."""
    allowed = jobs.allowed_types or [()] * len(jobs)
    return np.array([not types or bool(set(types) & set(CLUSTER.gpu_types)) for types in allowed])
