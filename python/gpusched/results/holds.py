"""What kept jobs out of the queue, and when jobs were cancelled."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

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


class Condition(NamedTuple):
    """A dependency on another job: its kind, and the time after a start, in microseconds.

    ``decided_us`` is when it was met or became impossible, -1 if neither.
    """

    target: int
    kind: int
    delay_us: int
    decided_us: int
    is_met: bool


class HoldCauses:
    """The holds of a run, by the dependencies of its trace and the ends of its jobs.

    ``is_ruled_out``: which jobs were cancelled because their dependencies can never be met.
    ``cancelled_us``: when each job was cancelled; -1 for others.
    """

    def __init__(self, result: RunLog) -> None:
        trace, schedule = result.trace, result.schedule
        self._trace, self._schedule, self._rows = trace, schedule, result.intervals
        self._status = np.asarray(schedule.status)
        # An older run may have dependencies that no run can read.
        has_holds = len(schedule.eligible_us) > 0
        self._columns = holds_of(trace).columns if has_holds else {}
        self.is_ruled_out: Bool = np.zeros(len(trace), np.bool_)
        self.cancelled_us = cancelled_us(trace, schedule)
        if has_holds and result.spec.kill_invalid_depend:
            self.is_ruled_out = (self._status == CANCELLED) & (schedule.eligible_us == NEVER)
            self.cancelled_us[self.is_ruled_out] = -1
        if self.is_ruled_out.any():
            self.cancelled_us[self.is_ruled_out] = self._ends_us[self.is_ruled_out]

    @cached_property
    def _ends_us(self) -> Int64:
        """When each job was over, also by a reject or a cancellation; -1: it was not."""
        ends_us = np.maximum(over_us(self._schedule, self._rows), self.cancelled_us)
        is_rejected = self._status == REJECTED
        ends_us[is_rejected] = self._trace.submit_us[is_rejected]
        left = {*np.flatnonzero(self.is_ruled_out).tolist()}
        stack = [*left]
        while stack:  # each after those that it waits for
            found = self._conditions(stack[-1], ends_us)
            if first := left.intersection(each.target for each in found):
                stack += first
                continue
            job = stack.pop()
            lost_us = [each.decided_us for each in found if not each.is_met]
            when_us = max(lost_us) if self.is_any(job) else min(us for us in lost_us if us >= 0)
            ends_us[job] = max(when_us, self._trace.submit_us[job])
            left.discard(job)
        return ends_us

    def is_any(self, job: int) -> bool:
        """Return whether one of the job's conditions suffices."""
        some = self._columns.get("dependency_any")
        return some is not None and bool(some[job])

    def conditions(self, job: int) -> list[Condition]:
        """Return the dependencies of a job, in the order of their columns."""
        return self._conditions(job, self._ends_us)

    def _conditions(self, job: int, ends_us: Int64) -> list[Condition]:
        columns = self._columns
        if "dependency_begin" not in columns:
            return []
        rows = slice(*columns["dependency_begin"][job : job + 2].tolist())
        targets, kinds = columns["dependency_target"][rows], columns["dependency_kind"][rows]
        none = np.zeros(rows.stop, np.int64)
        delays = columns.get("dependency_delay_us", none)[rows]
        pairs = zip(targets.tolist(), kinds.tolist(), delays.tolist(), strict=True)
        return [self._condition(*each, ends_us) for each in pairs]

    def _condition(self, target: int, kind: int, delay_us: int, ends_us: Int64) -> Condition:
        end_us, start_us = int(ends_us[target]), int(self._schedule.start_us[target])
        if kind == START and start_us >= 0:
            # A start is decided after the releases of its instant.
            return Condition(target, kind, delay_us, start_us + (delay_us or 1), True)
        if end_us < 0:
            return Condition(target, kind, delay_us, -1, False)
        failed = self._columns.get("exit_failed")
        is_ok = self._status[target] == FINISHED and not (failed is not None and failed[target])
        is_met = not (kind == SUCCESS and not is_ok) and not (kind == FAILURE and is_ok)
        return Condition(target, kind, delay_us, end_us + delay_us, is_met)
