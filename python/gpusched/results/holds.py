"""What kept jobs out of the queue, and when jobs were cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.schedules.schedule import (
    CANCELLED,
    FINISHED,
    NEVER,
    REJECTED,
    cancelled_us,
    over_us,
)
from gpusched.traces.dependencies import holds_of

if TYPE_CHECKING:
    from gpusched.results.cost import RunLog

START: Final = 0
SUCCESS: Final = 2
FAILURE: Final = 3
"""Kinds of dependencies; 1 is the end of the target, however it ends."""


@dataclass(frozen=True)
class Condition:
    """A dependency of a job on another one.

    Attributes
    ----------
    target
        JobId of the other one.
    kind
        What of it: 0 its start, 1 its end, 2 its success, 3 its failure.
    delay_us
        Time after its start, microseconds.
    decided_us
        When it was met, or became impossible, microseconds; -1 if neither.
    is_met
        Whether it was met.
    """

    target: int
    kind: int
    delay_us: int
    decided_us: int
    is_met: bool


class HoldCauses:
    """The holds of a run, by the dependencies of its trace and the ends of its jobs."""

    def __init__(self, result: RunLog) -> None:
        self._trace, self._schedule, self._rows = result.trace, result.schedule, result.intervals
        self._status = np.asarray(result.schedule.status)
        # An older run may have dependencies that no run can read.
        has_holds = len(self._schedule.eligible_us) > 0
        self._columns = holds_of(result.trace).columns if has_holds else {}
        is_ruled_out: Bool = np.zeros(len(self._trace), np.bool_)
        if has_holds and result.spec.kill_invalid_depend:
            is_ruled_out = (self._status == CANCELLED) & (self._schedule.eligible_us == NEVER)
        self.is_ruled_out = is_ruled_out
        """Which jobs were cancelled because their dependencies can never be met."""

    @cached_property
    def ends_us(self) -> Int64:
        """When each job was over, also by a reject or a cancellation; -1: it was not."""
        ends_us = np.maximum(over_us(self._schedule, self._rows), self._taken_back_us)
        is_rejected = self._status == REJECTED
        ends_us[is_rejected] = self._trace.submit_us[is_rejected]
        left = {*np.flatnonzero(self.is_ruled_out).tolist()}
        stack = [*left]
        while stack:  # each after those that it waits for
            job = stack[-1]
            if first := left.intersection(self._targets(job)) - {job}:
                stack += first
                continue
            stack.pop()
            if job in left:
                left.discard(job)
                ends_us[job] = self._ruled_out_us(job, ends_us)
        return ends_us

    @property
    def cancelled_us(self) -> Int64:
        """When each job was cancelled; -1 for others."""
        return np.where(self.is_ruled_out, self.ends_us, self._taken_back_us)

    @cached_property
    def _taken_back_us(self) -> Int64:
        times_us = cancelled_us(self._trace, self._schedule)
        return np.where(self.is_ruled_out, -1, times_us)

    def is_any(self, job: int) -> bool:
        """Return whether one of the job's conditions suffices."""
        some = self._columns.get("dependency_any")
        return some is not None and bool(some[job])

    def conditions(self, job: int) -> list[Condition]:
        """Return the dependencies of a job, in the order of their columns."""
        return self._conditions(job, self.ends_us)

    def _conditions(self, job: int, ends_us: Int64) -> list[Condition]:
        columns = self._columns
        if "dependency_begin" not in columns:
            return []
        begin, end = columns["dependency_begin"][job : job + 2].tolist()
        kinds = columns["dependency_kind"][begin:end].tolist()
        delays = columns.get("dependency_delay_us", np.zeros(end))[begin:end].tolist()
        pairs = zip(self._targets(job), kinds, delays, strict=True)
        return [self._condition(*each, ends_us) for each in pairs]

    def _targets(self, job: int) -> list[int]:
        begin, end = self._columns["dependency_begin"][job : job + 2].tolist()
        targets: list[int] = self._columns["dependency_target"][begin:end].tolist()
        return targets

    def _condition(self, target: int, kind: int, delay_us: int, ends_us: Int64) -> Condition:
        end_us, start_us = int(ends_us[target]), int(self._schedule.start_us[target])
        if kind == START:
            # Its start is decided after the releases of that instant.
            since_us = start_us + (delay_us or 1) if start_us >= 0 else end_us + delay_us
            is_met = max(start_us, end_us) >= 0
            return Condition(target, kind, delay_us, since_us if is_met else -1, is_met)
        is_over = end_us >= 0
        is_met = is_over and not (kind in (SUCCESS, FAILURE) and self._is_other(target, kind))
        return Condition(target, kind, delay_us, end_us, is_met)

    def _is_other(self, target: int, kind: int) -> bool:
        """Return whether the target ended in the other way."""
        failed = self._columns.get("exit_failed")
        is_ok = self._status[target] == FINISHED and not (failed is not None and failed[target])
        return bool(is_ok == (kind == FAILURE))

    def _ruled_out_us(self, job: int, ends_us: Int64) -> int:
        """Return when the dependencies of an arrived job could never be met any more."""
        found = self._conditions(job, ends_us)
        times_us = [each.decided_us for each in found if each.decided_us >= 0 and not each.is_met]
        when_us = max(times_us) if self.is_any(job) else min(times_us)
        return max(when_us, int(self._trace.submit_us[job]))
