"""The laws of the cut of a job graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpusched._core import _testing
from tests.examples import examples
from tests.property.graph_cuts import (
    Graph,
    counts_of,
    cut_weight,
    divisions,
    grown,
    iteration_s,
    own_kinds,
    stages_of,
)

pytestmark = pytest.mark.long


def plain_cut(graph: Graph, quotas: list[int]) -> list[list[int]]:
    """The same cut on an explicit graph: every vertex and every pair on its own."""
    stages = stages_of(graph.replicas)
    vertices = range(len(stages))

    def weight(v: int, w: int) -> float:
        low, high = sorted((stages[v], stages[w]))
        if v == w or high - low > 1:
            return 0.0
        return graph.allreduce_weights[low] if low == high else graph.pipeline_weights[low]

    def into(v: int, group: list[int]) -> float:
        return sum(weight(v, w) for w in group)

    left = list(vertices)
    servers = []
    for quota in quotas:
        group: list[int] = []
        if quota == 1:
            group = [min(left, key=lambda v: (into(v, list(vertices)), v))]
        elif edges := [e for e in itertools.combinations(left, 2) if weight(*e) > 0]:
            group = list(min(edges, key=lambda e: (-weight(*e), e)))
        left = [v for v in left if v not in group]
        while len(group) < quota:
            inside = list(group)
            outside = [v for v in vertices if v not in inside]
            group.append(min(left, key=lambda v: (-into(v, inside), into(v, outside), v)))
            left.remove(group[-1])
        servers.append(sorted(group))
    return servers


@st.composite
def cases(draw: st.DrawFn, max_replicas: int = 4, max_stages: int = 4) -> tuple[Graph, list[int]]:
    """Whole weights in tiny ranges: sums are exact and ties are common."""
    replicas = draw(st.lists(st.integers(1, max_replicas), min_size=1, max_size=max_stages))
    weight = st.integers(0, 3).map(float)
    num = len(replicas)
    # Multiples of all that weights are divided by.
    pipeline = [draw(weight) * a * b / 2 for a, b in itertools.pairwise(replicas)]
    allreduce = [draw(weight) * k / 4 for k in replicas]
    quotas: list[int] = []
    while sum(quotas) < sum(replicas):
        quotas.append(draw(st.integers(1, sum(replicas) - sum(quotas))))
    seconds = [draw(st.sampled_from([0.0, 1.0, 2.0])) for _ in range(num)]
    return Graph(replicas, seconds, allreduce, pipeline, intra=4.0, nic_per_gpu=1.0), quotas


@given(cases())
def test_every_vertex_has_exactly_one_gpu_and_every_server_its_quota(case):
    graph, quotas = case
    ranks = grown(graph, quotas)
    assert sorted(ranks) == list(range(sum(graph.replicas)))
    assert [sum(row) for row in counts_of(graph, quotas, ranks)] == quotas
    assert ranks == grown(graph, quotas)


@given(cases())
def test_the_cut_by_counts_equals_the_cut_on_the_explicit_graph(case):
    graph, quotas = case
    ranks = iter(grown(graph, quotas))
    assert [[next(ranks) for _ in range(quota)] for quota in quotas] == plain_cut(graph, quotas)


@given(st.integers(1, 20), st.data())
def test_one_stage_is_dealt_out_in_order(gpus, data):
    quotas: list[int] = []
    while sum(quotas) < gpus:
        quotas.append(data.draw(st.integers(1, gpus - sum(quotas))))
    assert _testing.heavy_edge_cut([gpus], [], [1.0], quotas) == list(range(gpus))


@given(cases(max_replicas=3))
def test_exchanges_never_raise_the_cost_and_lose_no_vertex(case):
    graph, quotas = case
    before = grown(graph, quotas)
    num_calls = 0

    def cost(ranks: list[int]) -> float:
        nonlocal num_calls
        num_calls += 1
        return iteration_s(graph, quotas, ranks)

    ranks, best = _testing.swap_down(graph.replicas, quotas, own_kinds(quotas), cost, before)
    assert num_calls <= 1 + sum(quotas) ** 2
    assert best == iteration_s(graph, quotas, ranks) <= iteration_s(graph, quotas, before)
    assert sorted(ranks) == list(range(sum(quotas)))
    assert [sum(row) for row in counts_of(graph, quotas, ranks)] == quotas


@given(cases(max_replicas=3))
def test_a_pass_that_found_nothing_leaves_no_exchange_that_helps(case):
    graph, quotas = case
    num_calls = 0

    def cost(ranks: list[int]) -> float:
        nonlocal num_calls
        num_calls += 1
        return iteration_s(graph, quotas, ranks)

    ranks, best = _testing.swap_down(
        graph.replicas, quotas, own_kinds(quotas), cost, grown(graph, quotas)
    )
    assume(num_calls <= sum(quotas) ** 2)  # else it may have stopped within a pass
    for i, j in itertools.combinations(range(len(ranks)), 2):
        other = list(ranks)
        other[i], other[j] = other[j], other[i]
        assert iteration_s(graph, quotas, other) >= best


@given(cases(max_replicas=3), st.lists(st.booleans(), min_size=12, max_size=12))
def test_what_is_known_from_servers_alike_is_not_asked_again(case, is_slow):
    graph, quotas = case
    calls = {"alike": 0, "each": 0}

    def cost_of(caller: str) -> Callable[[list[int]], float]:
        def cost(ranks: list[int]) -> float:
            calls[caller] += 1
            loads = counts_of(graph, quotas, ranks)
            # Nothing but the kind of a server and what it holds matters; an odd landscape.
            rows = [(slow, row) for slow, row in zip(is_slow, loads, strict=False)]
            return max(
                (1 + slow) * (sum(i * x * x for i, x in enumerate(row, 1)) % 7)
                for slow, row in rows
            )

        return cost

    before = grown(graph, quotas)
    kinds = [int(slow) for slow, _ in zip(is_slow, quotas, strict=False)]
    each = _testing.swap_down(graph.replicas, quotas, own_kinds(quotas), cost_of("each"), before)
    alike = _testing.swap_down(graph.replicas, quotas, kinds, cost_of("alike"), before)
    assert alike == each
    assert calls["alike"] <= calls["each"]


@given(cases(max_replicas=3, max_stages=3))
@examples(40)
def test_no_division_is_better_than_the_best_one(case):
    graph, quotas = case
    ranks = grown(graph, quotas)
    every = list(divisions(graph.replicas, quotas))
    assert counts_of(graph, quotas, ranks) in {counts_of(graph, quotas, r) for r in every}
    assert cut_weight(graph, quotas, ranks) >= min(cut_weight(graph, quotas, r) for r in every)
