"""The loop: at each instant finishes, then arrivals, then one decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from .cluster_state import Cluster, contains, union, without
from .digest import digest, merged
from .limits import stretch
from .model import FINISHED, REJECTED, Active, Allocation, Job, Outcome
from .placements import Placer
from .speeds import Speed


class Scheduler(Protocol):
    """What decides."""

    def cost(self, job: Job) -> int:
        """Return the restart cost of a job in ticks."""

    def is_due(self, engine: Engine) -> bool:
        """Whether the present instant ends with a decision."""

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start and preempt jobs."""

    def wake(self, engine: Engine) -> int | None:
        """Return the next instant to decide at if nothing else happens before."""


class Engine:
    """The state of one replay."""

    def __init__(
        self,
        jobs: Sequence[Job],
        servers: Sequence[tuple[int, str]],
        scheduler: Scheduler,
        placement: str,
        placement_params: Mapping[str, Any],
        make_speed: Callable[[Cluster], Speed],
        seed: int,
        restart: str,
        max_instants: int,
    ) -> None:
        in_order = sorted(jobs, key=lambda job: job.submit_us)
        self.jobs = [Active(i, job, scheduler.cost(job)) for i, job in enumerate(in_order)]
        self.cluster = Cluster(servers, pooled=placement == "count")
        self.scheduler = scheduler
        self.speed = make_speed(self.cluster)
        self.placer = Placer(placement, placement_params, self.cluster, seed, self.speed)
        self.restart = restart
        self.seed = seed
        self.max_instants = max_instants
        self.now = 0
        self.free = self.cluster.all_free()
        self.active: list[Active] = []
        for job in self.jobs:
            job.reason = self.reject_reason(job)
            if not job.reason:
                job.stretch = stretch(self.speed, job)

    def reject_reason(self, job: Active) -> int:
        """Return why the job can never run, 0 if it can."""
        allowed = self.cluster.allowed_servers(job.job)
        if not allowed:
            return 1
        if sum(self.cluster.sizes[server] for server in allowed) < job.gpus:
            return 2
        return 0 if self.placer.place(job, self.cluster.all_free()) else 3

    @property
    def running(self) -> list[Active]:
        """The jobs that hold GPUs, by JobId."""
        return [job for job in self.active if job.running]

    @property
    def waiting(self) -> list[Active]:
        """The jobs that do not, by JobId."""
        return [job for job in self.active if not job.running]

    def place(self, job: Active, free: Allocation | None = None) -> Allocation | None:
        """Ask the placement for GPUs out of ``free`` (default: the free ones)."""
        return self.placer.place(job, self.free if free is None else free)

    def start(self, job: Active, allocation: Allocation, ranks: list[int] | None = None) -> None:
        """Start or resume a waiting job; its placement says the ranks if they are not given."""
        assert not job.running
        assert contains(self.free, allocation)
        assert sum(mask.bit_count() for mask in allocation.values()) == job.gpus
        is_resume = job.start >= 0
        job.allocation = allocation
        job.ranks = self.placer.ranks(job, allocation) if ranks is None else ranks
        job.since = self.now
        job.pending = job.cost if is_resume and self.restart == "time" else 0
        job.start = job.start if is_resume else self.now
        job.num_servers = 0 if self.cluster.pooled else len(allocation)
        job.rate = None
        job.counted = self.now + job.pending
        job.done_before = job.done
        self.free = without(self.free, allocation)

    def release(self, job: Active, done: float) -> None:
        """Take the GPUs of a running job back that has ``done`` so much of its work."""
        assert job.allocation is not None
        assert self.now > job.since
        job.uncontended += (done - job.done_before) / self.speed.uncontended_rate(job)
        job.done = done
        for server, mask in job.allocation.items():
            shown = 0 if self.cluster.pooled else mask
            job.rows.append((job.id, job.since, self.now, server, shown))
        self.free = union(self.free, [job.allocation])
        job.held += self.now - job.since
        job.paid += min(job.pending, self.now - job.since)
        job.released = self.now
        job.allocation = None

    def preempt(self, job: Active) -> None:
        """Stop a running job; it waits again."""
        job.settle(self.now)
        self.release(job, min(job.done, job.work))
        job.preemptions += 1
        if self.restart == "work":
            job.redo += job.cost

    def run(self) -> Outcome:
        """Replay all jobs."""
        future = list(self.jobs)
        wake: int | None = None
        for _ in range(self.max_instants):
            instants = [job.finish_tick for job in self.running]
            if future:
                instants.append(future[0].job.submit_us)
            if wake is not None:
                instants.append(wake)
            if not instants:
                return self.outcome()
            self.now = min(instants)

            finished = [job for job in self.running if job.finish_tick == self.now]
            for job in finished:
                self.release(job, job.work)
                job.finish = self.now
                job.status = FINISHED
                self.active.remove(job)
            arrived: list[Active] = []
            while future and future[0].job.submit_us == self.now:
                job = future.pop(0)
                if job.reason:
                    job.status = REJECTED
                else:
                    arrived.append(job)
            self.active += arrived

            if self.scheduler.is_due(self):
                self.scheduler.decide(self, finished, arrived)
            for job, rate in self.speed.rates(self.running):
                if rate != job.rate:
                    job.set_rate(rate, self.now)
            wake = self.scheduler.wake(self)
            assert wake is None or wake > self.now
        raise RuntimeError(f"no end after {self.max_instants} instants")

    def outcome(self) -> Outcome:
        """Collect the columns."""
        jobs = self.jobs
        rows = merged(row for job in jobs for row in job.rows)
        rejects = [(job.id, job.reason) for job in jobs if job.status == REJECTED]
        return Outcome(
            start_us=[job.start for job in jobs],
            finish_us=[job.finish for job in jobs],
            held_us=[job.held for job in jobs],
            paid_us=[job.paid for job in jobs],
            preemptions=[job.preemptions for job in jobs],
            num_servers=[job.num_servers for job in jobs],
            status=[job.status for job in jobs],
            reason=[job.reason if job.status == REJECTED else 0 for job in jobs],
            rows=rows,
            digest=digest(rows, rejects),
            uncontended_us=[] if self.speed.is_fixed else [job.uncontended for job in jobs],
        )
