"""Jobs that are held or cancelled: when each joined the queue, by the log and the jobs alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept
from gpusched.model.outages import NEVER_US

AFTER, AFTERANY, AFTEROK, AFTERNOTOK = range(4)
"""Kinds of dependencies."""

UNTIL_NEVER: Final = -2
"""The eligible time of a job whose dependencies can never be met."""


@dataclass(frozen=True)
class Ends:
    """What the log and the warnings say of the jobs of the trace.

    ``started_us``: first starts; -1: none.
    ``ended_us``: when jobs finished, were killed, failed or were rejected; ``NEVER_US``: they did
        not.
    ``is_ok``: whether they finished, and their exit was ok.
    ``stopped_us``: when a call of an open run cancelled them; ``NEVER_US``: none did.
    """

    started_us: Int64
    ended_us: Int64
    is_ok: Bool
    stopped_us: Int64


@dataclass(frozen=True)
class Holds:
    """When jobs joined the queue and were cancelled, microseconds; ``NEVER_US``: they were not.

    ``begin_us``: when they had arrived, and their own eligible time had come.
    ``ready_us``: when their dependencies were met, too.
    ``queued_us``: when they joined the queue: their array had room, too.
    ``lost_us``: when they had arrived, and their dependencies could never be met any more.
    ``due_us``: when a job must be cancelled at the latest, unless it is over.
    ``gone_us``: when a job that did not end in another way was cancelled.
    ``over_us``: when they were over, in whatever way.
    ``is_never``: whether their dependencies could never be met while they were there.
    ``instants_us``: the instants that this makes besides those of the log.
    """

    begin_us: Int64
    ready_us: Int64
    queued_us: Int64
    lost_us: Int64
    due_us: Int64
    gone_us: Int64
    over_us: Int64
    is_never: Bool
    instants_us: Int64

    @classmethod
    def of(
        cls, columns: Mapping[str, AnyArray], submit_us: Int64, ends: Ends, *, kills: bool
    ) -> Holds:
        """Derive them from the columns of the jobs; missing ones may be left out or empty.

        ``kills``: jobs whose dependencies can never be met are cancelled.
        """
        num_jobs = len(submit_us)
        begin_us = np.maximum(submit_us, _column(columns, "eligible_us", num_jobs))
        cancel_us = _column(columns, "cancel_at_us", num_jobs)
        cancel_us = np.where(cancel_us < 0, NEVER_US, cancel_us)
        is_open = ends.ended_us == NEVER_US
        stop_us = np.minimum(cancel_us, ends.stopped_us)
        whole_us = np.where(is_open, stop_us, ends.ended_us)
        over_us = whole_us.copy()
        met_us, lost_us = np.zeros(num_jobs, np.int64), np.full(num_jobs, NEVER_US)
        conditions = Conditions.of(columns, num_jobs)
        jobs = conditions.owner
        while len(jobs):
            met_us[jobs], lost_us[jobs] = conditions.judge(jobs, ends, over_us)
            lost_us[jobs] = np.maximum(submit_us[jobs], lost_us[jobs])
            ruled_out = jobs[(lost_us[jobs] < over_us[jobs]) & is_open[jobs] & kills]
            over_us[ruled_out] = lost_us[ruled_out]
            jobs = conditions.of_targets(ruled_out)  # which may be decided by it
        ready_us = np.minimum(np.maximum(begin_us, met_us), NEVER_US)
        has_run = ends.started_us >= 0
        queued_us = np.where((ready_us < over_us) | has_run, ready_us, NEVER_US)
        for tasks, limit in _limited(columns, num_jobs):
            queued_us[tasks] = _in_turn(ready_us[tasks], over_us[tasks], has_run[tasks], limit)
        waking = (submit_us < ready_us) & (ready_us < over_us)
        cancels = (cancel_us <= over_us) & (cancel_us < NEVER_US)
        return cls(
            begin_us,
            ready_us,
            queued_us,
            lost_us,
            due_us=np.minimum(cancel_us, lost_us) if kills else cancel_us,
            gone_us=np.where(is_open, over_us, NEVER_US),
            over_us=over_us,
            is_never=lost_us < whole_us,
            instants_us=np.concatenate((ready_us[waking], cancel_us[cancels])),
        )

    @property
    def eligible_us(self) -> Int64:
        """The column of a schedule."""
        never = np.where(self.is_never, UNTIL_NEVER, -1)
        return np.where(self.queued_us < NEVER_US, self.queued_us, never)


def _column(columns: Mapping[str, AnyArray], name: str, size: int) -> Int64:
    column = np.asarray(columns.get(name, ()), np.int64)
    return column if len(column) else np.full(size, -1)


def _spread(begin: Int64, size: Int64) -> Int64:
    """Return the places of ranges, one after the other."""
    before = np.cumsum(size) - size
    places: Int64 = np.repeat(begin - before, size) + np.arange(int(size.sum()))
    return places


@dataclass(frozen=True)
class Conditions:
    """What jobs wait for: one entry per job and target, and per job that has any.

    ``target``, ``kind``, ``delay_us``: of each condition.
    ``begin``, ``is_any``: the first condition of each job, and of one more; and whether one of them
        suffices.
    ``owner``: jobs with conditions.
    """

    target: Int64
    kind: AnyArray
    delay_us: Int64
    begin: Int64
    is_any: Bool
    owner: Int64

    @classmethod
    def of(cls, columns: Mapping[str, AnyArray], num_jobs: int) -> Conditions:
        """Read them from the columns of the jobs."""
        begin = _column(columns, "dependency_begin", num_jobs + 1)
        target = np.asarray(columns.get("dependency_target", ()), np.int64)
        return cls(
            target,
            np.asarray(columns.get("dependency_kind", ()), np.uint8),
            np.maximum(_column(columns, "dependency_delay_us", len(target)), 0),
            begin,
            _column(columns, "dependency_any", num_jobs) > 0,
            np.flatnonzero(np.diff(begin)),
        )

    @kept
    def _by_target(self) -> tuple[Int64, Int64]:
        """Targets in order, and the jobs that wait for them."""
        order = np.argsort(self.target, kind="stable")
        owner = np.repeat(np.arange(len(self.is_any)), np.diff(self.begin))
        return self.target[order], owner[order]

    def of_targets(self, jobs: Int64) -> Int64:
        """Return the jobs that wait for any of these."""
        target, owner = self._by_target
        begin, end = (np.searchsorted(target, jobs, side=side) for side in ("left", "right"))
        return np.unique(owner[_spread(begin, end - begin)])

    def judge(self, jobs: Int64, ends: Ends, over_us: Int64) -> tuple[Int64, Int64]:
        """Return when the conditions of some jobs are met, and when they can never be any more.

        ``over_us`` is when each job of the trace was over.
        """
        size = self.begin[jobs + 1] - self.begin[jobs]
        which = _spread(self.begin[jobs], size)
        target, kind, delay_us = self.target[which], self.kind[which], self.delay_us[which]
        is_ok, over_us = ends.is_ok[target], over_us[target]
        fails = np.where(kind == AFTEROK, ~is_ok, (kind == AFTERNOTOK) & is_ok)
        started_us = ends.started_us[target]
        # A start is decided after the releases of its instant, and releases at the next tick.
        after_us = np.where(
            started_us >= 0,
            started_us + np.maximum(delay_us, 1),
            np.minimum(over_us + delay_us, NEVER_US),
        )
        met = np.where(kind == AFTER, after_us, np.where(fails, NEVER_US, over_us))
        lost = np.where(fails, over_us, NEVER_US)
        least, most = np.minimum.reduceat, np.maximum.reduceat
        first, is_any = np.cumsum(size) - size, self.is_any[jobs]
        return (
            np.where(is_any, least(met, first), most(met, first)),
            np.where(is_any, most(lost, first), least(lost, first)),
        )


def _limited(columns: Mapping[str, AnyArray], num_jobs: int) -> list[tuple[Int64, int]]:
    """Return the tasks of each array, by JobId, and its limit, where it has fewer."""
    limits = np.asarray(columns.get("array_limit", ()), np.int64)
    array = _column(columns, "array", num_jobs)
    counts = np.bincount(array[array >= 0], minlength=len(limits))[: len(limits)]
    by_array = np.argsort(array, kind="stable")
    first = np.searchsorted(array[by_array], np.arange(len(limits)))
    return [
        (by_array[first[of] : first[of] + counts[of]], int(limits[of]))
        for of in np.flatnonzero((limits > 0) & (limits < counts)).tolist()
    ]


def _in_turn(ready_us: Int64, over_us: Int64, has_run: Bool, limit: int) -> Int64:
    """Return when the tasks of an array join the queue: at most so many are there at a time.

    Of those that are ready the first one does. One that is over by then does not, unless the log
    has a run of it.
    """
    queued_us = np.full(len(ready_us), NEVER_US)
    times, ready = over_us.tolist(), ready_us.tolist()
    coming = deque(sorted((us, task) for task, us in enumerate(ready) if us < NEVER_US))
    line: list[int] = []
    ends: list[int] = []  # when those in the queue are over
    while coming or line:
        now = min(coming[0][0] if coming else NEVER_US, ends[0] if line else NEVER_US)
        if now >= NEVER_US:
            break
        while ends and ends[0] <= now:
            heappop(ends)
        while coming and coming[0][0] == now:
            heappush(line, coming.popleft()[1])
        while line and len(ends) < limit:
            task = heappop(line)
            if times[task] > now or has_run[task]:
                queued_us[task] = now
            if times[task] > now:
                heappush(ends, times[task])
    return queued_us
