"""The servers of a cluster, their free GPUs, and the links and domains between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gpusched.reference.model import WHOLE, Active, Allocation, Job

Guests = dict[int, tuple[Active, Allocation]]
"""JobId -> a job that has GPUs, and which."""


def workers_of(mask: int) -> int:
    """Return the workers on some GPUs of a server; a task without GPUs is one."""
    return max(1, mask.bit_count())


@dataclass
class Free:
    """An immutable value: allocation and release return another one.

    It is not a frozen dataclass: thousands are made in a run, and that is several times slower.
    """

    idle: Allocation
    """Server -> the GPUs that no job uses, also if the server is down."""
    milli: dict[tuple[int, int], int]
    """(server, GPU) -> thousandths left, for GPUs with shares."""
    cpu_milli: dict[int, int]
    memory_mib: dict[int, int]
    guests: Guests = field(default_factory=dict)
    part_of: dict[int, int] = field(default_factory=dict)
    """Server -> the part of the same server with its CPU and memory; itself if missing."""
    down: frozenset[int] = frozenset()
    """Servers that take no job; a job may keep the GPUs that it has there."""

    @cached_property
    def masks(self) -> Allocation:
        """Server -> its fully free GPUs: none if it is down."""
        return {server: 0 if server in self.down else mask for server, mask in self.idle.items()}

    @cached_property
    def counts(self) -> dict[int, int]:
        """Server -> number of its fully free GPUs."""
        return dict(zip(self.masks, map(int.bit_count, self.masks.values()), strict=True))

    @cached_property
    def num_gpus(self) -> int:
        """Number of fully free GPUs."""
        return sum(map(int.bit_count, self.masks.values()))

    @cached_property
    def hosted(self) -> dict[int, dict[int, int]]:
        """Server -> shape -> jobs: a job's number of GPUs, or minus the thousandths of a share."""
        hosted: dict[int, dict[int, int]] = {}
        for job, allocation in self.guests.values():
            width = sum(mask.bit_count() for mask in allocation.values())
            shape = -job.job.share_milli if job.is_share else width
            for server, mask in allocation.items():
                if mask:
                    there = hosted.setdefault(server, {})
                    there[shape] = there.get(shape, 0) + 1
        return hosted

    def has_room(self, server: int, job: Active, workers: int) -> bool:
        """Whether a server has the CPU and memory for so many workers of a job."""
        whole = self.part_of.get(server, server)
        return (
            self.cpu_milli[whole] >= job.job.cpu_milli * workers
            and self.memory_mib[whole] >= job.job.memory_mib * workers
        )

    def left(self, server: int, gpu: int) -> int:
        """Return the free thousandths of a GPU."""
        if self.idle[server] >> gpu & 1:
            return WHOLE
        return self.milli.get((server, gpu), 0)

    def contains(self, job: Active, allocation: Allocation) -> bool:
        """Whether a job could have these GPUs, with its CPU and memory, or keep them if down."""
        for server, mask in allocation.items():
            if job.is_share:
                if self.left(server, mask.bit_length() - 1) < job.job.share_milli:
                    return False
            elif mask & ~self.idle[server]:
                return False
            if not self.has_room(server, job, workers_of(mask)):
                return False
        return True

    def claimed(self, job: Active, allocation: Allocation) -> Free:
        """Return the rest after the job has taken these GPUs."""
        after = self._copied()
        after._move(job, allocation, -1)
        after.guests[job.id] = job, allocation
        return after

    def released(self, jobs: Iterable[Active]) -> Free:
        """Return the free resources after these running jobs have released theirs."""
        after = self._copied()
        for job in jobs:
            after._move(job, job.allocation or {}, 1)
            after.guests.pop(job.id, None)
        return after

    def _copied(self) -> Free:
        """Return a copy that may be changed until it is published.

        CPU and memory, which few jobs request, are copied only on change.
        """
        idle, milli, guests = dict(self.idle), dict(self.milli), dict(self.guests)
        return Free(idle, milli, self.cpu_milli, self.memory_mib, guests, self.part_of, self.down)

    def _move(self, job: Active, allocation: Allocation, sign: int) -> None:
        for server, mask in allocation.items():
            if job.is_share:
                self._move_share(job, server, mask, sign)
            elif sign > 0:
                self.idle[server] |= mask
            else:
                self.idle[server] &= ~mask
            if job.asks_for_more:
                workers, whole = sign * workers_of(mask), self.part_of.get(server, server)
                cpu_milli = self.cpu_milli[whole] + job.job.cpu_milli * workers
                memory_mib = self.memory_mib[whole] + job.job.memory_mib * workers
                self.cpu_milli = self.cpu_milli | {whole: cpu_milli}
                self.memory_mib = self.memory_mib | {whole: memory_mib}

    def _move_share(self, job: Active, server: int, mask: int, sign: int) -> None:
        gpu = mask.bit_length() - 1
        left = self.left(server, gpu) + sign * job.job.share_milli
        self.milli.pop((server, gpu), None)
        if left == WHOLE:
            self.idle[server] |= mask
        else:
            self.idle[server] &= ~mask
            self.milli[server, gpu] = left


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
    """Servers by id; pooled (placement ``count``) they are one server with id -1.

    ``room`` is the CPU (thousandths of a core) and memory (MiB) of each server; None is unlimited.
    """

    def __init__(
        self,
        servers: Sequence[tuple[int, str]],
        pooled: bool,
        room: Sequence[tuple[int | None, int | None]] = (),
        part_of: Sequence[int] = (),
    ) -> None:
        self.pooled = pooled
        self.part_of = dict(enumerate(part_of))
        self.num_gpus = sum(gpus for gpus, _ in servers)
        self.gpu_types = list(dict.fromkeys(gpu_type for _, gpu_type in servers))
        if pooled:
            self.sizes = {-1: self.num_gpus}
            self.types = {-1: "any"}
        else:
            self.sizes = {server: gpus for server, (gpus, _) in enumerate(servers)}
            self.types = {server: gpu_type for server, (_, gpu_type) in enumerate(servers)}
        limits = dict(enumerate(room)) if not pooled else {}
        self.allowed: dict[frozenset[str] | None, list[int]] = {}  # cache of servers by types
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
        """Return all resources."""
        return Free(self.all_free(), {}, self.cpu_milli, self.memory_mib, part_of=self.part_of)

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
                raise ValueError("a single pool has no types: a job cannot ask for some of several")
            return list(self.sizes) if accepted else []
        return [server for server in self.sizes if self.types[server] in gpu_types]

    def same_servers(self, servers: Iterable[int]) -> list[int]:
        """Return all parts of these servers."""
        wholes = {self.part_of.get(server, server) for server in servers}
        return [server for server in self.sizes if self.part_of.get(server, server) in wholes]

    def fitting(self, job: Job) -> list[list[int]]:
        """Return the servers that a job may use: per type, if servers have several."""
        servers = self.allowed_servers(job)
        if not self.part_of or self.pooled:
            return [servers]
        types = [self.gpu_types[index] for index in self.allowed_types(job)]
        return [[server for server in servers if self.types[server] == name] for name in types]

    def gpus_of(self, gpu_type: str) -> int:
        """Return the number of GPUs of a type."""
        servers = self.sizes
        return sum(servers[server] for server in servers if self.types[server] == gpu_type)

    def allowed_types(self, job: Job) -> list[int]:
        """Return the indices of the types that the job accepts and that exist."""
        accepted = {self.types[server] for server in self.allowed_servers(job)}
        return [index for index, name in enumerate(self.gpu_types) if name in accepted]


