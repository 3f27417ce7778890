"""A run of the core that begins in the midst of a real one, to be asked."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.draws import check_seed
from gpusched.base.files import naming
from gpusched.base.ticks import seconds_to_us
from gpusched.deciding.cluster_state import ClusterState
from gpusched.engine.core_description import described
from gpusched.engine.seams import Chosen, policy_seam
from gpusched.plugins.policy import ContentionChoice, Policy, SpeedChoice
from gpusched.specs.case import job_columns
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
    is_of_the_queue = _is_of_the_queue(policy, placement, state) and _holds_allowed_types(state)
    if len(state.held_job) and is_of_the_queue:
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
    columns = job_table(state, uses_estimates=uses_estimates, rows=rows)
    standing = standing_of(state) if rows is None else _standing_queue(state, rows)
    description = description_of(policy, placement, seed)
    cluster = core_cluster(state.cluster)
    with refused(policy, placement):
        return _core.Run(_core.JobTable(**columns), cluster, description, standing=standing)


def job_table(
    state: ClusterState, *, uses_estimates: bool, rows: Int64 | None = None
) -> dict[str, Any]:
    """Return the arguments of the core's job table.

    Parameters
    ----------
    rows
        The jobs that the table is to have; default: all.
    """
    columns = job_columns(state.jobs, state.cluster, uses_estimates=uses_estimates)
    if rows is not None:
        columns = {
            name: values[rows] if name != "type_masks" else values
            for name, values in columns.items()
        }
    columns["predicted_us"] = columns["service_us"]
    return columns


def standing_of(state: ClusterState, first_us: int | None = None) -> _core.Standing:
    """Return what a run of the core begins with.

    Parameters
    ----------
    first_us
        When it first decides, unless something happens before; default: at the state's time.
    """
    start_us = np.full(len(state.jobs), -1, np.int64)
    running = state.is_running
    start_us[running] = seconds_to_us(state.start_s[running])
    return _core.Standing(
        state.now_us,
        first_us=first_us,
        attained_us=seconds_to_us(state.attained_s),
        start_us=start_us,
        cost_us=seconds_to_us(state.cost_s),
        preemptions=state.preemptions,
        added_us=added_us(state),
        held_job=state.held_job,
        held_server=state.held_server,
        held_mask=state.held_mask,
    )


def added_us(state: ClusterState) -> Int64:
    """Return the work added to each job; -1: what the policy adds."""
    is_told = ~np.isnan(state.added_s)
    added: Int64 = np.full(len(state.jobs), -1, np.int64)
    added[is_told] = seconds_to_us(state.added_s[is_told])
    return added


def _standing_queue(state: ClusterState, rows: Int64) -> _core.Standing:
    """Return the same of a run of these jobs alone, which wait; what others hold stays held."""
    nothing = np.zeros(len(rows), np.int64)
    return _core.Standing(
        state.now_us,
        attained_us=seconds_to_us(state.attained_s[rows]),
        start_us=nothing - 1,
        cost_us=nothing,
        preemptions=state.preemptions[rows],
        added_us=added_us(state)[rows],
        held_job=state.held_job - len(state.jobs),
        held_server=state.held_server,
        held_mask=state.held_mask,
    )


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


def _holds_allowed_types(state: ClusterState) -> bool:
    """Whether no running job holds a GPU of a type that it does not allow."""
    if state.jobs.type_set is None:
        return True
    kinds = state.cluster.gpu_types
    is_allowed = np.array(
        [[not names or kind in names for kind in kinds] for names in state.jobs.type_sets]
    )
    sets = state.jobs.type_set[state.held_job]
    return bool(is_allowed[sets, state.cluster.server_type[state.held_server]].all())


def refused(policy: Chosen, placement: Chosen) -> AbstractContextManager[None]:
    """Have errors of the core name the policy and the placement."""
    return naming(f"policy {policy.label}, placement {placement.label}")


def description_of(policy: Chosen, placement: Chosen, seed: int) -> _core.RunDescription:
    """Return what the core is told of a run in which jobs run for their service."""
    return described(policy, placement, _FIXED, _ALONE, check_seed(seed))


_FIXED: Final = SpeedChoice("fixed")
_ALONE: Final = ContentionChoice("none")
