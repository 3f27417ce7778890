"""EASY and conservative backfilling: later jobs start early if no reservation is delayed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from gpusched.reference.cluster import Free, overlaps
from gpusched.reference.engine import Engine
from gpusched.reference.lists import NonPreemptive
from gpusched.reference.model import Active, Allocation


class HeadReservation:
    """The reservation of the first waiting job, by the estimates: an instant, and GPUs.

    A job that waits for a server that is down has none.
    """

    def __init__(self, engine: Engine, head: Active, margin: int = 0) -> None:
        self.margin = margin
        self.shadow, free, self.reserved = self.find(engine, head)
        self.extra = free.num_gpus - head.gpus
        if engine.has_demands:  # a server may lack CPU even where GPUs are free
            short = engine.cluster.same_servers(self.reserved)
            self.reserved = {server: engine.cluster.all_free()[server] for server in short}

    def find(self, engine: Engine, head: Active) -> tuple[float, Free, Allocation]:
        """Return the head's shadow time (infinite: none), the GPUs free by then, and its GPUs."""
        ends: dict[int, list[Active]] = {}
        for job in engine.running:
            ends.setdefault(max(job.since + job.estimate, engine.now + 1), []).append(job)
        free, windows = engine.free, [window.end_us for window in engine.windows]
        for shadow in sorted({*ends, *(end for end in windows if end is not None)}):
            free = free.released(ends.get(shadow, []))
            reserved = engine.place(head, free, shadow)
            if reserved is not None:
                return shadow, free, reserved
        assert free.down or None in windows, "the head fits on an empty cluster"
        return math.inf, free, {}

    def admits(self, engine: Engine, job: Active, allocation: Allocation) -> bool:
        """Whether a job may start now on these GPUs; in a pool it then counts as started."""
        if engine.now + job.estimate + self.margin <= self.shadow:
            return True
        if not engine.cluster.pooled:
            return not overlaps(allocation, self.reserved)
        if job.gpus > self.extra:
            return False
        self.extra -= job.gpus
        return True


class Reservations:
    """Reservations of several waiting jobs, each for its estimated run time."""

    def __init__(self, margin: int) -> None:
        self.margin = margin
        self.held: list[tuple[float, float, Active, Allocation]] = []  # begin, end, job, GPUs
        self.touching = Counter[int]()  # JobId with a reservation -> GPUs of jobs that end at it

    def add(self, engine: Engine, job: Active) -> None:
        """Reserve the first instant at which the job fits besides all reservations, if any."""
        ends = {other.id: max(other.since + other.estimate, engine.now + 1)
                for other in engine.running}  # fmt: skip
        for begin in sorted({*ends.values(), *(end for _, end, _, _ in self.held)}):
            end = begin + job.estimate
            released = [other for other in engine.running if ends[other.id] <= begin]
            free = engine.free.released(released)
            if engine.cluster.pooled:
                fits = self.least_free(engine, begin, end + self.margin) >= job.gpus
                allocation: Allocation | None = {} if fits else None
            else:
                for first, last, other, where in self.held:
                    if first < end + self.margin and begin < last:
                        # A later reservation may include GPUs of a job that still runs.
                        left = {server: mask & free.masks[server] for server, mask in where.items()}
                        free = free.claimed(other, {at: mask for at, mask in left.items() if mask})
                allocation = engine.place(job, free)
            if allocation is not None:
                self.held.append((begin, end, job, allocation))
                return
        assert engine.free.down, "after the last end all GPUs are free"
        self.held.append((math.inf, math.inf, job, {}))

    def least_free(self, engine: Engine, begin: float, end: float) -> int:
        """Return the minimum number of GPUs of a pool that are free and not reserved."""
        starts = [first for first, _, _, _ in self.held if begin < first < end]
        return min(self.free_at(engine, at) for at in (begin, *starts))

    def free_at(self, engine: Engine, at: float) -> int:
        """Return the number of GPUs of a pool that are free and not reserved at an instant."""
        ends = [(max(job.since + job.estimate, engine.now + 1), job) for job in engine.running]
        over = sum(job.gpus for end, job in ends if at > engine.now and end <= at)
        taken = sum(job.gpus for first, last, job, _ in self.held if first <= at < last)
        return engine.free.num_gpus + over - taken

    def admits(self, engine: Engine, job: Active, allocation: Allocation) -> bool:
        """Whether no reservation is delayed if a job starts now on these GPUs, as it then does.

        With a margin jobs that end at a reserved start have other GPUs than it, which are not free
        there for the next.
        """
        end = engine.now + job.estimate + self.margin
        if engine.cluster.pooled:
            if self.least_free(engine, engine.now, end) < job.gpus:
                return False
            met = {other.id: first for first, _, other, _ in self.held if first < end}
            if self.margin and any(
                self.free_at(engine, first) - self.touching[other] < job.gpus
                for other, first in met.items()
            ):
                return False
            ending = [other for other, first in met.items() if end - self.margin <= first]
            self.touching.update(dict.fromkeys(ending, job.gpus))
            return True
        return not any(
            first < end and overlaps(allocation, where) for first, _, _, where in self.held
        )


