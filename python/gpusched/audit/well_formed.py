"""Whether the columns of a log and of a schedule can be read at all."""

from __future__ import annotations

import numpy as np

from gpusched.audit.evidence import Case
from gpusched.audit.log.log_format import REJECT_REASONS


def check(case: Case) -> None:
    """Check lengths, job ids and codes."""
    problems, job = case.problems, case.columns["job"]
    num_jobs, num_rows = case.num_jobs, len(job)
    for name, column in case.columns.items():
        if column.shape != (num_rows,):
            problems.append(f"malformed log: {name} has shape {column.shape}")
    for name, column in case.claimed.items():
        if column.shape != (num_jobs,):
            problems.append(f"malformed columns: {name} is not one value per job")
    low, high = case.job_range if num_rows else (0, 0)
    if not 0 <= low <= high < num_jobs:
        problems.append(f"malformed log: it names a job beyond the {num_jobs:,} of the trace")
    if problems or not np.count_nonzero(case.claimed["reason"]):
        return
    if (most := int(case.claimed["reason"].max())) >= len(REJECT_REASONS):
        problems.append(f"malformed columns: reason {most} is not known")
