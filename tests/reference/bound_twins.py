"""Bounds on the makespan in Python's own integers, a line each, for what the core computes."""

from __future__ import annotations

from itertools import accumulate

from gpusched.bounds.bounded_jobs import Jobs

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
