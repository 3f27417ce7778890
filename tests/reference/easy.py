"""EASY backfilling: one reservation, for the head of the queue."""

from __future__ import annotations

from .cluster_state import overlaps
from .engine import Engine
from .free import Free
from .model import Active, Allocation
from .non_preemptive import NonPreemptive


class HeadReservation:
    """What the first job that has to wait is promised, by the estimates: an instant, and GPUs."""

    def __init__(self, engine: Engine, head: Active) -> None:
        self.shadow, free, self.reserved = self.find(engine, head)
        self.extra = free.num_gpus - head.gpus
        if engine.has_demands:  # its servers may lack the CPU where its GPUs are left alone
            self.reserved = {server: engine.cluster.all_free()[server] for server in self.reserved}

    def find(self, engine: Engine, head: Active) -> tuple[int, Free, Allocation]:
        """Return the head's shadow time, what is free by then, and its GPUs."""
        ends = {job.id: max(job.since + job.estimate, engine.now + 1) for job in engine.running}
        for shadow in sorted(set(ends.values())):
            released = [job for job in engine.running if ends[job.id] <= shadow]
            free = engine.free.released(released)
            reserved = engine.place(head, free)
            if reserved is not None:
                return shadow, free, reserved
        raise AssertionError("the head fits on an empty cluster")

    def admits(self, engine: Engine, job: Active, allocation: Allocation) -> bool:
        """Whether a job may start now on these GPUs; in a pool it is counted as started."""
        if engine.now + job.estimate <= self.shadow:
            return True
        if not engine.cluster.pooled:
            return not overlaps(allocation, self.reserved)
        if job.gpus > self.extra:
            return False
        self.extra -= job.gpus
        return True


class Easy(NonPreemptive):
    """Later jobs start now if they do not delay the head by the estimates."""

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start heads, reserve for the first one that has to wait, backfill."""
        queue = engine.waiting
        while queue and (allocation := engine.place(queue[0])) is not None:
            engine.start(queue.pop(0), allocation)
        if not queue:
            return
        head = HeadReservation(engine, queue.pop(0))
        for job in queue:
            allocation = engine.place(job)
            if allocation is not None and head.admits(engine, job, allocation):
                engine.start(job, allocation)
