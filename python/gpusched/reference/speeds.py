"""Performance models: the progress of a job, given its GPUs and the other jobs; one class each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from gpusched.reference.cluster import Cluster, Link, Network
from gpusched.reference.model import Active, Allocation, Graph, Profile, Samples, Throughputs

Share = Callable[[float, int, int, int], float]
"""Bandwidth of one ring on one link, in bytes per second: from the link's bandwidth, its rings,
the GPUs of this ring behind it, and those of all."""


def none(bandwidth: float, rings: int, own: int, behind: int) -> float:
    """All of it."""
    return bandwidth


def reserved(bandwidth: float, rings: int, own: int, behind: int) -> float:
    """A part for each GPU, whether or not others use theirs."""
    return bandwidth * (own / behind)


def shared(degradation: float = 0.0, scaling: float = 1.0) -> Share:
    """Return equal parts, smaller the more rings there are."""

    def share(bandwidth: float, rings: int, own: int, behind: int) -> float:
        crowd = max(1.0, scaling * rings)
        return bandwidth / (crowd + degradation * (crowd - 1.0))

    return share


class Speed:
    """Rates are service per tick, above 1 only on more GPUs than the job's own.

    By default a job may run on any GPUs, at its own number of GPUs only.
    """

    is_fixed = False
    is_elastic = False
    """Whether jobs may run with other numbers of GPUs than their own."""

    def can_run(self, job: Active) -> bool:
        """Whether the job can run at its own number of GPUs on the empty cluster."""
        return True

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Whether the job can run on these GPUs."""
        return True

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Return the changed rates, given all running jobs."""
        raise NotImplementedError

    def uncontended_rate(self, job: Active) -> float:
        """Return the rate of a running job if it had every link for itself."""
        raise NotImplementedError


class Paced(Speed):
    """A speed determined by a job's GPUs and the bandwidth of its slowest link."""

    def runs(self, job: Active, name: str) -> bool:
        """Whether the job can run at its own number of GPUs on a type, if enough exist."""
        return True

    def ideal_s(self, job: Active) -> float:
        """Return the minimum seconds per iteration at the job's own number of GPUs."""
        raise NotImplementedError

    def seconds(self, job: Active, bandwidth: float) -> float:
        """Return the seconds per iteration on the job's GPUs, with links of a bandwidth."""
        raise NotImplementedError

    def sent_bytes(self, job: Active) -> float:
        """Return the bytes through the slowest link in an iteration."""
        raise NotImplementedError


class OnLinks(Paced):
    """Jobs slow down when others use their links."""

    network: Network | None
    share: Share

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Compare the minimum iteration time with the one among all others."""
        links: list[Link] = []
        if self.network is not None:
            links = [link for job in running for link in self.network.links(allocation_of(job))]
        return [(job, self.rate(job, self.share, links)) for job in running]

    def uncontended_rate(self, job: Active) -> float:
        """Compare the minimum iteration time with the one on this job's GPUs."""
        return self.rate(job, none, [])

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate; ``all_links`` has every link as often as jobs use it."""
        raise NotImplementedError


class Fixed(Speed):
    """Every job is equally fast on any GPUs."""

    is_fixed = True

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Return integer rates, so that any service is counted exactly."""
        return [(job, 1) for job in running if job.rate is None]

    def uncontended_rate(self, job: Active) -> float:
        """Return one."""
        return 1.0


