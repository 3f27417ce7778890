"""The network of a cluster: bandwidths as columns, and domains as a tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.specs.run_spec import RunSpec, TraceSource
from tests.each import each

GBPS = 125e6  # bytes per second

TREE = """
[[domains]]
name = "left"
parent = "top"
oversubscription = 4
[[domains]]
name = "top"
[[domains]]
name = "right"
parent = "top"
uplink_gbps = 40
[[domains]]
name = "corner"
parent = "left"
uplink_gbps = 8
[[servers]]
count = 2
gpus = 8
nic_gbps = 10
domain = "left"
[[servers]]
count = 1
gpus = 8
nic_gbps = 100
domain = "right"
[[servers]]
count = 1
gpus = 4
nic_gbps = 10
domain = "corner"
"""


def test_bandwidths_become_columns_in_bytes_per_second():
    cluster = Cluster((ServerGroup(2, 8, nic_gbps=100, intra_gbps=2400), ServerGroup(1, 4)))
    columns = cluster.core_columns()

    np.testing.assert_array_equal(columns.pop("nic_bytes_per_s"), [100 * GBPS, 100 * GBPS, np.nan])
    np.testing.assert_array_equal(columns.pop("intra_bytes_per_s"), [3e11, 3e11, np.nan])
    assert columns == {"server_domain": None, "domain_parent": None, "uplink_bytes_per_s": None}


def test_without_bandwidths_there_are_no_columns():
    assert set(Cluster.uniform(3, 8).core_columns().values()) == {None}


def test_an_oversubscribed_uplink_is_what_comes_from_below_over_the_ratio():
    columns = Cluster.from_toml(TREE).core_columns()

    # left: two cards of 10 and the uplink of 8 from the corner, over 4
    uplinks = [7 * GBPS, np.inf, 40 * GBPS, 8 * GBPS]
    assert columns["uplink_bytes_per_s"].tolist() == uplinks
    assert columns["server_domain"].tolist() == [0, 0, 2, 3]
    assert columns["domain_parent"].tolist() == [1, -1, 1, 0]
    for name, dtype in (
        ("server_domain", "i4"), ("domain_parent", "i4"), ("uplink_bytes_per_s", "f8"),
    ):  # fmt: skip
        column = columns[name]
        assert column is not None
        assert column.dtype == np.dtype(dtype)
        assert not column.flags.writeable


def test_a_cluster_with_domains_survives_toml_and_the_specification_of_a_run():
    cluster = Cluster.from_toml(TREE)
    assert Cluster.from_toml(cluster.to_toml()) == cluster

    source = TraceSource("t", "s", 1, 0, "0" * 64)
    spec = RunSpec("fifo", "consolidated", "oracle", 0, cluster, source, "1")
    assert RunSpec.from_toml(spec.to_toml()) == RunSpec.from_json(spec.to_json()) == spec


@each(
    ("old", "new", "message"),
    [
        ('parent = "left"', 'parent = "lift"', r"domains\[3\]\.parent: 'lift' is no domain"),
        ('name = "right"', 'name = "left"', r"domains\[2\]\.name: 'left' is the name of domains"),
        ('name = "top"', 'name = "top"\nparent = "left"\nuplink_gbps = 1',
         r"domains\[0\]\.parent: goes in a circle, left -> top -> left"),
        ('parent = "left"\nuplink_gbps = 8', "",
         r"domains\[3\]\.parent: is missing, and domains\[1\] is the root already"),
        ('domain = "right"', "", r"servers\[1\]\.domain: is missing, the cluster has 4 domains"),
        ('domain = "right"', 'domain = "up"', r"servers\[1\]\.domain: 'up' is no domain"),
        ('domain = "corner"', 'domain = "top"', r"domains\[3\]\.name: 'corner' has no servers"),
        ('nic_gbps = 10\ndomain = "left"', 'domain = "left"',
         r"servers\[0\]\.nic_gbps: is missing, the oversubscription of domain 'left' needs it"),
        ("uplink_gbps = 40", "", r"none is given for domain 'right'; one is needed.*domains\[2\]"),
        ("uplink_gbps = 40", "uplink_gbps = 40\noversubscription = 2", r"both are given.*'right'"),
        ('name = "top"', 'name = "top"\nuplink_gbps = 4', r"uplink_gbps: domain 'top' has no par"),
        ("uplink_gbps = 40", "uplink_gbps = 0", r"uplink_gbps: 0.0 must be finite and positive"),
        ("uplink_gbps = 40", "uplink_gbps = -40", r"uplink_gbps: -40.0 must be finite and posit"),
        ("uplink_gbps = 40", "uplink_gbps = nan", r"uplink_gbps: nan must be finite and positive"),
        ("subscription = 4", "subscription = 0", r"oversubscription: 0.0 must be finite and pos"),
        ("subscription = 4", "subscription = inf", r"oversubscription: inf must be finite and pos"),
        ("nic_gbps = 100", "nic_gbps = nan", r"nic_gbps: nan must be finite and positive"),
        ("nic_gbps = 100", "nic_gbps = 1e12", r"nic_gbps: 1000000000000.0 must lie in 1e-06..1e"),
        ("nic_gbps = 100", "nic_gbps = 'fast'", r"Expected `float.*servers\[1\]\.nic_gbps"),
        ('name = "right"', 'name = " "', r"name: ' ' must not be empty"),
        ("uplink_gbps = 40", "uplink = 40", r"unknown field `uplink` - at `\$\.domains\[2\]`"),
    ],
)  # fmt: skip
def test_a_wrong_network_is_an_error_that_names_the_field(old, new, message):
    assert TREE.count(old) == 1
    with pytest.raises(ValueError, match=message):
        Cluster.from_toml(TREE.replace(old, new))


def test_a_domain_of_a_cluster_without_domains_is_an_error():
    with pytest.raises(ValueError, match=r"servers\[1\]\.domain: 'r' is unknown, there are no"):
        Cluster((ServerGroup(1, 8), ServerGroup(1, 8, domain="r")))
    with pytest.raises(TypeError, match="domains: must be a tuple of Domain"):
        Cluster((ServerGroup(1, 8),), domains=["r"])


def test_racks_take_servers_in_order_and_blocks_take_racks():
    mixed = Cluster((ServerGroup(3, 8, nic_gbps=10), ServerGroup(4, 4, nic_gbps=40)), "two kinds")
    cluster = mixed.with_racks(2, 2.0, racks_per_block=3, block_oversubscription=4.0)
    names = [domain.name for domain in cluster.domains]
    domains = cluster.server_domain
    uplinks = cluster.domain_uplink_bytes_per_s

    assert names == ["spine", "block0", "block1", "rack0", "rack1", "rack2", "rack3"]
    assert domains is not None
    assert [names[index] for index in domains] == [
        "rack0", "rack0", "rack1", "rack1", "rack2", "rack2", "rack3",
    ]  # fmt: skip
    assert uplinks is not None
    assert (uplinks[3:] / GBPS).tolist() == [10, 25, 40, 20]
    assert (uplinks[1:3] / GBPS).tolist() == [75 / 4, 20 / 4]
    assert cluster.server_gpus.tolist() == mixed.server_gpus.tolist()
    assert cluster.name == "two kinds"


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.integers(1, 9),
    st.none() | st.integers(1, 4),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_every_rack_is_full_but_the_last_and_no_bandwidth_is_lost(
    counts, per_rack, per_block, ratio
):
    flat = Cluster(tuple(ServerGroup(count, 8, nic_gbps=8) for count in counts))
    cluster = flat.with_racks(per_rack, ratio, per_block)
    domains, uplinks = cluster.server_domain, cluster.domain_uplink_bytes_per_s
    assert domains is not None
    assert uplinks is not None

    sizes = np.bincount(domains)
    sizes = sizes[sizes > 0]
    assert (sizes[:-1] == per_rack).all()
    assert 1 <= sizes[-1] <= per_rack
    tops = [index for index, domain in enumerate(cluster.domains) if domain.parent == "spine"]
    assert uplinks[tops].sum() * ratio == pytest.approx(sum(counts) * 1e9)
    assert Cluster.from_toml(cluster.to_toml()) == cluster


@each(
    ("arguments", "error", "message"),
    [
        ({"servers_per_rack": 0}, ValueError, "servers_per_rack: 0 must lie in"),
        ({"servers_per_rack": 2.0}, TypeError, "servers_per_rack: 2.0 must be an integer"),
        ({"servers_per_rack": 2, "racks_per_block": 0}, ValueError, "racks_per_block: 0 must"),
        ({"servers_per_rack": 2, "oversubscription": 0}, ValueError, "oversubscription: 0 must"),
        ({"servers_per_rack": 2, "oversubscription": "1"}, TypeError, "oversubscription: '1' must"),
    ],
)
def test_wrong_racks_are_an_error_that_names_the_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        Cluster.uniform(4, 8, nic_gbps=10).with_racks(**arguments)


def test_racks_need_network_cards_and_are_set_up_once():
    with pytest.raises(ValueError, match=r"servers\[0\]\.nic_gbps: is missing, racks need it"):
        Cluster.uniform(4, 8).with_racks(2)
    with pytest.raises(ValueError, match="with_racks: the cluster has 3 domains already"):
        Cluster.uniform(4, 8, nic_gbps=10).with_racks(2).with_racks(2)


def test_bandwidths_can_be_set_for_all_servers():
    cluster = Cluster((ServerGroup(1, 8, nic_gbps=10), ServerGroup(1, 4))).with_bandwidth(
        intra_gbps=600
    )
    assert [(group.nic_gbps, group.intra_gbps) for group in cluster.servers] == [
        (10, 600), (None, 600),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="nic_gbps: -1 must be finite and positive"):
        cluster.with_bandwidth(nic_gbps=-1)


def test_a_cluster_in_racks_reads_as_short_as_one_without():
    cluster = Cluster.uniform(64, 8, "V100", nic_gbps=100)
    assert str(cluster.with_racks(4)) == "64 servers x 8 V100 (512 GPUs in 17 domains)"
    assert str(cluster) == "64 servers x 8 V100 (512 GPUs)"


def test_a_single_root_holds_all_servers_without_an_uplink():
    cluster = Cluster((ServerGroup(3, 8, domain="all"),), domains=(Domain("all"),))
    assert cluster.domain_uplink_bytes_per_s == [np.inf]
    assert cluster.domain_parent == [-1]
