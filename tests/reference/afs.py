"""The pairwise rule of AFS-L on GPUs of one type, at every event: slow, and easy to read."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Growing:
    """A job of which the service per second is known at 1, 2, .. GPUs; times in ticks."""

    id: int
    submit: int
    service: int
    rates: list[float]
    """At 0, 1, .. GPUs."""
    left: float = 0.0
    gpus: int = 0
    finish: int | None = None

    def __post_init__(self) -> None:
        """Nothing is done."""
        self.left = float(self.service)

    @property
    def remaining(self) -> int:
        """The service left as policies see it."""
        return max(1, math.ceil(self.left))

    def length(self, gpus: int) -> float:
        """Return the time left with so many GPUs."""
        return self.remaining / self.rates[gpus] if gpus else math.inf

    def gain(self, gpus: int) -> float:
        """Return what one GPU more adds to the service per second."""
        return self.rates[gpus + 1] - self.rates[gpus] if gpus + 1 < len(self.rates) else 0.0


def replay(jobs: list[Growing], num_gpus: int) -> None:
    """Run the jobs, by submit; each ends with a ``finish``."""
    future, live, now = list(jobs), list[Growing](), 0
    while future or live:
        instants = [now + math.ceil(job.left / job.rates[job.gpus]) for job in live if job.gpus]
        before, now = now, min(instants + [job.submit for job in future[:1]])
        for job in live:
            job.left -= (now - before) * job.rates[job.gpus]
            if job.left <= 0:
                job.finish = now
        live = [job for job in live if job.finish is None]
        live += [job for job in future if job.submit == now]
        future = [job for job in future if job.submit > now]
        share(live, num_gpus)


def share(live: list[Growing], num_gpus: int) -> None:
    """Give GPU after GPU to the top of a pass over all jobs that gain by it."""
    given = {job.id: 0 for job in live}
    for _ in range(num_gpus):
        gaining = [job for job in live if job.gain(given[job.id]) > 0]
        if not gaining:
            break
        # Those without GPUs first, the one with the least left ahead of them.
        gaining.sort(
            key=lambda job: (given[job.id] > 0, job.remaining * (not given[job.id]), job.id)
        )
        top = gaining[0]
        for job in gaining[1:]:
            top = better(top, job, given)
        given[top.id] += 1
    for job in live:
        job.gpus = given[job.id]


def better(one: Growing, other: Growing, given: dict[int, int]) -> Growing:
    """Return which of two has the GPU."""
    if not given[one.id] and not given[other.id]:
        return one if one.remaining <= other.remaining else other
    short, long = one, other
    if one.length(given[one.id]) >= other.length(given[other.id]):
        short, long = other, one
    less, more = given[short.id], given[long.id]
    of_more = long.gain(more) / long.rates[more + 1]
    of_less = short.gain(less) / short.rates[less] if less else math.inf
    return long if of_more > of_less else short
