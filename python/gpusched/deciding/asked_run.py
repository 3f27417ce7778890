"""A run of the core that begins in the midst of a real one, to be asked."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.draws import check_seed
from gpusched.base.files import naming
from gpusched.deciding.cluster_state import ClusterState
from gpusched.engine.core_description import described
from gpusched.engine.seams import Chosen, policy_seam
from gpusched.plugins.policy import ContentionChoice, Policy, SpeedChoice
from gpusched.specs.core_tables import core_cluster


def asked(policy: str | Policy | _core.Order | _core.Scheduler) -> Chosen:
    """Return a policy to be asked once, without what came before.

    Raises
    ------
    ValueError
        If it is a scheduler of Python that is named, so that it would remember nothing; or as of
        :func:`gpusched.simulate`.
    """
    chosen = policy_seam(policy)
    is_object = isinstance(policy, _core.Order | _core.Scheduler)
    if not is_object and isinstance(chosen.native, _core.Scheduler):
        raise ValueError(
            f"policy: {chosen.label} is written in Python and may remember its decisions; give an "
            "object of its class, which is asked as it is"
        )
    return chosen


def standing_run(state: ClusterState, policy: Chosen, placement: Chosen, seed: int) -> _core.Run:
    """Return a run of all jobs that begins at the state, before its first decision."""
    return _begun(state, policy, placement, seed, None)


def shortest_run(
    state: ClusterState, policy: Chosen, placement: Chosen, seed: int
) -> tuple[_core.Run, Int64 | None]:
    """Return a run that takes the same first decision, and its jobs; None: all.

    Where the decision looks at free GPUs and waiting jobs alone, the run has no others.
    """
    if len(state.held_job) and _is_of_the_queue(policy, placement, state):
        rows = np.flatnonzero(~state.is_running)
        try:
            return _begun(state, policy, placement, seed, rows), rows
        except ValueError:
            pass  # the run of all jobs names the one that is wrong
    return _begun(state, policy, placement, seed, None), None


def _begun(
    state: ClusterState, policy: Chosen, placement: Chosen, seed: int, rows: Int64 | None
) -> _core.Run:
    uses_estimates = policy.has("estimate")
    columns = state.core_columns(uses_estimates=uses_estimates, rows=rows)
    standing = state.standing() if rows is None else state.standing_queue(rows)
    description = description_of(policy, placement, seed)
    cluster = core_cluster(state.cluster)
    with refused(policy, placement):
        return _core.Run(_core.JobTable(**columns), cluster, description, standing=standing)


def _is_of_the_queue(policy: Chosen, placement: Chosen, state: ClusterState) -> bool:
    """Whether neither running jobs nor the rows of jobs decide who starts where."""
    jobs = state.jobs
    asks_for_more = (jobs.share_milli, jobs.cpu_milli, jobs.memory_mib)
    return (
        policy.info.kind == "order"
        and isinstance(policy.native, str)
        and isinstance(placement.native, str)
        and not policy.has("preemptive")
        and not policy.has("random")
        and not placement.has("random")
        and not placement.has("pooled")
        and all(column is None for column in asks_for_more)
        and not state.is_running.all()
    )


def refused(policy: Chosen, placement: Chosen) -> AbstractContextManager[None]:
    """Have errors of the core name the policy and the placement."""
    return naming(f"policy {policy.label}, placement {placement.label}")


def description_of(policy: Chosen, placement: Chosen, seed: int) -> _core.RunDescription:
    """Return what the core is told of a run in which jobs run for their service."""
    return described(policy, placement, _FIXED, _ALONE, check_seed(seed))


_FIXED: Final = SpeedChoice("fixed")
_ALONE: Final = ContentionChoice("none")
