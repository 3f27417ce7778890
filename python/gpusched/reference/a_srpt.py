"""A-SRPT: a virtual machine sets the order; communication-heavy jobs may wait for placements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusched.reference.engine import Engine
from gpusched.reference.lists import NonPreemptive
from gpusched.reference.model import Active, Allocation
from gpusched.reference.placements import limits
from gpusched.reference.speeds import Proportional, Ring, Stages, Table


class VirtualMachine:
    """A single machine, as fast as all GPUs, that runs the job with the least work left.

    Work is in GPU ticks, counted by the clock: integers of any size.
    """

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int]] = []  # work left, job
        self.running: int | None = None
        self.end = 0  # of the running job

    def add(self, now: int, work: int, job: int) -> None:
        """Add a job; it interrupts the running one if that has more work left."""
        if self.running is not None:
            present = (self.end - now, self.running)
            if present < (work, job):
                self.waiting.append((work, job))
                return
            self.waiting.append(present)
        self.running, self.end = job, now + work

    def remove(self, now: int, number: int) -> None:
        """Remove a job, if present."""
        self.waiting = [(left, job) for left, job in self.waiting if job != number]
        if self.running == number:
            self.go_on(now)

    def completed(self, now: int) -> list[int]:
        """Advance to ``now``; return the jobs completed on the way, in order."""
        done = []
        while self.running is not None and self.end <= now:
            done.append(self.running)
            self.go_on(self.end)
        return done

    def go_on(self, now: int) -> None:
        """Run the job with the least work left."""
        self.running = None
        if self.waiting:
            left, job = min(self.waiting)
            self.waiting.remove((left, job))
            self.running, self.end = job, now + left


@dataclass
class Needs:
    """The requirements of a job, which depend only on the speed."""

    work: float  # on the virtual machine, in ticks
    is_heavy: bool = False
    duration: float = 0.0  # in ticks, on a good placement
    least_s: float = 0.0  # the iteration time there


class ASrpt(NonPreemptive):
    """Jobs queue in the order of completion on the machine, and wait for good placements.

    Only the first job of each kind is tried: when it becomes the first, when GPUs are released, and
    when its own patience ends.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.is_strict = params.get("scan", "skip") == "strict"
        self.starts_early = params.get("idle", True)
        self.fill = params.get("fill", "fewest")
        self.counts_low = params.get("work", "min") == "low"
        self.sorts_by_work = params.get("queue", "fifo") == "work"
        self.waits_for_loss = params.get("wait", "work") == "loss"
        self.tau = params.get("tau", 1.0)
        self.heavy = params.get("heavy", 1.5)
        self.near = params.get("near", 1.1)
        self.machine = VirtualMachine()
        self.queue: list[Active] = []
        self.held: dict[int, Active] = {}  # on the machine, not started
        self.deadline: dict[int, int] = {}  # when a job stops waiting for a good placement
        self.refused: dict[Any, int] = {}  # first job of a kind, refused since the last release

    def needs(self, engine: Engine, job: Active) -> Needs:
        """Return the job's requirements."""
        stretch, is_heavy, least = 1.0, False, 0.0
        if not engine.speed.is_fixed:
            low, least, most = limits(engine.speed, job)
            stretch = 1.0 if self.counts_low else least / low
            is_heavy = most >= self.heavy * least
        duration = float(job.predicted) * stretch
        work = float(job.gpus) * duration / float(engine.cluster.num_gpus)
        return Needs(work, is_heavy, duration, least)

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Advance the machine, then start jobs that can start."""
        clock = engine.now * engine.cluster.num_gpus
        gone = self.forget(engine)
        if finished or gone:
            self.refused.clear()
        for number in self.machine.completed(clock):
            if number in self.held:
                self.queue.append(self.held.pop(number))
        for number in gone:
            self.machine.remove(clock, number)
        for job in arrived:
            work = job.gpus * math.ceil(self.needs(engine, job).duration)
            self.machine.add(clock, work, job.id)
            self.held[job.id] = job

        if self.sorts_by_work:
            self.queue.sort(key=lambda job: (self.needs(engine, job).work, job.id))
        blocked: list[Any] = []
        for job in list(self.queue):
            kind = self.kind(engine, job)
            if kind in blocked:
                continue
            is_seen = self.refused.get(kind) == job.id and self.deadline.get(job.id) != engine.now
            if is_seen or not self.try_start(engine, job, is_queued=True):
                blocked.append(kind)
                self.refused[kind] = job.id
                continue
            self.queue.remove(job)
            self.deadline.pop(job.id, None)
            self.refused.pop(kind, None)
        if not self.queue and self.starts_early and self.machine.running is not None:
            number = self.machine.running
            if number in self.held and self.try_start(engine, self.held[number], is_queued=False):
                del self.held[number]

    def forget(self, engine: Engine) -> list[int]:
        """Return cancelled jobs, which are no longer queued."""
        waiting = {job.id for job in engine.waiting}
        gone = [number for number in self.held if number not in waiting]
        for number in gone:
            del self.held[number]
        gone += [job.id for job in self.queue if job.id not in waiting]
        for number in gone:
            self.deadline.pop(number, None)
        self.queue = [job for job in self.queue if job.id in waiting]
        return gone

    def kind(self, engine: Engine, job: Active) -> Any:
        """Return the common key of jobs in one queue."""
        if self.is_strict:
            return None
        model = None
        if not engine.speed.is_fixed:
            of = job.job
            model = repr((of.profile, of.graph, of.throughputs, of.samples))
        servers = tuple(engine.cluster.allowed_servers(job.job))
        return job.gpus, job.job.gpus_per_node, job.demand, servers, model

    def try_start(self, engine: Engine, job: Active, is_queued: bool) -> bool:
        """Start the job if it fits, and its placement is good or its patience has ended."""
        needs = self.needs(engine, job)
        if engine.speed.is_fixed or needs.is_heavy or self.fill == "most-free":
            allocation: Allocation | None = engine.place(job)
            ranks: list[int] | None = None
        else:
            fragments = engine.make_placer("best-fit", {})
            allocation, ranks = fragments.place(job, engine.free), []
        if allocation is None:
            return False
        if needs.is_heavy and engine.running:
            seconds = self.judge(engine, job, needs, allocation)
            if seconds > self.near * needs.least_s:
                if not is_queued:
                    return False
                loss = needs.duration * (seconds / needs.least_s - 1.0)
                unit = loss if self.waits_for_loss else needs.work
                self.deadline.setdefault(job.id, engine.now + math.ceil(self.tau * unit))
                if engine.now < self.deadline[job.id]:
                    return False
        engine.start(job, allocation, ranks)
        return True

    def judge(self, engine: Engine, job: Active, needs: Needs, allocation: Allocation) -> float:
        """Return the iteration time; on the fewest servers that could hold it, the minimum."""
        allowed = engine.cluster.allowed_servers(job.job)
        largest = max(engine.cluster.sizes[server] for server in allowed)
        if len(allocation) <= math.ceil(job.gpus / (job.job.gpus_per_node or largest)):
            return needs.least_s
        if isinstance(engine.speed, Table):
            return engine.speed.iteration_s(job, allocation)
        ranks = engine.placer.ranks(job, allocation)
        assert isinstance(engine.speed, Ring | Stages | Proportional)
        return engine.speed.placed_s(job, allocation, ranks)

    def wake(self, engine: Engine) -> int | None:
        """Return the next end of patience, or the next completion on the machine."""
        instants = list(self.deadline.values())
        if self.held and self.machine.running is not None:
            instants.append(-(-self.machine.end // engine.cluster.num_gpus))
        return min((at for at in instants if at > engine.now), default=None)
