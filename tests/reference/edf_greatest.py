"""EDF at greatest widths on one GPU type, as a program of its own: slow, and easy to read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

SECOND = 1_000_000


@dataclass
class Wide:
    """A job of which the service per second is known at some widths; times in ticks."""

    id: int
    submit: int
    service: int
    deadline: int | None
    rates: dict[int, float]
    left: float = 0.0
    gpus: int = 0
    finish: int | None = None
    is_turned_down: bool = False
    key: tuple[float, int] = field(init=False)

    def __post_init__(self) -> None:
        """Jobs without a deadline come last."""
        self.left = float(self.service)
        self.key = (math.inf if self.deadline is None else self.deadline, self.id)

    def greatest(self, free: int) -> int:
        """Return the greatest width that is left; 0 if none is."""
        return max((gpus for gpus in self.rates if gpus <= free), default=0)

    def lasts(self, gpus: int) -> int:
        """Return how long the rest takes."""
        return math.ceil(self.left / self.rates[gpus])


def replay(jobs: list[Wide], num_gpus: int, slot: int, *, admission: bool) -> None:
    """Run the jobs, by submit; each ends with a ``finish``."""
    future, line, effort, came = list(jobs), list[Wide](), list[Wide](), list[Wide]()
    now = 0
    last: int | None = None  # when GPUs were given out
    wants = False
    while future or line or effort or came:
        running = [job for job in line + effort if job.gpus]
        instants = [now + job.lasts(job.gpus) for job in running]
        instants += [job.submit for job in future[:1]]
        if wants:
            instants.append(now if last is None else next_time(last, now, slot))
        before, now = now, min(instants)
        for job in running:
            job.left -= (now - before) * job.rates[job.gpus]
        over = [job for job in running if job.left <= 0]
        for job in over:
            job.finish, job.gpus = now, 0
        num_before = len(line)
        line = [job for job in line if job not in over]
        effort = [job for job in effort if job not in over]
        came += [job for job in future if job.submit == now]
        future = [job for job in future if job.submit > now]
        wants = wants or len(line) < num_before or bool(came) or not line
        wants = wants and bool(line or effort or came)
        if not wants or (last is not None and now < next_time(last, now, slot)):
            continue
        wants = False
        last = now
        for job in came:
            tried = sorted([*line, job], key=lambda job: job.key)
            if not admission or job.deadline is None or all_in_time(tried, num_gpus, slot, now):
                line = tried
            else:
                job.is_turned_down = True
                effort.append(job)
        came = []
        free = num_gpus
        for job in line + effort:
            job.gpus = job.greatest(free)
            free -= job.gpus


def next_time(last: int, now: int, slot: int) -> int:
    """Return the first instant from now on, a slot or more and whole seconds after the last."""
    return last + max(slot, -(-(now - last) // SECOND) * SECOND)


def all_in_time(line: list[Wide], num_gpus: int, slot: int, now: int) -> bool:
    """Whether each ends in time on what those before it leave, which have whole slots."""
    taken: list[tuple[int, int, int]] = []  # from, until, GPUs
    for job in line:
        left, at, end = job.left, now, math.inf
        while job.deadline is None or at <= job.deadline:
            free = num_gpus - sum(gpus for a, b, gpus in taken if a <= at < b)
            edges = [edge for a, b, _ in taken for edge in (a, b) if edge > at]
            until = min(edges, default=None)
            gpus = job.greatest(free)
            if gpus:
                lasts = math.ceil(left / job.rates[gpus])
                if until is None or lasts <= until - at:
                    end = at + lasts
                    slots = -(-(end - now) // slot)
                    taken.append((at, now + slots * slot, gpus))
                    break
                left -= (until - at) * job.rates[gpus]
                taken.append((at, until, gpus))
            if until is None:
                break
            at = until
        if job.deadline is not None and end > job.deadline:
            return False
    return True
