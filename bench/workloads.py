"""The traces of the benchmarks: Philly-like jobs on servers of 8 GPUs, seeded."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import gpusched as gs

SERVERS = (64, 512, 1024)
GPUS_PER_SERVER = 8
LOAD = 0.9
SEED = 1


@dataclass(frozen=True)
class Workload:
    """A trace with the cluster it is meant for."""

    trace: gs.Trace
    cluster: gs.Cluster
    load: float

    @property
    def num_jobs(self) -> int:
        return len(self.trace)

    @property
    def servers(self) -> int:
        return int(self.cluster.num_servers)

    @property
    def num_gpus(self) -> int:
        return int(self.cluster.num_gpus)


def philly(jobs: int, servers: int, load: float = LOAD) -> Workload:
    """Generate ``jobs`` Philly-like jobs at ``load`` for ``servers`` servers of 8 GPUs."""
    cluster = gs.Cluster.uniform(servers=servers, gpus=GPUS_PER_SERVER)
    trace = gs.generate("philly", jobs=jobs, load=load, cluster=cluster, seed=SEED, model=1)
    return Workload(trace, cluster, load)


def backlog(jobs: int, servers: int, load: float, waiting: int) -> Workload:
    """Generate a workload whose first ``waiting`` jobs are submitted at its first instant."""
    made = philly(jobs, servers, load)
    submit_us = made.trace.submit_us.copy()
    submit_us[:waiting] = submit_us[0]
    submit_us.flags.writeable = False
    trace = dataclasses.replace(made.trace, submit_us=submit_us)
    return Workload(trace, made.cluster, load)


def mean_waiting(workload: Workload, waited_us: NDArray[np.int64], last_us: int) -> float:
    """Mean number of waiting jobs from the first submit to ``last_us`` (Little's law)."""
    span = last_us - int(workload.trace.submit_us[0])
    return float(waited_us.sum(dtype=np.float64)) / span


def most_waiting(submit_us: NDArray[np.int64], start_us: NDArray[np.int64]) -> int:
    """Count the most jobs that wait after an instant's decision, each started once.

    The count grows only at a submit, so it is enough to look there.
    """
    started = np.searchsorted(np.sort(start_us), submit_us, side="right")
    submitted = np.searchsorted(submit_us, submit_us, side="right")
    return int((submitted - started).max())
