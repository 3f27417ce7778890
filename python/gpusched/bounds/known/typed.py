"""As many jobs as fit by GPU time type by type, a linear program."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from gpusched.bounds.bounded_jobs import DeadlineJobs
from gpusched.bounds.deadline_program import upper_bound
from gpusched.bounds.registry import DEADLINES_MET, register_bound

_CELLS: Final = 64
_JOBS: Final = 800
_MOST: Final = 10_000


@register_bound(
    "typed",
    quantity=DEADLINES_MET,
    summary="The same type by type, a linear program of types, widths and time.",
    assumptions="SciPy is installed (extra exact); in a summary up to 10,000 jobs. 0.2 s for 200, "
    "0.8 s for 10^4. Left out where its solver takes more than 10,000 iterations; 20 are usual.",
    source="Ours: a time-indexed program, relaxed.",
    rank=3,
)
def _of(jobs: DeadlineJobs) -> float | None:
    if find_spec("scipy") is None or (jobs.is_brief and len(jobs.windows) > _MOST):
        return None
    return jobs.safe(upper_bound(jobs.windows, most_cells=_CELLS, most_jobs=_JOBS))
