"""Heavy-edge placement and the cut of a job graph, by examples worked out by hand."""

from typing import Any

import pytest

import gpusched as gs
from gpusched._core import _testing
from tests.each import each
from tests.unit.core.placements.test_packing import places

GB = 1e9


def servers_of(
    cluster: gs.Cluster, gangs: list[int], fill: str = "most-free", **demands: Any
) -> list[dict[int, int]]:
    """GPUs by server of each gang, all of which arrive one after the other and stay."""
    found = places(cluster, f"heavy-edge:fill={fill}", gangs, **demands)
    return [{server: mask.bit_count() for server, mask in place.items()} for place in found]


def test_a_gang_goes_to_the_server_with_the_least_free_gpus_that_holds_it():
    cluster = gs.Cluster((gs.ServerGroup(1, 8), gs.ServerGroup(2, 4), gs.ServerGroup(1, 2)))
    placed = servers_of(cluster, [2, 3, 1, 4, 5])
    assert placed == [{3: 2}, {1: 3}, {1: 1}, {2: 4}, {0: 5}]
    assert servers_of(cluster, [2, 3, 1, 4, 5], fill="fewest") == placed


def test_a_wider_gang_takes_the_servers_with_the_most_free_gpus():
    cluster = gs.Cluster.uniform(servers=5, gpus=4)
    # 1, 2, 4, 4 and 4 are free: the shortest prefix, the last server in part.
    assert servers_of(cluster, [3, 2, 6])[-1] == {2: 4, 3: 2}
    assert servers_of(cluster, [3, 2, 13])[-1] == {1: 1, 2: 4, 3: 4, 4: 4}


def test_fewest_takes_the_fragments_first():
    cluster = gs.Cluster.uniform(servers=5, gpus=4)
    assert servers_of(cluster, [3, 2, 6], fill="fewest")[-1] == {0: 1, 1: 2, 2: 3}
    assert servers_of(cluster, [3, 2, 13], fill="fewest")[-1] == {0: 1, 1: 2, 2: 4, 3: 4, 4: 2}


def test_only_servers_of_allowed_types_are_taken():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(2, 2, "T4")))
    assert servers_of(cluster, [3], gpu_types=["T4"]) == [{1: 2, 2: 1}]
    assert servers_of(cluster, [5], gpu_types=["T4|V100"]) == [{0: 4, 1: 1}]


def run_s(
    cluster: gs.Cluster,
    stages: list[gs.model.Stage],
    placement: str = "heavy-edge",
    contention: str = "reserved",
) -> float:
    """Run time of a job of 1,000 iterations at the least time, alone on the cluster."""
    graph = gs.model.JobGraph("graph", tuple(stages))
    trace = gs.Trace.from_columns(
        submit_s=[0], service_s=[1000], gpus=[graph.gpus], graphs=[graph], graph=[0]
    )
    result = gs.simulate(
        trace, cluster, policy="fifo", placement=placement, speed="stages", contention=contention,
        verify=True,
    )  # fmt: skip
    return float(result.jobs["finish_s"][0])


def servers(*gpus: int, nic_gbps: float = 8.0, intra_gbps: float = 800.0) -> gs.Cluster:
    """Servers with these GPUs; cards of 1 GB/s, 100 GB/s inside, unless told."""
    return gs.Cluster(
        tuple(gs.ServerGroup(1, n, nic_gbps=nic_gbps, intra_gbps=intra_gbps) for n in gpus)
    )


def test_replicas_that_reduce_much_share_a_server():
    # Stages of 2 replicas on two servers of 2 GPUs: each stage on a server of its own reduces
    # inside, 2 * 1/2 * 10 GB at 100 GB/s = 0.1 s, and hands its 1 GB on at half a card:
    # 2 * 1 GB / 2 at 0.5 GB/s = 2 s. No cut at all: 1 + 0.1 + 0.01 s.
    stages = [gs.model.Stage(2, 1.0, 10 * GB, 1 * GB), gs.model.Stage(2, 1.0, 10 * GB)]
    assert run_s(servers(2, 2), stages) == pytest.approx(1000 * 3.1 / 1.11)
    # Each replica beside one of the other stage: 10 GB over a server's 0.5 GB/s, 20 s, and half
    # of the activations inside.
    mixed = 1 + 0.5 / 100 + 0.5 / 0.5 + 20
    alone = [gs.model.Stage(2, 1.0, 0.0, 10 * GB), gs.model.Stage(2, 1.0, 0.0)]
    # Without parameters the mixed pairs are the better ones: 5 GB inside, 5 GB outside.
    assert run_s(servers(2, 2), alone) == pytest.approx(1000 * (1 + 0.05 + 10) / 1.1)
    assert run_s(servers(2, 2), alone) < run_s(servers(2, 2), alone, "first-fit")
    assert run_s(servers(2, 2), stages) < 1000 * mixed / 1.11


