"""A submit and the job's own run time."""

from __future__ import annotations

from fractions import Fraction

from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs, exact_type, since_first
from gpusched.bounds.registry import MAKESPAN, register_bound


def longest_job(jobs: Jobs, num_gpus: int) -> Fraction:
    """Bound the makespan, in microseconds: see :mod:`gpusched.bounds.known.longest_job`."""
    if len(jobs.submit_us) == 0:
        return Fraction(0)
    exact = exact_type(jobs, num_gpus)
    release = since_first(jobs).astype(exact)
    service = jobs.service_us.astype(exact)
    return Fraction(int((release + service).max()))


@register_bound(
    "longest-job",
    quantity=MAKESPAN,
    summary="The last job cannot end before its submit plus its service: r + p of each job.",
    assumptions="None.",
    source="Elementary.",
    rank=1,
)
def _of(jobs: BoundedJobs) -> Fraction:
    return longest_job(jobs.shortest, jobs.num_gpus)
