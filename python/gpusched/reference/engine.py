"""The loop: at each instant ends of jobs, outages, arrivals, releases, then one decision."""

from __future__ import annotations

import bisect
import hashlib
import struct
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Literal, Protocol

from gpusched.reference.cluster import Cluster, Free, Network
from gpusched.reference.model import (
    CANCELLED,
    FAILED,
    FINISHED,
    HELD,
    KILLED,
    OPEN,
    REJECTED,
    Active,
    Allocation,
    Job,
    Outage,
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

    has_memory: bool
    """Whether decisions depend on more than the waiting and running jobs."""

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
    """A change to a replay at an instant: of a job of the queue, or another scheduler.

    The job is cancelled, ``hold`` takes it out of the queue, ``release`` puts it back.
    """

    at_us: int
    job: int | None = None
    scheduler: Scheduler | None = None
    what: Literal["cancel", "hold", "release"] = "cancel"


NEVER = -2
"""The time of eligibility of a job whose dependencies can never be met."""


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
    failures: int = 0
    lost: int = 0
    written: int = 0
    queued: int | None = None  # None: at its submission


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
        outages: Sequence[Outage] = (),
        array_limits: Sequence[int | None] = (),
        kill_invalid_depend: bool = False,
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
        self.is_changed = False  # the scheduler or the capacity, at this instant
        self.has_outages = bool(outages)
        self.outages = sorted(outages, key=lambda outage: outage.start_us)  # not yet begun
        self.open: list[Outage] = []  # begun, not yet ended
        self.check_outages()
        self.array_limits = array_limits
        self.kill_invalid_depend = kill_invalid_depend
        self.on_hold: list[Active] = []  # arrived, not in the queue; by JobId
        self.withheld: list[Active] = []  # taken out of the queue by a change; by time
        self.put_back: list[Active] = []  # those that return at this instant
        self.check_holds()
        self.rates_changed = 0
        self.now = 0
        self.free = self.cluster.idle()
        self.active: list[Active] = []  # in the queue or running; by JobId
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

    def check_outages(self) -> None:
        """Raise ValueError where outages or checkpoints are out of range or not supported."""
        for outage in self.outages:
            if outage.server not in self.cluster.sizes or self.cluster.pooled:
                raise ValueError(f"outage: there is no server {outage.server}")
            if outage.end_us is not None and outage.end_us <= outage.start_us:
                raise ValueError(f"outage: it ends at {outage.end_us}, not after its start")
        if self.outages and self.scheduler.has_memory:
            raise ValueError("policy: it does not support outages: it keeps more than the state")
        takes_windows = getattr(self.scheduler, "takes_windows", False)
        if any(outage.is_known_ahead for outage in self.outages) and not takes_windows:
            raise ValueError("known_s: the policy does not plan around maintenance")
        if self.outages and any(job.is_share for job in self.jobs.values()):
            raise ValueError("gpu_share: not supported in runs with outages")
        if not self.speed.is_fixed and any(
            job.job.checkpoint_write_us for job in self.jobs.values()
        ):
            raise ValueError("checkpoint_write_us: it needs the fixed speed")

    def check_holds(self) -> None:
        """Raise ValueError where what holds or cancels a job is out of range."""
        if any(limit is not None and limit < 1 for limit in self.array_limits):
            raise ValueError("array_limit: it is below 1")
        for job in self.jobs.values():
            submit, eligible, end = job.job.submit_us, job.job.eligible_us, job.job.cancel_at_us
            if eligible is not None and not submit <= eligible <= HELD:
                raise ValueError(f"eligible_us: job {job.id} has {eligible}")
            if end is not None and end <= submit:
                raise ValueError(f"cancel_at_us: job {job.id} has {end}, not after its submission")
            if job.job.array not in (None, *range(len(self.array_limits))):
                raise ValueError(f"array: job {job.id} has {job.job.array}")
            for depends in job.job.dependencies:
                if depends.target not in self.jobs or depends.target == job.id:
                    raise ValueError(f"dependency_target: job {job.id} has {depends.target}")
                if depends.delay_us < 0 or (depends.delay_us and depends.kind != "after"):
                    raise ValueError(f"dependency_delay_us: job {job.id} has {depends.delay_us}")

    @property
    def gpus_up(self) -> int:
        """Number of GPUs of servers that are up, and of those that jobs still hold on others."""
        down, held = self.free.down, dict.fromkeys(self.free.down, 0)
        for job in self.running:
            for server in down & (job.allocation or {}).keys():
                held[server] |= (job.allocation or {})[server]
        up = [gpus for server, gpus in self.cluster.sizes.items() if server not in down]
        return sum(up) + sum(mask.bit_count() for mask in held.values())

    @property
    def running(self) -> list[Active]:
        """The jobs that hold GPUs, by JobId."""
        return [self.holding[job] for job in sorted(self.holding)]

    @property
    def waiting(self) -> list[Active]:
        """The active jobs that do not, by JobId."""
        return [job for job in self.active if not job.running]

    @property
    def windows(self) -> list[Outage]:
        """The maintenance known ahead, and by now, that has not ended."""
        known = [outage for outage in self.open + self.outages if outage.is_known_ahead]
        return [outage for outage in known if (outage.known_us or 0) <= self.now]

    def place(
        self, job: Active, free: Free | None = None, at: int | None = None
    ) -> Allocation | None:
        """Ask the placement for GPUs out of ``free`` (default: what is free), for a start ``at``.

        Of the windows known by now, those that have ended by then give their servers back, and the
        servers of those that the job's length would carry it into are left out.
        """
        free, at = self.free if free is None else free, self.now if at is None else at
        over = {window for window in self.windows if at >= (window.end_us or HELD)}
        back = {window.server for window in over if window.start_us <= self.now}
        windows = {
            window.server
            for window in self.windows
            if window not in over and window.start_us < max(at + job.stated_length, at + 1)
        }
        if windows or back:
            free = replace(free, down=free.down - back | windows)
        return self.placer.place(job, free)

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
        self.free = self.free.claimed(job, allocation)

    def min_gpus(self, job: Active) -> int:
        """Return the smallest number of GPUs at which the job may run."""
        return job.job.min_gpus if self.speed.is_elastic else job.gpus

    def max_gpus(self, job: Active) -> int:
        """Return the largest number of GPUs at which the job may run."""
        most = self.cluster.num_gpus if job.job.max_gpus is None else job.job.max_gpus
        return most if self.speed.is_elastic else job.gpus

    def release(self, job: Active, done: float, kept: float | None = None) -> None:
        """Release the GPUs of a running job that has ``done`` and ``kept`` so much of its work."""
        assert job.allocation is not None
        assert self.now > job.since
        job.uncontended += (done - job.done_before) / self.speed.uncontended_rate(job)
        job.written += job.writing(self.now)
        job.done = job.done_before = done if kept is None else kept
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

    def interrupt(self, job: Active) -> None:
        """Release the GPUs of a running job that keeps only what its checkpoints hold."""
        did, saved = job.progress(self.now) - job.done_before, job.saved(self.now)
        job.settle(self.now)
        if self.speed.is_fixed:
            job.lost += int(did - saved)
        elif did > 0:
            ran = max(0, self.now - job.since - job.pending)
            job.lost += round(ran * (did - saved) / did)
        self.release(job, min(job.done, job.work), job.done_before + saved)

    def hit(self, job: Active, *, is_failure: bool) -> None:
        """End a run by an outage; the job waits again, unless it has failed too often."""
        cost = self.scheduler.cost(job.job, job.width)
        self.interrupt(job)
        if self.restart == "work":
            job.work += cost
        job.released = self.now
        job.queued = self.now if job.job.requeue_back else job.queued
        job.failures += is_failure
        if is_failure and job.job.max_requeues is not None and job.failures > job.job.max_requeues:
            self.end(job, FAILED)

    def end(self, job: Active, status: int) -> None:
        """End a job that holds no GPUs."""
        for jobs in (self.active, self.on_hold, self.withheld):
            if job in jobs:
                jobs.remove(job)
        job.status, job.ended = status, self.now

    def kill(self, job: Active) -> None:
        """End a running job at its time limit."""
        self.interrupt(job)
        self.end(job, KILLED)

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
        """Cancel a job unless it is over; whether it ran."""
        if not any(job in jobs for jobs in (self.active, self.on_hold, self.withheld)):
            return False
        self.end(job, CANCELLED)
        if not job.running:
            return False
        job.settle(self.now)
        self.release(job, min(job.done, job.work))
        return True

    def end_jobs(self) -> list[Active]:
        """Apply finishes, kills and cancellations, in this order; return the jobs that ran.

        Jobs that end by themselves, in whatever way, are not cancelled at that instant.
        """
        ended = [job for job in self.running if job.end_tick == self.now]
        killed = [job for job in ended if job.finish_tick > self.now]
        for job in ended:
            if job not in killed:
                self.release(job, job.work)
                job.finish = self.now
                self.end(job, FINISHED)
        for job in killed:
            self.kill(job)
        changes = [change for change in self.changes if change.at_us == self.now]
        self.put_back = []
        jobs = []
        for change in changes:
            if change.job is not None:
                job = self.jobs[change.job]
                jobs += [job] * (change.what == "cancel")
                self.put_back = [one for one in self.put_back if one is not job]
                self.put_back += [job] * (change.what == "release" and job in self.withheld)
                if change.what == "hold" and job in self.active:
                    self.active.remove(job)
                    self.withheld.append(job)
        jobs += [job for job in self.jobs.values() if job.job.cancel_at_us == self.now]
        ended += [job for job in jobs if self.cancel(job)]
        return sorted(ended, key=lambda job: job.id)

    def apply_outages(self) -> None:
        """Begin and end outages: what begins as another ends leaves no gap."""
        if self.now not in self.outages_due:
            return
        begun = [outage for outage in self.outages if outage.start_us == self.now]
        failed = {outage.server for outage in begun if outage.kind == "fail"}
        hit = failed | {outage.server for outage in begun if outage.kind == "maint"}
        for job in self.running:
            assert job.allocation is not None
            if hit & job.allocation.keys():
                self.hit(job, is_failure=bool(failed & job.allocation.keys()))
        self.outages = self.outages[len(begun) :]
        self.open = [outage for outage in self.open + begun if outage.end_us != self.now]
        self.free = replace(self.free, down=frozenset(outage.server for outage in self.open))

    def change_scheduler(self) -> None:
        """Go on with another scheduler if there is one from this instant on."""
        changes = [change for change in self.changes if change.at_us == self.now]
        self.changes = [change for change in self.changes if change.at_us > self.now]
        for scheduler in [one.scheduler for one in changes if one.scheduler is not None][-1:]:
            for job in self.running:
                self.preempt(job)
            self.scheduler = scheduler
            self.restart = restart_rule(scheduler)
            self.is_changed = True

    @property
    def outages_due(self) -> list[int]:
        """The instants at which outages begin and end."""
        ends = [outage.end_us for outage in self.open + self.outages if outage.end_us is not None]
        return ends + [outage.start_us for outage in self.outages]

    def ready_at(self, job: Active) -> float | None:
        """Return when a job is eligible but for its array, None if it can never be."""
        times = [self.jobs[one.target].met_at(one) for one in job.job.dependencies]
        met = [time for time in times if time is not None]
        if len(met) < (min(1, len(times)) if job.job.dependency_any else len(times)):
            return None
        begin = job.job.submit_us if job.job.eligible_us is None else job.job.eligible_us
        latest = min(met, default=0) if job.job.dependency_any else max(met, default=0)
        return max(OPEN if begin == HELD else begin, latest)

    def has_turn(self, job: Active) -> bool:
        """Whether the array of a job may have one more task in the queue or running."""
        limit = None if job.job.array is None else self.array_limits[job.job.array]
        there = self.active + self.withheld
        return limit is None or sum(one.job.array == job.job.array for one in there) < limit

    def release_held(self) -> list[Active]:
        """Put the held jobs into the queue whose time has come; return them.

        A job that can never be eligible stays held, or is cancelled, which may decide others.
        """
        held = self.on_hold
        while never := [
            job for job in held if job.eligible != NEVER and self.ready_at(job) is None
        ]:
            for job in never:
                job.eligible = NEVER
                if self.kill_invalid_depend:
                    self.end(job, CANCELLED)
        released = [job for job in self.put_back if job in self.withheld]
        for job in released:
            self.withheld.remove(job)
            bisect.insort(self.active, job, key=lambda job: job.id)
        for job in list(self.on_hold):
            ready = self.ready_at(job)
            if ready is not None and ready <= self.now and self.has_turn(job):
                job.eligible = self.now
                job.work += getattr(self.scheduler, "overrun", 0)
                self.on_hold.remove(job)
                bisect.insort(self.active, job, key=lambda job: job.id)
                released.append(job)
        return sorted(released, key=lambda job: job.id)

    @property
    def holds_due(self) -> list[int]:
        """The instants at which held jobs are eligible, and unfinished ones cancelled."""
        ready = [self.ready_at(job) for job in self.on_hold]
        ends = [job.job.cancel_at_us for job in self.jobs.values() if job.ended < 0]
        return [int(time) for time in ready + ends if time is not None and self.now < time < OPEN]

    def begin(self, now: int, snapshot: Mapping[int, Snapshot]) -> None:
        """Start in the middle of a run, after the decision of an instant, with these jobs."""
        for number in sorted(snapshot):
            job, was = self.jobs[number], snapshot[number]
            job.start, job.released, job.preemptions = was.start, was.released, was.preemptions
            job.failures, job.lost, job.written = was.failures, was.lost, was.written
            job.held, job.paid = was.held, was.paid
            job.queued = job.queued if was.queued is None else was.queued
            job.done = job.done_before = was.held - was.paid - was.lost - was.written
            job.work += getattr(self.scheduler, "overrun", 0) + was.added
            self.active.append(job)
            if was.allocation is not None:
                self.now = was.since
                self.hold(job, was.allocation, None, pays=was.start < was.since)
                ((_, rate),) = self.speed.rates([job])
                job.set_rate(rate, self.now)
        self.now = now
        begun = [outage for outage in self.outages if outage.start_us <= now]
        self.outages = self.outages[len(begun) :]
        self.open = [out for out in begun if out.end_us is None or out.end_us > now]
        self.free = replace(self.free, down=frozenset(outage.server for outage in self.open))

    def run(self, until: int | None = None) -> Outcome:
        """Replay all jobs, or the decisions before an instant, at which rows are cut."""
        future = deque(job for job in self.jobs.values() if job not in self.active)
        wake = self.scheduler.wake(self) if self.active else None
        for _ in range(self.max_instants):
            running = self.running
            instants = [job.end_tick for job in running]
            if future:
                instants.append(future[0].job.submit_us)
            if wake is not None:
                instants.append(wake)
            instants += [change.at_us for change in self.changes[:1]] + self.holds_due
            if self.active or instants:
                instants += self.outages_due
            if not instants:
                return self.outcome()
            self.now = min(instants)
            if until is not None and self.now >= until:
                self.now = until
                for job in running:
                    self.release(job, job.done)
                return self.outcome()
            check_instant(self.now)

            capacity = self.free.down, self.gpus_up
            finished = self.end_jobs()
            self.apply_outages()
            self.is_changed = capacity != (self.free.down, self.gpus_up)
            self.change_scheduler()
            while future and future[0].job.submit_us == self.now:
                job = future.popleft()
                if job.reason:
                    self.end(job, REJECTED)
                else:
                    self.on_hold.append(job)
            arrived = self.release_held()
            if self.is_changed:
                finished, arrived = [], self.waiting

            is_due, was_running = self.scheduler.is_due(self), bool(self.holding)
            if is_due:
                self.scheduler.decide(self, finished, arrived)
            for job in list(self.suspended):
                self.preempt(job)
            for job, rate in self.speed.rates(self.running):
                if rate != job.rate:
                    self.rates_changed += job.rate is not None
                    job.set_rate(rate, self.now)
            wake = self.scheduler.wake(self)
            assert wake is None or wake > self.now
            is_idle = is_due and not was_running and not self.holding
            due = [*future, *self.changes, *self.outages_due, *self.holds_due]
            may_end = not getattr(self.scheduler, "patience", 0)  # its timers are few
            if self.has_outages and is_idle and may_end and not due:
                return self.outcome()  # whatever waits, waits for a server that is never back
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
            failures=[job.failures for job in jobs],
            lost_us=[job.lost for job in jobs],
            written_us=[job.written for job in jobs],
            eligible_us=(
                [job.eligible for job in jobs] if any(job.job.may_be_held for job in jobs) else []
            ),
            rows=rows,
            digest=digest(rows, rejects),
            rates_changed=self.rates_changed,
            uncontended_us=[] if self.speed.is_fixed else [job.uncontended for job in jobs],
        )