def test_the_servers_blocks_of_replicas_follow_the_order_of_the_servers():
    # The larger server, filled first, has the higher id. A chain of 10, 1 and 0 GB: the first
    # two of four stages and the third share it, the last is alone on server 0.
    stages = [gs.model.Stage(1, 1.0, 0.0, size * GB) for size in (10.0, 1.0, 0.0, 0.0)]
    # All that is cut weighs nothing: the slowest replica, the second, sends 22 GB inside.
    assert run_s(servers(1, 3), stages) == pytest.approx(1000)
    assert run_s(servers(1, 3), stages, "best-fit") > 10_000


def test_exchanges_mend_what_the_heaviest_edge_spoils():
    # The pair of stage 0 weighs 4/3 GB and fills the first server with all three replicas and two
    # of the five of stage 1, whose all-reduce then has 2/5 GB/s: 2 * 4/5 * 1.2 GB.
    stages = [gs.model.Stage(3, 1.0, 1 * GB, 0.0), gs.model.Stage(5, 1.0, 1.2 * GB)]
    cut = run_s(servers(5, 3), stages, "heavy-edge:swaps=false")
    assert cut == pytest.approx(1000 * (1 + 1.92 / 0.4) / 1.0192)
    # With one replica of stage 0 on the other side, its 2 * 2/3 GB are the slowest, over 1/3 GB/s.
    # No single exchange goes on to the best division, each stage on a server of its own.
    assert run_s(servers(5, 3), stages) == pytest.approx(1000 * (1 + 4) / 1.0192)


def test_the_cut_is_that_of_the_graph_not_of_the_width():
    # Two jobs of one width on like servers: what is remembered of one is not given to the other.
    graphs = [
        gs.model.JobGraph(
            "reduces", (gs.model.Stage(2, 1.0, 10 * GB, 0.0), gs.model.Stage(2, 1.0, 10 * GB))
        ),
        gs.model.JobGraph(
            "hands on", (gs.model.Stage(2, 1.0, 0.0, 10 * GB), gs.model.Stage(2, 1.0, 0.0))
        ),
        gs.model.JobGraph("one stage", (gs.model.Stage(4, 1.0, 0.0),)),
    ]
    cluster = servers(2, 2)
    trace = gs.Trace.from_columns(
        submit_s=[0] * 5, service_s=[1000] * 5, gpus=[4] * 5, graphs=graphs, graph=[0, 1, 0, 1, 2]
    )
    result = gs.simulate(
        trace, cluster, policy="fifo", placement="heavy-edge", speed="stages", contention="reserved"
    )
    run = result.jobs["finish_s"] - result.jobs["start_s"]
    apart, mixed = 1000.0, 1000 * 11.05 / 1.1
    assert list(run) == pytest.approx([apart, mixed, apart, mixed, 1000.0])


cut = _testing.heavy_edge_cut


