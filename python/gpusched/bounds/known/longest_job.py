"""A submit and the job's own run time.

The function in plain Python is the readable twin of the native one, which is used where the
compiled core offers it.
"""

from __future__ import annotations

from fractions import Fraction

from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs, exact_type, since_first
from gpusched.bounds.native import native
from gpusched.bounds.registry import MAKESPAN, register_bound


def longest_job(jobs: Jobs, num_gpus: int) -> Fraction:
    """Bound the makespan, in microseconds: see :mod:`gpusched.bounds.known.longest_job`."""
    compute = native("longest_job")
    if compute is not None:
        return Fraction(compute(jobs.submit_us, jobs.service_us))
    return Fraction(longest_job_us(jobs, num_gpus))


def longest_job_us(jobs: Jobs, num_gpus: int) -> int:
    """Compute the same in plain Python."""
    if len(jobs.submit_us) == 0:
        return 0
    exact = exact_type(jobs, num_gpus)
    release = since_first(jobs).astype(exact)
    service = jobs.service_us.astype(exact)
    return int((release + service).max())


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
