"""The loop: at each instant finishes, then arrivals, then one decision."""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from gpusched.reference.cluster import Cluster, Free, Network
from gpusched.reference.model import (
    CANCELLED,
    FINISHED,
    REJECTED,
    Active,
    Allocation,
    Job,
    Outcome,
    Row,
    check_horizon,
    check_instant,
)
from gpusched.reference.packing import make_packing
from gpusched.reference.placements import Placer, stretch
from gpusched.reference.speeds import make_speed


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Sort by (job, start, server), and join intervals that touch and have the same GPUs."""
    intervals: list[list[Row]] = []
    for _, same in groupby(sorted(rows, key=lambda r: (r[0], r[1], r[3])), key=lambda r: r[:2]):
        interval = list(same)
        ended = [(row[0], row[2], *row[3:]) for row in (intervals[-1] if intervals else [])]
        if ended == [(row[0], row[1], *row[3:]) for row in interval]:
            interval = [
                (*before[:2], *row[2:])
                for before, row in zip(intervals.pop(), interval, strict=True)
            ]
        intervals.append(interval)
    return [row for interval in intervals for row in interval]


def digest(rows: Iterable[Row], rejects: Iterable[tuple[int, int]]) -> str:
    """Return the SHA-256 of rows in order and (job, reason) pairs as little-endian int64."""
    sha = hashlib.sha256()
    for job, start, end, server, mask in rows:
        sha.update(struct.pack("<4qQ", job, start, end, server, mask))
    for job, reason in rejects:
        sha.update(struct.pack("<2q", job, reason))
    return sha.hexdigest()


class Scheduler(Protocol):
    """The policy of a replay."""

    def cost(self, job: Job, gpus: int) -> int:
        """Return the cost in ticks of a restart on so many GPUs."""

    def is_due(self, engine: Engine) -> bool:
        """Whether the present instant ends with a decision."""

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start and preempt jobs."""

    def wake(self, engine: Engine) -> int | None:
        """Return the next instant for a decision if there is no event before."""


def restart_rule(scheduler: Scheduler) -> str:
    """Return how preempted jobs pay: ``time`` or ``work``."""
    params: Mapping[str, Any] = getattr(scheduler, "params", {})
    return str(params.get("restart", "time"))


@dataclass(frozen=True)
class Change:
    """A change to a replay at an instant: a cancelled job, or another scheduler."""

    at_us: int
    job: int | None = None
    scheduler: Scheduler | None = None


@dataclass(frozen=True)
class Snapshot:
    """The history and allocation of a job when a replay starts in the middle of a run.

    ``added`` is work beyond its service, ``since`` the start of its present interval.
    """

    start: int = -1
    held: int = 0
    paid: int = 0
    added: int = 0
    preemptions: int = 0
    released: int = -1
    since: int = -1
    allocation: Allocation | None = None


