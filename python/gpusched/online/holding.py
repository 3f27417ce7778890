"""Why jobs of a cluster state are held: their own columns, and what their source says."""

from __future__ import annotations

import dataclasses
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, read_only
from gpusched.specs.case import holds_of, job_columns
from gpusched.traces.dependencies import KINDS
from gpusched.traces.job_columns import HELD, NOT_GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusched.online.cluster_state import ClusterState
    from gpusched.traces.workload import Trace

UNMET: Final = "(unfulfilled)"
"""In the text of a dependency, as squeue writes it: not met at the time of the state."""
_AFTER: Final = KINDS.index("after")
_PER_JOB: Final = {column.name for column in _core.JOB_COLUMNS if column.per == "job"}


def holds_now(state: ClusterState) -> dict[int, str]:
    """Return why waiting jobs are held at the time of the state, by row.

    The rules are those of a run, and a dependency that its source calls unfulfilled is not met.
    """
    jobs, waits = state.jobs, ~state.is_running
    why = {row: text for row, text in enumerate(state.hold) if text and waits[row]}
    held = holds_of(jobs)
    if held is None:
        return why

    def hold(is_held: AnyArray, text: Callable[[int], str]) -> None:
        for row in np.flatnonzero(is_held & waits).tolist():
            why.setdefault(row, text(row))

    if jobs.eligible_us is not None:
        eligible_us = jobs.eligible_us
        hold(eligible_us > state.now_us, lambda row: _until(jobs, int(eligible_us[row])))
    if jobs.dependency is not None:
        texts, codes = jobs.dependency.names, jobs.dependency.codes
        is_said = np.array([UNMET in text for text in texts], np.bool_)[codes]
        hold(is_said | _is_unmet(state, held.columns), lambda row: f"waits for {texts[codes[row]]}")
    if "array" in held.columns:
        array, limit = held.columns["array"], held.columns["array_limit"]
        left = limit - np.bincount(array[state.is_running & (array >= 0)], minlength=len(limit))
        for row in np.flatnonzero(waits & (array >= 0)).tolist():
            each = array[row]
            if row in why or limit[each] == NOT_GIVEN:
                continue
            if left[each] <= 0:
                why[row] = f"array_limit is {limit[each]}, which is reached"
            left[each] -= 1
    return why


def _until(jobs: Trace, eligible_us: int) -> str:
    if eligible_us >= HELD:
        return "for good"
    if jobs.epoch is None:
        return f"until {eligible_us / 1e6:g} s"
    at = jobs.epoch + timedelta(seconds=jobs.origin_s, microseconds=eligible_us)
    return f"until {at.astimezone(UTC) if at.tzinfo else at}"


def _is_unmet(state: ClusterState, columns: dict[str, AnyArray]) -> AnyArray:
    """Return whether the dependencies of each job on others of the state are not met."""
    num_jobs = len(state.jobs)
    if "dependency_begin" not in columns:
        return np.zeros(num_jobs, np.bool_)
    num_all = np.diff(columns["dependency_begin"])
    target, job = columns["dependency_target"], np.repeat(np.arange(num_jobs), num_all)
    start_s = np.where((state.attained_s > 0) | (state.preemptions > 0), state.now_s, np.inf)
    start_s = np.where(state.is_running, state.start_s, start_s)
    due_s = start_s[target] + columns.get("dependency_delay_us", np.zeros(len(job))) / 1e6
    # All targets are in the state, so none has ended.
    is_met = (columns["dependency_kind"] == _AFTER) & (due_s <= state.now_s)
    num_met = np.bincount(job[is_met], minlength=num_jobs)
    is_any = columns.get("dependency_any", np.zeros(num_jobs, np.bool_))
    found: AnyArray = np.where(is_any, num_met == 0, num_met < num_all) & (num_all > 0)
    return found


def hold_columns(state: ClusterState) -> dict[str, Any]:
    """Return the columns of the core that hold jobs of the state during a run."""
    jobs = state.jobs
    is_held = np.array([bool(text) for text in state.hold], np.bool_)
    if is_held.any():
        known = np.full(len(jobs), NOT_GIVEN) if jobs.eligible_us is None else jobs.eligible_us
        jobs = dataclasses.replace(jobs, eligible_us=read_only(np.where(is_held, HELD, known)))
    jobs = dataclasses.replace(jobs, cancel_at_us=None)
    held = holds_of(jobs)
    if held is None:
        return {}
    columns = job_columns(jobs, state.cluster, uses_estimates=False, holds=True)
    return {name: columns[name] for name in held.columns}


def extended(columns: dict[str, Any], more: int) -> dict[str, Any]:
    """Return the columns of :func:`hold_columns` for so many more jobs, which are not held."""
    found = dict(columns)
    for name in found.keys() & _PER_JOB:
        none = NOT_GIVEN if name in ("array", "eligible_us") else 0
        found[name] = np.pad(found[name], (0, more), constant_values=none)
    if "dependency_begin" in found:
        found["dependency_begin"] = np.pad(found["dependency_begin"], (0, more), mode="edge")
    return found
