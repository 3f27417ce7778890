"""The servers of a cluster, and sets of GPUs: a mask per server."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched.readable.free import Free
from gpusched.readable.model import Allocation, Job

UNLIMITED = 2**62


def lowest_bits(mask: int, count: int) -> int:
    """Return the ``count`` lowest set bits of ``mask``."""
    chosen = 0
    for _ in range(count):
        bit = mask & -mask
        chosen |= bit
        mask ^= bit
    return chosen


def overlaps(one: Allocation, other: Allocation) -> bool:
    """Whether the two share a GPU."""
    return any(mask & other.get(server, 0) for server, mask in one.items())


class Cluster:
    """Servers by id; pooled (placement ``count``) they are one server with the id -1.

    ``room`` is the CPU (thousandths of a core) and memory (MiB) of each server; None is as much as
    anybody asks for.
    """

    def __init__(
        self,
        servers: Sequence[tuple[int, str]],
        pooled: bool,
        room: Sequence[tuple[int | None, int | None]] = (),
    ) -> None:
        self.pooled = pooled
        self.num_gpus = sum(gpus for gpus, _ in servers)
        self.gpu_types = list(dict.fromkeys(gpu_type for _, gpu_type in servers))
        if pooled:
            self.sizes = {-1: self.num_gpus}
            self.types = {-1: "any"}
        else:
            self.sizes = {server: gpus for server, (gpus, _) in enumerate(servers)}
            self.types = {server: gpu_type for server, (_, gpu_type) in enumerate(servers)}
        limits = dict(enumerate(room)) if not pooled else {}
        self.allowed: dict[frozenset[str] | None, list[int]] = {}  # servers, as they were asked for
        self.cpu_milli = dict.fromkeys(self.sizes, UNLIMITED)
        self.memory_mib = dict.fromkeys(self.sizes, UNLIMITED)
        for server, (cpu_milli, memory_mib) in limits.items():
            if cpu_milli is not None:
                self.cpu_milli[server] = cpu_milli
            if memory_mib is not None:
                self.memory_mib[server] = memory_mib

    def all_free(self) -> Allocation:
        """Return every GPU of the cluster."""
        return {server: (1 << gpus) - 1 for server, gpus in self.sizes.items()}

    def idle(self) -> Free:
        """Return all there is."""
        return Free(self.all_free(), {}, self.cpu_milli, self.memory_mib)

    def allowed_servers(self, job: Job) -> list[int]:
        """Return the servers whose GPU type the job accepts, in id order."""
        if job.allowed not in self.allowed:
            self.allowed[job.allowed] = self.servers_of(job.allowed)
        return self.allowed[job.allowed]

    def servers_of(self, gpu_types: frozenset[str] | None) -> list[int]:
        """Return the servers of some GPU types, in id order; of all if none are named."""
        if not gpu_types:
            return list(self.sizes)
        if self.pooled:
            accepted = gpu_types & set(self.gpu_types)
            if accepted and accepted != set(self.gpu_types):
                raise ValueError("one pool has no types: a job cannot ask for some of several")
            return list(self.sizes) if accepted else []
        return [server for server in self.sizes if self.types[server] in gpu_types]

    def gpus_of(self, gpu_type: str) -> int:
        """Return the number of GPUs of a type."""
        servers = self.sizes
        return sum(servers[server] for server in servers if self.types[server] == gpu_type)

    def allowed_types(self, job: Job) -> list[int]:
        """Return the indices of the types that the job accepts and some server has."""
        accepted = {self.types[server] for server in self.allowed_servers(job)}
        return [index for index, name in enumerate(self.gpu_types) if name in accepted]
