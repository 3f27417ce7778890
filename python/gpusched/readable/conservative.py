"""Conservative backfilling: every queued job holds a reservation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from gpusched.readable.easy import HeadReservation
from gpusched.readable.engine import Engine
from gpusched.readable.model import Active
from gpusched.readable.non_preemptive import NonPreemptive


class Conservative(NonPreemptive):
    """Reservations in a profile of GPU counts by type; a job starts once its reservation has come.

    One that has come and finds no place keeps its turn, and wants its GPUs from now on.
    """

    def __init__(self) -> None:
        self.reserved: dict[int, int] = {}

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Compress where GPUs came free early, reserve for arrivals, start what is due."""
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
        """Return what the first job that has to wait on is promised."""
        return HeadReservation(engine, head)

    def wake(self, engine: Engine) -> int | None:
        """Return the next reservation; a job whose own has come waits for the next event."""
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
    """Return how many GPUs of some types reservations leave, that get as many as they can.

    As the theorem of the greatest flow and the least cut has it: whatever types are looked at
    together, those who may take no others get no more than there is of them.
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
