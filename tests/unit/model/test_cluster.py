"""Clusters: groups of equal servers, their network, and topologies from tables."""

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.model.topologies import read_topology
from gpusched.specs.run_spec import RunSpec, TraceSource
from gpusched.traces.cluster_sizing import smallest_cluster
from gpusched.traces.workload import Trace
from tests.each import each
from tests.examples import examples
from tests.unit.real_data import DATA, counted

TEXT = """
name = "mixed"
[[servers]]
count = 2
gpus = 8
gpu_type = "V100"
cpu = 96
memory_gib = 512
nic_gbps = 100
[[servers]]
count = 3
gpus = 4
gpu_type = "T4"
intra_gbps = 600.5
[[servers]]
count = 1
gpus = 16
gpu_type = "V100"
"""

groups = st.builds(
    ServerGroup,
    count=st.integers(1, 5),
    gpus=st.integers(1, 64),
    gpu_type=st.text(min_size=1).filter(lambda name: name.strip() and "|" not in name),
    cpu=st.none() | st.integers(1, 256) | st.floats(0.5, 1e6),
    nic_gbps=st.none() | st.floats(1e-3, 1e6),
)
speeds = st.dictionaries(st.integers(0, 3), st.floats(1e-3, 1e3) | st.integers(1, 9))


def test_server_ids_count_through_the_groups_in_order():
    cluster = Cluster.from_toml(TEXT)
    assert cluster.num_servers == 6
    assert cluster.num_gpus == 44
    assert cluster.gpu_types == ("V100", "T4")
    assert cluster.server_gpus.tolist() == [8, 8, 4, 4, 4, 16]
    assert cluster.server_type.tolist() == [0, 0, 1, 1, 1, 0]
    assert cluster.server_gpus.dtype == cluster.server_type.dtype == np.int32
    assert not cluster.server_gpus.flags.writeable


def test_servers_with_gpus_of_several_types_are_parts_of_one():
    of_both = ServerGroup(2, devices=(("a100", 2), ("t4", 4)), cpu=8)
    cluster = Cluster((ServerGroup(1, 8, "v100"), of_both))
    assert (cluster.num_servers, cluster.num_gpus) == (5, 20)
    assert cluster.server_gpus.tolist() == [8, 2, 2, 4, 4]
    assert cluster.server_part_of.tolist() == [0, 1, 2, 1, 2]
    assert cluster.server_first_gpu.tolist() == [0, 0, 0, 2, 2]
    assert str(cluster) == "1 server x 8 v100 + 2 servers x 2 a100 + 4 t4 (20 GPUs)"
    devices = 'devices = [{type = "a100", count = 2}, {type = "t4", count = 4}]'
    text = f'[[servers]]\ncount = 1\ngpus = 8\ngpu_type = "v100"\n[[servers]]\ncount = 2\n{devices}'
    assert Cluster.from_toml(f"{text}\ncpu = 8") == cluster
    assert Cluster.from_toml(cluster.to_toml()) == cluster
    assert pickle.loads(pickle.dumps((cluster, of_both))) == (cluster, of_both)
    assert Cluster((ServerGroup(1, devices=(("t4", 4),)),)).server_part_of is None
    as_dicts = ({"type": "a100", "count": 2}, {"type": "t4", "count": 4})
    assert ServerGroup(2, devices=as_dicts, cpu=8) == of_both


