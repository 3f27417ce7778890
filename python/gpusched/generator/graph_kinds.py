"""Which graphs the jobs of a trace may have, and which of them communicate heavily."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64
from gpusched.clusters.cluster import Cluster
from gpusched.models.graph_models import graph_for, stages_of
from gpusched.models.job_graphs import JobGraph
from gpusched.specs.case import iteration_limits
from gpusched.traces.workload import Trace


class Kinds:
    """Jobs of one width and one set of allowed types, and the graphs that they may have.

    Attributes
    ----------
    kind
        int64[num_jobs].
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        weights: Mapping[str, float],
        speed: str,
        heavy: float,
        most: int,
    ) -> None:
        type_set = np.zeros(len(trace), np.int32) if trace.type_set is None else trace.type_set
        pairs, kind = np.unique(np.stack((trace.gpus, type_set)), axis=1, return_inverse=True)
        self.kind: Int64 = kind.reshape(-1)
        self.num_kinds = pairs.shape[1]
        self.is_wide: Bool = pairs[0] > 1
        sets = trace.type_sets or ((),)
        rows = [
            (number, candidate)
            for number, width in enumerate(pairs[0].tolist())
            for candidate in _candidates(width, weights, most if width > 1 else 1)
        ]
        self.of_kind = np.array([number for number, _ in rows])
        self.graphs = [candidate.graph for _, candidate in rows]
        self.weight = np.array([candidate.weight for _, candidate in rows])
        types = [sets[pairs[1][number]] for number, _ in rows]
        self.low, self.least, self.high = limits_of(self.graphs, types, cluster, speed)
        self.is_heavy: Bool = self.is_wide[self.of_kind] & (self.high / self.least >= heavy)
        self._keep_the_least_accumulation([candidate for _, candidate in rows])

    def _keep_the_least_accumulation(self, candidates: Sequence[_Candidate]) -> None:
        """Take the weight of those that accumulate more than they need to be light."""
        is_done: set[tuple[int, str, int]] = set()
        for row, candidate in enumerate(candidates):  # accumulation ascending
            key = (int(self.of_kind[row]), candidate.model, candidate.stages)
            if candidate.accumulation > 1 and (key in is_done or self.is_heavy[row]):
                self.weight[row] = 0.0
            if not self.is_heavy[row]:
                is_done.add(key)

    def can_be(self, is_heavy: bool) -> Bool:
        """bool[num_kinds]: whether there is a graph that is heavy, or one that is not."""
        found: Bool = np.zeros(self.num_kinds, dtype=np.bool_)
        found[self.of_kind[(self.is_heavy == is_heavy) & (self.weight > 0)]] = True
        return found

    def choose(self, kind: int, is_heavy: bool | None, draws: Float64) -> Int64:
        """Return the row of a graph of this kind for each number in [0, 1)."""
        rows = np.flatnonzero((self.of_kind == kind) & (self.weight > 0))
        if is_heavy is not None:
            rows = rows[self.is_heavy[rows] == is_heavy]
        ends = np.cumsum(self.weight[rows])
        chosen: Int64 = rows[np.searchsorted(ends, draws * ends[-1], side="right")]
        return chosen


@dataclass(frozen=True)
class _Candidate:
    graph: JobGraph
    model: str
    stages: int
    accumulation: int
    weight: float


def _candidates(width: int, weights: Mapping[str, float], most: int) -> Iterable[_Candidate]:
    for model, weight in weights.items():
        possible = stages_of(model, width)
        for stages in possible:
            accumulation = 1
            while accumulation <= most:
                graph = graph_for(model, width, stages=stages, accumulation=accumulation)
                yield _Candidate(graph, model, stages, accumulation, weight / len(possible))
                accumulation *= 2


def limits_of(
    graphs: Sequence[JobGraph], types: Sequence[tuple[str, ...]], cluster: Cluster, speed: str
) -> tuple[Float64, Float64, Float64]:
    """Return alow, amin and amax of jobs of these graphs and allowed types, seconds each.

    Raises
    ------
    ValueError
        If the cluster lacks a bandwidth, or a graph a figure.
    """
    distinct = {graph.name: graph for graph in graphs}
    probe = Trace.from_columns(
        np.zeros(len(graphs)),
        np.ones(len(graphs)),
        [graph.gpus for graph in graphs],
        gpu_types=types if any(types) else None,
        graph=[graph.name for graph in graphs],
        graphs=distinct,
    )
    limits = iteration_limits(probe, cluster, speed=speed)
    return limits["low"], limits["min"], limits["max"]
