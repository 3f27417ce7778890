"""How many of the free GPUs the jobs of a workload could not use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpusched.readable.cluster_state import Cluster
from gpusched.readable.free import Free
from gpusched.readable.model import WHOLE, Job

MOST_KINDS = 128


def rounded_up(value: int, bits: int) -> int:
    """Return the least number of so many significant bits that is not below."""
    step = 1 << max(0, value.bit_length() - bits)
    return -(-value // step) * step


def merged(values: Iterable[int], most: int = MOST_KINDS) -> dict[int, int]:
    """Return values rounded up to the most bits that leave only so many distinct ones."""
    distinct = sorted(set(values))
    for bits in range(62, 0, -1):
        rounded = {value: rounded_up(value, bits) for value in distinct}
        if len(set(rounded.values())) <= most or bits == 1:
            return rounded
    raise AssertionError


class Fragmentation:
    """Counted over the jobs of a workload, each as often as it is there."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job]) -> None:
        self.cluster = cluster
        self.jobs = jobs
        self.cpu = merged(self.cpu_asked(job) for job in jobs)
        self.share = merged(job.share_milli for job in jobs if job.share_milli < WHOLE)

    def gpus_asked(self, job: Job) -> int:
        """Return the GPUs that a job asks of one server: all of the largest where it is wider."""
        sizes = [self.cluster.sizes[server] for server in self.cluster.allowed_servers(job)]
        return min(job.gpus, max(sizes, default=0))

    def cpu_asked(self, job: Job) -> int:
        """Return the CPU that it asks of that server."""
        return job.cpu_milli * max(1, self.gpus_asked(job))

    def of_server(self, free: Free, server: int) -> int:
        """Add up over the jobs the thousandths of the free GPUs that each could not use."""
        left = [free.left(server, gpu) for gpu in range(self.cluster.sizes[server])]
        return sum(sum(left) - self.usable(free, server, left, job) for job in self.jobs)

    def usable(self, free: Free, server: int, left: list[int], job: Job) -> int:
        """Return what the job could use of the GPUs of a server that have so much left."""
        gpus = self.gpus_asked(job)
        if gpus == 0 or server not in self.cluster.allowed_servers(job):
            return 0
        if free.cpu_milli[server] < self.cpu[self.cpu_asked(job)]:
            return 0
        if job.share_milli < WHOLE:
            share = min(WHOLE, self.share[job.share_milli])
            return sum(milli for milli in left if milli >= share)
        whole = left.count(WHOLE)
        return whole * WHOLE if whole >= gpus else 0