@each(
    ("stages", "activations", "parameters", "quotas", "order"),
    [
        # The heaviest edge stays inside the first server. Vertices 0, 1 | 2, 3: a stage's pair,
        ([2, 2], [1.0], [3.0, 5.0], [2, 2], [2, 3, 0, 1]),
        ([2, 2], [1.0], [5.0, 3.0], [2, 2], [0, 1, 2, 3]),
        # or one replica of each stage, where pipeline edges weigh most.
        ([2, 2], [6.0], [3.0, 5.0], [2, 2], [0, 2, 1, 3]),
        # The set grows by the largest weight into it.
        # A chain 0 - 1 - 2 - 3 of weights 2, 7, 4: the seed {1, 2}, then 3 (4 against 2).
        ([1, 1, 1, 1], [2.0, 7.0, 4.0], [0.0] * 4, [3, 1], [1, 2, 3, 0]),
        # Into {0, 1} vertex 2 has 3 + 3 by all-reduce; a replica of stage 1 has 2 * 2.
        ([3, 3], [2.0], [3.0, 1.0], [3, 3], [0, 1, 2, 3, 4, 5]),
        # And 2 * 4 > 3 + 3; then stage 1 has 8 + 1, stage 0 has 6 + 4.
        ([3, 3], [4.0], [3.0, 1.0], [3, 3], [0, 1, 3, 2, 4, 5]),
        # The seed is the edge of 4: {0, 3}; into it stage 0 has 3 + 4, stage 1 has 1 + 4.
        ([3, 3], [4.0], [3.0, 1.0], [4, 2], [0, 1, 2, 3, 4, 5]),
        # Equal weights into the set go to the smaller weight outside: into the seed {1, 2} both
        # ends have 3; stage 0 has nothing else, stage 3 has an edge of 1,
        ([1, 1, 1, 1, 1], [3.0, 5.0, 3.0, 1.0], [0.0] * 5, [3, 2], [0, 1, 2, 3, 4]),
        # or, the other way round, stage 4 is the end that has nothing else.
        ([1, 1, 1, 1, 1], [1.0, 3.0, 5.0, 3.0], [0.0] * 5, [3, 2], [2, 3, 4, 0, 1]),
        # What still ties goes to the lower vertex.
        ([1, 1, 1], [3.0, 3.0], [0.0] * 3, [2, 1], [0, 1, 2]),
        ([2, 2], [1.0], [1.0, 1.0], [2, 2], [0, 1, 2, 3]),
        ([1, 1, 1, 1], [3.0, 5.0, 3.0], [0.0] * 4, [3, 1], [0, 1, 2, 3]),
        # A quota of one takes the vertex with the least incident weight: of the chain 0 - 1 - 2
        # the ends weigh 5 and 2, the middle 7.
        ([1, 1, 1], [5.0, 2.0], [0.0] * 3, [1, 2], [2, 0, 1]),
        ([1, 1, 1], [2.0, 5.0], [0.0] * 3, [1, 2], [0, 1, 2]),
        # The weight counts all edges, those to vertices elsewhere among them: 6 against 5, 7, 2.
        ([1, 1, 1, 1], [6.0, 1.0, 2.0], [0.0] * 4, [2, 1, 1], [0, 1, 3, 2]),
        # No edge is needed to grow.
        ([2, 1], [0.0], [0.0, 0.0], [2, 1], [0, 1, 2]),
        # Only vertices without edges among them are left for the second server.
        ([1, 2, 1], [4.0, 4.0], [0.0] * 3, [2, 2], [0, 1, 2, 3]),
        ([1, 1, 1], [4.0, 0.0], [0.0] * 3, [2, 1], [0, 1, 2]),
        # One stage, or one server, leaves nothing to choose.
        ([5], [], [1.0], [3, 1, 1], [0, 1, 2, 3, 4]),
        ([1, 3, 2], [1.0, 9.0], [1.0, 5.0, 2.0], [6], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_graph_is_cut_by_its_weights(stages, activations, parameters, quotas, order):
    assert cut(stages, activations, parameters, quotas) == order


@each(
    ("arguments", "rule"),
    [
        (([], [], [], []), "a weight for each stage"),
        (([1, 1], [], [0.0, 0.0], [2]), "a weight for each stage"),
        (([1, 1], [1.0], [0.0], [2]), "a weight for each stage"),
        (([1, 0], [1.0], [0.0, 0.0], [1]), "at least 1"),
        (([1, 1], [1.0], [0.0, 0.0], [2, 0]), "at least 1"),
        (([1, 1], [1.0], [0.0, 0.0], [3]), "add up to all replicas"),
    ],
)
def test_what_is_no_graph_or_no_quota_is_refused(arguments, rule):
    with pytest.raises(ValueError, match=rule):
        cut(*arguments)


def test_an_exchange_is_kept_only_if_it_lowers_the_cost():
    seen: list[list[int]] = []

    def cost(ranks: list[int]) -> float:
        seen.append(ranks)
        return 0.0 if ranks == [0, 2, 1, 3] else 1.0

    # Stages {0, 1} and {2, 3}, wholly apart; the first exchange that there is mixes them.
    assert _testing.swap_down([2, 2], [2, 2], [0, 1], cost, [0, 1, 2, 3]) == ([0, 2, 1, 3], 0.0)
    assert seen[:2] == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert _testing.swap_down([2, 2], [2, 2], [0, 1], lambda _: 1.0, [0, 1, 2, 3]) == (
        [0, 1, 2, 3],
        1.0,
    )


def test_exchanges_go_on_until_a_whole_pass_finds_none():
    # Ranks that come closer to the goal one exchange at a time.
    goal = [4, 5, 2, 3, 0, 1]

    def cost(ranks: list[int]) -> float:
        return sum(abs(rank // 2 - wanted // 2) for rank, wanted in zip(ranks, goal, strict=True))

    ranks, best = _testing.swap_down([2, 2, 2], [2, 2, 2], [0, 1, 2], cost, [0, 1, 2, 3, 4, 5])
    assert (ranks, best) == (goal, 0.0)


def test_as_many_exchanges_are_tried_as_the_square_of_the_vertices():
    calls = 0

    def falls(_: list[int]) -> float:
        nonlocal calls
        calls += 1
        return -float(calls)

    _testing.swap_down([2, 1], [2, 1], [0, 1], falls, [0, 1, 2])
    assert calls == 1 + 3 * 3
