"""Laws of staged jobs that hold in the core: one job alone, against every way to cut it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.reference import Graph, Job, Network
from gpusched.reference.cluster import Cluster
from gpusched.reference.model import Active
from gpusched.reference.placements import ranks_of
from gpusched.reference.speeds import Stages, reserved
from tests.examples import examples
from tests.parity.core import assert_equal, make_cluster, make_trace
from tests.reference.cases import SECOND, TYPES, Case
from tests.reference.cuts import every_cut
from tests.reference.stage_cases import graphs

SERVICE_US = 10**12  # long, so that a tick more or less does not matter


def alpha_of(graph: Graph, sizes: list[int], network: Network, placement: str) -> float:
    """Return the seconds of an iteration of a job that takes the whole cluster."""
    trace = make_trace([Job(0, SERVICE_US, graph.gpus, graph=graph)])
    cluster = make_cluster([(gpus, "V100") for gpus in sizes], network)
    result = gs.simulate(
        trace, cluster, placement=placement, speed="stages", contention="reserved", verify=True
    )
    low = gs.bounds.iteration_limits(trace, cluster)["low"][0]
    return float(low * result.schedule.held_us[0] / SERVICE_US)


def brute_force(graph: Graph, sizes: list[int], network: Network) -> list[float]:
    """Return the seconds of an iteration of every cut, by the readable twin."""
    cluster = Cluster([(gpus, "V100") for gpus in sizes], pooled=False)
    speed = Stages(cluster, network, reserved)
    job = Active(0, Job(0, 1, graph.gpus, graph=graph))
    servers = range(len(sizes))
    return [
        speed.placed_s(job, cluster.all_free(), ranks_of(graph, cut, servers))
        for cut in every_cut(graph, sizes)
    ]


@st.composite
def whole_clusters(draw: st.DrawFn) -> tuple[Graph, list[int], Network]:
    """A job of up to eight replicas, and servers that it fills."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda s: sum(s) <= 8))
    same = len(sizes) * [draw(st.sampled_from([8.0, 12.3, 25.0]))]
    mixed = draw(st.lists(st.sampled_from([8.0, 100.0]), min_size=len(sizes), max_size=len(sizes)))
    nics = draw(st.sampled_from([same, mixed]))
    intra = draw(st.sampled_from([10.0, 96.0, 2400.0]))
    return draw(graphs(sum(sizes))), sizes, Network(nics, [intra] * len(sizes))


@examples(60)
@given(
    whole_clusters(), st.sampled_from(["heavy-edge", "heavy-edge:swaps=false", "random", "spread"])
)
def test_an_iteration_takes_what_some_cut_takes_and_lies_within_the_limits(case, placement):
    graph, sizes, network = case
    alpha = alpha_of(graph, sizes, network, placement)
    every = brute_force(graph, sizes, network)
    trace = make_trace([Job(0, 1, graph.gpus, graph=graph)])
    cluster = make_cluster([(gpus, "V100") for gpus in sizes], network)
    limits = {
        name: column[0] for name, column in gs.bounds.iteration_limits(trace, cluster).items()
    }
    assert min(abs(alpha - other) for other in every) <= 1e-9 * alpha
    assert limits["low"] <= alpha * (1 + 1e-9)
    assert alpha <= limits["max"] * (1 + 1e-9)
    if placement == "heavy-edge":
        assert abs(limits["min"] - alpha) <= 1e-9 * alpha


@examples(60)
@given(
    graph=graphs(6),
    uplinks=st.lists(st.sampled_from([1.0, 10.0, 100.0]), min_size=4, max_size=4),
    sizes=st.sampled_from([(3, 3), (4, 2), (5, 1)]),
)
def test_racks_with_other_uplinks_are_cut_anew(graph, uplinks, sizes):
    servers = [(gpus, TYPES[0]) for gpus in [*sizes, *sizes]]
    network = Network(
        [100.0] * 4, [100.0] * 4,
        server_domain=[1, 2, 3, 4],
        domain_parent=[None, 0, 0, 0, 0],
        uplink_gbps=[None, *uplinks],
    )  # fmt: skip
    jobs = [Job(second * SECOND, 50 * SECOND, 6, graph=graph) for second in (0, 1)]
    assert_equal(
        Case(
            jobs, servers, "fifo", "heavy-edge", {}, {"swaps": True}, 0,
            speed="stages", contention="reserved", network=network,
        )
    )  # fmt: skip
