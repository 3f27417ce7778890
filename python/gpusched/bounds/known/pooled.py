"""As many jobs as fit by GPU time, all types as one."""

from __future__ import annotations

from typing import Final

from gpusched.bounds.bounded_jobs import DeadlineJobs
from gpusched.bounds.deadline_program import pooled_bound
from gpusched.bounds.registry import DEADLINES_MET, register_bound

_CELLS: Final = 300
_CELLS_OF_MANY: Final = 50
_MANY: Final = 10_000


@register_bound(
    "pooled",
    quantity=DEADLINES_MET,
    summary="Of the jobs of alone as many as fit by GPU time, all types as one.",
    assumptions="In a summary up to 100,000 of them, beyond 10,000 on a coarser grid; 0.3 s for "
    "10^4, 0.6 s for 10^5.",
    source="Ours: knapsacks over windows of time, relaxed.",
    rank=2,
)
def _of(jobs: DeadlineJobs) -> float:
    is_coarse = jobs.is_brief and len(jobs.windows) > _MANY
    return jobs.safe(pooled_bound(jobs.windows, _CELLS_OF_MANY if is_coarse else _CELLS))
