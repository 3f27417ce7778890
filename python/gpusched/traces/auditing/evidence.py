"""What the checks look at: a trace, the cluster it is meant for, and orders and sums of both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.traces.checked_columns import NOT_GIVEN

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class Evidence:
    """A trace under audit.

    Attributes
    ----------
    trace
        Its jobs.
    cluster
        What they are to run on, or None if that is not known.
    published_gpus
        GPUs of the site as the file itself states them, or None.
    """

    trace: Trace
    cluster: Cluster | None = None
    published_gpus: int | None = None

    @property
    def num_jobs(self) -> int:
        """Jobs of the trace."""
        return len(self.trace)

    @property
    def num_gpus(self) -> int | None:
        """GPUs of the cluster, else those that the file states, else None."""
        return self.published_gpus if self.cluster is None else self.cluster.num_gpus

    @cached_property
    def file_order(self) -> Int64:
        """int64[n]: the jobs in the order of the file."""
        return np.argsort(self.trace.row, kind="stable").astype(np.int64)

    @cached_property
    def steps_us(self) -> Int64:
        """int64[n - 1]: from each submit to the next in the file; below 0 where it goes back."""
        return np.diff(self.trace.submit_us[self.file_order])

    @cached_property
    def start_us(self) -> Int64 | None:
        """int64[n]: when the site started each job, or None if not all waits are known."""
        wait_us = self.trace.source_wait_us
        if wait_us is None or bool((wait_us == NOT_GIVEN).any()):
            return None
        return self.trace.submit_us + wait_us

    @cached_property
    def end_us(self) -> Int64:
        """int64[n]: when each job ended at the site; if waits are not known, as if there were none.

        The reason: a duration that was counted up to the end of a log ends there either way.
        """
        start_us = self.trace.submit_us if self.start_us is None else self.start_us
        return start_us + self.trace.service_us

    @cached_property
    def gpu_seconds(self) -> AnyArray:
        """float64[n]: GPUs x service of each job, in GPU-seconds."""
        gpus = self.trace.gpus.astype(np.float64)
        share = self.trace.gpu_share
        return (gpus if share is None else gpus * share) * self.trace.service_s

    @cached_property
    def fitting_gpu_seconds(self) -> AnyArray:
        """float64[n]: the same, 0 of jobs that there is no room for, whatever else runs."""
        from gpusched.traces.fitting_jobs import fitting_jobs

        if self.cluster is not None:
            return np.where(fitting_jobs(self.trace, self.cluster), self.gpu_seconds, 0.0)
        most = math.inf if self.num_gpus is None else self.num_gpus
        return np.where(self.trace.gpus <= most, self.gpu_seconds, 0.0)
