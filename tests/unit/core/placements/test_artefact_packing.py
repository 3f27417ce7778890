"""Scores and ties of the program of FGD's authors, by examples worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from tests.each import each

NAMES = sorted(
    name for name, info in gs.placements().items() if info.parameter("artefact") is not None
)
TWO = gs.Cluster((gs.ServerGroup(1, 4, cpu=64), gs.ServerGroup(1, 4, cpu=16)))


def servers_of(
    cluster: gs.Cluster, placement: str, gpus: list[int], seed: int = 0, **demands: Any
) -> list[int]:
    """Return the server of each gang; they arrive one after the other and stay."""
    trace = gs.Trace.from_columns(list(range(len(gpus))), [1000] * len(gpus), gpus, **demands)
    result = gs.simulate(
        trace, cluster, policy="fifo-skip", placement=placement, seed=seed, verify=True
    )
    return [server for _, server in sorted(zip(*columns(result), strict=True))]


def columns(result: gs.Result) -> list[list[int]]:
    return [result.intervals[name].tolist() for name in ("job", "server")]


@each("name", NAMES)
def test_of_equal_servers_the_first_of_a_drawn_order_is_taken(name):
    def first(seed: int) -> int:
        cluster = gs.Cluster.uniform(9, 4, cpu=8)
        return servers_of(cluster, f"{name}:artefact=true", [1], seed, cpu=[1])[0]

    found = [first(seed) for seed in range(40)]
    assert found == [first(seed) for seed in range(40)]
    assert len(set(found)) > 5
    assert "random" in gs.plugins.PlacementChoice(name, artefact=True).flags


@each("seed", range(5))
def test_all_shares_are_one_width_to_clustering(seed):
    cluster = gs.Cluster.uniform(2, 4)
    gpus, share = [1, 1, 1], [0.3, 0.6, 1.0]
    ours = servers_of(cluster, "gpu-clustering", gpus, gpu_share=share)
    assert ours[0] != ours[1]
    theirs = servers_of(cluster, "gpu-clustering:artefact=true", gpus, seed, gpu_share=share)
    assert theirs[0] == theirs[1] != theirs[2]


@each("seed", range(5))
def test_dot_product_takes_the_least_product_and_best_fit_the_least_rest(seed):
    assert servers_of(TWO, "dot-product", [1], cpu=[8]) == [0]
    assert servers_of(TWO, "dot-product:product=least", [1], cpu=[8]) == [1]
    for name in ("dot-product", "best-fit"):
        assert servers_of(TWO, f"{name}:artefact=true", [1], seed, cpu=[8]) == [1]
    placement = "dot-product:artefact=true,product=greatest"
    assert servers_of(TWO, placement, [1], seed, cpu=[8]) == [0]


@pytest.mark.parametrize("name", ["best-fit", "dot-product"])
def test_memory_has_no_say(name):
    small, large = gs.ServerGroup(1, 4, memory_gib=64), gs.ServerGroup(1, 4, memory_gib=16)
    cluster = gs.Cluster((small, large))
    found = {
        servers_of(cluster, f"{name}:artefact=true", [1], seed, memory_gib=[8])[0]
        for seed in range(20)
    }
    assert found == {0, 1}
    assert len({servers_of(cluster, name, [1], s, memory_gib=[8])[0] for s in range(20)}) == 1


def test_a_difference_below_a_per_cent_is_none():
    servers = (gs.ServerGroup(1, 4, cpu=100), gs.ServerGroup(1, 4, cpu=99.5))
    cluster = gs.Cluster(servers)
    assert servers_of(cluster, "best-fit", [1], cpu=[1]) == [1]
    found = {
        servers_of(cluster, "best-fit:artefact=true", [1], seed, cpu=[1])[0] for seed in range(20)
    }
    assert found == {0, 1}


@each("seed", range(5))
def test_packing_takes_used_servers_before_idle_ones_and_small_idle_ones_first(seed):
    cluster = gs.Cluster((gs.ServerGroup(2, 8), gs.ServerGroup(2, 2)))
    found = servers_of(
        cluster, "gpu-packing:artefact=true", [1, 1, 1, 1], seed, gpu_share=[0.5, 0.5, 1, 0.5]
    )
    assert found[0] in (2, 3)
    assert found[0] == found[1] == found[2]
    assert found[3] in {2, 3} - {found[0]}


@pytest.mark.parametrize(("rare", "has_say"), [(1, False), (2, True)])
def test_requests_beyond_95_per_cent_have_no_say_in_fgd(rare, has_say):
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(1, 4, "T4")))
    types = ["V100|T4"] * (25 - rare) + ["T4"] * rare

    def first(placement: str, seed: int = 0) -> int:
        return servers_of(cluster, placement, [4] * 25, seed, gpu_types=types)[0]

    # Whoever may go anywhere leaves the T4s to those that may not.
    assert first("fgd") == 0
    found = {first("fgd:artefact=true", seed) for seed in range(20)}
    assert found == ({0} if has_say else {0, 1})
