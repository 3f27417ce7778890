"""Placements by examples worked out by hand: packing, FGD's program, least workload first."""

from typing import Any

import pytest

import gpusched as gs
from tests.each import each

Place = dict[int, int]
"""Server -> mask of its GPUs."""

NOT_FOR_DEMANDS = ("count", "heavy-edge", "lwf")


def places(
    cluster: gs.Cluster, placement: str, gpus: list[int], stay: int = 1000, **demands: Any
) -> list[Place]:
    """Return where gangs go that arrive one after the other and stay, ``{}`` if nowhere."""
    trace = gs.Trace.from_columns(
        submit_s=list(range(len(gpus))),
        service_s=demands.pop("service_s", [stay] * len(gpus)),
        gpus=gpus,
        **demands,
    )
    result = gs.simulate(trace, cluster, policy="fifo-skip", placement=placement, verify=True)
    found: list[Place] = [{} for _ in gpus]
    columns = (result.intervals[name].tolist() for name in ("job", "start_us", "server", "mask"))
    for job, start_us, server, mask in zip(*columns, strict=True):
        if start_us < len(gpus) * 1_000_000:
            found[job][server] = mask
    return found


def servers_of(cluster: gs.Cluster, placement: str, gpus: list[int], **demands: Any) -> list[Any]:
    """Return the server of each gang on one server, None if it waits."""
    return [next(iter(place), None) for place in places(cluster, placement, gpus, **demands)]


def uniform(servers: int, gpus: int = 4, **room: Any) -> gs.Cluster:
    return gs.Cluster.uniform(servers=servers, gpus=gpus, **room)


def test_a_share_goes_to_the_fullest_gpu_that_holds_it():
    placed = places(uniform(1), "best-fit", [1, 1, 1, 1], gpu_share=[0.5, 0.75, 0.25, 0.5])
    assert placed == [{0: 1}, {0: 2}, {0: 2}, {0: 1}]


def test_worst_fit_puts_a_share_on_the_emptiest_gpu():
    placed = places(uniform(1), "worst-fit", [1] * 5, gpu_share=[0.5, 0.25, 0.5, 0.5, 0.25])
    assert placed == [{0: 1}, {0: 2}, {0: 4}, {0: 8}, {0: 2}]


def test_whole_gpus_are_not_taken_from_shared_ones():
    placed = places(uniform(1), "first-fit", [1, 3, 1], gpu_share=[0.001, 1.0, 1.0])
    assert placed == [{0: 1}, {0: 0b1110}, {}]


@each("placement", sorted(set(gs.placements()) - set(NOT_FOR_DEMANDS)))
def test_a_server_without_cpu_or_memory_takes_nobody(placement):
    cluster = uniform(2, cpu=8, memory_gib=8)
    by_cpu = servers_of(cluster, placement, [1, 1, 1], cpu=[8.0, 8.0, 1.0])
    assert sorted(by_cpu[:2]) == [0, 1]
    assert by_cpu[2] is None
    by_memory = servers_of(cluster, placement, [2, 2, 1], memory_gib=[4.0, 4.0, 0.5])
    assert sorted(by_memory[:2]) == [0, 1]
    assert by_memory[2] is None


@each("placement", sorted(set(gs.placements()) - set(NOT_FOR_DEMANDS)))
def test_a_gang_with_demands_lies_on_one_server_if_one_could_hold_it(placement):
    placed = places(uniform(2), placement, [3, 3, 2], cpu=[1.0] * 3)
    assert [len(place) for place in placed] == [1, 1, 0]
    assert len(places(uniform(3), placement, [10], cpu=[1.0])[0]) == 3
    # Whole servers with room for as many workers, and one for what is left over.
    whole, rest = places(uniform(2, cpu=4), placement, [6], cpu=[1.0])[0].values()
    assert sorted([whole.bit_count(), rest.bit_count()]) == [2, 4]
    assert places(uniform(2, cpu=3), placement, [6], cpu=[1.0]) == [{}]


def test_best_and_worst_fit_weigh_all_resources():
    cluster = gs.Cluster(
        (gs.ServerGroup(1, 4, cpu=32, memory_gib=64), gs.ServerGroup(1, 4, cpu=8, memory_gib=128))
    )
    # Room before: 1 + 1 + 1/2 and 1 + 1/4 + 1.
    for placement, servers in (("best-fit", [1, 1]), ("worst-fit", [0, 1])):
        assert servers_of(cluster, placement, [1, 1], cpu=[4.0, 1.0]) == servers
    # consolidated looks at GPUs alone; all are free, so the lowest id.
    assert servers_of(cluster, "consolidated", [1, 1], cpu=[4.0, 1.0]) == [0, 0]


