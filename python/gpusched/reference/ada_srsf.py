"""Smallest work first; a multi-server job that would share unsuitable links waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusched.reference.engine import Engine
from gpusched.reference.lists import NonPreemptive
from gpusched.reference.model import Active, Allocation
from gpusched.reference.orders import srsf
from gpusched.reference.speeds import Proportional, Ring, allocation_of, profile_of, samples_of


class AdaSrsf(NonPreemptive):
    """Walk the queue by GPUs times service; links limit starts besides the placement."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.sharers = params.get("sharers", 2)
        self.is_dual = params.get("rule", "adadual") == "adadual"
        self.threshold = 1 / (2 * (1 + params.get("degradation", 0.0)))
        self.waited: set[int] = set()  # after the last decision

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Try the arrivals, and after a finish all waiting jobs."""
        is_taken_back = bool(self.waited - {job.id for job in engine.waiting})
        queue = engine.waiting if finished or is_taken_back else list(arrived)
        queue.sort(key=lambda job: (srsf(job, engine.now, engine.seed), job.id))
        refused = []
        for job in queue:
            servers = tuple(engine.cluster.allowed_servers(job.job))
            model = repr((job.job.profile, job.job.throughputs, job.job.samples))
            kind = (job.gpus, job.job.gpus_per_node, job.demand, servers, model)
            if kind in refused:
                continue
            allocation = engine.place(job)
            if allocation is not None and self.is_admitted(engine, job, allocation):
                engine.start(job, allocation)
            else:
                refused.append(kind)
        self.waited = {job.id for job in engine.waiting}

    def is_admitted(self, engine: Engine, job: Active, allocation: Allocation) -> bool:
        """Whether each link is free enough, with little data relative to each ring there."""
        speed = engine.speed
        if not isinstance(speed, Ring | Proportional) or speed.network is None:
            return True
        for link in speed.network.links(allocation):
            others = [
                other
                for other in engine.running
                if link in speed.network.links(allocation_of(other))
            ]
            if len(others) >= self.sharers:
                return False
            sent = [bytes_left(speed, engine.now, other) for other in others]
            if self.is_dual and not all(
                bytes_left(speed, engine.now, job) < self.threshold * left for left in sent
            ):
                return False
        return True


def bytes_left(speed: Ring | Proportional, now: int, job: Active) -> float:
    """Return gradients times remaining iterations, in millionths of a byte."""
    model = profile_of(job) if isinstance(speed, Ring) else samples_of(job)
    return model.gradient_bytes / speed.ideal_s(job) * job.remaining(now)
