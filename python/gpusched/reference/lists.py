"""List scheduling: walk the queue by precedence, then by key, without and with preemption."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import Any

from gpusched.reference.cluster import Free
from gpusched.reference.engine import Engine
from gpusched.reference.model import MAX_HORIZON_US, Active, Allocation, Job
from gpusched.reference.orders import Key, las, llf, srsf


class NonPreemptive:
    """Decides at every arrival and finish; never preempts, but resumes jobs preempted earlier."""

    has_memory = True

    def cost(self, job: Job, gpus: int) -> int:
        """Return the job's own cost: the policy has no rule."""
        return job.checkpoint_us + job.restart_us

    def is_due(self, engine: Engine) -> bool:
        """Whether the present instant ends with a decision."""
        return True

    def wake(self, engine: Engine) -> int | None:
        """Return None: no timers."""
        return None


class ListScheduler(NonPreemptive):
    """Walk the queue by precedence and key; strict stops at the first job that does not fit.

    Jobs queued ``patience_s`` ago or earlier go first, in that order, and no job passes them.
    With ``defrag="blocked"`` running jobs move where that makes room.
    """

    has_memory = False
    takes_windows = True

    def __init__(
        self, key: Key, strict: bool, patience_s: float = 0.0, defrag: str = "never"
    ) -> None:
        self.key = key
        self.strict = strict
        self.patience = ticks(patience_s)
        self.may_clear = self.clears = defrag == "blocked"
        self.retry: int | None = None

    def is_overdue(self, engine: Engine, job: Active) -> bool:
        """Whether the job has waited for so long that it goes first."""
        return self.patience > 0 and job.queued + self.patience <= engine.now

    def wake(self, engine: Engine) -> int | None:
        """Return when the next waiting job goes first, or running jobs are worth to be moved."""
        times = [] if self.retry is None else [self.retry]
        if self.patience > 0 and not any(self.is_overdue(engine, job) for job in engine.waiting):
            times += [job.queued + self.patience for job in engine.waiting]
        return min(times, default=None)

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start what can be placed."""
        if self.clears and engine.has_demands:
            raise ValueError("defrag=blocked: not supported for jobs that ask for more than GPUs")
        self.may_clear, self.retry = self.clears, None
        queue = engine.waiting
        rank = self.key
        queue.sort(key=lambda job: (job.job.precedence, rank(job, engine.now, engine.seed), job.id))
        overdue = [job for job in queue if self.is_overdue(engine, job)]
        overdue.sort(key=lambda job: (job.queued, job.id))
        for job in overdue + [job for job in queue if job not in overdue]:
            allocation = engine.place(job)
            if allocation is not None:
                engine.start(job, allocation)
            elif not self.make_room(engine, job) and (self.strict or job in overdue):
                break

    def make_room(self, engine: Engine, job: Active) -> bool:
        """Start a refused job for which enough GPUs are free by moving others, if worth it.

        After the first failure of a decision nothing is tried.
        """
        counts = engine.free.counts
        num_free = sum(counts[server] for server in engine.cluster.allowed_servers(job.job))
        if not self.may_clear or job.gpus > num_free:
            return False
        self.may_clear = False
        plan = room_for(engine, job)
        if plan is None:
            return False
        room, moves = plan
        price = sum(one.gpus * self.cost(one.job, one.gpus) for one, _ in moves)
        worth = job.queued - (-price // job.gpus)
        if worth > engine.now:
            self.retry = worth if worth < MAX_HORIZON_US else None
            return False
        for one, _ in moves:
            engine.suspend(one)
        engine.start(job, room)
        for one, allocation in moves:
            engine.resize(one, allocation)
        self.may_clear = True
        return True


Moves = list[tuple[Active, Allocation]]


def room_for(engine: Engine, gang: Active) -> tuple[Allocation, Moves] | None:
    """Return GPUs for a job and where others move for them; None if there is no such way.

    Servers are cleared one after the other, by the GPUs of their jobs, until the job is placed.
    Then cleared jobs whose GPUs are still free keep them, and the others are placed, widest first.
    """
    allowed = engine.cluster.allowed_servers(gang.job)
    hosts = {
        server: jobs
        for server in allowed
        if (jobs := [job for job in engine.running if server in (job.allocation or {})])
        and all(job.since < engine.now for job in jobs)
    }
    free, cleared = engine.free, list[Active]()

    def left(server: int) -> list[Active]:
        return [job for job in hosts[server] if job not in cleared]

    while (room := engine.place(gang, free)) is None:
        if not hosts:
            return None
        least = min(hosts, key=lambda server: (sum(job.gpus for job in left(server)), server))
        free = free.released(left(least))
        cleared += left(least)
        del hosts[least]
    free = free.claimed(gang, room)
    moved = []
    for job in cleared:
        assert job.allocation is not None
        if free.contains(job, job.allocation):
            free = free.claimed(job, job.allocation)
        else:
            moved.append(job)
    moves: Moves = []
    for job in sorted(moved, key=lambda job: (-job.gpus, job.id)):
        allocation = engine.place(job, free)
        if allocation is None:
            return None
        free = free.claimed(job, allocation)
        moves.append((job, allocation))
    return room, moves


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
    "least_s": 0.0,
}


def ticks(seconds: float) -> int:
    """Round half to even to microseconds."""
    return round(seconds * 1e6)


class Preemptive:
    """Steps 1 to 5 of the preemptive decision, in the order of precedence, key and JobId."""

    has_memory = False
    takes_windows = True

    def __init__(self, key: Key, params: Mapping[str, Any]) -> None:
        self.params = DEFAULTS | dict(params)
        self.key = key
        self.period = ticks(self.params["period_s"])
        self.overrun = ticks(self.params["overrun_s"])
        self.least_run = ticks(self.params["least_s"])
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
        """Return the next multiple of the period; without one, when a run has lasted enough."""
        in_need = engine.active if self.params["epoch"] == "period" else engine.waiting
        if not in_need or (self.period == 0 and self.takes_turns):
            return None
        if self.period > 0:
            return (engine.now // self.period + 1) * self.period
        young = [job for job in engine.running if self.is_young(engine, job)]
        return min((job.since + self.least_run for job in young), default=None)

    @property
    def takes_turns(self) -> bool:
        """Whether running makes a job less urgent, so that equals take turns."""
        return self.key in (las, llf)

    def is_young(self, engine: Engine, job: Active) -> bool:
        """Whether the run of a job has not lasted for least_s: it may not be preempted."""
        return job.id in engine.holding and engine.now < job.since + self.least_run

    def keys(self, engine: Engine) -> dict[int, Any]:
        """Return the sort key (key, id) of every active job."""
        key, now, seed = self.key, engine.now, engine.seed
        return {job.id: (key(job, now, seed), job.id) for job in engine.active}

    def take(self, engine: Engine, ranked: list[Active], num_gpus: int) -> list[Active]:
        """Return the jobs that fit a budget of GPUs, in the given order."""
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
        """Decide which jobs run from now on."""
        own = self.keys(engine)
        key = {
            job.id: (-1 if self.is_young(engine, job) else job.job.precedence, own[job.id])
            for job in engine.active
        }
        ranked = [engine.jobs[number] for number in sorted(key, key=key.__getitem__)]
        taken = {job.id for job in self.take(engine, ranked, engine.gpus_up)}  # step 1
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
        """Continue jobs whose GPUs are free, preempt the others; return the free rest."""
        for job in jobs:
            assert job.allocation is not None
            if free.contains(job, job.allocation):
                free = free.claimed(job, job.allocation)
            else:
                engine.preempt(job)
        return free


class ServerFilling(Preemptive):
    """List scheduling with another set of selected jobs."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__(srsf, params)

    def take(self, engine: Engine, ranked: list[Active], num_gpus: int) -> list[Active]:
        """Return the jobs of the shortest prefix that could fill the cluster, largest first.

        Jobs that need more GPUs than are up are left out.
        """
        prefix: list[Active] = []
        for job in [job for job in ranked if job.gpus <= num_gpus]:
            if sum(other.gpus for other in prefix) >= num_gpus:
                break
            prefix.append(job)
        young = [job for job in prefix if self.is_young(engine, job)]
        widest_first = sorted(
            (job for job in prefix if job not in young), key=lambda job: -job.gpus
        )  # stable: then by key
        return young + super().take(engine, widest_first, num_gpus - sum(job.gpus for job in young))


