"""The memory that runs need at least, told before they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched import _core
from gpusched.base.memory import check_fits

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

REMEDY: Final = "run fewer jobs, give it more memory, or end what else uses it"


def least_bytes(trace: Trace, cluster: Cluster, *, is_pooled: bool) -> int:
    """Return what a run needs beyond the columns of its trace, and its result keeps.

    That is a record of each job, and the row of the log that each job has which can start; what
    preemptions, gangs on several servers, speeds and policies need comes on top.
    """
    num_started = int(np.count_nonzero(trace.gpus <= cluster.num_gpus))
    return _core.least_run_bytes(len(trace), num_started, is_pooled)


def of_jobs(num_jobs: int) -> int:
    """Return the same where no more is known than how many jobs there are."""
    return _core.least_run_bytes(num_jobs, num_jobs, True)


def check_memory(needed: int, num_jobs: int, num_runs: int = 1) -> list[str]:
    """Return what is to be said of the memory that runs need which are kept side by side.

    Raises
    ------
    MemoryError
        If they cannot fit.
    """
    what = f"a run of {num_jobs:,} jobs needs"
    remedy = REMEDY
    if num_runs > 1:
        what = f"{num_runs} runs of up to {num_jobs:,} jobs together need"
        remedy = f"make fewer runs at a time; {REMEDY}"
    return check_fits(needed, what, remedy)
