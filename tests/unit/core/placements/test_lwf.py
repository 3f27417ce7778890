"""Least workload first: where narrow and wide gangs go, by examples worked out by hand."""

from __future__ import annotations

import gpusched as gs


def servers_of(
    cluster: gs.Cluster, gangs: list[int], kappa: int, gpu_types: list[str] | None = None
) -> list[dict[int, int]]:
    """GPUs by server of each gang, all of which arrive one after the other and stay."""
    optional = {} if gpu_types is None else {"gpu_types": gpu_types}
    trace = gs.Trace.from_columns(
        submit_s=list(range(len(gangs))), service_s=[1000] * len(gangs), gpus=gangs, **optional
    )
    result = gs.simulate(trace, cluster, policy="fifo", placement=f"lwf:kappa={kappa}")
    result.audit().raise_if_bad()
    placed: list[dict[int, int]] = [{} for _ in gangs]
    columns = (result.intervals[name].tolist() for name in ("job", "server", "mask"))
    for job, server, mask in zip(*columns, strict=True):
        placed[job][server] = mask.bit_count()
    return placed


def test_one_gpu_goes_to_the_least_loaded_server_then_the_lowest():
    cluster = gs.Cluster.uniform(servers=3, gpus=4)
    assert servers_of(cluster, [1, 1, 1, 1], kappa=1) == [{0: 1}, {1: 1}, {2: 1}, {0: 1}]


def test_a_wide_gang_takes_the_shortest_prefix_of_servers_by_load():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    # Loads 2/4, 1/4, 0, 0 before the gang: servers 2 and 3 whole, then server 1, then 0.
    assert servers_of(cluster, [1, 1, 1, 1, 1], kappa=1)[-1] == {0: 1}
    placed = servers_of(cluster, [2, 1, 6], kappa=1)
    assert placed == [{0: 2}, {1: 1}, {2: 4, 3: 2}]
    assert servers_of(cluster, [2, 1, 10], kappa=1)[-1] == {1: 2, 2: 4, 3: 4}
    assert servers_of(cluster, [2, 1, 12], kappa=1)[-1] == {0: 1, 1: 3, 2: 4, 3: 4}


def test_a_narrow_gang_spreads_gpu_by_gpu_over_the_least_loaded():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    # Two GPUs on 0 and 1, one on 2; the gang of 5 is wide: all of 3, then of 0.
    assert servers_of(cluster, [2, 1, 5], kappa=2) == [{0: 1, 1: 1}, {2: 1}, {0: 1, 3: 4}]
    # The narrow one takes of 3, then one of each at a quarter.
    assert servers_of(cluster, [2, 1, 5], kappa=5)[-1] == {0: 1, 1: 1, 2: 1, 3: 2}
    assert servers_of(cluster, [1, 1, 1, 1, 5], kappa=5)[-1] == {0: 2, 1: 1, 2: 1, 3: 1}


def test_a_gang_of_exactly_kappa_gpus_is_narrow():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    assert servers_of(cluster, [3], kappa=3) == [{0: 1, 1: 1, 2: 1}]
    assert servers_of(cluster, [3], kappa=2) == [{0: 3}]


def test_the_load_is_a_share_where_servers_differ_in_size():
    cluster = gs.Cluster((gs.ServerGroup(1, 2), gs.ServerGroup(1, 8), gs.ServerGroup(1, 4)))
    # After the first three the loads are 1/2, 1/8, 1/4; the fifth finds 1/2, 2/8, 1/4.
    placed = servers_of(cluster, [1] * 6, kappa=1)
    assert placed == [{0: 1}, {1: 1}, {2: 1}, {1: 1}, {1: 1}, {2: 1}]
    # By load 1/8, 1/4, 1/2: server 1 gives all it has, then 2, though 0 has a lower id.
    assert servers_of(cluster, [1, 1, 1, 9], kappa=1)[-1] == {1: 7, 2: 2}
    assert servers_of(cluster, [1, 1, 1, 3], kappa=3)[-1] == {1: 2, 2: 1}


def test_only_servers_of_allowed_types_are_looked_at():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(2, 2, "T4")))
    placed = servers_of(cluster, [1, 1, 3], kappa=1, gpu_types=["T4", "T4", "T4|V100"])
    assert placed == [{1: 1}, {2: 1}, {0: 3}]


def test_a_gang_waits_only_for_gpus_never_for_servers():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    trace = gs.Trace.from_columns(submit_s=[0, 0, 1], service_s=[10, 20, 5], gpus=[3, 9, 5])
    start_s = gs.simulate(trace, cluster, policy="fifo", placement="lwf").jobs["start_s"]
    assert list(start_s) == [0, 0, 10]