@each(
    ("servers", "message"),
    [
        ([{"devices": (("a", 1), ("a", 2))}], "devices: names a type twice"),
        ([{"devices": (("a", 40), ("b", 40))}], "gpus: 80 must lie in 1..64"),
        ([{"devices": (("a", 0), ("b", 4))}], "devices: count: 0 must lie in 1..64"),
        ([{"devices": (("a", "2"), ("b", 4))}], "devices: count: '2' must be an integer"),
        ([{"devices": ({"type": "a", "n": 2},)}], "devices: .* must be \\(type, count\\) each"),
        ([{"devices": (("a", 1), ("b", 4)), "gpus": 4}],
         "devices: cannot be combined with gpus, gpu_type, speed or part_of"),
        ([{"devices": ("a", "b")}], "devices: .* must be \\(type, count\\) each"),
        ([{"gpus": 1, "part_of": "x"}, {"gpus": 1, "part_of": "x"}], "has a type of GPUs twice"),
        ([{"gpus": 1, "part_of": "x"}, {"gpus": 1, "gpu_type": "b", "part_of": "x", "cpu": 2}],
         r"servers\[1\].part_of: 'x' must have the count, CPU, .* of servers\[0\]"),
    ],
)  # fmt: skip
def test_parts_that_do_not_make_up_servers_are_refused(servers, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Cluster(tuple(ServerGroup(1, **group) for group in servers))


def test_types_may_differ_in_speed():
    text = """
        [[servers]]
        count = 2
        gpus = 4
        gpu_type = "v100"
        [[servers]]
        count = 1
        devices = [{type = "a100", count = 2, speed = 2.1}, {type = "v100", count = 2}]
    """
    cluster = Cluster.from_toml(text)
    assert cluster.speeds == {"v100": 1.0, "a100": 2.1}
    assert cluster.has_speeds
    assert str(cluster) == "2 servers x 4 v100 + 1 server x 2 a100 of speed 2.1 + 2 v100 (12 GPUs)"
    assert Cluster.from_toml(cluster.to_toml()) == cluster
    plain = cluster.with_speeds({"a100": 1})
    assert not plain.has_speeds
    assert "speed" not in plain.to_toml()
    assert plain.with_speeds({"a100": 2.1}) == cluster


@each(
    ("servers", "message"),
    [
        ([{"speed": 0.0}], "speed: 0.0 must be finite and positive"),
        ([{"speed": 1001}], r"speed: 1001 must lie in 0.001\.\.1000"),
        ([{"speed": "2"}], "speed: '2' must be a number"),
        ([{"speed": 2.0}, {}], r"servers\[0\].speed: 2, but other GPUs of type 'gpu' have 1"),
    ],
)
def test_a_wrong_speed_is_an_error_that_names_it(servers, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Cluster(tuple(ServerGroup(1, 8, **group) for group in servers))


def test_speeds_of_types_that_a_cluster_has_not_are_an_error():
    with pytest.raises(ValueError, match="speeds: unknown 'v10'; did you mean 'V100'"):
        Cluster.from_toml(TEXT).with_speeds({"v10": 2})
    with pytest.raises(ValueError, match=r"speeds\['V100'\]: -1 must be finite and positive"):
        Cluster.from_toml(TEXT).with_speeds({"V100": -1})


def test_a_cluster_reads_well():
    cluster = Cluster.uniform(64, 8, "V100", nic_gbps=100)
    assert str(cluster) == "64 servers x 8 V100 (512 GPUs)"
    assert str(cluster.with_racks(4)) == "64 servers x 8 V100 (512 GPUs in 17 domains)"
    assert str(Cluster.uniform(1, 1)) == "1 server x 1 GPUs (1 GPU)"
    assert str(Cluster.from_toml(TEXT)) == (
        "2 servers x 8 V100 + 3 servers x 4 T4 + 1 server x 16 V100 (44 GPUs)"
    )


@given(st.lists(groups, min_size=1, max_size=4), st.text(max_size=8), speeds)
def test_toml_brings_back_an_equal_cluster(servers, name, fast):
    cluster = Cluster(tuple(servers), name)
    types = cluster.gpu_types
    cluster = cluster.with_speeds({types[at]: fast[at] for at in fast if at < len(types)})
    assert Cluster.from_toml(cluster.to_toml()) == cluster
    assert pickle.loads(pickle.dumps(cluster)) == cluster


def test_a_file_is_named_in_its_errors(tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(TEXT)
    assert gs.read_cluster(path) == Cluster.from_toml(TEXT)
    path.write_text(TEXT.replace("count = 3", "count = 0"))
    with pytest.raises(ValueError, match=r"cluster.toml: count: 0 must lie in .*`\$.servers\[1\]`"):
        gs.read_cluster(path)


@each(
    ("text", "message"),
    [
        ("", r"missing required field `servers` - at `\$`"),
        ("servers = []", r"at least one group of servers"),
        ("[[server]]\ncount = 1\ngpus = 1", r"unknown field `server` - at `\$`"),
        ("[[servers]]\ngpus = 1", r"missing required field `count` - at `\$.servers\[0\]`"),
        ("[[servers]]\ncount = 1\ngpus = 1\nram = 2",
         r"unknown field `ram` - at `\$.servers\[0\]`"),
        ("[[servers]]\ncount = '1'\ngpus = 1", r"Expected `int`, got `str` - at `\$.*count`"),
        ("[[servers]]\ncount = 1.0\ngpus = 1", r"Expected `int`, got `float` - at `\$.*count`"),
        ("[[servers]]\ncount = true\ngpus = 1", r"Expected `int`, got `bool` - at `\$.*count`"),
        ("[[servers]]\ncount = 0\ngpus = 8", r"count: 0 must lie in 1\.\.262,144"),
        ("[[servers]]\ncount = 1\ngpus = 65", r"gpus: 65 must lie in 1\.\.64"),
        ("[[servers]]\ncount = 1\ngpus = 0", r"gpus: 0 must lie in 1\.\.64"),
        ("[[servers]]\ncount = 1\ngpus = 8\ncpu = -1", r"cpu: -1.0 must be finite and positive"),
        ("[[servers]]\ncount = 1\ngpus = 8\ncpu = nan", r"cpu: nan must be finite and positive"),
        ("[[servers]]\ncount = 1\ngpus = 8\ngpu_type = ' '", r"gpu_type: ' ' must not be empty"),
        ("[[servers]]\ncount = 1\ngpus = 8\ngpu_type = 'a|b'",
         r"must not be empty or contain '\|'"),
        ("[[servers", r"Expected"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_an_error_that_names_the_field(text, message):
    with pytest.raises(ValueError, match=message):
        Cluster.from_toml(text)


@each(
    ("arguments", "error", "message"),
    [
        ({"servers": 0}, ValueError, "servers: 0 must lie in"),
        ({"servers": 2.0}, TypeError, "servers: 2.0 must be an integer"),
        ({"servers": True}, TypeError, "servers: True must be an integer"),
        ({"servers": 2, "gpus": "8"}, TypeError, "gpus: '8' must be an integer"),
        ({"servers": 2, "gpu_type": 5}, TypeError, "gpu_type: 5 must be text"),
        ({"servers": 2, "cpu": "many"}, TypeError, "cpu: 'many' must be a number"),
        ({"servers": 2, "nic_gbps": 0}, ValueError, "nic_gbps: 0 must be finite and positive"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_it(arguments, error, message):
    with pytest.raises(error, match=message):
        Cluster.uniform(**arguments)


def test_there_is_a_limit_to_servers_and_types():
    with pytest.raises(ValueError, match="262,145 are more than 262,144"):
        Cluster((ServerGroup(262_144, 8), ServerGroup(1, 8)))
    with pytest.raises(ValueError, match="65 GPU types are more than 64"):
        Cluster(tuple(ServerGroup(1, 8, f"t{number}") for number in range(65)))
    with pytest.raises(TypeError, match="servers: must be a tuple of ServerGroup"):
        Cluster([ServerGroup(1, 8)])


jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 60), st.integers(1, 40)), min_size=1, max_size=12
)


@given(jobs, st.sampled_from([1, 4, 8]), st.sampled_from([0.3, 0.9]))
def test_the_smallest_cluster_has_room_and_load_and_one_server_less_has_not(rows, gpus, max_load):
    trace = Trace.from_columns(*zip(*rows, strict=True))
    cluster = smallest_cluster(trace, gpus, max_load)

    busy = max(  # at the instants of submission: nothing else adds to it
        sum(width for begin, length, width in rows if begin <= now < begin + length)
        for now, _, _ in rows
    )

    def is_enough(servers: int) -> bool:
        light = trace.span_us == 0 or trace.offered_load(servers * gpus) <= max_load
        return servers * gpus >= trace.gpus.max() and (light or servers * gpus >= busy)

    assert set(cluster.server_gpus.tolist()) == {gpus}
    assert is_enough(cluster.num_servers)
    assert cluster.num_servers == 1 or not is_enough(cluster.num_servers - 1)


def test_jobs_that_are_bound_to_types_find_servers_of_them():
    trace = Trace.from_columns(
        [0, 0, 0, 10], [10, 10, 10, 10], [8, 4, 16, 4], gpu_types=["a", "a|b", "c", ""]
    )
    cluster = smallest_cluster(trace, 4, max_load=1.6)
    assert {group.gpu_type: group.count for group in cluster.servers} == {"a": 2, "c": 4}
    result = gs.simulate(trace, cluster, policy="fifo")
    assert (result.schedule.finish_us > 0).all()


def test_a_few_jobs_in_a_few_seconds_do_not_take_thousands_of_servers():
    trace = Trace.from_columns([0, 10, 20], [3600, 7200, 50_000], [8, 8, 16])
    assert smallest_cluster(trace).num_servers == 4
    halves = Trace.from_columns([0, 1], [3600, 3600], [1, 1], gpu_share=[0.5, 0.5])
    assert smallest_cluster(halves, 1).num_servers == 1


def test_a_load_that_takes_a_million_servers_is_an_error():
    submits = [0, *[1e-6] * 5_000]
    trace = Trace.from_columns(submits, [1e6] * 5_001, [64] * 5_001, name="burst")
    with pytest.raises(ValueError, match=r"burst: load 0.9 needs 320,064 servers of 1 GPU;"):
        smallest_cluster(trace, 1)


def test_a_server_with_next_to_no_cpu_has_none_and_not_as_much_as_is_wanted():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [1, 1], cpu=[1, 0])
    for cpu, fit in ((0.0004, [False, True]), (1, [True, True]), (None, [True, True])):
        cluster = gs.Cluster.uniform(servers=1, gpus=4, cpu=cpu)
        result = gs.simulate(jobs, cluster, policy="fifo-skip", placement="best-fit")
        assert (result.schedule.status == 0).tolist() == fit


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
        ('parent = "left"', 'parent = "lift"', r"domains\[3\]\.parent: unknown domain 'lift'"),
        ('name = "right"', 'name = "left"', r"domains\[2\]\.name: 'left' is the name of domains"),
        ('name = "top"', 'name = "top"\nparent = "left"\nuplink_gbps = 1',
         r"domains\[0\]\.parent: forms a cycle, left -> top -> left"),
        ('parent = "left"\nuplink_gbps = 8', "",
         r"domains\[3\]\.parent: is missing, and domains\[1\] is the root already"),
        ('domain = "right"', "", r"servers\[1\]\.domain: is missing, the cluster has 4 domains"),
        ('domain = "right"', 'domain = "up"', r"servers\[1\]\.domain: unknown domain 'up'"),
        ('domain = "corner"', 'domain = "top"', r"domains\[3\]\.name: 'corner' has no servers"),
        ('nic_gbps = 10\ndomain = "left"', 'domain = "left"',
         r"servers\[0\]\.nic_gbps: is missing, the oversubscription of domain 'left' needs it"),
        ("uplink_gbps = 40", "", r"none is given for domain 'right'; one is needed.*domains\[2\]"),
        ("uplink_gbps = 40", "uplink_gbps = 40\noversubscription = 2", r"both are given.*'right'"),
        ('name = "top"', 'name = "top"\nuplink_gbps = 4', r"uplink_gbps: domain 'top' has no par"),
        ("uplink_gbps = 40", "uplink_gbps = 0", r"uplink_gbps: 0.0 must be finite and positive"),
        ("subscription = 4", "subscription = 0", r"oversubscription: 0.0 must be finite and pos"),
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
    assert (uplinks[3:] / GBPS).tolist() == [10, 25, 40, 20]
    assert (uplinks[1:3] / GBPS).tolist() == [75 / 4, 20 / 4]
    assert cluster.server_gpus.tolist() == mixed.server_gpus.tolist()
    assert cluster.name == "two kinds"


@examples(40)
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


def test_a_single_root_holds_all_servers_without_an_uplink():
    cluster = Cluster((ServerGroup(3, 8, domain="all"),), domains=(Domain("all"),))
    assert cluster.domain_uplink_bytes_per_s == [np.inf]
    assert cluster.domain_parent == [-1]


TABLE = "ip,DSW,PSW,ASW\na,G1,P2,S10\nb,G1,P2,S2\nc,G1,P1,S2\nd,G1,P2,S10\n"


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
    assert (uplinks[1:] / GBPS).tolist() == [10, 30, 50, 50, 100]
    assert str(cluster) == "4 servers x 4 H800 (16 GPUs in 6 domains)"
    assert Cluster.from_toml(cluster.to_toml()) == cluster


def test_several_core_switches_are_joined_by_a_root(tmp_path):
    cluster = read_topology(
        written(tmp_path, TABLE + "e,G0,P1,S2\n"), nic_gbps=8, core_oversubscription=4
    )
    assert [domain.name for domain in cluster.domains][:3] == ["root", "G0", "G1"]
    uplinks = cluster.domain_uplink_bytes_per_s
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
    assert sorted(Counter(parents.tolist()).items())[:2] == [(-1, 1), (0, 3)]