Link = tuple[str, int]
"""("nic", server) or ("uplink", domain)."""


@dataclass(frozen=True)
class Network:
    """Bandwidths in Gbit/s, by server and by domain; the domains, if any, form a tree."""

    nic_gbps: Sequence[float]
    intra_gbps: Sequence[float]
    server_domain: Sequence[int] = ()
    domain_parent: Sequence[int | None] = ()
    uplink_gbps: Sequence[float | None] = ()

    def nic(self, server: int) -> float:
        """Return bytes per second between a server and the network."""
        return self.nic_gbps[server] * 1e9 / 8

    def intra(self, server: int) -> float:
        """Return bytes per second between the GPUs of a server."""
        return self.intra_gbps[server] * 1e9 / 8

    def bandwidth(self, link: Link) -> float:
        """Return bytes per second."""
        kind, index = link
        if kind == "nic":
            return self.nic(index)
        gbps = self.uplink_gbps[index]
        assert gbps is not None
        return gbps * 1e9 / 8

    def is_behind(self, server: int, link: Link) -> bool:
        """Whether traffic between the server and the rest of the cluster passes the link."""
        kind, index = link
        if kind == "nic":
            return server == index
        domain: int | None = self.server_domain[server]
        while domain is not None and domain != index:
            domain = self.domain_parent[domain]
        return domain == index

    def gpus_behind(self, link: Link, gpus: dict[int, int]) -> int:
        """Return how many of ``gpus``, by server, are behind the link."""
        return sum(count for server, count in gpus.items() if self.is_behind(server, link))

    def links(self, allocation: Allocation) -> list[Link]:
        """Return the links of a ring: none on one server."""
        if len(allocation) < 2:
            return []
        gpus = {server: mask.bit_count() for server, mask in allocation.items()}
        uplinks = [
            ("uplink", d) for d, parent in enumerate(self.domain_parent) if parent is not None
        ]
        crossed = [up for up in uplinks if 0 < self.gpus_behind(up, gpus) < sum(gpus.values())]
        return [("nic", server) for server in sorted(gpus)] + crossed


