"""Heavy-edge placement: which servers a gang takes, and that its cut is what the job runs at, by
examples worked out by hand.
"""

from __future__ import annotations

import pytest

import gpusched as gs

GB = 1e9


def servers_of(
    cluster: gs.Cluster,
    gangs: list[int],
    fill: str = "most-free",
    gpu_types: list[str] | None = None,
) -> list[dict[int, int]]:
    """GPUs by server of each gang, all of which arrive one after the other and stay."""
    trace = gs.Trace.from_columns(
        submit_s=list(range(len(gangs))),
        service_s=[1000] * len(gangs),
        gpus=gangs,
        gpu_types=gpu_types or [None] * len(gangs),
    )
    result = gs.simulate(trace, cluster, policy="fifo", placement=f"heavy-edge:fill={fill}")
    result.audit().raise_if_bad()
    placed: list[dict[int, int]] = [{} for _ in gangs]
    columns = (result.intervals[name].tolist() for name in ("job", "server", "mask"))
    for job, server, mask in zip(*columns, strict=True):
        placed[job][server] = mask.bit_count()
    return placed


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


def test_a_gang_waits_only_for_gpus_never_for_servers():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    trace = gs.Trace.from_columns(submit_s=[0, 0, 1], service_s=[10, 20, 5], gpus=[3, 9, 5])
    start_s = gs.simulate(trace, cluster, policy="fifo", placement="heavy-edge").jobs["start_s"]
    assert list(start_s) == [0, 0, 10]


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
        trace,
        cluster,
        policy="fifo",
        placement=placement,
        speed="stages",
        contention=contention,
        verify=True,
    )
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
