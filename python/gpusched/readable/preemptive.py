"""Preemptive list scheduling: who should run, then where, and who has to make room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusched.readable.engine import Engine
from gpusched.readable.free import Free
from gpusched.readable.model import Active, Allocation, Job
from gpusched.readable.orders import Key

DEFAULTS: dict[str, Any] = {
    "scan": "skip",
    "restart": "time",
    "cost_s": 0.0,
    "wide_cost_s": None,
    "narrow_gpus": 8,
    "quota": "free",
    "displace": False,
    "epoch": "event",
    "period_s": 0.0,
    "overrun_s": 0.0,
}


def ticks(seconds: float) -> int:
    """Round half to even to microseconds."""
    return round(seconds * 1e6)


class Preemptive:
    """Steps 1 to 5 of the preemptive decision."""

    def __init__(self, key: Key, params: Mapping[str, Any]) -> None:
        self.params = DEFAULTS | dict(params)
        self.key = key
        self.period = ticks(self.params["period_s"])
        self.overrun = ticks(self.params["overrun_s"])
        if self.params["epoch"] == "period" and self.period < 1:
            raise ValueError("epoch=period needs a period_s above 0")

    def cost(self, job: Job, gpus: int) -> int:
        """Return the cost in ticks of a restart on so many GPUs."""
        seconds = self.params["cost_s"]
        if gpus > self.params["narrow_gpus"] and self.params["wide_cost_s"] is not None:
            seconds = self.params["wide_cost_s"]
        return job.checkpoint_us + job.restart_us + ticks(seconds)

    def is_due(self, engine: Engine) -> bool:
        """Whether the present instant ends with a decision."""
        if self.params["epoch"] == "event":
            return True
        return engine.now % self.period == 0 and bool(engine.active)

    def wake(self, engine: Engine) -> int | None:
        """Return the next multiple of the period where the rules ask for one."""
        if self.period == 0:
            return None
        in_need = engine.active if self.params["epoch"] == "period" else engine.waiting
        if not in_need:
            return None
        return (engine.now // self.period + 1) * self.period

    def keys(self, engine: Engine) -> dict[int, Any]:
        """Return the sort key (key, id) of every active job."""
        key, now, seed = self.key, engine.now, engine.seed
        return {job.id: (key(job, now, seed), job.id) for job in engine.active}

    def take(self, ranked: list[Active], num_gpus: int) -> list[Active]:
        """Return the jobs that fit a budget of all GPUs, in the order given."""
        is_strict = self.params["scan"] == "strict"
        taken: list[Active] = []
        for job in ranked:
            if job.gpus <= num_gpus:
                taken.append(job)
                num_gpus -= job.gpus
            elif is_strict or num_gpus == 0:
                break
        return taken

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Decide who runs from now on."""
        key = self.keys(engine)
        ranked = [engine.jobs[number] for number in sorted(key, key=key.__getitem__)]
        taken = {job.id for job in self.take(ranked, engine.cluster.num_gpus)}  # step 1
        running = [job for job in ranked if job.id in engine.holding]  # step 2
        waiting = [job for job in ranked if job.id not in engine.holding]
        kept = [job for job in running if job.id in taken]
        wanted = [job for job in waiting if job.id in taken]
        bumpable = [job for job in running if job.id not in taken]
        others = [job for job in waiting if job.id not in taken]

        if engine.cluster.pooled or self.params["quota"] == "hold":
            for job in bumpable:
                engine.preempt(job)
            bumpable, others = [], []

        free = engine.free.released(bumpable)
        placed: list[tuple[Active, Allocation]] = []
        for job in wanted:  # step 3
            allocation = engine.place(job, free)
            if allocation is not None:
                free = free.claimed(job, allocation)
            elif self.params["displace"]:
                later = [other for other in kept if key[other.id] > key[job.id]]
                free = free.released(later)
                allocation = engine.place(job, free)
                free = free if allocation is None else free.claimed(job, allocation)
                free = self.stay(engine, free, later)
                kept = [other for other in kept if other.running]
            if allocation is not None:
                placed.append((job, allocation))

        self.stay(engine, free, bumpable)  # step 4
        for job, allocation in placed:
            engine.start(job, allocation)
        for job in others:  # step 5
            room = engine.place(job)
            if room is not None:
                engine.start(job, room)

    def stay(self, engine: Engine, free: Free, jobs: list[Active]) -> Free:
        """Let the jobs go on whose GPUs are free, preempt the others; return what is left."""
        for job in jobs:
            assert job.allocation is not None
            if free.contains(job, job.allocation):
                free = free.claimed(job, job.allocation)
            else:
                engine.preempt(job)
        return free
