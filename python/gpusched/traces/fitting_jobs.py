"""Which jobs of a trace could start on a cluster, and the load of these."""

from __future__ import annotations

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.traces.workload import Trace


def fitting_jobs(trace: Trace, cluster: Cluster) -> Bool:
    """Return which jobs have room for all of their workers while nothing else runs.

    Judged by GPUs, their types, CPUs and memory. A placement may refuse more jobs than these.

    Returns
    -------
    numpy.ndarray
        bool, one per job.
    """
    room = np.zeros(len(trace), dtype=np.float64)
    for group in cluster.servers:
        room += np.where(_is_allowed(trace, group.gpu_type), group.count * _held(trace, group), 0)
    return room >= trace.gpus


def fitting_load(trace: Trace, cluster: Cluster, fits: Bool) -> float:
    """Return the GPU time of the jobs that fit over the cluster's while all were submitted.

    Infinite where all jobs arrive at one instant; 0 where none fits.
    """
    if not fits.any():
        return 0.0
    load = trace.offered_load(cluster.num_gpus)
    return load if fits.all() else load * trace.filter(fits).gpu_seconds / trace.gpu_seconds


def _is_allowed(trace: Trace, gpu_type: str) -> Bool:
    if trace.type_set is None:
        return np.ones(len(trace), dtype=np.bool_)
    allowed = [not names or gpu_type in names for names in trace.type_sets]
    return np.array(allowed, dtype=np.bool_)[trace.type_set]


def _held(trace: Trace, group: ServerGroup) -> Float64:
    """Return how many workers of each job one of the servers holds."""
    held = np.full(len(trace), group.gpus, dtype=np.float64)
    for has, unit, asked in (
        (group.cpu, MILLI_PER_CORE, trace.cpu_milli),
        (group.memory_gib, MIB_PER_GIB, trace.memory_mib),
    ):
        if has is not None and asked is not None:
            held = np.minimum(held, _quotient(np.floor(has * unit), asked))
    return held


def _quotient(has: float, asked: AnyArray) -> Float64:
    each = np.where(asked > 0, asked, 1)
    return np.where(asked > 0, has // each, np.inf)
