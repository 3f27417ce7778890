"""Small job graphs, and all that there is to say of a cut, edge by edge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from gpusched._core import _testing

Counts = tuple[tuple[int, ...], ...]  # replicas by server, then stage


class Graph(NamedTuple):
    """Stages, and the cluster as far as an iteration feels it."""

    replicas: list[int]
    compute_s: list[float]
    parameter_bytes: list[float]
    activation_bytes: list[float]
    intra: float = 12e9
    nic_per_gpu: float = 1.25e9 / 8

    @property
    def pipeline_weights(self) -> list[float]:
        pairs = itertools.pairwise(self.replicas)
        return [2 * d / (a * b) for d, (a, b) in zip(self.activation_bytes, pairs, strict=False)]

    @property
    def allreduce_weights(self) -> list[float]:
        return [4 * h / k for h, k in zip(self.parameter_bytes, self.replicas, strict=True)]


def stages_of(replicas: list[int]) -> list[int]:
    """The stage of each vertex."""
    return [stage for stage, count in enumerate(replicas) for _ in range(count)]


def servers_of(quotas: list[int]) -> list[int]:
    return [server for server, quota in enumerate(quotas) for _ in range(quota)]


def counts_of(graph: Graph, quotas: list[int], ranks: list[int]) -> Counts:
    stages = stages_of(graph.replicas)
    counts = [[0] * len(graph.replicas) for _ in quotas]
    for server, vertex in zip(servers_of(quotas), ranks, strict=True):
        counts[server][stages[vertex]] += 1
    return tuple(map(tuple, counts))


def cut_weight(graph: Graph, quotas: list[int], ranks: list[int]) -> float:
    """Weight of all edges between servers, edge by edge."""
    stages = stages_of(graph.replicas)
    total = 0.0
    for (m, v), (n, w) in itertools.combinations(zip(servers_of(quotas), ranks, strict=True), 2):
        low, high = sorted((stages[v], stages[w]))
        if m == n or high - low > 1:
            continue
        total += graph.allreduce_weights[low] if low == high else graph.pipeline_weights[low]
    return total


def iteration_s(graph: Graph, quotas: list[int], ranks: list[int]) -> float:
    """Seconds per iteration under reserved shares, vertex by vertex."""
    servers, stages = servers_of(quotas), stages_of(graph.replicas)
    place = dict(zip(ranks, servers, strict=True))
    beta = min(graph.intra, graph.nic_per_gpu)
    slowest = 0.0
    for v, stage in enumerate(stages):
        neighbours = [w for w in place if abs(stages[w] - stage) == 1]
        seconds = graph.compute_s[stage]
        for w in neighbours:
            weight = graph.pipeline_weights[min(stage, stages[w])]
            seconds += weight / (graph.intra if place[v] == place[w] else beta)
        k = graph.replicas[stage]
        peers = [place[w] for w in place if stages[w] == stage]
        if len(set(peers)) == 1:
            slowest_link = graph.intra
        else:
            slowest_link = min(graph.intra, *(beta * peers.count(m) for m in set(peers)))
        slowest = max(
            slowest, seconds + 2 * (k - 1) / k * graph.parameter_bytes[stage] / slowest_link
        )
    return slowest


def divisions(replicas: list[int], quotas: list[int]) -> Iterator[list[int]]:
    """Ranks of every division there is, those that differ by replicas of one stage once."""

    def rows(quota: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        options = [range(min(quota, count) + 1) for count in left]
        return (row for row in itertools.product(*options) if sum(row) == quota)

    def fill(server: int, left: tuple[int, ...]) -> Iterator[Counts]:
        if server == len(quotas):
            yield ()
            return
        for row in rows(quotas[server], left):
            after = tuple(a - b for a, b in zip(left, row, strict=True))
            for rest in fill(server + 1, after):
                yield (row, *rest)

    begins = [0, *itertools.accumulate(replicas)]
    for counts in fill(0, tuple(replicas)):
        following = list(begins)
        ranks: list[int] = []
        for row in counts:
            for stage, count in enumerate(row):
                ranks += range(following[stage], following[stage] + count)
                following[stage] += count
        yield ranks


def grown(graph: Graph, quotas: list[int]) -> list[int]:
    ranks: list[int] = _testing.heavy_edge_cut(
        graph.replicas, graph.pipeline_weights, graph.allreduce_weights, quotas
    )
    return ranks


def own_kinds(quotas: list[int]) -> list[int]:
    """No two servers are alike."""
    return list(range(len(quotas)))
