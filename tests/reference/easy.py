"""EASY backfilling: one reservation, for the head of the queue."""

from __future__ import annotations

from .cluster_state import overlaps
from .engine import Engine
from .free import Free
from .model import Active, Allocation
from .non_preemptive import NonPreemptive


class Easy(NonPreemptive):
    """Later jobs start now if they do not delay the head by the estimates."""

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start heads, reserve for the first one that has to wait, backfill."""
        queue = engine.waiting
        while queue and (allocation := engine.place(queue[0])) is not None:
            engine.start(queue.pop(0), allocation)
        if not queue:
            return
        head = queue.pop(0)
        shadow, free, reserved = self.reservation(engine, head)
        extra = free.num_gpus - head.gpus
        if engine.has_demands:  # its servers may lack the CPU where its GPUs are left alone
            reserved = {server: engine.cluster.all_free()[server] for server in reserved}
        for job in queue:
            allocation = engine.place(job)
            if allocation is None:
                continue
            if engine.now + job.estimate <= shadow:
                engine.start(job, allocation)
            elif engine.cluster.pooled:
                if job.gpus <= extra:
                    extra -= job.gpus
                    engine.start(job, allocation)
            elif not overlaps(allocation, reserved):
                engine.start(job, allocation)

    def reservation(self, engine: Engine, head: Active) -> tuple[int, Free, Allocation]:
        """Return the head's shadow time, what is free by then, and its GPUs."""
        ends = {job.id: max(job.since + job.estimate, engine.now + 1) for job in engine.running}
        for shadow in sorted(set(ends.values())):
            released = [job for job in engine.running if ends[job.id] <= shadow]
            free = engine.free.released(released)
            reserved = engine.place(head, free)
            if reserved is not None:
                return shadow, free, reserved
        raise AssertionError("the head fits on an empty cluster")