class Easy(NonPreemptive):
    """Jobs wait by precedence and submission; later ones start now if they delay no reservation.

    Ends are those of the estimates.
    """

    has_memory = False

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params: dict[str, Any] = {"extra": True, "depth": 1, "backfill": "submit"}
        self.params["touch"] = "allowed"
        self.params |= params
        self.margin = 1 if self.params["touch"] == "strict" else 0  # between an end and a start

    @property
    def takes_windows(self) -> bool:
        """Whether it plans around maintenance: with one reservation it does."""
        return bool(self.params["depth"] == 1)

    def reserve(self, engine: Engine, head: Active) -> HeadReservation:
        """Return the head's reservation now."""
        return HeadReservation(engine, head, self.margin)

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Start heads, reserve for the first waiting jobs, backfill."""
        queue = sorted(engine.waiting, key=lambda job: (job.job.precedence, job.queued, job.id))
        promises: list[HeadReservation] = []
        deep = Reservations(self.margin)
        depth = self.params["depth"]
        while queue and len(promises) + len(deep.held) < depth:
            job = queue.pop(0)
            if self.try_start(engine, job, promises, deep):
                continue
            if depth == 1:
                promises.append(self.reserve(engine, job))
            else:
                deep.add(engine, job)
        if self.params["backfill"] == "shortest":
            queue.sort(key=lambda job: (job.job.precedence, job.estimate, job.id))
        for job in queue:
            self.try_start(engine, job, promises, deep)

    def try_start(
        self, engine: Engine, job: Active, promises: list[HeadReservation], deep: Reservations
    ) -> bool:
        """Start a job if it can be placed without delaying a reservation; whether it started."""
        allocation = engine.place(job)
        if allocation is None:
            return False
        if not self.params["extra"]:
            begins: list[float] = [promise.shadow for promise in promises]
            begins += [begin for begin, _, _, _ in deep.held]
            if any(engine.now + job.estimate + self.margin > begin for begin in begins):
                return False
        if not all(promise.admits(engine, job, allocation) for promise in promises):
            return False
        if not deep.admits(engine, job, allocation):
            return False
        engine.start(job, allocation)
        return True


class Conservative(NonPreemptive):
    """Reservations in a profile of GPU counts by type; a job starts once its reservation is due.

    A due one that cannot be placed keeps its turn, and needs its GPUs from now on.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        self.reserved: dict[int, int] = {}

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Compress when GPUs are released early, reserve for arrivals, start due jobs."""
        now = engine.now
        taken_back = self.reserved.keys() - {job.id for job in engine.waiting}
        for number in taken_back:
            del self.reserved[number]
        if taken_back or any(job.since + job.estimate > now for job in finished):
            for job in engine.waiting:
                if job.id in self.reserved:
                    before = self.reserved.pop(job.id)
                    self.reserved[job.id] = min(before, self.earliest_fit(engine, job))
        for job in arrived:
            self.reserved[job.id] = self.earliest_fit(engine, job)
        due = [job for job in engine.waiting if self.reserved[job.id] <= now]
        head: HeadReservation | None = None
        for job in sorted(due, key=lambda job: (self.reserved[job.id], job.id)):
            allocation = engine.place(job)
            if allocation is None:
                head = head or self.promise(engine, job)
            elif head is None or head.admits(engine, job, allocation):
                del self.reserved[job.id]
                engine.start(job, allocation)

    def promise(self, engine: Engine, head: Active) -> HeadReservation:
        """Return the reservation of the first waiting job."""
        return HeadReservation(engine, head)

    def wake(self, engine: Engine) -> int | None:
        """Return the next reservation; a job whose own is due waits for the next event."""
        return min((time for time in self.reserved.values() if time > engine.now), default=None)

    def earliest_fit(self, engine: Engine, wanted: Active) -> int:
        """Return the first instant from now on with enough GPUs for the whole estimate."""
        now = engine.now
        changes: defaultdict[int, Counter[frozenset[str] | str]] = defaultdict(Counter)
        for job in engine.running:
            end = max(job.since + job.estimate, now + 1)
            for server, mask in (job.allocation or {}).items():
                changes[now][engine.cluster.types[server]] += mask.bit_count()
                changes[end][engine.cluster.types[server]] -= mask.bit_count()
        for job in engine.waiting:
            if job.id in self.reserved:
                start = max(now, self.reserved[job.id])
                changes[start][types_of(engine, job)] += job.gpus
                changes[start + job.estimate][types_of(engine, job)] -= job.gpus
        taken: Counter[frozenset[str] | str] = Counter()  # by running jobs, by reservations
        types = types_of(engine, wanted)
        gpus = {name: engine.cluster.gpus_of(name) for name in set(engine.cluster.types.values())}
        since = None
        for time in sorted({now, *changes}):
            if since is not None and since + wanted.estimate <= time:
                break
            taken.update(changes[time])
            if left_over(gpus, taken, types) < wanted.gpus:
                since = None
            elif since is None:
                since = time
        assert since is not None, "after the last end all GPUs are free"
        return since


def left_over(
    gpus: Mapping[str, int], taken: Counter[frozenset[str] | str], types: frozenset[str]
) -> int:
    """Return how many GPUs of some types remain, with reservations using other types if possible.

    By the max-flow min-cut theorem: for any set of types, reservations restricted to it get no more
    than its GPUs.
    """
    free = {name: max(0, there - taken[name]) for name, there in gpus.items()}
    wanted = {who: want for who, want in taken.items() if isinstance(who, frozenset) and want}
    together = {frozenset[str]()}
    for who in {*wanted, types}:
        together |= {known | who for known in together}
    level = {
        some: sum(free[name] for name in some)
        - sum(want for who, want in wanted.items() if who <= some)
        for some in together
    }
    return min(level[some] for some in together if types <= some) - min(level.values())


def types_of(engine: Engine, job: Active) -> frozenset[str]:
    """Return the GPU types of the cluster that a job may run on."""
    return frozenset(engine.cluster.types[s] for s in engine.cluster.allowed_servers(job.job))
