"""Staged jobs worked out by hand: what the readable engine means by each rule, and its laws."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference import Graph, GraphStage, Job, Network, replay
from gpusched.reference.cluster import Cluster
from gpusched.reference.model import Active, Allocation
from gpusched.reference.placements import Cut, grow, heavy_edge, ranks_of, swapped
from gpusched.reference.speeds import Stages, none
from tests.reference.contention_cases import networks
from tests.reference.cuts import every_cut
from tests.reference.stage_cases import graphs

GB = 1e9  # bytes; 8 Gbit/s are 1 GB/s
HERE = {"gpu": 1.0}

# Two replicas hand 2 GB to four others: a pair exchanges 2 * 2 / (2 * 4) = 0.5 GB. The first
# stage reduces 2 GB, the second 1 GB.
MODEL = Graph((GraphStage(2, HERE, 2 * GB, 2 * GB), GraphStage(4, {"gpu": 0.5}, 1 * GB)))
PARALLEL = Graph((GraphStage(4, HERE, 2 * GB),))


def stages_on(sizes: list[int], nic: float, intra: float, **options: int) -> Stages:
    servers = [(gpus, "gpu") for gpus in sizes]
    network = Network([8 * nic] * len(sizes), [8 * intra] * len(sizes))
    return Stages(Cluster(servers, pooled=False), network, none, **options)


def active(graph: Graph) -> Active:
    return Active(0, Job(0, 1, graph.gpus, graph=graph))


def first_gpus(counts: list[int]) -> Allocation:
    return {server: (1 << gpus) - 1 for server, gpus in enumerate(counts) if gpus}


def seconds(
    counts: list[int], ranks: tuple[int, ...] = (), graph: Graph = MODEL, **options: int
) -> float:
    """On servers of 8 GPUs, with 8 GB/s to the network (1 GB/s for each GPU) and 4 GB/s inside."""
    speed = stages_on([8] * len(counts), 8, 4, **options)
    return speed.placed_s(active(graph), first_gpus(counts), ranks)


def test_on_one_server_all_bytes_stay_inside():
    # The first: 1 + 4 * 0.5 / 4 + 2 * 1/2 * 2 / 4 = 2. The others: 0.5 + 0.25 + 2 * 3/4 * 1/4.
    # Yet the bound takes the larger of the two bandwidths for the rings: 1 + 0.5 + 0.25.
    assert seconds([6]) == 2.0
    speed = stages_on([8], 8, 4)
    assert speed.low(active(MODEL)) == 1.75


def test_bytes_to_other_servers_go_through_the_part_of_each_gpu():
    # The first stage alone: 4 * 0.5 / 1 to the others, its ring inside: 1 + 2 + 0.5.
    assert seconds([2, 4]) == 3.5
    # One of each stage here, one and three there. The first stage's ring crosses with one replica
    # on a server: 2 / 1. On the first server 1 + 0.5 / 4 + 3 * 0.5 / 1 + 2.
    assert seconds([2, 4], (0, 2, 1, 3, 4, 5)) == 4.625


def test_a_ring_crosses_with_as_much_as_its_replicas_on_a_server_own():
    # 1 + 2 * 3/4 * 2 over the least of two parts, of one part, of three parts of one.
    assert seconds([2, 2], graph=PARALLEL) == 1 + 3 / 2
    assert seconds([3, 1], graph=PARALLEL) == 1 + 3 / 1
    assert seconds([4], graph=PARALLEL) == 1 + 3 / 4
    assert seconds([1, 1, 1, 1], graph=PARALLEL) == 1 + 3 / 1


def test_a_pipeline_of_micro_batches_fills_first_and_reduces_last():
    # (1 + 2) * (4 + 2 - 1) / 4 and the slower of the rings, 0.5 inside of the first server and
    # 2 * 3/4 * 1 / 4 inside of the second.
    assert seconds([2, 4], micro_batches=4) == 3 * 1.25 + 0.5
    assert seconds([2, 4], micro_batches=1) == 3 * 2 + 0.5


def test_every_replica_alone_is_the_worst():
    speed = stages_on([8] * 6, 8, 4)
    alone = speed.placed_s(active(MODEL), first_gpus([1] * 6), ())
    # 1 + 4 * 0.5 + 2 * 1/2 * 2, each over 1 GB/s.
    assert alone == speed.high(active(MODEL)) == 5.0


def test_gangs_on_a_link_slow_each_other_down():
    # Two of two on two servers each: alone 1 + 2 * 1/2 * 2 / 1, of which 8 GB/s are shared by two.
    pair = Graph((GraphStage(2, HERE, 4 * GB),))
    jobs = [Job(0, 10, 2, graph=pair), Job(0, 10, 2, graph=pair)]
    outcome = replay(
        jobs, [(2, "gpu"), (2, "gpu")], "fifo", "spread", speed="stages", contention="shared",
        network=Network([8.0, 8.0], [8.0, 8.0]),
    )  # fmt: skip
    # The bound is 1 + 4 / 1 = 5; beside the other one it is 1 + 4 / 0.5 = 9.
    assert outcome.finish_us == [18, 18]
    assert outcome.uncontended_us == [10.0, 10.0]


def test_heavy_edge_fills_few_servers():
    free = {0: 2, 1: 8, 2: 5, 3: 5}
    assert heavy_edge(free, 5, "most-free") == {2: 5}
    assert heavy_edge(free, 2, "most-free") == {0: 2}
    assert list(heavy_edge(free, 12, "most-free").items()) == [(1, 8), (2, 4)]
    assert list(heavy_edge(free, 12, "fewest").items()) == [(0, 2), (2, 5), (3, 5)]


def test_every_cut_is_there_once():
    found = list(every_cut(MODEL, [3, 2, 1]))
    assert all(sorted(itertools.chain(*cut)) == [0, 0, 1, 1, 1, 1] for cut in found)
    # The two of the first stage: both on one of the first two, or one each on two servers.
    assert len(found) == len({tuple(map(tuple, cut)) for cut in found}) == 2 + 3


def test_the_heaviest_edges_are_not_cut():
    # 4 * 2 / 2 = 4 GB between the first two, 4 * 1 / 4 = 1 GB among the others, 0.5 GB between.
    assert grow(MODEL, [4, 2]) == [[0, 0, 1, 1], [1, 1]]
    assert grow(MODEL, [3, 3]) == [[0, 0, 1], [1, 1, 1]]
    # With one GPU the one that has the least to tell others: 2 * 0.5 + 3 * 1 < 4 * 0.5 + 4.
    assert grow(MODEL, [5, 1]) == [[0, 0, 1, 1, 1], [1]]
    assert grow(MODEL, [1, 5]) == [[1], [0, 0, 1, 1, 1]]
    assert ranks_of(MODEL, [[1], [0, 0, 1, 1, 1]], [3, 1]) == [0, 1, 3, 4, 5, 2]


def test_swaps_lower_the_pace_of_the_slowest():
    calls = []  # the fewer of the first stage are on the first server, the better

    def cost(cut: Cut) -> float:
        calls.append(cut)
        return float(cut[0].count(0))

    assert swapped(MODEL, [[0, 0, 1], [1, 1, 1]], cost) == [[1, 1, 1], [0, 0, 1]]
    assert len(calls) <= 2 * MODEL.gpus**2 + 1


@st.composite
def placed(draw: st.DrawFn, most: int = 6) -> tuple[Stages, Active, list[int]]:
    """A job, a network and how many of its replicas are on each server of up to three."""
    quotas = draw(
        st.lists(st.integers(1, 3), min_size=1, max_size=3).filter(lambda q: sum(q) <= most)
    )
    graph = draw(graphs(sum(quotas)))
    servers = [(4, draw(st.sampled_from(["K80", "V100"]))) for _ in quotas]
    micro_batches = draw(st.sampled_from([0, 0, 2]))
    speed = Stages(
        Cluster(servers, pooled=False), draw(networks(len(servers))), none, micro_batches
    )
    return speed, active(graph), quotas


@given(placed())
def test_any_placement_takes_at_least_the_bound_and_at_most_every_replica_alone(case):
    speed, job, quotas = case
    graph, allocation = job.job.graph, first_gpus(quotas)
    assert graph is not None
    low, high = speed.low(job), speed.high(job)
    tries = [
        speed.placed_s(job, allocation, ranks_of(graph, cut, range(len(quotas))))
        for cut in every_cut(graph, quotas)
    ]
    assert low <= min(tries) * (1 + 1e-12)
    assert max(tries) <= high * (1 + 1e-12)


@given(placed())
def test_heavy_edge_is_no_better_than_the_best_cut_and_swaps_never_worsen_it(case):
    speed, job, quotas = case
    graph, allocation = job.job.graph, first_gpus(quotas)

    def cost(cut: Cut) -> float:
        return speed.placed_s(job, allocation, ranks_of(graph, cut, range(len(quotas))))

    cut = grow(graph, quotas)
    assert [len(part) for part in cut] == quotas
    assert sorted(itertools.chain(*cut)) == [graph.stage_of(v) for v in range(graph.gpus)]
    best = min(cost(other) for other in every_cut(graph, quotas))
    assert best <= cost(swapped(graph, cut, cost)) <= cost(cut)
