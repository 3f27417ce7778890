"""What an audit must know about speeds by figures per GPU type: who may run where at its width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpusched.base.arrays import Bool, Int64

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

Runs = Callable[[int, int, int], bool]
"""Whether a profile runs on a GPU type at a width."""


def type_gpus(cluster: Cluster) -> Int64:
    """Return the GPUs of each type of the cluster."""
    sums = np.bincount(cluster.server_type, cluster.server_gpus, len(cluster.gpu_types))
    return sums.astype(np.int64)


def largest(cluster: Cluster) -> Int64:
    """Return the GPUs of the largest server of each type."""
    sizes = np.zeros(len(cluster.gpu_types), dtype=np.int64)
    np.maximum.at(sizes, cluster.server_type, cluster.server_gpus)
    return sizes


def allowed_by_set(trace: Trace, cluster: Cluster) -> Bool:
    """Return bool[type sets, GPU types]: what the trace allows; one set if it restricts no job."""
    sets = ((),) if trace.type_set is None else trace.type_sets
    return np.array([[not names or t in names for t in cluster.gpu_types] for names in sets])


@dataclass(frozen=True)
class Kinds:
    """Jobs that are alike in profile, width and allowed types.

    Attributes
    ----------
    of_job
        The kind of each job.
    profile, gpus
        Of each kind.
    allowed
        bool[kinds, GPU types]: of the types that the trace allows those on which the model runs at
        the job's own width, or all of them if it runs on none.
    """

    of_job: Int64
    profile: Int64
    gpus: Int64
    allowed: Bool

    @classmethod
    def of(cls, trace: Trace, cluster: Cluster, runs: Runs) -> Kinds:
        """Find the kinds of the jobs of a trace with profiles."""
        assert trace.profile is not None
        sets = np.zeros(len(trace), np.int64) if trace.type_set is None else trace.type_set
        rows = np.stack((trace.profile, trace.gpus, sets), axis=1).astype(np.int64)
        kinds, of_job = np.unique(rows, axis=0, return_inverse=True)
        allowed = allowed_by_set(trace, cluster)[kinds[:, 2]]
        for kind, (profile, gpus, _) in enumerate(kinds.tolist()):
            known = np.array([runs(profile, t, gpus) for t in range(len(cluster.gpu_types))])
            if (allowed[kind] & known).any():
                allowed[kind] &= known
        return cls(of_job.reshape(-1).astype(np.int64), kinds[:, 0], kinds[:, 1], allowed)


class Measured(Protocol):
    """A speed by figures per GPU type."""

    @property
    def kinds(self) -> Kinds:
        """Of the jobs."""

    @property
    def can_run(self) -> Bool:
        """Whether each kind can run at its own width."""
