"""Placements for jobs that request more than whole GPUs.

A rule scores servers for a job and selects GPUs: one class per name. A job that fits the largest
server goes to one server, the best by the rule; a larger one takes whole servers of that size and
one server for the rest. With ``gpus_per_node``, each server provides that number instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusched.reference.cluster import UNLIMITED, Cluster, Domains, Free, Network, lowest_bits
from gpusched.reference.model import WHOLE, Active, Allocation, Job
from gpusched.reference.rng import below, draw

MOST_KINDS = 128


def rounded_up(value: int, bits: int) -> int:
    """Round up to a number with so many significant bits."""
    step = 1 << max(0, value.bit_length() - bits)
    return -(-value // step) * step


def merged(values: Iterable[int], most: int = MOST_KINDS) -> dict[int, int]:
    """Round values up to the most bits that leave only so many distinct ones."""
    distinct = sorted(set(values))
    for bits in range(62, 0, -1):
        rounded = {value: rounded_up(value, bits) for value in distinct}
        if len(set(rounded.values())) <= most or bits == 1:
            return rounded
    raise AssertionError


class Fragmentation:
    """Statistics over the jobs of a workload, each counted as often as it occurs."""

    def __init__(self, cluster: Cluster, jobs: Sequence[Job]) -> None:
        self.cluster = cluster
        self.jobs = jobs
        self.cpu = merged(self.cpu_asked(job) for job in jobs)
        self.share = merged(job.share_milli for job in jobs if job.share_milli < WHOLE)

    def gpus_asked(self, job: Job) -> int:
        """Return the GPUs that a job needs of one server: all of the largest if it needs more."""
        sizes = [self.cluster.sizes[server] for server in self.cluster.allowed_servers(job)]
        return min(job.gpus_per_node or job.gpus, max(sizes, default=0))

    def cpu_asked(self, job: Job) -> int:
        """Return the CPU that it needs of that server."""
        return job.cpu_milli * max(1, self.gpus_asked(job))

    def of_server(self, free: Free, server: int) -> int:
        """Sum over the jobs the thousandths of the free GPUs that each could not use."""
        left = [free.left(server, gpu) for gpu in range(self.cluster.sizes[server])]
        return sum(sum(left) - self.usable(free, server, left, job) for job in self.jobs)

    def usable(self, free: Free, server: int, left: list[int], job: Job) -> int:
        """Return what the job could use of a server's GPUs with these free parts."""
        gpus = self.gpus_asked(job)
        if gpus == 0 or server not in self.cluster.allowed_servers(job):
            return 0
        whole = free.part_of.get(server, server)
        if free.cpu_milli[whole] < self.cpu[self.cpu_asked(job)]:
            return 0
        if job.share_milli < WHOLE:
            share = min(WHOLE, self.share[job.share_milli])
            return sum(milli for milli in left if milli >= share)
        whole = left.count(WHOLE)
        return whole * WHOLE if whole >= gpus else 0


@dataclass(frozen=True)
class Ask:
    """A request to one server: some workers of a job, and the servers to choose from."""

    job: Active
    workers: int
    gang: int
    servers: tuple[int, ...]
    is_whole: bool = False  # the server must have exactly so many GPUs, all free


