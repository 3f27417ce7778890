"""Mean busy times on the machine that cuts gangs at will.

The function in plain Python is the readable twin of the native one, which is used where the
compiled core offers it.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.base.field_checks import unmasked
from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs
from gpusched.bounds.native import native, rows_of
from gpusched.bounds.registry import TOTAL_JCT, register_bound


def mean_busy_time(jobs: Jobs, num_gpus: int, *, weight: Float64 | None = None) -> Fraction:
    """Bound the sum of JCT, in microseconds, by the mean busy times of the squashed machine.

    Under static preemptive priority, least ``gpus * service / weight`` first, the machine attains
    the least weighted sum of mean busy times ``M``; and in every schedule a job completes no
    earlier than ``M + service / 2`` (Goemans, "Improved approximation algorithms for scheduling
    with release dates", 1997). Each job's ``M`` is rounded down to half a tick. O(n log n).

    Parameters
    ----------
    weight
        Positive weights, shape ``(n,)``: bounds the weighted sum of JCT. It is then computed in
        double precision and lowered by more than the rounding can amount to.
    """
    weights = np.empty(0) if weight is None else unmasked("weight", weight)
    columns = (jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus, weights)
    compute = native("mean_busy_time") or mean_busy_half_ticks
    try:
        half_ticks, weighted = compute(*columns)
    except OverflowError:  # beyond 128 bits; Python's integers have no bound
        half_ticks, weighted = mean_busy_half_ticks(*columns)
    if weight is not None:
        safe = 1.0 - (len(weights) + 8) * 2.0**-52
        return Fraction(weighted * safe) / (2 * num_gpus)
    return Fraction(half_ticks, 2 * num_gpus)


def busy_times(jobs: Jobs, num_gpus: int, weight: Float64) -> Float64:
    """Return mean busy time - submit + service / 2 of each job, in half ticks.

    They are those of the machine of :func:`mean_busy_time` under these positive weights.

    Raises
    ------
    OverflowError
        If a job's work times the horizon needs more than 127 bits.
    """
    columns = (jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus, weight)
    compute = native("busy_times")
    if compute is not None:
        each: Float64 = compute(*columns)
        return each
    found: list[int] = []
    mean_busy_half_ticks(*columns, each=found)
    return np.array(found, dtype=np.float64)


def mean_busy_half_ticks(
    submit_us: Int64,
    service_us: Int64,
    gpus: Int32,
    num_gpus: int,
    weight: Float64,
    each: list[int] | None = None,
) -> tuple[int, float]:
    """Sums of (mean busy time - submit + service / 2), in half ticks: exact, and weighted.

    An empty ``weight`` counts every job once; ``each`` gets those of the jobs.
    """
    rows = rows_of(submit_us, service_us, gpus)
    weights = weight.tolist() or [1.0] * len(rows)
    remaining = [service * width for _, service, width in rows]
    moment = [0] * len(rows)  # over the ticks served: the sum of (begin + end), since submit
    waiting: list[tuple[float | int, int]] = []  # a heap of (work / weight, job)
    now = total = 0
    weighted = 0.0
    if each is not None:
        each[:] = [0] * len(rows)

    def serve_until(limit: int | None) -> None:
        nonlocal now, total, weighted
        while waiting and (limit is None or now < limit):
            job = waiting[0][1]
            submit, service, width = rows[job]
            served = remaining[job] if limit is None else min(remaining[job], limit - now)
            moment[job] += served * (2 * (now - submit * num_gpus) + served)
            remaining[job] -= served
            now += served
            if remaining[job] == 0:
                half_ticks = moment[job] // (service * width) + service * num_gpus
                total += half_ticks
                if each is not None:
                    each[job] = half_ticks
                weighted += float(half_ticks) * weights[job]
                heapq.heappop(waiting)

    for job, (submit, _, _) in enumerate(rows):
        serve_until(submit * num_gpus)
        now = submit * num_gpus
        work = remaining[job]
        key = work if len(weight) == 0 else float(work) / weights[job]
        heapq.heappush(waiting, (key, job))
    serve_until(None)
    return total, weighted


@register_bound(
    "mean-busy-time",
    quantity=TOTAL_JCT,
    summary="A job ends p / 2 after its mean busy time at the earliest, and least g p first on the "
    "machine that cuts gangs has the least sum of those.",
    assumptions="No job can change its width. Usually the strongest at low and medium load.",
    source="Goemans, SODA 1997.",
    rank=2,
)
def _of(jobs: BoundedJobs) -> Fraction | None:
    return None if jobs.is_elastic else mean_busy_time(jobs.pieces, jobs.num_gpus)