class Ring(OnLinks):
    """Workers compute, then gradients travel around a ring as fast as its slowest link."""

    network: Network

    def __init__(
        self,
        cluster: Cluster,
        network: Network,
        share: Share,
        overhead_s: float = 0.0005,
        reduction_bytes_per_s: float = 3e11,
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.share = share
        self.overhead_s = overhead_s
        self.reduction_bytes_per_s = reduction_bytes_per_s

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate; ``all_links`` has every link as often as rings use it."""
        bandwidth = slowest_link(self.network, self.cluster, allocation_of(job), share, all_links)
        return self.ideal_s(job) / self.seconds(job, bandwidth)

    def seconds(self, job: Active, bandwidth: float) -> float:
        """Return the seconds per iteration on the job's GPUs, with links of a bandwidth."""
        return self.seconds_on(job, allocation_of(job), bandwidth)

    def seconds_on(self, job: Active, allocation: Allocation, bandwidth: float) -> float:
        """Return the same for a possible allocation."""
        profile = profile_of(job)
        compute = max(profile.compute_s(self.cluster.types[server]) for server in allocation)
        return self.iteration_s(profile, job.gpus, len(allocation), bandwidth, compute)

    def placed_s(self, job: Active, allocation: Allocation, ranks: Sequence[int]) -> float:
        """Return the seconds per iteration if each GPU owns an equal part of its links."""
        bandwidth = slowest_link(self.network, self.cluster, allocation, reserved, [])
        return self.seconds_on(job, allocation, bandwidth)

    def high(self, job: Active) -> float:
        """Return the seconds of an iteration with every worker alone on the worst server."""
        allowed, profile = self.cluster.allowed_servers(job.job), profile_of(job)
        compute = max(profile.compute_s(self.cluster.types[server]) for server in allowed)
        worst = self.network.intra(allowed[0])
        if job.gpus > 1:
            worst = worst_part(self.network, self.cluster, allowed)
        return self.iteration_s(profile, job.gpus, job.gpus, worst, compute)

    def sent_bytes(self, job: Active) -> float:
        """Return the bytes through the slowest link in an iteration."""
        return 2.0 * profile_of(job).gradient_bytes * (job.gpus - 1) / job.gpus

    def ideal_s(self, job: Active) -> float:
        """Return the minimum iteration time: empty cluster, few servers, best links."""
        allowed = self.cluster.allowed_servers(job.job)
        sizes = sorted((self.cluster.sizes[server] for server in allowed), reverse=True)
        span = next(n for n in range(1, len(sizes) + 1) if sum(sizes[:n]) >= job.gpus)
        bandwidth = max(self.network.intra(server) for server in allowed)
        if span > 1:
            bandwidth = min(bandwidth, max(self.network.nic(server) for server in allowed))
        profile = profile_of(job)
        compute = min(profile.compute_s(self.cluster.types[server]) for server in allowed)
        return self.iteration_s(profile, job.gpus, span, bandwidth, compute)

    def iteration_s(
        self, profile: Profile, gpus: int, span: int, bandwidth: float, compute: float
    ) -> float:
        """Return the seconds per iteration; the order of operations determines rounding."""
        sent = profile.gradient_bytes * (gpus - 1) / gpus
        exchange = 2.0 * sent / bandwidth + sent / self.reduction_bytes_per_s
        return exchange + (self.overhead_s * span + compute)


def slowest_link(
    network: Network,
    cluster: Cluster,
    allocation: Allocation,
    share: Share,
    all_links: Sequence[Link],
) -> float:
    """Return the bytes per second of a ring; ``all_links`` has a link for every ring on it."""
    own = {server: mask.bit_count() for server, mask in allocation.items()}
    bandwidth = min(network.intra(server) for server in allocation)
    for link in network.links(allocation):
        behind = network.gpus_behind(link, cluster.sizes)
        mine = network.gpus_behind(link, own)
        part = share(network.bandwidth(link), all_links.count(link), mine, behind)
        bandwidth = min(bandwidth, part)
    return bandwidth


def worst_part(network: Network, cluster: Cluster, allowed: Sequence[int]) -> float:
    """Return the minimum bytes per second of any link if each GPU owns an equal part of it."""
    worst = min(network.intra(server) for server in allowed)
    uplinks = [("uplink", d) for d, up in enumerate(network.domain_parent) if up is not None]
    for link in [("nic", server) for server in allowed] + uplinks:
        if any(network.is_behind(server, link) for server in allowed):
            worst = min(worst, network.bandwidth(link) / network.gpus_behind(link, cluster.sizes))
    return worst


def allocation_of(job: Active) -> Allocation:
    """Return the GPUs of a running job."""
    assert job.allocation is not None
    return job.allocation


def profile_of(job: Active) -> Profile:
    """Return the profile, which every job needs."""
    if job.job.profile is None:
        raise ValueError("speed ring: every job needs a profile")
    return job.job.profile


CONTENTIONS: dict[str, Callable[..., Share]] = {
    "none": lambda: none,
    "reserved": lambda: reserved,
    "shared": shared,
}


def between(known: Mapping[int, float], gpus: int) -> float:
    """Return the throughput of so many GPUs: interpolated between known numbers, 0 outside."""
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


class Table(Paced):
    """On several types a job is as fast as on the same number of GPUs of the slowest type."""

    is_elastic = True

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def can_run(self, job: Active) -> bool:
        """Whether the job can run at its own number of GPUs on the empty cluster."""
        return self.best(job) > 0

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Whether the job can run on these GPUs."""
        return self.iteration_s(job, allocation) < math.inf

    def runs(self, job: Active, name: str) -> bool:
        """Whether the job can run at its own number of GPUs on a type, if enough exist."""
        return between(tables_of(job).packed[name], job.gpus) > 0

    def rates(self, running: Sequence[Active]) -> Iterable[tuple[Active, float]]:
        """Compare the minimum with the present seconds per iteration."""
        return [(job, self.uncontended_rate(job)) for job in running]

    def uncontended_rate(self, job: Active) -> float:
        """Return the rate; links have no effect."""
        return self.ideal_s(job) / self.iteration_s(job, allocation_of(job))

    def seconds(self, job: Active, bandwidth: float) -> float:
        """Return the seconds per iteration on the job's GPUs; links have no effect."""
        return self.iteration_s(job, allocation_of(job))

    def sent_bytes(self, job: Active) -> float:
        """Return the bytes through a link in an iteration, which are unknown."""
        return 0.0

    def ideal_s(self, job: Active) -> float:
        """Return the minimum seconds per iteration at the job's own number of GPUs."""
        return 1.0 / self.best(job)

    def high(self, job: Active) -> float:
        """Return the maximum seconds per iteration: on the slowest type, spread."""
        known = [
            self.throughput(job, self.cluster.gpu_types[index], job.gpus, is_spread)
            for index in self.cluster.allowed_types(job.job)
            for is_spread in (False, True)
        ]
        return 1.0 / min(self.best(job), *(each for each in known if each > 0))

    def best(self, job: Active) -> float:
        """Return the throughput on the fastest types that together have enough GPUs.

        If servers have several types, a job has one, which must have enough alone.
        """
        packed = tables_of(job).packed
        names = [self.cluster.gpu_types[index] for index in self.cluster.allowed_types(job.job)]
        if self.cluster.part_of:
            names = [name for name in names if self.cluster.gpus_of(name) >= job.gpus]
        fastest = sorted(names, key=lambda name: -between(packed[name], job.gpus))
        held, slowest = 0, 0.0
        for name in fastest:
            held += self.cluster.gpus_of(name)
            slowest = between(packed[name], job.gpus)
            if held >= job.gpus:
                return slowest
        return 0.0

    def iteration_s(self, job: Active, allocation: Allocation) -> float:
        """Return the seconds per iteration on these GPUs, infinity if it cannot run there."""
        gpus = sum(mask.bit_count() for mask in allocation.values())
        names = {self.cluster.types[server] for server in allocation}
        sizes = [self.cluster.sizes[s] for s, name in self.cluster.types.items() if name in names]
        is_spread = len(allocation) > math.ceil(gpus / max(sizes))
        slowest = min(self.throughput(job, name, gpus, is_spread) for name in names)
        if gpus == job.gpus:  # never better than the best, even in an unusual table
            slowest = min(slowest, self.best(job))
        return 1.0 / slowest if slowest > 0 else math.inf

    def throughput(self, job: Active, name: str, gpus: int, is_spread: bool) -> float:
        """Return the value of the table; without data for spread jobs, that of packed ones."""
        tables = tables_of(job)
        spread = 0.0
        if is_spread and tables.spread is not None:
            spread = between(tables.spread[name], gpus)
        return spread if spread > 0 else between(tables.packed[name], gpus)


def tables_of(job: Active) -> Throughputs:
    """Return the tables, which every job needs."""
    if job.job.throughputs is None:
        raise ValueError("speed table: every job needs throughputs")
    return job.job.throughputs


Number = TypeVar("Number", float, Fraction)


def added(values: Sequence[Number], zero: Number) -> Number:
    """Sum from the left; ``sum`` of floats depends on the version of Python."""
    total = zero
    for value in values:
        total += value
    return total


def in_proportion(
    batch: Number, weights: Sequence[Number], most: Sequence[float]
) -> list[Number] | None:
    """Divide by weight, and redistribute what exceeds the limit of full workers."""
    zero = batch - batch
    parts = [zero] * len(weights)
    rest, not_full = batch, list(range(len(weights)))
    while rest > 0 and not_full:
        total = added([weights[k] for k in not_full], zero)
        wanted = {k: rest * weights[k] / total for k in not_full}
        full = [k for k in not_full if wanted[k] >= most[k]]
        if not full:
            for k in not_full:
                parts[k] = wanted[k]
            return parts
        for k in full:
            held: Any = most[k]
            parts[k] = zero + held
        rest -= added([parts[k] for k in full], zero)
        not_full = [k for k in not_full if k not in full]
    return parts if rest <= 0 else None


def whole_in_proportion(
    batch: int, rates: Sequence[float], most: Sequence[float]
) -> list[int] | None:
    """Round down, then give the rest one by one to the worker that would finish first."""
    exact = in_proportion(Fraction(batch), [Fraction(rate) for rate in rates], most)
    if exact is None:
        return None
    parts = [math.floor(part) for part in exact]
    while sum(parts) < batch:
        open_workers = [k for k in range(len(parts)) if parts[k] < most[k]]
        first = min(open_workers, key=lambda k: (Fraction(parts[k] + 1) / Fraction(rates[k]), k))
        parts[first] += 1
    return parts


class Proportional(OnLinks):
    """A round takes as long as its slowest worker, plus its slowest link."""

    is_elastic = True

    def __init__(
        self,
        cluster: Cluster,
        network: Network | None,
        share: Share,
        split: str = "proportional",
        batches: str = "real",
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.share = share
        self.is_equal = split == "equal"
        self.is_whole = batches == "integer"

    def can_run(self, job: Active) -> bool:
        """Whether the job can run at its own number of GPUs on the empty cluster."""
        return self.ideal_s(job) < math.inf

    def can_use(self, job: Active, allocation: Allocation) -> bool:
        """Whether the job can run on these GPUs."""
        return self.round_s(job, self.workers(allocation), math.inf) < math.inf

    def runs(self, job: Active, name: str) -> bool:
        """Whether the job can run at its own number of GPUs on a type, if enough exist."""
        samples = samples_of(job)
        most = samples.most.get(name) or math.inf
        return samples.per_s[name] > 0 and most * job.gpus >= samples.batch

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate; ``all_links`` has every link as often as rings use it."""
        allocation = allocation_of(job)
        bandwidth = math.inf
        if self.network is not None:
            bandwidth = slowest_link(self.network, self.cluster, allocation, share, all_links)
        round_s = self.seconds(job, bandwidth)
        return self.ideal_s(job) / self.at_least_ideal(job, job.width, round_s)

    def seconds(self, job: Active, bandwidth: float) -> float:
        """Return the seconds per round on the job's GPUs; at least the ideal."""
        return self.round_s(job, self.workers(allocation_of(job)), bandwidth)

    def sent_bytes(self, job: Active) -> float:
        """Return the bytes through the slowest link in a round."""
        return 2.0 * (job.width - 1) / job.width * samples_of(job).gradient_bytes

    def at_least_ideal(self, job: Active, gpus: int, round_s: float) -> float:
        """Return the seconds per round; at the job's own number of GPUs at least the ideal."""
        return max(round_s, self.ideal_s(job)) if gpus == job.gpus else round_s

    def workers(self, allocation: Allocation) -> list[str]:
        """Return the type of each GPU."""
        return [
            self.cluster.types[server]
            for server, mask in allocation.items()
            for _ in range(mask.bit_count())
        ]

    def round_s(self, job: Active, workers: Sequence[str], bandwidth: float) -> float:
        """Return the seconds per round; the order of operations determines rounding."""
        samples = samples_of(job)
        workers = self.fastest_first(job, workers)
        rates = [samples.per_s[name] for name in workers]
        if 0.0 in rates:
            return math.inf
        parts = self.parts(samples, rates, [samples.most.get(name) or math.inf for name in workers])
        if parts is None:
            return math.inf
        slowest_s = max(part / rate for part, rate in zip(parts, rates, strict=True))
        if len(workers) == 1 or samples.gradient_bytes == 0:
            return slowest_s
        num_workers = float(len(workers))
        sent = 2.0 * (num_workers - 1.0) / num_workers * samples.gradient_bytes
        return slowest_s + sent / bandwidth

    def fastest_first(self, job: Active, names: Sequence[str]) -> list[str]:
        """Return names of types, the fastest first, ties in the order of the cluster."""
        per_s, types = samples_of(job).per_s, self.cluster.gpu_types
        return sorted(names, key=lambda name: (-per_s[name], types.index(name)))

    def parts(
        self, samples: Samples, rates: Sequence[float], most: Sequence[float]
    ) -> Sequence[float] | None:
        """Return the samples of each worker."""
        if self.is_equal:  # regardless of speed
            rates = [1.0] * len(rates)
        if self.is_whole:
            return whole_in_proportion(samples.batch, rates, most)
        return in_proportion(float(samples.batch), rates, most)

    def ideal_s(self, job: Active) -> float:
        """Return the minimum seconds per round at the job's own number of GPUs.

        Either on the fastest existing GPUs, with the best links, or on GPUs of one type.
        """
        names = [self.cluster.gpu_types[index] for index in self.cluster.allowed_types(job.job)]
        fastest = self.fastest_first(job, names)
        workers = [name for name in fastest for _ in range(self.cluster.gpus_of(name))][: job.gpus]
        candidates = [(workers, names)]
        candidates += [
            ([name] * job.gpus, [name]) for name in names if self.cluster.gpus_of(name) >= job.gpus
        ]
        return min(
            self.round_s(job, gpus, self.best_bandwidth(types, job.gpus))
            for gpus, types in candidates
        )

    def high(self, job: Active) -> float:
        """Return the maximum seconds per round on GPUs of one type with the best links."""
        names = [self.cluster.gpu_types[index] for index in self.cluster.allowed_types(job.job)]
        rounds = (
            self.round_s(job, [name] * job.gpus, self.best_bandwidth([name], job.gpus))
            for name in names
            if self.cluster.gpus_of(name) >= job.gpus
        )
        return max([self.ideal_s(job), *(each for each in rounds if each < math.inf)])

    def placed_s(self, job: Active, allocation: Allocation, ranks: Sequence[int]) -> float:
        """Return the seconds per round if each GPU owns an equal part of its links."""
        bandwidth = math.inf
        if self.network is not None:
            bandwidth = slowest_link(self.network, self.cluster, allocation, reserved, [])
        return self.at_least_ideal(
            job, job.gpus, self.round_s(job, self.workers(allocation), bandwidth)
        )

    def best_bandwidth(self, names: Sequence[str], gpus: int) -> float:
        """Return the bytes per second of the best ring on servers of these types."""
        if self.network is None:
            return math.inf
        servers = [server for server in self.cluster.sizes if self.cluster.types[server] in names]
        inside = max(self.network.intra(server) for server in servers)
        if gpus <= max(self.cluster.sizes[server] for server in servers):
            return inside
        return min(inside, max(self.network.nic(server) for server in servers))


def samples_of(job: Active) -> Samples:
    """Return the samples, which every job needs."""
    if job.job.samples is None:
        raise ValueError("speed proportional: every job needs samples")
    return job.job.samples


@dataclass(frozen=True)
class Part:
    """The replicas of a job on one server."""

    counts: tuple[int, ...]  # by stage
    seconds: tuple[float, ...]  # computation per replica here, by stage
    inside: float  # bytes per second to replicas on the same server
    outside: float  # to other servers


def alpha(graph: Graph, parts: Sequence[Part], micro_batches: int = 0) -> float:
    """Return the seconds per iteration, set by the slowest replica.

    The order of operations determines rounding.
    """
    stages = range(len(graph.stages))
    reduce_s = [all_reduce_s(graph, stage, ring_bandwidth(parts, stage)) for stage in stages]
    here = [(part, stage) for part in parts for stage in stages if part.counts[stage] > 0]
    busy = {
        (part, stage): part.seconds[stage] + exchange_s(graph, part, stage) for part, stage in here
    }
    if micro_batches == 0:
        return max(busy[part, stage] + reduce_s[stage] for part, stage in here)
    fill = micro_batches + len(stages) - 1
    return max(busy.values()) * (fill / micro_batches) + max(reduce_s)


def exchange_s(graph: Graph, part: Part, stage: int) -> float:
    """Return the seconds for the activations of a replica with both neighbour stages."""
    same = other = 0.0
    if stage > 0:
        weight = graph.pair_bytes(stage - 1)
        same += weight * part.counts[stage - 1]
        other += weight * (graph.stages[stage - 1].replicas - part.counts[stage - 1])
    if stage + 1 < len(graph.stages):
        weight = graph.pair_bytes(stage)
        same += weight * part.counts[stage + 1]
        other += weight * (graph.stages[stage + 1].replicas - part.counts[stage + 1])
    return same / part.inside + other / part.outside


def ring_bandwidth(parts: Sequence[Part], stage: int) -> float:
    """Return the bytes per second of the ring of a stage's replicas."""
    used = [part for part in parts if part.counts[stage] > 0]
    if len(used) == 1:
        return used[0].inside
    return min(min(part.inside, part.outside * part.counts[stage]) for part in used)


def all_reduce_s(graph: Graph, stage: int, bandwidth: float) -> float:
    """Return the seconds for summing the gradients of a stage's replicas."""
    replicas = graph.stages[stage].replicas
    if replicas == 1:
        return 0.0
    return 2.0 * (replicas - 1) / replicas * graph.stages[stage].parameter_bytes / bandwidth


class Stages(OnLinks):
    """Rates by the graphs of the jobs."""

    network: Network

    def __init__(
        self, cluster: Cluster, network: Network, share: Share, micro_batches: int = 0
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.share = share
        self.micro_batches = micro_batches

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate; ``all_links`` has every link as often as jobs use it."""
        parts = self.parts(job, allocation_of(job), job.ranks, share, all_links)
        low = self.low(job)
        return low / max(alpha(graph_of(job), parts, self.micro_batches), low)

    def placed_s(self, job: Active, allocation: Allocation, ranks: Sequence[int]) -> float:
        """Return the seconds per iteration if each GPU owns an equal part of its links."""
        parts = self.parts(job, allocation, ranks, reserved, [])
        return max(alpha(graph_of(job), parts, self.micro_batches), self.low(job))

    def parts(
        self,
        job: Active,
        allocation: Allocation,
        ranks: Sequence[int],
        share: Share,
        all_links: Sequence[Link],
    ) -> list[Part]:
        """Return the replicas on each server; ``ranks`` is the replica of each GPU in turn."""
        graph = graph_of(job)
        own = {server: mask.bit_count() for server, mask in allocation.items()}
        shares = {}
        for link in self.network.links(allocation):
            behind = self.network.gpus_behind(link, self.cluster.sizes)
            mine = self.network.gpus_behind(link, own)
            bandwidth = self.network.bandwidth(link)
            shares[link] = share(bandwidth, all_links.count(link), mine, behind) / mine
        vertices = list(ranks) or list(range(job.gpus))
        parts = []
        for server, gpus in own.items():
            here = [graph.stage_of(vertex) for vertex in vertices[:gpus]]
            vertices = vertices[gpus:]
            inside = self.network.intra(server)
            up = [part for link, part in shares.items() if self.network.is_behind(server, link)]
            parts.append(
                Part(
                    counts=tuple(here.count(stage) for stage in range(len(graph.stages))),
                    seconds=self.computing_s(graph, [server]),
                    inside=inside,
                    outside=min([inside, *up]),
                )
            )
        return parts

    def computing_s(
        self, graph: Graph, servers: Sequence[int], choose: Callable[[list[float]], float] = min
    ) -> tuple[float, ...]:
        """Return the computation of a replica on the best or the worst of the servers, by stage."""
        types = [self.cluster.types[server] for server in servers]
        return tuple(choose([stage.compute_s[name] for name in types]) for stage in graph.stages)

    def low(self, job: Active) -> float:
        """Return a lower bound for all placements: no edge is cut, and all is the fastest."""
        graph = graph_of(job)
        allowed = self.cluster.allowed_servers(job.job)
        inside = max(self.network.intra(server) for server in allowed)
        ring = max(inside, max(self.network.nic(server) for server in allowed))
        fastest = self.computing_s(graph, allowed, min)
        whole = Part(tuple(s.replicas for s in graph.stages), fastest, inside, inside)
        busy = [fastest[s] + exchange_s(graph, whole, s) for s in range(len(graph.stages))]
        reduce_s = [all_reduce_s(graph, s, ring) for s in range(len(graph.stages))]
        if self.micro_batches == 0:
            return max(b + r for b, r in zip(busy, reduce_s, strict=True))
        fill = self.micro_batches + len(busy) - 1
        return max(busy) * (fill / self.micro_batches) + max(reduce_s)

    def high(self, job: Active) -> float:
        """Return the seconds per iteration with every replica alone on the worst server."""
        graph = graph_of(job)
        allowed = self.cluster.allowed_servers(job.job)
        worst = worst_part(self.network, self.cluster, allowed)
        slowest = self.computing_s(graph, allowed, max)
        stages = range(len(graph.stages))
        alone = [
            Part(tuple(int(s == stage) for s in stages), slowest, worst, worst)
            for stage in stages
            for _ in range(graph.stages[stage].replicas)
        ]
        return alpha(graph, alone, self.micro_batches)


def graph_of(job: Active) -> Graph:
    """Return the graph, which every job needs."""
    if job.job.graph is None:
        raise ValueError("speed stages: every job needs a graph")
    return job.job.graph


ON_LINKS: dict[str, Callable[..., Speed]] = {"ring": Ring, "stages": Stages}


def make_speed(
    cluster: Cluster,
    network: Network | None,
    name: str,
    params: Mapping[str, Any],
    contention: str,
    contention_params: Mapping[str, Any],
) -> Speed:
    """Return the speed of these names and parameters."""
    if contention not in CONTENTIONS:
        raise ValueError(f"unknown contention {contention!r}")
    if name == "fixed":
        if contention != "none":
            raise ValueError(f"contention {contention}: has no effect under speed fixed")
        return Fixed()
    if name not in (*ON_LINKS, "table", "proportional"):
        raise ValueError(f"unknown speed {name!r}")
    if cluster.pooled:
        raise ValueError("count: a pool has no servers, so only speed fixed is defined")
    if name == "table":
        return Table(cluster)
    if name == "proportional":
        return Proportional(
            cluster, network, CONTENTIONS[contention](**contention_params), **params
        )
    if network is None:
        raise ValueError(f"speed {name}: the cluster needs a network")
    return ON_LINKS[name](cluster, network, CONTENTIONS[contention](**contention_params), **params)
