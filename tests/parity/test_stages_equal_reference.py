"""Staged jobs, and where heavy-edge puts them: the core equals the reference, bit for bit."""

import itertools
import math
import zlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched._core import _testing
from gpusched.reference import CONTENTIONS, POLICIES, Graph
from gpusched.reference.cluster import Cluster
from gpusched.reference.model import Active
from gpusched.reference.placements import Placer, edge_bytes, grow, ranks_of, swapped
from gpusched.reference.speeds import Stages, reserved
from tests.examples import examples
from tests.parity.core import assert_equal, choice_text, make_cluster, make_trace
from tests.reference.cases import SECOND
from tests.reference.scales import SCALES
from tests.reference.stage_cases import graphs, staged_cases

pytestmark = pytest.mark.long

UNITS = st.sampled_from([1, 7, SECOND])
ELSEWHERE = ["spread", "random", "consolidated-relaxed", "first-fit"]


@pytest.mark.parametrize("contention", CONTENTIONS)
@examples(60)
@given(data=st.data(), unit=UNITS)
def test_staged_jobs_under_heavy_edge_equal_the_reference(contention, data, unit):
    policy = data.draw(st.sampled_from(POLICIES))
    case = data.draw(staged_cases(policy, "heavy-edge", contention, scales=SCALES))
    assert_equal(case.at(unit))


@pytest.mark.parametrize("contention", CONTENTIONS)
@examples(40)
@given(data=st.data(), unit=UNITS)
def test_staged_jobs_anywhere_equal_the_reference(contention, data, unit):
    policy = data.draw(st.sampled_from(POLICIES))
    placement = data.draw(st.sampled_from(ELSEWHERE))
    case = data.draw(staged_cases(policy, placement, contention, scales=SCALES))
    assert_equal(case.at(unit))


@examples(60)
@given(case=staged_cases("fifo", "heavy-edge", "reserved"))
def test_the_limits_of_an_iteration_equal_the_reference(case):
    limits = gs.bounds.iteration_limits(
        make_trace(case.jobs),
        make_cluster(case.servers, case.network),
        speed=choice_text("stages", case.speed_params),
    )
    assert case.network is not None
    cluster = Cluster(case.servers, pooled=False)
    speed = Stages(cluster, case.network, reserved, **case.speed_params)
    placer = Placer("heavy-edge", {}, cluster, 0, speed)
    in_order = sorted(case.jobs, key=lambda job: job.submit_us)
    for row, job in enumerate(Active(i, job) for i, job in enumerate(in_order)):
        found = [limits[name][row] for name in ("low", "min", "max")]
        allocation = placer.place(job, cluster.idle()) if cluster.allowed_servers(job.job) else None
        if allocation is None:
            assert all(math.isnan(seconds) for seconds in found)
            continue
        least = speed.placed_s(job, allocation, placer.ranks(job, allocation))
        assert found == [speed.low(job), least, max(least, speed.high(job))]


@st.composite
def divided(draw: st.DrawFn) -> tuple[Graph, list[int]]:
    """A graph whose weights often tie, and how many replicas go to each of some servers."""
    quotas = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    return draw(graphs(sum(quotas))), quotas


@examples(300)
@given(divided())
def test_the_cut_names_the_same_replicas_as_the_reference(case):
    graph, quotas = case
    stages = range(len(graph.stages))
    replicas = [stage.replicas for stage in graph.stages]
    pipeline = [graph.pair_bytes(stage) for stage in stages[:-1]]
    within = [edge_bytes(graph, stage, stage) for stage in stages]
    expected = ranks_of(graph, grow(graph, quotas), range(len(quotas)))
    assert _testing.heavy_edge_cut(replicas, pipeline, within, quotas) == expected


@examples(300)
@given(divided(), st.integers(0, 2**32), st.sampled_from([2, 5, 1000]))
def test_exchanges_are_those_of_the_reference(case, salt, num_costs):
    graph, quotas = case
    servers = range(len(quotas))

    def cost(ranks: Sequence[int]) -> float:  # no pattern; the fewer costs, the more of them tie
        return float(zlib.crc32(repr((salt, list(ranks))).encode()) % num_costs)

    before = grow(graph, quotas)
    after = swapped(graph, before, lambda cut: cost(ranks_of(graph, cut, servers)))
    expected = ranks_of(graph, after, servers)
    replicas = [stage.replicas for stage in graph.stages]
    ranks, best = _testing.swap_down(
        replicas, quotas, list(servers), cost, ranks_of(graph, before, servers)
    )
    assert (ranks, best) == (expected, cost(expected))


@examples(50)
@given(divided())
def test_exchanges_that_always_help_end_where_those_of_the_reference_do(case):
    graph, quotas = case
    servers = range(len(quotas))
    before = grow(graph, quotas)
    costs, same_costs = itertools.count(0, -1), itertools.count(0, -1)
    after = swapped(graph, before, lambda _: float(next(costs)))
    ranks, _ = _testing.swap_down(
        [stage.replicas for stage in graph.stages], quotas, list(servers),
        lambda _: float(next(same_costs)), ranks_of(graph, before, servers),
    )  # fmt: skip
    assert ranks == ranks_of(graph, after, servers)
    assert next(costs) == next(same_costs)
