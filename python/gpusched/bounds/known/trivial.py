"""No job ends before its submit plus its service."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gpusched.bounds.bounded_jobs import BoundedJobs, Jobs
from gpusched.bounds.registry import TOTAL_JCT, register_bound


def trivial(jobs: Jobs) -> Fraction:
    """Sum of services in microseconds: no job ends before its submit plus its service."""
    return Fraction(int(np.sum(jobs.service_us, dtype=np.int64)))


@register_bound(
    "trivial",
    quantity=TOTAL_JCT,
    summary="No job is done before its service: the sum of p.",
    assumptions="None.",
    source="Elementary.",
    rank=3,
)
def _of(jobs: BoundedJobs) -> Fraction:
    return trivial(jobs.shortest)