Node = tuple[int, int]
"""(0, server) or (1, domain): servers come first."""

Counts = dict[int, int]
"""Server -> how much it could take."""


class Domains:
    """Servers without a domain have one common root."""

    def __init__(
        self,
        servers: Iterable[int],
        server_domain: Sequence[int] = (),
        domain_parent: Sequence[int | None] = (),
    ) -> None:
        self.parent: dict[Node, Node | None] = {}
        for server in servers:
            self.parent[0, server] = (1, server_domain[server] if server_domain else 0)
        for domain, parent in enumerate(domain_parent or (None,)):
            self.parent[1, domain] = None if parent is None else (1, parent)

    def above(self, node: Node | None) -> list[Node]:
        """Return a node and all above it."""
        return [] if node is None else [node, *self.above(self.parent[node])]

    def is_inside(self, server: int, domain: Node) -> bool:
        """Whether a domain has the server."""
        return domain in self.above((0, server))

    def capacity(self, node: Node, counts: Counts) -> int:
        """Return how much the servers of a node could take."""
        return sum(count for server, count in counts.items() if node in self.above((0, server)))

    def holding(self, counts: Counts, need: int) -> list[Node]:
        """Return the domains with enough capacity, the smallest first."""
        able = [
            node for node in self.parent if node[0] == 1 and self.capacity(node, counts) >= need
        ]
        return sorted(
            able, key=lambda node: (-len(self.above(node)), self.capacity(node, counts), node)
        )

    def taken(self, domain: Node, counts: Counts, need: int) -> Counts:
        """Split a request along the tree: few parts, and the last one best fit."""
        if domain[0] == 0:
            return {domain[1]: need}
        found: Counts = {}
        left = sorted(node for node, parent in self.parent.items() if parent == domain)
        while need > 0:
            capacities = {node: self.capacity(node, counts) for node in left}
            able = [node for node in left if capacities[node] >= need]
            if able:
                chosen = min(able, key=lambda node: (capacities[node], node))
            else:
                chosen = min(left, key=lambda node: (-capacities[node], node))
            amount = min(need, capacities[chosen])
            found |= self.taken(chosen, counts, amount)
            left.remove(chosen)
            need -= amount
        return found