def test_dot_product_prefers_what_the_gang_asks_much_of():
    cluster = gs.Cluster(
        (gs.ServerGroup(1, 8, cpu=16, memory_gib=64), gs.ServerGroup(1, 4, cpu=64, memory_gib=64))
    )
    # 1/8 x 1 + c/64 x 1/4 against 1/8 x 1/2 + c/64 x 1: even at c = 16/3.
    assert servers_of(cluster, "dot-product", [1], cpu=[5.0]) == [0]
    assert servers_of(cluster, "dot-product", [1], cpu=[6.0]) == [1]


def test_gpu_packing_fills_shared_gpus_then_used_servers_then_idle_ones():
    cluster = uniform(3, gpus=2)
    placed = places(
        cluster, "gpu-packing", [2, 1, 1, 1, 1, 1], gpu_share=[1.0, 0.5, 0.75, 0.5, 0.25, 1.0]
    )
    assert placed == [{0: 0b11}, {1: 1}, {1: 2}, {1: 1}, {1: 2}, {2: 1}]


def test_gpu_clustering_keeps_widths_apart():
    # The single GPU joins the single GPU although the server with the pair is fuller.
    assert servers_of(uniform(3), "gpu-clustering", [2, 1, 1, 2, 1, 1, 1]) == [0, 1, 1, 0, 1, 1, 2]
    # No server is idle: any other one.
    assert servers_of(uniform(2), "gpu-clustering", [2, 1, 3, 2, 1]) == [0, 1, 1, 0, None]


def test_fgd_leaves_the_gpus_that_others_can_use():
    cluster = gs.Cluster((gs.ServerGroup(1, 2), gs.ServerGroup(1, 3)))
    # A single GPU of server 0 spoils the other one for pairs; of server 1 it spoils none.
    assert servers_of(cluster, "fgd", [1, 2, 2]) == [1, 0, 1]
    assert servers_of(cluster, "consolidated", [1, 2, 2]) == [0, 1, None]


def test_fgd_counts_gpus_without_cpu_as_lost():
    cluster = uniform(2, gpus=2, cpu=8)
    # One worker of 4 cores and one GPU is typical; a share with 5 cores would strand a GPU and a
    # half wherever it goes, so it joins the server that is spoilt already.
    placed = servers_of(
        cluster, "fgd", [1, 1, 1, 1], gpu_share=[0.5, 0.5, 1.0, 1.0], cpu=[5.0, 3.0, 4.0, 4.0]
    )
    assert placed == [0, 0, 1, 1]


def test_fgd_knows_which_types_are_asked_for():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "V100"), gs.ServerGroup(1, 2, "T4")))
    # Most jobs need the V100s; whoever may go anywhere goes to the T4s.
    placed = servers_of(cluster, "fgd", [1, 1, 1], gpu_types=["V100|T4", "V100", "V100"])
    assert placed == [1, 0, 0]


def test_buddy_cuts_the_smallest_block():
    placed = places(uniform(2, gpus=8), "buddy", [1, 2, 4, 1, 8])
    assert placed == [{0: 1}, {0: 0b1100}, {0: 0b11110000}, {0: 0b10}, {1: 255}]


def test_buddy_puts_odd_widths_into_the_next_block_and_leaves_the_rest():
    placed = places(uniform(1, gpus=8), "buddy", [3, 3, 1, 1, 1])
    assert placed == [{0: 0b111}, {0: 0b1110000}, {0: 0b1000}, {0: 0b10000000}, {}]
    # Two free GPUs that are no block are not enough for two.
    services = [9, 2, 9, 2, 9]
    placed = places(uniform(1, gpus=4), "buddy", [1, 1, 1, 1, 2], service_s=services)
    assert placed[4] == {}


def test_buddy_takes_a_server_of_any_size_as_the_front_of_a_block():
    assert places(uniform(1, gpus=6), "buddy", [4, 2]) == [{0: 0b1111}, {0: 0b110000}]
    assert places(uniform(1, gpus=6), "buddy", [5]) == [{0: 0b11111}]
    mixed = gs.Cluster((gs.ServerGroup(1, 8), gs.ServerGroup(2, 4)))
    assert places(mixed, "buddy", [16]) == [{0: 255, 1: 15, 2: 15}]


