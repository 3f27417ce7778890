"""Heavy-edge placement: few servers, and replicas that exchange much side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement

from gpusched.readable.model import Graph

Counts = dict[int, int]
"""Server -> number of GPUs."""

Cut = list[list[int]]
"""The stages of the replicas on each server, servers in the order in which they are filled."""


def heavy_edge(free: Counts, gpus: int, fill: str) -> Counts:
    """The fullest server that holds the gang, else the fewest servers; in order of filling."""
    fitting = [server for server in free if free[server] >= gpus]
    if fitting:
        return {min(fitting, key=lambda s: (free[s], s)): gpus}
    sign = 1 if fill == "fewest" else -1
    chosen: Counts = {}
    for server in sorted(free, key=lambda s: (sign * free[s], s)):
        count = min(free[server], gpus - sum(chosen.values()))
        if count > 0:
            chosen[server] = count
    return chosen


def grow(graph: Graph, quotas: Sequence[int]) -> Cut:
    """Fill one server after the other from the heaviest edge that is left."""
    left = list(range(graph.gpus))  # replicas, by id
    stage_of = graph.stage_of
    cut: Cut = []
    for quota in quotas:
        chosen: list[int] = []
        if quota == 1:
            chosen = [min(left, key=lambda v: (outside(graph, stage_of(v)), v))]
        else:
            pairs = [(v, w) for v in left for w in left if v < w]
            heavy = [p for p in pairs if edge_bytes(graph, stage_of(p[0]), stage_of(p[1])) > 0]
            if heavy:
                heaviest = min(
                    heavy, key=lambda p: (-edge_bytes(graph, stage_of(p[0]), stage_of(p[1])), p)
                )
                chosen = list(heaviest)
        while len(chosen) < quota:
            here = [stage_of(v) for v in chosen]
            rest = [v for v in left if v not in chosen]
            chosen.append(
                min(
                    rest,
                    key=lambda v: (
                        -into(graph, stage_of(v), here),
                        outside(graph, stage_of(v)),
                        v,
                    ),
                )
            )
        cut.append([stage_of(v) for v in chosen])
        left = [v for v in left if v not in chosen]
    return cut


def edge_bytes(graph: Graph, stage: int, other: int) -> float:
    """Return what two replicas exchange per iteration."""
    if stage == other:
        return 4.0 * graph.stages[stage].parameter_bytes / graph.stages[stage].replicas
    return graph.pair_bytes(min(stage, other)) if abs(stage - other) == 1 else 0.0


def into(graph: Graph, stage: int, here: Sequence[int]) -> float:
    """Return what a replica exchanges with those of the stages ``here``."""
    return sum(
        edge_bytes(graph, stage, other) * here.count(other)
        for other in (stage, stage - 1, stage + 1)  # in this order, as sums are rounded
        if 0 <= other < len(graph.stages)
    )


def outside(graph: Graph, stage: int) -> float:
    """Return what a replica exchanges with all others."""
    everywhere = [s for s in range(len(graph.stages)) for _ in range(graph.stages[s].replicas)]
    everywhere.remove(stage)
    return into(graph, stage, everywhere)


def swapped(graph: Graph, cut: Cut, cost: Callable[[Cut], float]) -> Cut:
    """Exchange replicas pair by pair as long as that lowers the cost."""
    best, trials = cost(cut), 0
    stages = range(len(graph.stages))
    while True:
        has_helped = False
        for a in range(len(cut)):
            for b in range(a + 1, len(cut)):
                for s in stages:
                    for t in stages:
                        if s == t or s not in cut[a] or t not in cut[b]:
                            continue
                        if trials == graph.gpus**2:
                            return cut
                        trials += 1
                        trial = [list(part) for part in cut]
                        trial[a][trial[a].index(s)] = t
                        trial[b][trial[b].index(t)] = s
                        now = cost(trial)
                        if now < best:
                            cut, best, has_helped = trial, now, True
        if not has_helped:
            return cut


def every_cut(graph: Graph, quotas: Sequence[int]) -> Iterator[Cut]:
    """Yield every way to give each server so many replicas; those of one stage are alike."""

    def rest(left: tuple[int, ...], quotas: Sequence[int]) -> Iterator[Cut]:
        if not quotas:
            yield []
            return
        stages = range(len(left))
        for part in combinations_with_replacement(stages, quotas[0]):
            if all(part.count(stage) <= left[stage] for stage in stages):
                after = tuple(left[stage] - part.count(stage) for stage in stages)
                yield from ([list(part), *others] for others in rest(after, quotas[1:]))

    yield from rest(tuple(stage.replicas for stage in graph.stages), quotas)


def ranks_of(graph: Graph, cut: Cut, servers: Sequence[int]) -> list[int]:
    """Return the replica on each GPU, servers by id; the lowest ones go to what is filled first."""
    free = [
        [v for v in range(graph.gpus) if graph.stage_of(v) == stage]
        for stage in range(len(graph.stages))
    ]
    blocks = {
        server: sorted(free[stage].pop(0) for stage in part)
        for server, part in zip(servers, cut, strict=True)
    }
    return [vertex for server in sorted(blocks) for vertex in blocks[server]]
