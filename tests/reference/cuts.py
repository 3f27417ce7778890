"""Every way to divide the replicas of a graph over servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

from gpusched.reference.model import Graph
from gpusched.reference.placements import Cut


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
