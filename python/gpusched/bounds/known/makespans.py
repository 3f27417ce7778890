"""A submit and what cannot be done before: the lower bounds on the makespan, in microseconds."""

from __future__ import annotations

from fractions import Fraction

from gpusched import _core
from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs
from gpusched.bounds.registry import MAKESPAN, register_bound


def longest_job(jobs: Jobs, num_gpus: int) -> Fraction:
    """A submit and the job's own run time."""
    return Fraction(_core.longest_job(jobs.submit_us, jobs.service_us))


def total_work(jobs: Jobs, num_gpus: int) -> Fraction:
    """A submit and all work submitted from then on, on all GPUs."""
    return Fraction(
        _core.total_work(jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus), num_gpus
    )


def wide_gangs(jobs: Jobs, num_gpus: int) -> Fraction:
    """A submit and, one after the other, all later gangs wider than half the GPUs."""
    return Fraction(_core.wide_gangs(jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus))


@register_bound(
    "longest-job",
    quantity=MAKESPAN,
    summary="The last job cannot end before its submit plus its service: r + p of each job.",
    assumptions="None.",
    source="Elementary.",
    rank=1,
)
def _longest_job(jobs: BoundedJobs) -> Fraction:
    return longest_job(jobs.shortest, jobs.num_gpus)


@register_bound(
    "total-work",
    quantity=MAKESPAN,
    summary="From any r on, all work submitted then or later, on all M GPUs.",
    assumptions="None.",
    source="Elementary.",
    rank=2,
)
def _total_work(jobs: BoundedJobs) -> Fraction:
    # Rounded up to a microsecond, a short gang may be more work than its pieces.
    return max(total_work(part, jobs.num_gpus) for part in (jobs.pieces, jobs.shortest))


@register_bound(
    "wide-gangs",
    quantity=MAKESPAN,
    summary="From any r on, one after the other, all later jobs wider than M / 2.",
    assumptions="A gang's GPUs are held together.",
    source="Elementary.",
    rank=3,
)
def _wide_gangs(jobs: BoundedJobs) -> Fraction:
    return wide_gangs(jobs.shortest, jobs.num_gpus)