class Rule:
    """Any server; a share uses the GPU that it fits best."""

    full_first = True
    sees_workload = False
    """Whether it depends on the requests of all jobs of the trace."""

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], seed: int, params: Mapping[str, Any]
    ) -> None:
        self.cluster = cluster
        self.jobs = jobs
        self.has_demands = any(
            job.share_milli < WHOLE or job.cpu_milli or job.memory_mib for job in jobs
        )
        self.seed = seed
        self.params = params

    def start(self, job: Active) -> None:
        """Reset for another job."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        """Return the score of a server that can host the workers; lower is better."""
        return 0

    def choose(self, scores: dict[int, float]) -> int:
        """Return the best of some servers."""
        return min(scores, key=lambda server: (scores[server], server))

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        """Return the GPUs that the workers take, as a mask."""
        if not ask.job.is_share:
            return lowest_bits(free.masks[server], ask.workers)
        sign = 1 if self.full_first else -1
        gpus = self.shareable(free, server, ask.job)
        return 1 << min(gpus, key=lambda gpu: (sign * free.left(server, gpu), gpu))

    def shareable(self, free: Free, server: int, job: Active) -> list[int]:
        """Return the GPUs with enough left for a share."""
        gpus = range(self.cluster.sizes[server])
        return [gpu for gpu in gpus if free.left(server, gpu) >= job.job.share_milli]

    def milli(self, free: Free, server: int) -> int:
        """Return the thousandths of all GPUs of a server that are free."""
        return sum(free.left(server, gpu) for gpu in range(self.cluster.sizes[server]))

    def resources(self, free: Free, server: int, ask: Ask) -> list[tuple[int, int, int]]:
        """Return for each resource the free part, the largest server's total, and the request."""
        job, workers = ask.job.job, max(1, ask.workers)
        most = max(self.cluster.sizes.values()) * WHOLE
        found = [(self.milli(free, server), most, job.share_milli * ask.workers)]
        if not self.has_demands:
            return found
        for left, all_of, asked in (
            (free.cpu_milli, self.cluster.cpu_milli, job.cpu_milli),
            (free.memory_mib, self.cluster.memory_mib, job.memory_mib),
        ):
            most = max((own for own in all_of.values() if own < UNLIMITED), default=0)
            if most > 0:
                whole = free.part_of.get(server, server)
                found.append((min(left[whole], most), most, asked * workers))
        return found

    def room(self, free: Free, server: int, ask: Ask) -> float:
        """Sum the free resources, each relative to the largest server's total."""
        total = 0.0
        for left, most, _ in self.resources(free, server, ask):
            total += left / most
        return total


class BestFit(Rule):
    """Least left in all resources."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return self.room(free, server, ask)


class WorstFit(Rule):
    """Most left in all resources."""

    full_first = False

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return -self.room(free, server, ask)


class Consolidated(Rule):
    """Least left of the GPUs."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return self.milli(free, server)


class Spread(Rule):
    """Most left of the GPUs."""

    full_first = False

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        return -self.milli(free, server)


class DotProduct(Rule):
    """The free resources most, or least, similar to the request."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        total = 0.0
        for left, most, asked in self.resources(free, server, ask):
            total += asked / most * (left / most)
        return total if self.params.get("product") == "least" else -total


class Random(Rule):
    """Any server and any of its GPUs, by random draws of the job."""

    def start(self, job: Active) -> None:
        self.job, self.counter = job.id, 1000003 * job.preemptions

    def choose(self, scores: dict[int, float]) -> int:
        return sorted(scores)[self.below(len(scores))]

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        if ask.job.is_share:
            left = self.shareable(free, server, ask.job)
        else:
            left = [gpu for gpu in range(64) if free.masks[server] >> gpu & 1]
        return sum(1 << left.pop(self.below(len(left))) for _ in range(ask.workers))

    def below(self, n: int) -> int:
        """Draw from 0 .. n - 1."""
        self.counter += 1
        return below(draw(self.seed, "placement", self.job, self.counter - 1), n)


class GpuPacking(Rule):
    """Partly used GPUs, then used servers, then idle ones."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        size = self.cluster.sizes[server]
        if free.masks[server].bit_count() == size:
            return 2e6 + size
        if ask.job.is_share:
            left = min(free.left(server, gpu) for gpu in self.shareable(free, server, ask.job))
            if left < WHOLE:
                return left
        return 1e6 + self.milli(free, server)


