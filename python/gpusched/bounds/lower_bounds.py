"""Lower bounds on what any schedule of a trace can reach: the certificate of a result.

Every bound is exact: it is computed in integers, in *ticks* of ``1 / num_gpus`` microseconds, of
which a job on the squashed machine takes exactly ``gpus * service_us``. A schedule that attains a
bound equals it; none falls below by a rounding error. All of them hold whatever the placement,
contention and restart costs, because these only make a schedule worse.

The functions written here in plain Python are the readable twins of the native ones, which are
used where the compiled core offers them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64
from gpusched.base.intake import unmasked
from gpusched.base.units import WHOLE_GPU

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace


class Jobs(Protocol):
    """What a bound needs to know: a :class:`~gpusched.Trace` has it, sorted by submit."""

    @property
    def submit_us(self) -> Int64: ...
    @property
    def service_us(self) -> Int64: ...
    @property
    def gpus(self) -> Int32: ...


class JobColumns(NamedTuple):
    """The columns of some of a trace's jobs, in the trace's order."""

    submit_us: Int64
    service_us: Int64
    gpus: Int32


@dataclass(frozen=True, slots=True)
class LowerBounds:
    """Lower bounds on one set of jobs, in exact microseconds."""

    total_jct_us: dict[str, Fraction]
    """Bounds on the sum of all completion times less submits, by name."""
    makespan_us: Fraction
    """Bound on the last completion less the first submit."""

    @property
    def best(self) -> tuple[str, Fraction]:
        """The name and the value of the largest bound on the sum; the first one of equals."""
        name = max(self.total_jct_us, key=self.total_jct_us.__getitem__)
        return name, self.total_jct_us[name]


def lower_bounds(
    trace: Trace,
    cluster: Cluster,
    *,
    jobs: Bool | None = None,
    costs: Mapping[str, Float64] | None = None,
) -> LowerBounds:
    """Bound the sum of job completion times (JCT) and the makespan on ``cluster`` from below.

    Parameters
    ----------
    jobs
        The jobs that count, shape ``(len(trace),)``; by default all. A result passes the
        finished ones. (That others are left out can only lower a bound.)
    costs
        Where jobs may change their widths: what that can save of the run time (``time``) and of
        the GPU time (``gpu_time``) of each job, float64[num_jobs] up to 1, and the widths between
        which it can run (``narrowest``, ``widest``); see
        :func:`gpusched.specs.speed_limits.least_costs`.

    Notes
    -----
    Jobs that hold a share of a GPU count as gangs of thousandths, on as many times more GPUs.
    Where some job may change its width, all are cut into GPU time: those bounds are the weaker
    two, even if no other width saves anything.
    """
    chosen: Any = slice(None) if jobs is None or jobs.all() else jobs
    columns = JobColumns(trace.submit_us[chosen], trace.service_us[chosen], trace.gpus[chosen])
    num_gpus = cluster.num_gpus
    if costs is not None:
        least = {name: part[chosen] for name, part in costs.items()}
        # A width that saves nothing fills gaps all the same.
        if ((least["narrowest"] < columns.gpus) | (least["widest"] > columns.gpus)).any():
            return _elastic_bounds(columns, num_gpus, least)
    if trace.share_milli is not None:
        columns = columns._replace(gpus=columns.gpus * trace.share_milli[chosen])
        num_gpus *= WHOLE_GPU
    return LowerBounds(
        total_jct_us={
            "squashed-srpt": squashed_srpt(columns, num_gpus),
            "mean-busy-time": mean_busy_time(columns, num_gpus),
            "trivial": trivial(columns),
        },
        makespan_us=makespan_bound(columns, num_gpus),
    )


def _elastic_bounds(
    columns: JobColumns, num_gpus: int, least: Mapping[str, Float64]
) -> LowerBounds:
    """Bounds where a job may run at any of its widths: it is its least GPU time, cut at will."""
    below = 1.0 - 2.0**-40  # more than the rounding of the parts can amount to
    time_us = np.floor(columns.service_us * (least["time"] * below)).astype(np.int64)
    area = columns.service_us * columns.gpus.astype(np.float64) * (least["gpu_time"] * below)
    ones = np.ones(len(area), dtype=np.int32)
    pieces = JobColumns(columns.submit_us, np.maximum(1, np.floor(area)).astype(np.int64), ones)
    narrowest = least["narrowest"].astype(np.int32)
    shortest = JobColumns(columns.submit_us, np.maximum(1, time_us), narrowest)
    return LowerBounds(
        total_jct_us={
            "squashed-srpt": squashed_srpt(pieces, num_gpus),
            "trivial": trivial(shortest),
        },
        makespan_us=max(_work_bound(pieces, num_gpus), makespan_bound(shortest, num_gpus)),
    )


def _work_bound(pieces: JobColumns, num_gpus: int) -> Fraction:
    """A submit and all work submitted from then on, on all GPUs: the largest over all submits."""
    if len(pieces.submit_us) == 0:
        return Fraction(0)
    since_first: AnyArray = (pieces.submit_us - pieces.submit_us[0]).astype(object)
    work = _from_here_on(pieces.service_us.astype(object))
    return Fraction(int((since_first * num_gpus + work).max()), num_gpus)


def trivial(trace: Jobs) -> Fraction:
    """Sum of services in microseconds: no job ends before its submit plus its service."""
    return Fraction(int(np.sum(trace.service_us, dtype=np.int64)))


def squashed_srpt(trace: Jobs, num_gpus: int) -> Fraction:
    """Least sum of JCT, in microseconds, if the cluster were one machine that cuts gangs at will.

    The machine runs job ``j`` for ``gpus * service / num_gpus``, shortest remaining first, which
    is optimal for one machine (Schrage, "A proof of the optimality of the shortest remaining
    processing time discipline", 1968). O(n log n).
    """
    native = _native("squashed_srpt") or squashed_srpt_ticks
    ticks = native(trace.submit_us, trace.service_us, trace.gpus, num_gpus)
    return Fraction(ticks, num_gpus)


def mean_busy_time(trace: Jobs, num_gpus: int, *, weight: Float64 | None = None) -> Fraction:
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
    columns = (trace.submit_us, trace.service_us, trace.gpus, num_gpus, weights)
    native = _native("mean_busy_time") or mean_busy_half_ticks
    try:
        half_ticks, weighted = native(*columns)
    except OverflowError:  # beyond 128 bits; Python's integers have no bound
        half_ticks, weighted = mean_busy_half_ticks(*columns)
    if weight is not None:
        safe = 1.0 - (len(weights) + 8) * 2.0**-52
        return Fraction(weighted * safe) / (2 * num_gpus)
    return Fraction(half_ticks, 2 * num_gpus)


def makespan_bound(trace: Jobs, num_gpus: int) -> Fraction:
    """Bound the last completion less the first submit, in microseconds.

    The largest of three: a job's submit and service; a submit and all work submitted from then
    on, on all GPUs; a submit and, one after the other, all later gangs wider than half the GPUs.
    """
    if len(trace.submit_us) == 0:
        return Fraction(0)
    since_first = trace.submit_us - trace.submit_us[0]
    latest_end = int(since_first[-1]) + int(np.sum(trace.service_us, dtype=np.int64))
    exact: Any = np.int64 if latest_end * num_gpus < 2**62 else object
    release = since_first.astype(exact) * num_gpus
    service = trace.service_us.astype(exact)
    alone = np.where(2 * trace.gpus.astype(np.int64) > num_gpus, service, 0)
    ticks = max(
        (release + service * num_gpus).max(),
        (release + _from_here_on(service * trace.gpus.astype(exact))).max(),
        (release + _from_here_on(alone) * num_gpus).max(),
    )
    return Fraction(int(ticks), num_gpus)


def _from_here_on(values: AnyArray) -> AnyArray:
    """Sums of each value and all that follow it."""
    sums: AnyArray = np.cumsum(values[::-1])[::-1]
    return sums


# The readable twins.


def squashed_srpt_ticks(submit_us: Int64, service_us: Int64, gpus: Int32, num_gpus: int) -> int:
    """Least total flow on the squashed machine, in ticks."""
    remaining: list[int] = []  # a heap
    now = flow = 0
    for submit, service, width in _rows(submit_us, service_us, gpus):
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


def mean_busy_half_ticks(
    submit_us: Int64, service_us: Int64, gpus: Int32, num_gpus: int, weight: Float64
) -> tuple[int, float]:
    """Sums of (mean busy time - submit + service / 2), in half ticks: exact, and weighted.

    An empty ``weight`` counts every job once.
    """
    rows = _rows(submit_us, service_us, gpus)
    weights = weight.tolist() or [1.0] * len(rows)
    remaining = [service * width for _, service, width in rows]
    moment = [0] * len(rows)  # over the ticks served: the sum of (begin + end), since submit
    waiting: list[tuple[float | int, int]] = []  # a heap of (work / weight, job)
    now = total = 0
    weighted = 0.0

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


def _rows(submit_us: Int64, service_us: Int64, gpus: Int32) -> list[tuple[int, int, int]]:
    return list(zip(submit_us.tolist(), service_us.tolist(), gpus.tolist(), strict=True))


def _native(name: str) -> Callable[..., Any] | None:
    try:
        core = import_module("gpusched._core")
    except ImportError:
        return None
    function: Callable[..., Any] | None = getattr(core, name, None)
    return function
