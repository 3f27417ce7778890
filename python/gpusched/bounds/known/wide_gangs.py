"""A submit and, one after the other, all later gangs wider than half the GPUs.

The function in plain Python is the readable twin of the native one, which is used where the
compiled core offers it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs, exact_type, from_here_on, since_first
from gpusched.bounds.native import native
from gpusched.bounds.registry import MAKESPAN, register_bound


def wide_gangs(jobs: Jobs, num_gpus: int) -> Fraction:
    """Bound the makespan, in microseconds: see :mod:`gpusched.bounds.known.wide_gangs`."""
    compute = native("wide_gangs")
    if compute is not None:
        return Fraction(compute(jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus))
    return Fraction(wide_gangs_us(jobs, num_gpus))


def wide_gangs_us(jobs: Jobs, num_gpus: int) -> int:
    """Compute the same in plain Python."""
    if len(jobs.submit_us) == 0:
        return 0
    exact = exact_type(jobs, num_gpus)
    release = since_first(jobs).astype(exact)
    is_wide = 2 * jobs.gpus.astype(np.int64) > num_gpus
    alone = np.where(is_wide, jobs.service_us.astype(exact), 0)
    return int((release + from_here_on(alone)).max())


@register_bound(
    "wide-gangs",
    quantity=MAKESPAN,
    summary="From any r on, one after the other, all later jobs wider than M / 2.",
    assumptions="A gang's GPUs are held together.",
    source="Elementary.",
    rank=3,
)
def _of(jobs: BoundedJobs) -> Fraction:
    return wide_gangs(jobs.shortest, jobs.num_gpus)
