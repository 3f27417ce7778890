"""Which GPUs are free. A set of GPUs is a mask per server; nothing is cached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .model import Allocation, Job


def lowest_bits(mask: int, count: int) -> int:
    """Return the ``count`` lowest set bits of ``mask``."""
    chosen = 0
    for _ in range(count):
        bit = mask & -mask
        chosen |= bit
        mask ^= bit
    return chosen


def union(free: Allocation, parts: Iterable[Allocation]) -> Allocation:
    """Return ``free`` with the GPUs of ``parts`` counted as free too."""
    result = dict(free)
    for part in parts:
        for server, mask in part.items():
            result[server] |= mask
    return result


def without(free: Allocation, part: Allocation) -> Allocation:
    """Return ``free`` without the GPUs of ``part``."""
    return {server: mask & ~part.get(server, 0) for server, mask in free.items()}


def overlaps(one: Allocation, other: Allocation) -> bool:
    """Whether the two share a GPU."""
    return any(mask & other.get(server, 0) for server, mask in one.items())


def contains(free: Allocation, part: Allocation) -> bool:
    """Whether every GPU of ``part`` is in ``free``."""
    return all(mask & ~free[server] == 0 for server, mask in part.items())


class Cluster:
    """Servers by id; pooled (placement ``count``) they are one server with the id -1."""

    def __init__(self, servers: Sequence[tuple[int, str]], pooled: bool) -> None:
        self.pooled = pooled
        self.num_gpus = sum(gpus for gpus, _ in servers)
        self.types_present = {gpu_type for _, gpu_type in servers}
        if pooled:
            self.sizes = {-1: self.num_gpus}
            self.types = {-1: "any"}
        else:
            self.sizes = {server: gpus for server, (gpus, _) in enumerate(servers)}
            self.types = {server: gpu_type for server, (_, gpu_type) in enumerate(servers)}

    def all_free(self) -> Allocation:
        """Return every GPU of the cluster."""
        return {server: (1 << gpus) - 1 for server, gpus in self.sizes.items()}

    def allowed_servers(self, job: Job) -> list[int]:
        """Return the servers whose GPU type the job accepts, in id order."""
        if not job.allowed:
            return list(self.sizes)
        if self.pooled:
            accepted = job.allowed & self.types_present
            if accepted and accepted != self.types_present:
                raise ValueError("count has one pool: a job cannot ask for some of several types")
            return list(self.sizes) if accepted else []
        return [server for server in self.sizes if self.types[server] in job.allowed]