PRESETS: dict[str, dict[str, Any]] = {
    "tiresias": {"limits": [3250.0, 7200.0]},
    "tiresias-artefact": {
        "limits": [3250.0, 7200.0],
        "inside": "running",
        "crossing": "floored",
        "period_s": 0.0,
    },
    "lucid": {
        "limits": [18000.0],
        "epoch": "period",
        "period_s": 60.0,
        "restart": "work",
        "cost_s": 40.0,
        "wide_cost_s": 60.0,
        "quota": "hold",
        "overrun_s": 1.0,
        "sink": "passed",
    },
}


class DiscretisedLas(Preemptive):
    """Key: (queue, submit, entry or position). The queue is the number of limits reached."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        preset = PRESETS[params.get("preset", "tiresias")]
        own = {
            "period_s": 60.0,
            "inside": "submit",
            "promote": 0.0,
            "crossing": "exact",
            "sink": "reached",
        }
        super().__init__(las, own | preset | dict(params))
        self.has_memory = self.params["inside"] != "submit" or self.params["promote"] > 0
        beyond = 1 if self.params["sink"] == "passed" else 0
        self.limits = [ticks(limit) + beyond for limit in self.params["limits"]]
        self.base: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self.entry: dict[int, int] = {}
        self.line: list[int] = []  # JobIds in order, with inside=running

    @property
    def takes_turns(self) -> bool:
        """Whether running makes a job less urgent for good: it is promoted again."""
        return bool(self.params["promote"] > 0)

    def since_promotion(self, job: Active, now: int) -> int:
        """Return the service attained since the last promotion."""
        return job.attained(now) - self.base.get(job.id, 0)

    def queue(self, job: Active, now: int) -> int:
        """Return the number of limits that the job has reached."""
        gpu_time = job.gpus * self.since_promotion(job, now)
        return bisect.bisect_right(self.limits, gpu_time)

    def keys(self, engine: Engine) -> dict[int, Any]:
        """Promote, record which jobs entered a queue, return the sort keys."""
        now, sigma = engine.now, self.params["promote"]
        keys: dict[int, Any] = {}
        moved: list[int] = []  # into another queue
        by_entry = self.params["inside"] == "entry"
        for job in engine.active:
            if sigma > 0 and not job.running and self.queue(job, now) > 0:
                unserved = float(now - job.released)
                if unserved > sigma * float(self.since_promotion(job, now)):
                    self.base[job.id] = job.attained(now)
            queue = self.queue(job, now)
            if self.seen.get(job.id) != queue:
                if job.id in self.seen:
                    moved.append(job.id)
                self.seen[job.id] = queue
                self.entry[job.id] = now
            inside = self.entry[job.id] if by_entry else job.queued
            keys[job.id] = (queue, inside, job.id)
        if self.params["inside"] == "running":
            self.line_up(engine, moved)
            return {job: (keys[job][0], place) for place, job in enumerate(self.line)}
        return keys

    def line_up(self, engine: Engine, moved: list[int]) -> None:
        """Move waiting jobs after running ones, then append arrivals, then queue changers."""
        active = {job.id: job for job in engine.active}
        stood = [job for job in self.line if job in active and job not in moved]
        stood.sort(key=lambda job: not active[job].running)  # stable
        came = [job for job in active if job not in self.line]
        self.line = stood + came + moved

    def wake(self, engine: Engine) -> int | None:
        """Return the next review or the next instant at which a limit is reached."""
        review = super().wake(engine)
        if self.params["epoch"] == "period":
            return review
        times = [] if review is None else [review]
        for job in engine.running:
            queue = self.queue(job, engine.now)
            if queue < len(self.limits) and self.params["crossing"] == "floored":
                missing = self.limits[queue] - self.since_promotion(job, engine.now)
                whole = max(1, missing // (job.gpus * ticks(1)))
                times.append(max(engine.now, job.since + job.pending) + whole * ticks(1))
            elif queue < len(self.limits):
                needed = -(-self.limits[queue] // job.gpus)  # rounded up to a tick
                missing = needed - self.since_promotion(job, job.since)
                times.append(job.since + job.pending + missing)
        return min(times, default=None)


class ASrptP(Preemptive):
    """Keys of running jobs are reduced by the work that their restart would cost."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__(lambda job, now, seed: 0.0, params)

    def keys(self, engine: Engine) -> dict[int, Any]:
        """Return the sort key (key, id) of every active job."""
        return {job.id: (self.virtual_work(engine, job), job.id) for job in engine.active}

    def virtual_work(self, engine: Engine, job: Active) -> float:
        """Return the GPUs times the remaining time on a good placement."""
        ticks = float(job.remaining(engine.now)) * job.stretch
        if job.running:
            ticks -= float(self.cost(job.job, job.gpus))
        return float(job.gpus) * ticks
