"""Conservative backfilling: every queued job holds a reservation."""

from __future__ import annotations

from collections import defaultdict

from gpusched.readable.easy import HeadReservation
from gpusched.readable.engine import Engine
from gpusched.readable.model import Active
from gpusched.readable.non_preemptive import NonPreemptive


class Conservative(NonPreemptive):
    """Reservations in a profile of GPU counts; a job starts once its reservation has come.

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
        busy = [(now, max(job.since + job.estimate, now + 1), job.gpus) for job in engine.running]
        for job in engine.waiting:
            if job.id in self.reserved:
                start = max(now, self.reserved[job.id])
                busy.append((start, start + job.estimate, job.gpus))
        more: defaultdict[int, int] = defaultdict(int)  # GPUs busy from an instant on
        for start, end, gpus in busy:
            more[start] += gpus
            more[end] -= gpus
        since, num_busy = now, 0
        for time in sorted(more):
            is_room = num_busy + wanted.gpus <= engine.cluster.num_gpus  # until this instant
            if is_room and since + wanted.estimate <= time:
                break
            num_busy += more[time]
            if not is_room:
                since = time
        return since
