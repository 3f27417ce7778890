"""A submit and all work submitted from then on, on all GPUs.

The function in plain Python is the readable twin of the native one, which is used where the
compiled core offers it.
"""

from __future__ import annotations

from fractions import Fraction

from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs, exact_type, from_here_on, since_first
from gpusched.bounds.native import native
from gpusched.bounds.registry import MAKESPAN, register_bound


def total_work(jobs: Jobs, num_gpus: int) -> Fraction:
    """Bound the makespan, in microseconds: see :mod:`gpusched.bounds.known.total_work`."""
    compute = native("total_work")
    if compute is not None:
        ticks = compute(jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus)
    else:
        ticks = total_work_ticks(jobs, num_gpus)
    return Fraction(ticks, num_gpus)


def total_work_ticks(jobs: Jobs, num_gpus: int) -> int:
    """Compute the same in plain Python, in ticks of ``1 / num_gpus`` microseconds."""
    if len(jobs.submit_us) == 0:
        return 0
    exact = exact_type(jobs, num_gpus)
    release = since_first(jobs).astype(exact) * num_gpus
    work = jobs.service_us.astype(exact) * jobs.gpus.astype(exact)
    return int((release + from_here_on(work)).max())


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
