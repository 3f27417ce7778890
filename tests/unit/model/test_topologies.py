"""Clusters from tables of servers and switches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gpusched.model.cluster import Cluster
from gpusched.model.topologies import read_topology
from tests.unit.real_data import DATA, counted

TABLE = "ip,DSW,PSW,ASW\na,G1,P2,S10\nb,G1,P2,S2\nc,G1,P1,S2\nd,G1,P2,S10\n"
GBPS = 125e6


def written(folder: Path, text: str) -> Path:
    path = folder / "topo.csv"
    path.write_text(text)
    return path


def test_servers_below_one_pair_of_switches_share_a_leaf(tmp_path):
    cluster = read_topology(
        written(tmp_path, TABLE), gpus=4, gpu_type="H800", nic_gbps=100, intra_gbps=800,
        leaf_oversubscription=2, block_oversubscription=5,
    )  # fmt: skip

    assert cluster.name == "topo"
    assert [domain.name for domain in cluster.domains] == [
        "G1", "G1/P1", "G1/P2", "G1/P1/S2", "G1/P2/S2", "G1/P2/S10",
    ]  # fmt: skip
    assert cluster.domain_parent.tolist() == [-1, 0, 0, 1, 2, 2]
    assert cluster.server_domain.tolist() == [3, 4, 5, 5]
    uplinks = cluster.domain_uplink_bytes_per_s
    assert uplinks is not None
    assert (uplinks[1:] / GBPS).tolist() == [10, 30, 50, 50, 100]
    assert str(cluster) == "4 servers x 4 H800 (16 GPUs in 6 domains)"
    assert Cluster.from_toml(cluster.to_toml()) == cluster


def test_several_core_switches_are_joined_by_a_root(tmp_path):
    cluster = read_topology(
        written(tmp_path, TABLE + "e,G0,P1,S2\n"), nic_gbps=8, core_oversubscription=4
    )
    assert [domain.name for domain in cluster.domains][:3] == ["root", "G0", "G1"]
    uplinks = cluster.domain_uplink_bytes_per_s
    assert uplinks is not None
    assert uplinks[:3].tolist() == [np.inf, 0.25e9, 1e9]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "topo.csv: the file is empty"),
        ("ip,DSW,ASW\n", r"line 1: expected ip,DSW,PSW,ASW"),
        ("ip,DSW,PSW,ASW\n", r"topo.csv: has no servers"),
        (TABLE + "e,G1,P1\n", r"topo.csv: line 6: has 3 fields, not 4"),
        (TABLE + "\n", r"line 6: has 0 fields, not 4"),
        (TABLE + "e,G1,,S1\n", r"line 6, column 'PSW': must not be empty"),
        (TABLE + "b,G1,P1,S1\n", r"line 6, column 'ip': 'b' is on line 3 too"),
    ],
)
def test_a_wrong_table_is_an_error_that_names_the_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_topology(written(tmp_path, text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gpus": 0}, "gpus: 0 must lie in"),
        ({"nic_gbps": 0}, "nic_gbps: 0 must be finite and positive"),
        ({"leaf_oversubscription": -1}, "oversubscription: -1 must be finite and positive"),
    ],
)
def test_a_wrong_parameter_is_an_error(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        read_topology(written(tmp_path, TABLE), **arguments)


def test_lingjun_has_its_published_groups():
    cluster = read_topology(DATA / "lingjun" / "topo.csv")

    hosts, groups, switches = counted(real=(847, 119, 3), excerpt=(40, 9, 6))
    assert (cluster.num_servers, cluster.num_gpus) == (hosts, 8 * hosts)
    assert len(cluster.servers) == groups
    assert Counter(group.count for group in cluster.servers) == counted(
        real={8: 68, 7: 23, 6: 15, 5: 7, 4: 2, 3: 1, 2: 3},
        excerpt={2: 2, 3: 2, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1},
    )
    assert len(cluster.domains) == 1 + switches + groups
    parents = cluster.domain_parent
    assert parents is not None
    assert sorted(Counter(parents.tolist()).items())[:2] == [(-1, 1), (0, 3)]