def racks(*sizes: int) -> gs.Cluster:
    """Return racks of that many servers of 4 GPUs, two racks to a block."""
    blocks = [gs.Domain("root")]
    blocks += [gs.Domain(f"block {i}", "root", 100) for i in range((len(sizes) + 1) // 2)]
    domains = [gs.Domain(f"rack {i}", f"block {i // 2}", 100) for i in range(len(sizes))]
    groups = [
        gs.ServerGroup(size, 4, nic_gbps=100, domain=f"rack {i}") for i, size in enumerate(sizes)
    ]
    return gs.Cluster(tuple(groups), domains=(*blocks, *domains))


def test_topology_takes_the_smallest_domain_that_fits():
    cluster = racks(2, 3, 4)  # servers 0-1, 2-4, 5-8
    assert places(cluster, "topology", [4]) == [{0: 15}]
    assert places(cluster, "topology", [8]) == [{0: 15, 1: 15}]
    assert list(places(cluster, "topology", [9])[0]) == [2, 3, 4]
    assert list(places(cluster, "topology", [13])[0]) == [5, 6, 7, 8]
    # 20 GPUs: no rack, the block of racks 0 and 1 exactly.
    assert list(places(cluster, "topology", [20])[0]) == [0, 1, 2, 3, 4]
    # 24: the root; the block with most first, then the least that holds the rest.
    assert list(places(cluster, "topology", [24])[0]) == [0, 1, 2, 3, 4, 5]


def test_topology_ends_on_the_server_that_fits_best():
    cluster = racks(3)
    # One GPU of server 0 is taken: six GPUs fill server 1 and lie tight on server 0.
    assert places(cluster, "topology", [2, 6]) == [{0: 0b11}, {0: 0b1100, 1: 0b1111}]
    asked = places(cluster, "topology", [2, 6], cpu=[1.0, 1.0])
    assert asked == [{0: 0b11}, {0: 0b1100, 1: 0b1111}]


def test_topology_works_without_domains():
    assert places(uniform(3), "topology", [3, 7]) == [{0: 0b111}, {1: 0b1111, 2: 0b111}]


def test_random_draws_depend_on_the_seed_alone():
    trace = gs.Trace.from_columns(
        submit_s=[0.0] * 8, service_s=[9.0] * 8, gpus=[1] * 8, gpu_share=[0.5] * 8
    )

    def digest(seed: int) -> str:
        return gs.simulate(trace, uniform(8), policy="fifo", placement="random", seed=seed).digest

    assert digest(1) == digest(1)
    assert len({digest(seed) for seed in range(5)}) == 5


def test_what_no_server_could_hold_is_rejected_with_its_reason():
    trace = gs.Trace.from_columns(
        submit_s=[0.0, 0.0, 0.0, 0.0, 1.0], service_s=[1.0] * 5, gpus=[1, 1, 1, 9, 1],
        cpu=[9.0, 1.0, 1.0, 1.0, 8.0], memory_gib=[1.0, 65.0, 1.0, 1.0, 64.0],
        gpu_types=[None, None, "H100", None, None],
    )  # fmt: skip
    cluster = uniform(2, cpu=8, memory_gib=64)
    for placement in sorted(set(gs.placements()) - set(NOT_FOR_DEMANDS)):
        result = gs.simulate(trace, cluster, policy="fifo", placement=placement)
        assert result.schedule.reason.tolist() == [3, 3, 1, 2, 0], placement


@pytest.mark.parametrize("placement", NOT_FOR_DEMANDS)
def test_a_placement_of_whole_gpus_refuses_a_run_with_demands(placement):
    trace = gs.Trace.from_columns(submit_s=[0.0], service_s=[1.0], gpus=[1], cpu=[1.0])
    with pytest.raises(ValueError, match=r"whole GPUs|pool"):
        gs.simulate(trace, uniform(1), policy="fifo", placement=placement)


@pytest.mark.parametrize("share", [1.5, 0.0, -0.5])
def test_a_share_is_a_part_of_one_gpu(share):
    rows = {"submit_s": [0.0], "service_s": [1.0], "gpus": [1], "gpu_share": [share]}
    with pytest.raises(ValueError, match="gpu_share"):
        gs.Trace.from_columns(**rows)
    with pytest.raises(ValueError, match="gpu_share"):
        gs.Trace.from_columns(submit_s=[0.0], service_s=[1.0], gpus=[2], gpu_share=[0.5])


@pytest.mark.parametrize("placement", ["gpu-packing", "gpu-packing:artefact=true", "best-fit"])
def test_a_share_goes_to_the_server_whose_gpu_it_fills_most(placement):
    # Beside 0.8 there is less left than beside 0.3.
    for shares, fullest in (([0.3, 0.8, 0.1], 1), ([0.8, 0.3, 0.1], 0)):
        *others, last = servers_of(uniform(2, 1), placement, [1, 1, 1], gpu_share=shares)
        assert sorted(others) == [0, 1]
        assert last == others[fullest]


@pytest.mark.parametrize(("size", "mask"), [(64, 0b111), (32, 0b111), (4, 0b111)])
def test_buddy_takes_a_whole_server_apart_for_a_width_that_is_no_power_of_two(size, mask):
    assert places(uniform(1, size), "buddy", [3]) == [{0: mask}]


NAMES = sorted(
    name for name, info in gs.placements().items() if info.parameter("artefact") is not None
)
TWO = gs.Cluster((gs.ServerGroup(1, 4, cpu=64), gs.ServerGroup(1, 4, cpu=16)))


def servers_by_artefact(
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
        return servers_by_artefact(cluster, f"{name}:artefact=true", [1], seed, cpu=[1])[0]

    found = [first(seed) for seed in range(40)]
    assert found == [first(seed) for seed in range(40)]
    assert len(set(found)) > 5
    assert "random" in gs.plugins.PlacementChoice(name, artefact=True).flags


@each("seed", range(5))
def test_all_shares_are_one_width_to_clustering(seed):
    cluster = gs.Cluster.uniform(2, 4)
    gpus, share = [1, 1, 1], [0.3, 0.6, 1.0]
    ours = servers_by_artefact(cluster, "gpu-clustering", gpus, gpu_share=share)
    assert ours[0] != ours[1]
    theirs = servers_by_artefact(
        cluster, "gpu-clustering:artefact=true", gpus, seed, gpu_share=share
    )
    assert theirs[0] == theirs[1] != theirs[2]


@each("seed", range(5))
def test_dot_product_takes_the_least_product_and_best_fit_the_least_rest(seed):
    assert servers_by_artefact(TWO, "dot-product", [1], cpu=[8]) == [0]
    assert servers_by_artefact(TWO, "dot-product:product=least", [1], cpu=[8]) == [1]
    for name in ("dot-product", "best-fit"):
        assert servers_by_artefact(TWO, f"{name}:artefact=true", [1], seed, cpu=[8]) == [1]
    placement = "dot-product:artefact=true,product=greatest"
    assert servers_by_artefact(TWO, placement, [1], seed, cpu=[8]) == [0]


@pytest.mark.parametrize("name", ["best-fit", "dot-product"])
def test_memory_has_no_say(name):
    small, large = gs.ServerGroup(1, 4, memory_gib=64), gs.ServerGroup(1, 4, memory_gib=16)
    cluster = gs.Cluster((small, large))
    found = {
        servers_by_artefact(cluster, f"{name}:artefact=true", [1], seed, memory_gib=[8])[0]
        for seed in range(20)
    }
    assert found == {0, 1}
    assert (
        len({servers_by_artefact(cluster, name, [1], s, memory_gib=[8])[0] for s in range(20)}) == 1
    )


def test_a_difference_below_a_per_cent_is_none():
    servers = (gs.ServerGroup(1, 4, cpu=100), gs.ServerGroup(1, 4, cpu=99.5))
    cluster = gs.Cluster(servers)
    assert servers_by_artefact(cluster, "best-fit", [1], cpu=[1]) == [1]
    found = {
        servers_by_artefact(cluster, "best-fit:artefact=true", [1], seed, cpu=[1])[0]
        for seed in range(20)
    }
    assert found == {0, 1}


@each("seed", range(5))
def test_packing_takes_used_servers_before_idle_ones_and_small_idle_ones_first(seed):
    cluster = gs.Cluster((gs.ServerGroup(2, 8), gs.ServerGroup(2, 2)))
    found = servers_by_artefact(
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
        return servers_by_artefact(cluster, placement, [4] * 25, seed, gpu_types=types)[0]

    # Whoever may go anywhere leaves the T4s to those that may not.
    assert first("fgd") == 0
    found = {first("fgd:artefact=true", seed) for seed in range(20)}
    assert found == ({0} if has_say else {0, 1})


def servers_by_lwf(
    cluster: gs.Cluster, gangs: list[int], kappa: int, **demands: Any
) -> list[dict[int, int]]:
    """GPUs by server of each gang, all of which arrive one after the other and stay."""
    found = places(cluster, f"lwf:kappa={kappa}", gangs, **demands)
    return [{server: mask.bit_count() for server, mask in place.items()} for place in found]


def test_one_gpu_goes_to_the_least_loaded_server_then_the_lowest():
    cluster = gs.Cluster.uniform(servers=3, gpus=4)
    assert servers_by_lwf(cluster, [1, 1, 1, 1], kappa=1) == [{0: 1}, {1: 1}, {2: 1}, {0: 1}]


def test_a_wide_gang_takes_the_shortest_prefix_of_servers_by_load():
    cluster = uniform(4)
    # Loads 2/4, 1/4, 0, 0 before the gang: servers 2 and 3 whole, then server 1, then 0.
    assert servers_by_lwf(cluster, [1, 1, 1, 1, 1], kappa=1)[-1] == {0: 1}
    placed = servers_by_lwf(cluster, [2, 1, 6], kappa=1)
    assert placed == [{0: 2}, {1: 1}, {2: 4, 3: 2}]
    assert servers_by_lwf(cluster, [2, 1, 10], kappa=1)[-1] == {1: 2, 2: 4, 3: 4}
    assert servers_by_lwf(cluster, [2, 1, 12], kappa=1)[-1] == {0: 1, 1: 3, 2: 4, 3: 4}


def test_a_narrow_gang_spreads_gpu_by_gpu_over_the_least_loaded():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    # Two GPUs on 0 and 1, one on 2; the gang of 5 is wide: all of 3, then of 0.
    assert servers_by_lwf(cluster, [2, 1, 5], kappa=2) == [{0: 1, 1: 1}, {2: 1}, {0: 1, 3: 4}]
    # The narrow one takes of 3, then one of each at a quarter.
    assert servers_by_lwf(cluster, [2, 1, 5], kappa=5)[-1] == {0: 1, 1: 1, 2: 1, 3: 2}
    assert servers_by_lwf(cluster, [1, 1, 1, 1, 5], kappa=5)[-1] == {0: 2, 1: 1, 2: 1, 3: 1}


def test_a_gang_of_exactly_kappa_gpus_is_narrow():
    cluster = gs.Cluster.uniform(servers=4, gpus=4)
    assert servers_by_lwf(cluster, [3], kappa=3) == [{0: 1, 1: 1, 2: 1}]
    assert servers_by_lwf(cluster, [3], kappa=2) == [{0: 3}]


def test_the_load_is_a_share_where_servers_differ_in_size():
    cluster = gs.Cluster((gs.ServerGroup(1, 2), gs.ServerGroup(1, 8), gs.ServerGroup(1, 4)))
    # After the first three the loads are 1/2, 1/8, 1/4; the fifth finds 1/2, 2/8, 1/4.
    placed = servers_by_lwf(cluster, [1] * 6, kappa=1)
    assert placed == [{0: 1}, {1: 1}, {2: 1}, {1: 1}, {1: 1}, {2: 1}]
    # By load 1/8, 1/4, 1/2: server 1 gives all it has, then 2, though 0 has a lower id.
    assert servers_by_lwf(cluster, [1, 1, 1, 9], kappa=1)[-1] == {1: 7, 2: 2}
    assert servers_by_lwf(cluster, [1, 1, 1, 3], kappa=3)[-1] == {1: 2, 2: 1}


def test_only_servers_of_allowed_types_are_looked_at():
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(2, 2, "T4")))
    placed = servers_by_lwf(cluster, [1, 1, 3], kappa=1, gpu_types=["T4", "T4", "T4|V100"])
    assert placed == [{1: 1}, {2: 1}, {0: 3}]


@pytest.mark.parametrize("placement", ["lwf", "heavy-edge"])
def test_a_gang_waits_only_for_gpus_never_for_servers(placement):
    trace = gs.Trace.from_columns(submit_s=[0, 0, 1], service_s=[10, 20, 5], gpus=[3, 9, 5])
    result = gs.simulate(trace, uniform(4), policy="fifo", placement=placement)
    assert list(result.jobs["start_s"]) == [0, 0, 10]
