"""The longest times: beyond them a replay is refused."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched.readable.model import Job

MAX_SERVICE_US = 2**53
MAX_SUBMIT_US = 2**61
MAX_HORIZON_US = 2**62


def check_horizon(jobs: Sequence[Job]) -> None:
    """Raise ValueError if a time is longer than any may be, or all services together are."""
    for row, job in enumerate(jobs):
        if job.service_us > MAX_SERVICE_US:
            raise ValueError(f"job {row}: a service of {job.service_us} us is beyond 2^53")
        if job.submit_us > MAX_SUBMIT_US:
            raise ValueError(f"job {row}: a submit of {job.submit_us} us is beyond 2^61")
    last = max((job.submit_us for job in jobs), default=0)
    horizon = last + sum(job.service_us for job in jobs)
    if horizon >= MAX_HORIZON_US:
        raise ValueError(f"the last submit plus all services is {horizon} us, not below 2^62")


def check_instant(now: int) -> None:
    """Raise ValueError if no instant may be that late: restarts may have cost too much."""
    if now >= MAX_HORIZON_US:
        raise ValueError("the schedule passes 2^62 us: services and restart costs are too large")