class GpuClustering(Rule):
    """Servers with jobs of this shape only, mixed ones, idle ones, others."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        milli = self.milli(free, server)
        hosted = free.hosted.get(server, {})
        shape = -ask.job.job.share_milli if ask.job.is_share else ask.gang
        if shape in hosted:
            return milli if len(hosted) == 1 else 1e6 + milli
        if shape == 0:
            return milli
        return 3e6 + milli if hosted else 2e6 + milli


class Fgd(Rule):
    """Smallest growth of fragments, in steps; then the least free. A share tries every GPU."""

    STEP = 40  # thousandths of a GPU

    sees_workload = True

    def __init__(
        self, cluster: Cluster, jobs: Sequence[Job], seed: int, params: Mapping[str, Any]
    ) -> None:
        super().__init__(cluster, jobs, seed, params)
        self.fragmentation = Fragmentation(cluster, jobs)

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        left = sum(free.left(server, gpu) for gpu in range(self.cluster.sizes[server]))
        return min(self.growths(free, server, ask))[0] * 65536 + left

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        return min(self.growths(free, server, ask))[1]

    def growths(self, free: Free, server: int, ask: Ask) -> list[tuple[int, int]]:
        """Return the growth of fragments for each choice of GPUs."""
        masks = [lowest_bits(free.masks[server], ask.workers)]
        if ask.job.is_share:
            masks = [1 << gpu for gpu in self.shareable(free, server, ask.job)]
        before = self.fragmentation.of_server(free, server)
        found = []
        for mask in masks:
            after = free.claimed(ask.job, {server: mask})
            growth = self.fragmentation.of_server(after, server) - before
            found.append((self.cost(growth), mask))
        return found

    def cost(self, growth: int) -> int:
        """Round a growth to steps."""
        return -(-growth // (self.STEP * len(self.fragmentation.jobs)))


class Buddy(Rule):
    """The smallest block from which the workers can be cut."""

    def score(self, free: Free, server: int, ask: Ask) -> float | None:
        if ask.workers == 0:
            return free.masks[server].bit_count()
        if ask.job.is_share:
            left = min(free.left(server, gpu) for gpu in self.shareable(free, server, ask.job))
            if left < WHOLE:
                return left / WHOLE
        blocks = self.blocks(free, server, ask.workers)
        return min(blocks)[0] if blocks else None

    def gpus(self, free: Free, server: int, ask: Ask) -> int:
        if ask.workers == 0:
            return 0
        mask = super().gpus(free, server, ask)
        if ask.job.is_share and not mask & free.masks[server]:
            return mask
        _, _, inside = min(self.blocks(free, server, ask.workers))
        return lowest_bits(inside, ask.workers)

    def blocks(self, free: Free, server: int, width: int) -> list[tuple[int, int, int]]:
        """Return the aligned blocks with room: free GPUs around, start, free GPUs as a mask."""
        size = self.cluster.sizes[server]
        length = 1
        while length < width:
            length *= 2

        def block(start: int, length: int) -> int:
            return sum(1 << gpu for gpu in range(start, min(start + length, size)))

        found = []
        for start in range(0, size, length):
            inside = free.masks[server] & block(start, length)
            if inside.bit_count() < width:
                continue
            around, larger = inside, length
            while around == block(start - start % larger, larger) and larger < size:
                larger *= 2
                parent = block(start - start % larger, larger)
                if free.masks[server] & parent != parent:
                    break
                around = parent
            found.append((around.bit_count(), start, inside))
        return found


RULES: dict[str, type[Rule]] = {
    "first-fit": Rule,
    "best-fit": BestFit,
    "worst-fit": WorstFit,
    "spread": Spread,
    "random": Random,
    "consolidated": Consolidated,
    "consolidated-relaxed": Consolidated,
    "dot-product": DotProduct,
    "fgd": Fgd,
    "gpu-packing": GpuPacking,
    "gpu-clustering": GpuClustering,
    "buddy": Buddy,
    "topology": BestFit,
}
"""By name; variants, such as those of an artefact, are ``name:variant``."""


OWN = ("dot-product", "fgd", "gpu-packing", "gpu-clustering", "buddy", "topology")
"""Placements whose rule applies to all jobs."""

NAMES = tuple(RULES)
"""Placements that support demands."""


class Packing:
    """A placement on one cluster, for the jobs of one replay."""

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        cluster: Cluster,
        jobs: Sequence[Job],
        network: Network | None,
        seed: int,
    ) -> None:
        self.name = name
        self.cluster = cluster
        variant = ":artefact" if params.get("artefact") else ""
        if name + variant not in RULES:
            raise ValueError(f"placement {name}{variant}: there is no reference implementation")
        self.rule = RULES[name + variant](cluster, jobs, seed, params)
        tree = ((), ()) if network is None else (network.server_domain, network.domain_parent)
        self.domains = Domains(list(cluster.sizes), *tree)

    def place(
        self, job: Active, free: Free, gpus: int | None = None, gpu_type: int | None = None
    ) -> Allocation | None:
        """Return the GPUs of the job, or of a part of it on one type, or None."""
        gang = job.gpus if gpus is None else gpus
        servers = tuple(self.cluster.allowed_servers(job.job))
        if gpu_type is not None:
            name = self.cluster.gpu_types[gpu_type]
            servers = tuple(s for s in servers if self.cluster.types[s] == name)
        self.rule.start(job)
        ask = Ask(job, gang, gang, servers)
        size = max((self.cluster.sizes[server] for server in servers), default=0)
        per_node = job.job.gpus_per_node
        node = replace(ask, workers=per_node) if per_node else whole(ask, size)
        chosen: Allocation | None
        if self.name == "topology" and not self.rule.has_demands and not per_node:
            chosen = self.place_gpus(free, ask)
        elif gang <= node.workers:
            chosen = self.added(free, ask, {}, 1)
        elif self.name == "topology":
            chosen = self.place_in_domain(free, ask, node)
        elif self.name == "buddy" and not per_node:
            chosen = self.place_greedily(free, ask)
        else:
            chosen = self.added(free, node, {}, gang // node.workers)
            chosen = self.with_rest(free, ask, chosen, gang % node.workers)
        return None if chosen is None else dict(sorted(chosen.items()))

    def with_rest(
        self, free: Free, ask: Ask, chosen: Allocation | None, rest: int
    ) -> Allocation | None:
        """Add a server for the rest, if any."""
        if chosen is None or rest == 0:
            return chosen
        return self.added(free, replace(ask, workers=rest), chosen, 1)

    def added(self, free: Free, ask: Ask, chosen: Allocation, count: int) -> Allocation | None:
        """Add so many other servers, the best first; None if there are too few."""
        for _ in range(count):
            others = [s for s in ask.servers if s not in chosen and self.can_host(free, s, ask)]
            scores = {server: self.rule.score(free, server, ask) for server in others}
            able = {server: score for server, score in scores.items() if score is not None}
            if not able:
                return None
            server = self.rule.choose(able)
            chosen = {**chosen, server: self.rule.gpus(free, server, ask)}
        return chosen

    def can_host(self, free: Free, server: int, ask: Ask) -> bool:
        """Whether a server could take the workers."""
        if not free.has_room(server, ask.job, max(1, ask.workers)):
            return False
        if ask.job.is_share:
            return bool(self.rule.shareable(free, server, ask.job))
        if ask.is_whole and self.cluster.sizes[server] != ask.workers:
            return False
        return free.masks[server].bit_count() >= ask.workers

    def place_greedily(self, free: Free, ask: Ask) -> Allocation | None:
        """Take idle servers, the largest first, as long as the job fills them."""
        chosen: Allocation = {}
        rest = ask.gang
        for size in sorted(set(self.cluster.sizes.values()), reverse=True):
            while rest >= size:
                more = self.added(free, whole(ask, size), chosen, 1)
                if more is None:
                    break
                chosen, rest = more, rest - size
        return self.with_rest(free, ask, chosen, rest)

    def place_gpus(self, free: Free, ask: Ask) -> Allocation | None:
        """One server if one holds the job, else the smallest domain that does."""
        counts = {s: free.masks[s].bit_count() for s in ask.servers}
        able = [server for server in counts if counts[server] >= ask.gang]
        if able:
            best = min(able, key=lambda server: (counts[server], server))
            return {best: lowest_bits(free.masks[best], ask.gang)}
        for domain in self.domains.holding(counts, ask.gang):
            taken = self.domains.taken(domain, counts, ask.gang)
            return {s: lowest_bits(free.masks[s], count) for s, count in taken.items()}
        return None

    def place_in_domain(self, free: Free, ask: Ask, node: Ask) -> Allocation | None:
        """Take equal servers and one for the rest, in the smallest domain that has them."""
        num, rest = divmod(ask.gang, node.workers)
        able = {s: int(self.can_host(free, s, node)) for s in ask.servers}
        for domain in self.domains.holding(able, num):
            taken = self.domains.taken(domain, able, num)
            chosen = {server: lowest_bits(free.masks[server], node.workers) for server in taken}
            inside = tuple(s for s in ask.servers if self.domains.is_inside(s, domain))
            found = self.with_rest(free, replace(ask, servers=inside), chosen, rest)
            if found is not None:
                return found
        return None


def make_packing(
    name: str,
    params: Mapping[str, Any],
    cluster: Cluster,
    jobs: Sequence[Job],
    network: Network | None,
    seed: int,
    has_demands: bool,
) -> Packing | None:
    """Return the placement for jobs that request more than GPUs; None if there is none."""
    if name not in NAMES:
        if has_demands:
            raise ValueError(f"placement {name}: supports whole GPUs only")
        if any(job.gpus_per_node for job in jobs):
            raise ValueError(f"placement {name}: it does not obey gpus_per_node")
        return None
    made = Packing(name, params, cluster, jobs, network, seed)
    made.rule.has_demands = has_demands
    return made


def whole(ask: Ask, size: int) -> Ask:
    """Request a whole server instead."""
    return replace(ask, workers=size, is_whole=True)