class Engine:
    """The state of one replay; arguments as of :func:`gpusched.reference.replay`.

    ``numbers`` are the ids of the jobs, which are then sorted by submit time. Placements support
    requests beyond GPUs if any of these jobs has some, or with ``has_demands``.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        servers: Sequence[tuple[int, str]],
        scheduler: Scheduler,
        placement: str = "count",
        *,
        placement_params: Mapping[str, Any] | None = None,
        seed: int = 0,
        speed: str = "fixed",
        contention: str = "none",
        speed_params: Mapping[str, Any] | None = None,
        contention_params: Mapping[str, Any] | None = None,
        network: Network | None = None,
        room: Sequence[tuple[int | None, int | None]] = (),
        max_instants: int = 200_000,
        changes: Sequence[Change] = (),
        numbers: Sequence[int] | None = None,
        has_demands: bool = False,
        part_of: Sequence[int] = (),
    ) -> None:
        check_horizon(jobs)
        jobs = sorted(jobs, key=lambda job: job.submit_us)
        ids = range(len(jobs)) if numbers is None else numbers
        self.jobs = {i: Active(i, job) for i, job in zip(ids, jobs, strict=True)}  # by JobId
        asks = (job.asks_for_more for job in self.jobs.values())
        self.has_demands = has_demands or any(asks)
        self.cluster = Cluster(servers, placement == "count", room, part_of)
        self.scheduler = scheduler
        self.speed = make_speed(
            self.cluster, network, speed, speed_params or {}, contention, contention_params or {}
        )
        self.make_packing = partial(
            make_packing, cluster=self.cluster, jobs=jobs, network=network, seed=seed,
            has_demands=self.has_demands,
        )  # fmt: skip
        self.seed = seed
        self.placer = self.make_placer(placement, placement_params or {})
        self.restart = restart_rule(scheduler)
        self.max_instants = max_instants
        self.changes = sorted(changes, key=lambda change: change.at_us)
        self.is_changed = False  # the scheduler, at this instant
        self.rates_changed = 0
        self.now = 0
        self.free = self.cluster.idle()
        self.active: list[Active] = []
        self.holding: dict[int, Active] = {}  # running jobs, by JobId
        self.suspended: list[Active] = []  # running, but their GPUs may be taken
        for job in self.jobs.values():
            job.reason = self.reject_reason(job)  # on the empty cluster
            if not job.reason:
                job.stretch = stretch(self.speed, job)

    def make_placer(self, name: str, params: Mapping[str, Any]) -> Placer:
        """Return a placement for the jobs of the replay."""
        packing = self.make_packing(name, params)
        return Placer(name, params, self.cluster, self.seed, self.speed, packing)

    def reject_reason(self, job: Active) -> int:
        """Return why the job can never run, 0 if it can."""
        allowed = self.cluster.allowed_servers(job.job)
        if not allowed:
            return 1
        sizes, fitting = self.cluster.sizes, self.cluster.fitting(job.job)
        if max(sum(sizes[server] for server in servers) for servers in fitting) < job.gpus:
            return 2
        per_node = job.job.gpus_per_node
        able = max(sum(sizes[server] >= per_node for server in servers) for servers in fitting)
        if per_node and able < job.gpus // per_node:
            return 5
        if not self.placer.place(job, self.free):
            return 3
        return 0 if self.speed.can_run(job) else 4

    @property
    def running(self) -> list[Active]:
        """The jobs that hold GPUs, by JobId."""
        return [self.holding[job] for job in sorted(self.holding)]

    @property
    def waiting(self) -> list[Active]:
        """The active jobs that do not, by JobId."""
        return [job for job in self.active if not job.running]

    def place(self, job: Active, free: Free | None = None) -> Allocation | None:
        """Ask the placement for GPUs out of ``free`` (default: what is free)."""
        return self.placer.place(job, self.free if free is None else free)

    def start(self, job: Active, allocation: Allocation, ranks: list[int] | None = None) -> None:
        """Start or resume a waiting job; the placement provides missing ranks."""
        assert not job.running
        assert job.start < 0 or job.released < self.now or self.is_changed
        is_resume = job.start >= 0
        job.start = job.start if is_resume else self.now
        self.hold(job, allocation, ranks, pays=is_resume)

    def hold(
        self, job: Active, allocation: Allocation, ranks: list[int] | None, *, pays: bool
    ) -> None:
        """Give free GPUs to a job that has none now."""
        assert self.free.contains(job, allocation)
        job.allocation = allocation
        self.holding[job.id] = job
        assert self.min_gpus(job) <= job.width <= self.max_gpus(job)
        job.ranks = self.placer.ranks(job, allocation) if ranks is None else ranks
        job.since = self.now
        is_paid = pays and self.restart == "time"
        job.pending = self.scheduler.cost(job.job, job.width) if is_paid else 0
        job.num_servers = 0 if self.cluster.pooled else len(allocation)
        job.rate = None
        job.counted = self.now + job.pending
        job.done_before = job.done
        self.free = self.free.claimed(job, allocation)

    def min_gpus(self, job: Active) -> int:
        """Return the smallest number of GPUs at which the job may run."""
        return job.job.min_gpus if self.speed.is_elastic else job.gpus

    def max_gpus(self, job: Active) -> int:
        """Return the largest number of GPUs at which the job may run."""
        most = self.cluster.num_gpus if job.job.max_gpus is None else job.job.max_gpus
        return most if self.speed.is_elastic else job.gpus

    def release(self, job: Active, done: float) -> None:
        """Release the GPUs of a running job that has ``done`` so much of its work."""
        assert job.allocation is not None
        assert self.now > job.since
        job.uncontended += (done - job.done_before) / self.speed.uncontended_rate(job)
        job.done = done
        for server, mask in job.allocation.items():
            shown = 0 if self.cluster.pooled else mask
            job.rows.append((job.id, job.since, self.now, server, shown))
        if job in self.suspended:
            self.suspended.remove(job)
        else:
            self.free = self.free.released([job])
        job.held += self.now - job.since
        job.paid += min(job.pending, self.now - job.since)
        job.allocation = None
        del self.holding[job.id]

    def stop(self, job: Active) -> None:
        """Release the GPUs of a running job before it is done."""
        cost = self.scheduler.cost(job.job, job.width)
        job.settle(self.now)
        self.release(job, min(job.done, job.work))
        if self.restart == "work":
            job.work += cost

    def preempt(self, job: Active) -> None:
        """Stop a running job; it waits again."""
        self.stop(job)
        job.released = self.now
        job.preemptions += 1

    def resize(self, job: Active, allocation: Allocation, ranks: list[int] | None = None) -> None:
        """Change the GPUs of a running job; it pays as if it resumed."""
        assert job.running
        assert allocation != job.allocation
        self.stop(job)
        job.resizes += 1
        self.hold(job, allocation, ranks, pays=True)

    def suspend(self, job: Active) -> None:
        """Make a running job's GPUs available; it is preempted unless restored."""
        assert job.running
        assert job not in self.suspended
        assert self.now > job.since
        self.free = self.free.released([job])
        self.suspended.append(job)

    def restore(self, job: Active) -> bool:
        """Let a suspended job continue if its GPUs are still free."""
        assert job.allocation is not None
        if not self.free.contains(job, job.allocation):
            return False
        self.free = self.free.claimed(job, job.allocation)
        self.suspended.remove(job)
        return True

    def cancel(self, job: Active) -> bool:
        """Cancel an unfinished job; whether it ran."""
        if job not in self.active:
            return False
        self.active.remove(job)
        job.status = CANCELLED
        if not job.running:
            return False
        job.settle(self.now)
        self.release(job, min(job.done, job.work))
        return True

    def change(self, finished: list[Active], arrived: list[Active]) -> bool:
        """Apply the changes due at this instant, after its finishes; whether there were any."""
        now = [change for change in self.changes if change.at_us == self.now]
        for change in now:
            if change.job is not None and self.cancel(self.jobs[change.job]):
                finished.append(self.jobs[change.job])
        for scheduler in [change.scheduler for change in now if change.scheduler is not None][-1:]:
            for job in self.running:
                self.preempt(job)
            self.scheduler = scheduler
            self.restart = restart_rule(scheduler)
            self.is_changed = True
            finished.clear()
            arrived += self.waiting
        return bool(now)

    def begin(self, now: int, snapshot: Mapping[int, Snapshot]) -> None:
        """Start in the middle of a run, after the decision of an instant, with these jobs."""
        for number in sorted(snapshot):
            job, was = self.jobs[number], snapshot[number]
            job.start, job.released, job.preemptions = was.start, was.released, was.preemptions
            job.held, job.paid, job.done = was.held, was.paid, was.held - was.paid
            job.work += getattr(self.scheduler, "overrun", 0) + was.added
            self.active.append(job)
            if was.allocation is not None:
                self.now = was.since
                self.hold(job, was.allocation, None, pays=was.start < was.since)
                ((_, rate),) = self.speed.rates([job])
                job.set_rate(rate, self.now)
        self.now = now

    def run(self, until: int | None = None) -> Outcome:
        """Replay all jobs, or the decisions before an instant, at which rows are cut."""
        future = deque(job for job in self.jobs.values() if job not in self.active)
        wake = self.scheduler.wake(self) if self.active else None
        for _ in range(self.max_instants):
            running = self.running
            instants = [job.finish_tick for job in running]
            if future:
                instants.append(future[0].job.submit_us)
            if wake is not None:
                instants.append(wake)
            instants += [change.at_us for change in self.changes[:1]]
            if not instants:
                return self.outcome()
            self.now = min(instants)
            if until is not None and self.now >= until:
                self.now = until
                for job in running:
                    self.release(job, job.done)
                return self.outcome()
            check_instant(self.now)

            finished = [job for job in running if job.finish_tick == self.now]
            for job in finished:
                self.release(job, job.work)
                job.finish = self.now
                job.status = FINISHED
                self.active.remove(job)
            arrived: list[Active] = []
            self.is_changed = False
            if self.change(finished, arrived):
                self.changes = [change for change in self.changes if change.at_us > self.now]
            while future and future[0].job.submit_us == self.now:
                job = future.popleft()
                if job.reason:
                    job.status = REJECTED
                else:
                    job.work += getattr(self.scheduler, "overrun", 0)
                    self.active.append(job)
                    arrived.append(job)

            if self.scheduler.is_due(self):
                self.scheduler.decide(self, finished, arrived)
            for job in list(self.suspended):
                self.preempt(job)
            for job, rate in self.speed.rates(self.running):
                if rate != job.rate:
                    self.rates_changed += job.rate is not None
                    job.set_rate(rate, self.now)
            wake = self.scheduler.wake(self)
            assert wake is None or wake > self.now
        raise RuntimeError(f"no end after {self.max_instants} instants")

    def outcome(self) -> Outcome:
        """Collect the columns."""
        jobs = list(self.jobs.values())
        rows = in_order(row for job in jobs for row in job.rows)
        rejects = [(job.id, job.reason) for job in jobs if job.status == REJECTED]
        return Outcome(
            start_us=[job.start for job in jobs],
            finish_us=[job.finish for job in jobs],
            held_us=[job.held for job in jobs],
            paid_us=[job.paid for job in jobs],
            preemptions=[job.preemptions for job in jobs],
            resizes=[job.resizes for job in jobs],
            num_servers=[job.num_servers for job in jobs],
            status=[job.status for job in jobs],
            reason=[job.reason if job.status == REJECTED else 0 for job in jobs],
            rows=rows,
            digest=digest(rows, rejects),
            rates_changed=self.rates_changed,
            uncontended_us=[] if self.speed.is_fixed else [job.uncontended for job in jobs],
        )
