"""Job orders: one key per job, the smallest first, ties to the lower JobId."""

from __future__ import annotations

import math
from collections.abc import Callable

from gpusched.reference.model import Active
from gpusched.reference.rng import draw, uniform

Key = Callable[[Active, int, int], float]
"""From (job, now, seed) to whole ticks, or to an IEEE double if computed."""


def fifo(job: Active, now: int, seed: int) -> float:
    """First come, first served."""
    return job.queued


def sjf(job: Active, now: int, seed: int) -> float:
    """Shortest predicted service."""
    return job.predicted


def sgf(job: Active, now: int, seed: int) -> float:
    """Fewest GPUs."""
    return float(job.gpus)


def swf(job: Active, now: int, seed: int) -> float:
    """Smallest predicted GPU time."""
    return float(job.gpus) * float(job.predicted)


def wspt(job: Active, now: int, seed: int) -> float:
    """Weighted shortest processing time."""
    return float(job.predicted) / job.job.weight


def random(job: Active, now: int, seed: int) -> float:
    """A seeded random number per job."""
    return uniform(draw(seed, "order", job.id, 0))


def srtf(job: Active, now: int, seed: int) -> float:
    """Shortest remaining time."""
    return job.remaining(now)


def srsf(job: Active, now: int, seed: int) -> float:
    """Smallest remaining GPU time."""
    return float(job.gpus) * float(job.remaining(now))


def las(job: Active, now: int, seed: int) -> float:
    """Least attained service."""
    return job.attained(now)


NEVER = math.inf
"""The key of a job without a deadline."""


def edf(job: Active, now: int, seed: int) -> float:
    """Earliest deadline first."""
    return NEVER if job.job.deadline_us is None else job.job.deadline_us


def llf(job: Active, now: int, seed: int) -> float:
    """Least laxity first: the time until the deadline beyond the remaining service."""
    if job.job.deadline_us is None:
        return NEVER
    return job.job.deadline_us - now - job.remaining(now)


def duration(job: Active, now: int, seed: int) -> float:
    """Shortest predicted run time on a good placement."""
    return float(job.predicted) * job.stretch


def workload(job: Active, now: int, seed: int) -> float:
    """Smallest GPU time predicted on a good placement."""
    return float(job.gpus) * duration(job, now, seed)


NON_PREEMPTIVE: dict[str, Key] = {
    "fifo": fifo,
    "fifo-skip": fifo,
    "sjf": sjf,
    "sgf": sgf,
    "swf": swf,
    "wspt": wspt,
    "random": random,
    "spjf": duration,
    "spwf": workload,
    "qssf": swf,
    "wcs-duration": duration,
    "wcs-workload": workload,
    "wcs-subtime": fifo,
}

STRICT = ("fifo", "spjf", "spwf", "qssf")
"""Orders that by default stop at the first job that does not fit."""
