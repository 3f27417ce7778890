"""Jobs of pipeline stages and replicas: how long an iteration takes where the replicas are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusched.readable.cluster_state import Cluster
from gpusched.readable.model import Active, Allocation, Graph
from gpusched.readable.network import Link, Network
from gpusched.readable.speeds import OnLinks, Share, allocation_of, reserved


@dataclass(frozen=True)
class Part:
    """The replicas of a gang on one server."""

    counts: tuple[int, ...]  # by stage
    seconds: tuple[float, ...]  # that a replica computes here, by stage
    inside: float  # bytes per second to replicas on the same server
    outside: float  # and to others


def alpha(graph: Graph, parts: Sequence[Part], micro_batches: int = 0) -> float:
    """Return the seconds of an iteration: the slowest replica sets the pace.

    Another order of operations would round in other ways.
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
    """Return the seconds in which a replica exchanges activations with both neighbour stages."""
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
    """Return the seconds in which the replicas of a stage add up their gradients."""
    replicas = graph.stages[stage].replicas
    if replicas == 1:
        return 0.0
    return 2.0 * (replicas - 1) / replicas * graph.stages[stage].parameter_bytes / bandwidth


class Stages(OnLinks):
    """Rates by the graphs of the jobs."""

    def __init__(
        self, cluster: Cluster, network: Network, share: Share, micro_batches: int = 0
    ) -> None:
        self.cluster = cluster
        self.network = network
        self.share = share
        self.micro_batches = micro_batches

    def rate(self, job: Active, share: Share, all_links: Sequence[Link]) -> float:
        """Return the rate where ``all_links`` has every link as often as gangs use it."""
        parts = self.parts(job, allocation_of(job), job.ranks, share, all_links)
        low = self.low(job)
        return low / max(alpha(graph_of(job), parts, self.micro_batches), low)

    def placed_s(self, job: Active, allocation: Allocation, ranks: Sequence[int]) -> float:
        """Return the seconds of an iteration where each GPU owns an equal part of its links."""
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
        """Return what is on each server; ``ranks`` name the replica of each GPU in turn."""
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
                    seconds=self.seconds(graph, [server]),
                    inside=inside,
                    outside=min([inside, *up]),
                )
            )
        return parts

    def seconds(
        self, graph: Graph, servers: Sequence[int], choose: Callable[[list[float]], float] = min
    ) -> tuple[float, ...]:
        """Return what a replica computes on the best or the worst of the servers, by stage."""
        types = [self.cluster.types[server] for server in servers]
        return tuple(choose([stage.compute_s[name] for name in types]) for stage in graph.stages)

    def low(self, job: Active) -> float:
        """Return a bound that no placement beats: no edge is cut, everything is the fastest."""
        graph = graph_of(job)
        allowed = self.cluster.allowed_servers(job.job)
        inside = max(self.network.intra(server) for server in allowed)
        ring = max(inside, max(self.network.nic(server) for server in allowed))
        fastest = self.seconds(graph, allowed, min)
        whole = Part(tuple(s.replicas for s in graph.stages), fastest, inside, inside)
        busy = [fastest[s] + exchange_s(graph, whole, s) for s in range(len(graph.stages))]
        reduce_s = [all_reduce_s(graph, s, ring) for s in range(len(graph.stages))]
        if self.micro_batches == 0:
            return max(b + r for b, r in zip(busy, reduce_s, strict=True))
        fill = self.micro_batches + len(busy) - 1
        return max(busy) * (fill / self.micro_batches) + max(reduce_s)

    def high(self, job: Active) -> float:
        """Return the seconds of an iteration with every replica alone on the worst server."""
        graph = graph_of(job)
        allowed = self.cluster.allowed_servers(job.job)
        links: list[Link] = [("nic", server) for server in allowed]
        links += [
            ("uplink", d)
            for d, parent in enumerate(self.network.domain_parent)
            if parent is not None
            and any(self.network.is_behind(server, ("uplink", d)) for server in allowed)
        ]
        worst = min(self.network.intra(server) for server in allowed)
        for link in links:
            behind = self.network.gpus_behind(link, self.cluster.sizes)
            worst = min(worst, self.network.bandwidth(link) / behind)
        slowest = self.seconds(graph, allowed, max)
        stages = range(len(graph.stages))
        alone = [
            Part(tuple(int(s == stage) for s in stages), slowest, worst, worst)
            for stage in stages
            for _ in range(graph.stages[stage].replicas)
        ]
        return alpha(graph, alone, self.micro_batches)


def graph_of(job: Active) -> Graph:
    """Return the graph that every job has then."""
    if job.job.graph is None:
        raise ValueError("speed stages: every job needs a graph")
    return job.job.graph
