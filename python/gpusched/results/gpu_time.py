"""GPU time that jobs held, in all and by the type of the GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.schedules.schedule import UNFINISHED, Schedule

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

US_PER_H: Final = 3_600 * US_PER_S
ANY_TYPE: Final = "any type"
"""What is held in a pool of several types, whose log does not tell which."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """The rows of an interval log with the GPU time of each.

    Attributes
    ----------
    job, kind
        JobId, and index into ``kinds``: int64, one per row.
    gpu_us
        GPUs held x time, float64 microseconds; a share of a GPU counts as that share.
    kinds
        The GPU types of the cluster; :data:`ANY_TYPE` follows where one pool has several.
    """

    job: Int64
    kind: Int64
    gpu_us: Float64
    kinds: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace, cluster: Cluster, rows: Mapping[str, AnyArray]) -> Holdings:
        """Weigh the rows of ``Result.intervals``."""
        kinds = tuple(cluster.gpu_types)
        job, server = rows["job"], rows["server"]
        kind = np.asarray(cluster.server_type)[np.maximum(server, 0)].astype(np.int64)
        if len(kinds) > 1 and (server < 0).any():
            kind[server < 0] = len(kinds)
            kinds = (*kinds, ANY_TYPE)
        return cls(job, kind, row_gpus(trace, rows) * (rows["end_us"] - rows["start_us"]), kinds)

    def by_job(self, num_jobs: int) -> Float64:
        """Sum for each job, microseconds."""
        return sums(self.job, self.gpu_us, num_jobs)

    def by_kind(self) -> Float64:
        """Sum for each of ``kinds``, microseconds."""
        return sums(self.kind, self.gpu_us, len(self.kinds))


def row_gpus(trace: Trace, rows: Mapping[str, AnyArray]) -> Float64:
    """GPUs that each row of an interval log holds, float64; a share counts as that share."""
    job = rows["job"]
    held = np.bitwise_count(rows["mask"]).astype(np.float64)
    pooled = rows["server"] < 0
    if pooled.any():
        held[pooled] = trace.gpus[job[pooled]]
    if trace.share_milli is not None:
        held *= trace.share_milli[job] / WHOLE_GPU
    return held


def held_gpu_us(trace: Trace, schedule: Schedule, *, is_fixed: bool) -> Float64:
    """GPU time that each job held, microseconds; of unfinished ones to the end of the run.

    Parameters
    ----------
    is_fixed
        Whether every job ran at its own width: then the log is not needed.
    """
    if not is_fixed or (np.asarray(schedule.status) == UNFINISHED).any():
        rows = schedule.intervals()
        gpu_us = row_gpus(trace, rows) * (rows["end_us"] - rows["start_us"])
        return sums(rows["job"], gpu_us, len(trace))
    gpus = trace.gpus.astype(np.float64)
    if trace.share_milli is not None:
        gpus *= trace.share_milli / WHOLE_GPU
    return gpus * schedule.held_us


def sums(group: AnyArray, values: AnyArray, num_groups: int) -> Float64:
    """Sum of the values of each group, float64[num_groups]."""
    summed: AnyArray = np.bincount(group, weights=values, minlength=num_groups)
    return summed.astype(np.float64, copy=False)
