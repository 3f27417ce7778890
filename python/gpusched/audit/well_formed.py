"""Whether the columns of a log and of a schedule can be read at all."""

from __future__ import annotations

import numpy as np

from gpusched.audit.evidence import Case
from gpusched.audit.log.log_format import LOG_COLUMNS, REJECT_REASONS


def check(case: Case) -> None:
    """Check lengths, job ids and codes."""
    problems, log = case.problems, case.log
    num_jobs, num_rows = len(case.trace), len(log["job"])
    for name in LOG_COLUMNS:
        if np.shape(log[name]) != (num_rows,):
            problems.append(f"malformed log: {name} has shape {np.shape(log[name])}")
    for name, column in case.claimed.items():
        if column.shape != (num_jobs,):
            problems.append(f"malformed columns: {name} is not one value per job")
    job = np.asarray(log["job"])
    if num_rows and not 0 <= job.min() <= job.max() < num_jobs:
        problems.append(f"malformed log: it names a job beyond the {num_jobs:,} of the trace")
    if not problems and (most := int(case.claimed["reason"].max())) >= len(REJECT_REASONS):
        problems.append(f"malformed columns: reason {most} is not known")
