"""A scheduler that starts and stops jobs as a schedule has it, whatever policy made that."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable

from gpusched.reference.engine import Engine
from gpusched.reference.lists import NonPreemptive
from gpusched.reference.model import Active, Allocation, Row


class Follower(NonPreemptive):
    """Repeats the intervals of a schedule; that a job ends, and when, is left to the engine."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.ends: dict[tuple[int, int], int] = {}
        self.starts: defaultdict[int, defaultdict[int, Allocation]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for job, start, end, server, mask in rows:
            self.starts[start][job][server] = mask
            self.ends[job, start] = end
        self.instants = sorted({*self.starts, *self.ends.values()})

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Stop and start what the schedule stops and starts now."""
        starts = self.starts.get(engine.now, {})
        stopped = [job for job in engine.running if self.ends[job.id, job.since] == engine.now]
        for job in stopped:
            if job.id in starts:
                engine.stop(job)
                job.resizes += 1
            else:
                engine.preempt(job)
        for number, allocation in starts.items():
            job = engine.jobs[number]
            assert job in engine.active, f"job {number} starts, but is not in the queue"
            if job in stopped:
                engine.hold(job, dict(allocation), None, pays=True)
            else:
                engine.start(job, dict(allocation))

    def wake(self, engine: Engine) -> int | None:
        """Return the next instant at which the schedule stops or starts anything."""
        later = bisect.bisect_right(self.instants, engine.now)
        return self.instants[later] if later < len(self.instants) else None
