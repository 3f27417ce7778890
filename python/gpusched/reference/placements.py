"""Placements: one function per name, from free counts to counts per server."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpusched.reference.cluster import Cluster, Free, lowest_bits
from gpusched.reference.model import Active, Allocation, Graph
from gpusched.reference.packing import OWN, Packing
from gpusched.reference.rng import below, draw
from gpusched.reference.speeds import Proportional, Ring, Speed, Stages, Table, graph_of

Counts = dict[int, int]
"""Server -> number of GPUs, servers in id order."""

Cut = list[list[int]]
"""The stages of the replicas on each server, servers in the order of filling."""


def filled(free: Counts, gpus: int, key: Callable[[int, int], Any]) -> Counts:
    """Take all free or still needed GPUs of one server after the other, by smallest ``key``.

    ``key(server, rest)``: ``rest`` GPUs are still needed. Result in order of filling.
    """
    chosen: Counts = {}
    while (rest := gpus - sum(chosen.values())) > 0:
        open_servers = [s for s in free if s not in chosen and free[s] > 0]
        server = min(open_servers, key=lambda s: (key(s, rest), s))
        chosen[server] = min(free[server], rest)
    return chosen


def heavy_edge(free: Counts, gpus: int, fill: str) -> Counts:
    """The fullest server that holds the job, else the fewest servers; in order of filling."""
    sign = 1 if fill == "fewest" else -1
    return filled(free, gpus, lambda s, _: (0, free[s]) if free[s] >= gpus else (1, sign * free[s]))


def grow(graph: Graph, quotas: Sequence[int]) -> Cut:
    """Fill one server after the other along the heaviest remaining edge."""
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
    """Return the bytes that two replicas exchange per iteration."""
    if stage == other:
        return 4.0 * graph.stages[stage].parameter_bytes / graph.stages[stage].replicas
    return graph.pair_bytes(min(stage, other)) if abs(stage - other) == 1 else 0.0


def into(graph: Graph, stage: int, here: Sequence[int]) -> float:
    """Return the bytes between a replica and those of the stages ``here``."""
    return sum(
        edge_bytes(graph, stage, other) * here.count(other)
        for other in (stage, stage - 1, stage + 1)  # in this order, as sums are rounded
        if 0 <= other < len(graph.stages)
    )


def outside(graph: Graph, stage: int) -> float:
    """Return the bytes between a replica and all others."""
    everywhere = [s for s in range(len(graph.stages)) for _ in range(graph.stages[s].replicas)]
    everywhere.remove(stage)
    return into(graph, stage, everywhere)


def swapped(graph: Graph, cut: Cut, cost: Callable[[Cut], float]) -> Cut:
    """Exchange pairs of replicas as long as that lowers the cost."""
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


def ranks_of(graph: Graph, cut: Cut, servers: Sequence[int]) -> list[int]:
    """Return the replica on each GPU, servers by id; the lowest ones go to servers filled first."""
    free = [
        [v for v in range(graph.gpus) if graph.stage_of(v) == stage]
        for stage in range(len(graph.stages))
    ]
    blocks = {
        server: sorted(free[stage].pop(0) for stage in part)
        for server, part in zip(servers, cut, strict=True)
    }
    return [vertex for server in sorted(blocks) for vertex in blocks[server]]


def first_fit(free: Counts, gpus: int) -> Counts:
    """The lowest server that holds the job, else fill the servers in id order."""
    return filled(free, gpus, lambda s, _: free[s] < gpus)


def best_fit(free: Counts, gpus: int) -> Counts:
    """The fullest server that holds the remainder, else all of the fullest server."""
    return filled(free, gpus, lambda s, rest: (free[s] < rest, free[s]))


def worst_fit(free: Counts, gpus: int) -> Counts:
    """As much as possible on the emptiest server, repeatedly."""
    return filled(free, gpus, lambda s, _: -free[s])


def spread(free: Counts, gpus: int) -> Counts:
    """One GPU at a time on the currently emptiest server."""
    chosen: Counts = dict.fromkeys(free, 0)
    for _ in range(gpus):
        server = min(free, key=lambda s: (-(free[s] - chosen[s]), s))
        chosen[server] += 1
    return chosen


def consolidated(free: Counts, gpus: int, sizes: Counts) -> Counts | None:
    """The fewest servers possible, or None."""
    size = max(sizes.values())
    if gpus <= size:
        fitting = [s for s in free if free[s] >= gpus]
        return {min(fitting, key=lambda s: (free[s], s)): gpus} if fitting else None
    whole = [s for s in free if free[s] == sizes[s] == size][: gpus // size]
    if len(whole) < gpus // size:
        return None
    chosen = dict.fromkeys(whole, size)
    rest = gpus % size
    if rest > 0:
        fitting = [s for s in free if s not in whole and free[s] >= rest]
        if not fitting:
            return None
        last = min(fitting, key=lambda s: (free[s] == sizes[s], free[s], s))
        chosen[last] = rest
    return chosen


def consolidated_relaxed(free: Counts, gpus: int, sizes: Counts, kappa: float) -> Counts | None:
    """Consolidated, else at most ``kappa`` times the fewest servers possible."""
    chosen = consolidated(free, gpus, sizes)
    if chosen is not None:
        return chosen
    chosen = filled(free, gpus, lambda s, rest: (0, free[s]) if free[s] >= rest else (1, -free[s]))
    fewest = math.ceil(gpus / max(sizes.values()))
    return chosen if len(chosen) <= floor_times(kappa, fewest) else None


def floor_times(factor: float, count: int) -> int:
    """Return a decimal parameter times a count, rounded down: 0.29 times 100 is 29."""
    nearest = round(factor * count)
    return nearest - (factor < nearest / count)


def lwf(free: Counts, gpus: int, sizes: Counts, kappa: int) -> Counts:
    """Least loaded servers: one GPU at a time on up to ``kappa`` of them, else on all."""
    chosen: Counts = dict.fromkeys(free, 0)

    def load(server: int) -> float:
        return 1 - (free[server] - chosen[server]) / sizes[server]

    while (rest := gpus - sum(chosen.values())) > 0:
        open_servers = [s for s in free if free[s] > chosen[s]]
        server = min(open_servers, key=lambda s: (load(s), s))
        chosen[server] += 1 if gpus <= kappa else min(free[server], rest)
    return chosen


def among(servers: list[int], of_all: dict[int, int]) -> dict[int, int]:
    """Return the free counts of these servers."""
    if len(servers) == len(of_all):
        return of_all
    return {server: of_all[server] for server in servers}


def random_gpus(free: Allocation, gpus: int, job: Active, seed: int) -> Allocation:
    """GPUs drawn without replacement from the free ones, listed by (server, GPU)."""
    left = [
        (server, gpu)
        for server, mask in free.items()
        for gpu in range(mask.bit_length())
        if mask >> gpu & 1
    ]
    chosen: Allocation = {}
    for i in range(gpus):
        bits = draw(seed, "placement", job.id, 1000003 * job.preemptions + i)
        server, gpu = left.pop(below(bits, len(left)))
        chosen[server] = chosen.get(server, 0) | 1 << gpu
    return dict(sorted(chosen.items()))


SIMPLE: dict[str, Callable[[Counts, int], Counts]] = {
    "count": first_fit,
    "first-fit": first_fit,
    "best-fit": best_fit,
    "worst-fit": worst_fit,
    "spread": spread,
}

NAMES = (*SIMPLE, "random", "consolidated", "consolidated-relaxed", "lwf", "heavy-edge")


class Placer:
    """A placement with its parameters, on one cluster."""

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        cluster: Cluster,
        seed: int,
        speed: Speed | None = None,
        packing: Packing | None = None,
    ) -> None:
        if name not in (*NAMES, *OWN):
            raise ValueError(f"unknown placement {name!r}")
        self.name = name
        self.kappa = params.get("kappa", 1 if name == "lwf" else 2.0)
        self.fill = params.get("fill", "most-free")
        self.swaps = params.get("swaps", True)
        self.cluster = cluster
        self.seed = seed
        self.speed = speed
        self.packing = packing
        self.filled: dict[int, list[int]] = {}  # the servers of a job, in the order of filling

    def place(
        self, job: Active, free: Free, gpus: int | None = None, gpu_type: int | None = None
    ) -> Allocation | None:
        """Return GPUs for the whole job from ``free``, or None.

        ``gpus`` overrides the job's own number, and ``gpu_type`` restricts it to one type. On
        servers with GPUs of several types a job has those of one: of the first type that fits.
        """
        if self.cluster.part_of and gpu_type is None and not self.cluster.pooled:
            for one in self.cluster.allowed_types(job.job):
                if (allocation := self.place(job, free, gpus, one)) is not None:
                    return allocation
            return None
        packing = self.packing
        if packing is not None and (
            packing.name in OWN or packing.rule.has_demands or job.job.gpus_per_node
        ):
            return packing.place(job, free, gpus, gpu_type)
        width = job.gpus if gpus is None else gpus
        if free.num_gpus < width:
            return None
        allowed = self.cluster.allowed_servers(job.job)
        if gpu_type is not None:
            name = self.cluster.gpu_types[gpu_type]
            allowed = [server for server in allowed if self.cluster.types[server] == name]
        masks, counts = among(allowed, free.masks), among(allowed, free.counts)
        sizes = among(allowed, self.cluster.sizes)
        if counts is not free.counts and sum(counts.values()) < width:
            return None
        if self.name == "random":
            return random_gpus(masks, width, job, self.seed)
        chosen: Counts | None
        if self.name == "consolidated":
            chosen = consolidated(counts, width, sizes)
        elif self.name == "consolidated-relaxed":
            chosen = consolidated_relaxed(counts, width, sizes, self.kappa)
        elif self.name == "lwf":
            chosen = lwf(counts, width, sizes, self.kappa)
        elif self.name == "heavy-edge":
            chosen = heavy_edge(counts, width, self.fill)
            self.filled[job.id] = list(chosen)
        else:
            chosen = SIMPLE[self.name](counts, width)
        if chosen is None:
            return None
        return {s: lowest_bits(masks[s], n) for s, n in sorted(chosen.items()) if n > 0}

    def ranks(self, job: Active, allocation: Allocation) -> list[int]:
        """Return the replica on each GPU of the last choice; empty: in order."""
        speed = self.speed
        if self.name != "heavy-edge" or not isinstance(speed, Stages) or len(allocation) == 1:
            return []
        graph = graph_of(job)
        if len(graph.stages) == 1:
            return []
        servers = self.filled[job.id]
        assert set(servers) == set(allocation)

        def cost(cut: Cut) -> float:
            return speed.placed_s(job, allocation, ranks_of(graph, cut, servers))

        cut = grow(graph, [allocation[server].bit_count() for server in servers])
        return ranks_of(graph, swapped(graph, cut, cost) if self.swaps else cut, servers)


def limits(speed: Speed, job: Active) -> tuple[float, float, float]:
    """Return the minimum, the result of heavy-edge, and the maximum."""
    if isinstance(speed, Stages):
        placer = Placer("heavy-edge", {}, speed.cluster, 0, speed)
        allocation = placer.place(job, speed.cluster.idle())
        assert allocation is not None
        least = speed.placed_s(job, allocation, placer.ranks(job, allocation))
        return speed.low(job), least, max(speed.high(job), least)
    if isinstance(speed, Ring | Table | Proportional) and speed.can_run(job):
        low = speed.ideal_s(job)
        return low, low, speed.high(job)
    return 1.0, 1.0, 1.0


def stretch(speed: Speed, job: Active) -> float:
    """Return the run time relative to the service when placed by heavy-edge."""
    low, least, _ = limits(speed, job)
    return least / low
