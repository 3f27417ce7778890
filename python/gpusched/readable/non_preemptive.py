"""List scheduling without preemption, and what all non-preemptive schedulers share."""

from __future__ import annotations

from gpusched.readable.engine import Engine
from gpusched.readable.model import Active, Job
from gpusched.readable.orders import Key


class NonPreemptive:
    """Decides at every arrival and finish; restarts what another policy has preempted, no more."""

    def cost(self, job: Job, gpus: int) -> int:
        """Return what the job itself costs: there is no rule of the policy."""
        return job.checkpoint_us + job.restart_us

    def is_due(self, engine: Engine) -> bool:
        """Whether the present instant ends with a decision."""
        return True

    def wake(self, engine: Engine) -> int | None:
        """Return None: no timers."""
        return None


class ListScheduler(NonPreemptive):
    """Walk the queue in key order; strict stops at the first job that does not fit."""

    def __init__(self, key: Key, strict: bool) -> None:
        self.key = key
        self.strict = strict

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start what can be placed."""
        queue = engine.waiting
        queue.sort(key=lambda job: (self.key(job, engine.now, engine.seed), job.id))
        for job in queue:
            allocation = engine.place(job)
            if allocation is not None:
                engine.start(job, allocation)
            elif self.strict:
                break
