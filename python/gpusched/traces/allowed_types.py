"""Finds jobs that may run on GPU types of which their profile or graph tells nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched.base.arrays import Bool, Int32
from gpusched.traces.trace_columns import TraceColumns


def allowed_but_lacking(
    trace: TraceColumns, types: Sequence[str], index: Int32, lacking: Bool
) -> tuple[int, int, str] | None:
    """Find a job that may run on a GPU type for which its model tells nothing.

    Parameters
    ----------
    types
        GPU types of the cluster.
    index
        int32[num_jobs]: the model of each job.
    lacking
        bool[num_models, num_types]: where nothing is told.

    Returns
    -------
    tuple or None
        The first such job, the index of the type, and text that counts the others; None if
        there is no such job.
    """
    if not lacking[np.unique(index)].any():
        return None
    allowed: Bool = np.ones((1, len(types)), dtype=np.bool_)
    sets = np.zeros(len(trace), dtype=np.int32)
    if trace.type_set is not None:
        allowed = np.array([[not s or name in s for name in types] for s in trace.type_sets])
        sets = trace.type_set
    missing: Bool = np.asarray((lacking[:, None, :] & allowed[None, :, :]).any(axis=2))
    jobs = np.flatnonzero(missing[index, sets])
    if not jobs.size:
        return None
    job = int(jobs[0])
    position = int(np.flatnonzero(lacking[index[job], :] & allowed[sets[job], :])[0])
    others = f", nor for {jobs.size - 1:,} other jobs" if jobs.size > 1 else ""
    return job, position, others
