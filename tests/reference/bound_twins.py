"""Bounds in Python's own integers, for what the core computes: those on the makespan in a line."""

from __future__ import annotations

import heapq
from itertools import accumulate

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.bounds.registry import Jobs

Row = tuple[int, int, int]


def longest_job(jobs: Jobs, num_gpus: int) -> int:
    """The latest submit plus service, in microseconds."""
    return max((since + service for since, service, _ in _rows(jobs)), default=0)


def total_work(jobs: Jobs, num_gpus: int) -> int:
    """A submit and all work from then on, in ticks of ``1 / num_gpus`` microseconds."""
    rows = _rows(jobs)
    later = _from_here_on([service * gpus for _, service, gpus in rows])
    return max((row[0] * num_gpus + work for row, work in zip(rows, later, strict=True)), default=0)


def wide_gangs(jobs: Jobs, num_gpus: int) -> int:
    """A submit and all later gangs wider than half the GPUs in turn, in microseconds."""
    rows = _rows(jobs)
    later = _from_here_on([service if 2 * gpus > num_gpus else 0 for _, service, gpus in rows])
    return max((row[0] + alone for row, alone in zip(rows, later, strict=True)), default=0)


def _rows(jobs: Jobs) -> list[Row]:
    """Submit since the first one, service and width of each job."""
    submits = jobs.submit_us.tolist()
    since = [submit - submits[0] for submit in submits]
    return list(zip(since, jobs.service_us.tolist(), jobs.gpus.tolist(), strict=True))


def _from_here_on(values: list[int]) -> list[int]:
    return [*accumulate(reversed(values))][::-1]


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


def priced_times(
    submit_us: Int64, service_us: Int64, widths: Int32, edge_us: Int64, price: Float64
) -> tuple[float, Float64]:
    """Compute in plain Python what the native twin does: see ``gpusched._core.priced_times``."""
    num, steps = len(submit_us), len(edge_us) - 1
    by_machine, prices = widths.reshape(-1, num), price.reshape(-1, steps)
    held = np.zeros(prices.shape)
    total = 0.0
    for job in range(num):
        submit, service = int(submit_us[job]), float(service_us[job])
        rate = by_machine[:, job] @ prices  # what a microsecond costs the job in each step
        first = int(np.searchsorted(edge_us, submit, side="right")) - 1
        pieces = [
            (float(rate[step]), float(edge_us[step + 1] - max(submit, edge_us[step])), step)
            for step in range(first, steps)
        ]
        cost, chosen = _best([*pieces, (0.0, 2 * service, steps)], service)
        total += cost
        for _, taken, step in chosen:
            if step < steps:
                held[:, step] += by_machine[:, job] * taken
    return total, held.reshape(-1)


_Piece = tuple[float, float, int]  # price, length, step


def _best(pieces: list[_Piece], service: float) -> tuple[float, list[_Piece]]:
    """Return what a job costs at least, and the time that it takes then."""
    found = []
    for place, (price, length, step) in enumerate(pieces):
        before = pieces[:place]
        elapsed = sum(piece[1] for piece in before)
        # The cost is linear up to where the whole of a dearer piece has been given up.
        short = max(0.0, service - elapsed)
        dearest_first = (piece[1] for piece in reversed(_cheapest(before, service)))
        ends = [*accumulate(dearest_first, initial=short), length]
        for end in ends:
            if 0 < end <= length and elapsed + end >= service:
                chosen = _cheapest([*before, (price, end, step)], service)
                found.append((elapsed + end + sum(p * taken for p, taken, _ in chosen), chosen))
    return min(found, key=lambda one: one[0])


def _cheapest(pieces: list[_Piece], service: float) -> list[_Piece]:
    """Return so much time of these pieces, or all, the cheapest first."""
    chosen = []
    for price, length, step in sorted(pieces):
        taken = min(length, service)
        service -= taken
        if taken > 0:
            chosen.append((price, taken, step))
    return chosen


def rows_of(submit_us: Int64, service_us: Int64, gpus: Int32) -> list[tuple[int, int, int]]:
    """Submit, service and width of each job, as Python's integers."""
    return list(zip(submit_us.tolist(), service_us.tolist(), gpus.tolist(), strict=True))


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
