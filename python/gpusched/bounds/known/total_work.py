"""A submit and all work submitted from then on, on all GPUs."""

from __future__ import annotations

from fractions import Fraction

from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs, exact_type, from_here_on, since_first
from gpusched.bounds.registry import MAKESPAN, register_bound


def total_work(jobs: Jobs, num_gpus: int) -> Fraction:
    """Bound the makespan, in microseconds: see :mod:`gpusched.bounds.known.total_work`."""
    if len(jobs.submit_us) == 0:
        return Fraction(0)
    exact = exact_type(jobs, num_gpus)
    release = since_first(jobs).astype(exact) * num_gpus
    work = jobs.service_us.astype(exact) * jobs.gpus.astype(exact)
    return Fraction(int((release + from_here_on(work)).max()), num_gpus)


@register_bound(
    "total-work",
    quantity=MAKESPAN,
    summary="From any r on, all work submitted then or later, on all M GPUs.",
    assumptions="None.",
    source="Elementary.",
    rank=2,
)
def _of(jobs: BoundedJobs) -> Fraction:
    # Rounded up to a microsecond, a short gang may be more work than its pieces.
    return max(total_work(part, jobs.num_gpus) for part in (jobs.pieces, jobs.shortest))
