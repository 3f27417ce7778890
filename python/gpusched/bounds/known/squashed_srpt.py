"""The cluster as one machine that cuts gangs at will, shortest remaining first.

The function in plain Python is the readable twin of the native one, which is used where the
compiled core offers it.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

from gpusched.base.arrays import Int32, Int64
from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs
from gpusched.bounds.native import native, rows_of
from gpusched.bounds.registry import TOTAL_JCT, register_bound


def squashed_srpt(jobs: Jobs, num_gpus: int) -> Fraction:
    """Least sum of JCT, in microseconds, if the cluster were one machine that cuts gangs at will.

    The machine runs job ``j`` for ``gpus * service / num_gpus``, shortest remaining first, which
    is optimal for one machine (Schrage, "A proof of the optimality of the shortest remaining
    processing time discipline", 1968). O(n log n).
    """
    compute = native("squashed_srpt") or squashed_srpt_ticks
    ticks = compute(jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus)
    return Fraction(ticks, num_gpus)


def squashed_srpt_ticks(submit_us: Int64, service_us: Int64, gpus: Int32, num_gpus: int) -> int:
    """Least total flow on the squashed machine, in ticks."""
    remaining: list[int] = []  # a heap
    now = flow = 0
    for submit, service, width in rows_of(submit_us, service_us, gpus):
        release = submit * num_gpus
        while remaining and now + remaining[0] <= release:
            now += heapq.heappop(remaining)
            flow += now
        if remaining:
            remaining[0] -= release - now  # the least gets less: still a heap
        now = release
        flow -= release
        heapq.heappush(remaining, service * width)
    for work in sorted(remaining):
        now += work
        flow += now
    return flow


@register_bound(
    "squashed-srpt",
    quantity=TOTAL_JCT,
    summary="Shortest remaining first on one machine that cuts gangs at will.",
    assumptions="None. Strong under high load.",
    source="Schrage, Operations Research 1968.",
    rank=1,
)
def _of(jobs: BoundedJobs) -> Fraction:
    return squashed_srpt(jobs.pieces, jobs.num_gpus)
