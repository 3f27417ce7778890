"""Speed by table: iterations per second as measured, by GPU type and number of GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from gpusched.readable.cluster_state import Cluster
from gpusched.readable.model import Active, Allocation, Throughputs
from gpusched.readable.speeds import allocation_of


def between(known: Mapping[int, float], gpus: int) -> float:
    """Return the throughput of so many GPUs: on the line between known ones, 0 outside of them."""
    below = max((count for count in known if count <= gpus), default=None)
    above = min((count for count in known if count >= gpus), default=None)
    if below is None or above is None:
        return 0.0
    if below == above:
        return known[gpus]
    if known[below] == 0 or known[above] == 0:
        return 0.0
    part = (gpus - below) / (above - below)
    return known[below] + (known[above] - known[below]) * part


class Table:
    """Who is on several types goes as fast as all of its GPUs of the slowest type would."""

    is_fixed = False
    is_elastic = True

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def can_run(self, job: Active) -> bool:
        """Whether the job can run at its own width on the empty cluster."""
        return self.best(job) > 0

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Whether the job can run on these GPUs."""
        return self.iteration_s(job, allocation) < math.inf

    def runs(self, job: Active, name: str) -> bool:
        """Whether the job can run at its own width on GPUs of a type, however many there are."""
        return between(tables_of(job).packed[name], job.gpus) > 0

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Compare the least seconds per iteration at the job's own width with the present ones."""
        return [(job, self.uncontended_rate(job)) for job in running]

    def uncontended_rate(self, job: Active) -> float:
        """Return the rate; no link matters."""
        return self.ideal_s(job) / self.iteration_s(job, allocation_of(job))

    def rate(self, job: Active, gpu_type: int, gpus: int) -> float:
        """Return the rate on so many GPUs of one type, on few servers; 0 where it cannot run so."""
        name = self.cluster.gpu_types[gpu_type]
        if gpus > self.cluster.gpus_of(name) or between(tables_of(job).packed[name], gpus) == 0:
            return 0.0
        return self.ideal_s(job) / (1.0 / between(tables_of(job).packed[name], gpus))

    def ideal_s(self, job: Active) -> float:
        """Return the least seconds per iteration at the job's own width."""
        return 1.0 / self.best(job)

    def best(self, job: Active) -> float:
        """Return the throughput on the fastest types that together have GPUs enough."""
        packed = tables_of(job).packed
        names = [self.cluster.gpu_types[index] for index in self.cluster.allowed_types(job.job)]
        fastest = sorted(names, key=lambda name: -between(packed[name], job.gpus))
        held, slowest = 0, 0.0
        for name in fastest:
            held += self.cluster.gpus_of(name)
            slowest = between(packed[name], job.gpus)
            if held >= job.gpus:
                return slowest
        return 0.0

    def iteration_s(self, job: Active, allocation: Allocation) -> float:
        """Return the seconds of an iteration on these GPUs, infinity if it cannot run there."""
        gpus = sum(mask.bit_count() for mask in allocation.values())
        names = {self.cluster.types[server] for server in allocation}
        sizes = [self.cluster.sizes[s] for s, name in self.cluster.types.items() if name in names]
        is_spread = len(allocation) > math.ceil(gpus / max(sizes))
        slowest = min(self.throughput(job, name, gpus, is_spread) for name in names)
        if gpus == job.gpus:  # nothing passes the best, not even in a strange table
            slowest = min(slowest, self.best(job))
        return 1.0 / slowest if slowest > 0 else math.inf

    def throughput(self, job: Active, name: str, gpus: int, is_spread: bool) -> float:
        """Return what the table says; where it knows nothing of spread gangs, that of packed."""
        tables = tables_of(job)
        spread = 0.0
        if is_spread and tables.spread is not None:
            spread = between(tables.spread[name], gpus)
        return spread if spread > 0 else between(tables.packed[name], gpus)


def tables_of(job: Active) -> Throughputs:
    """Return the tables that every job has then."""
    if job.job.throughputs is None:
        raise ValueError("speed table: every job needs throughputs")
    return job.job.throughputs
