"""Clusters: groups of equal servers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.traces.cluster_sizing import smallest_cluster
from gpusched.traces.workload import Trace
from tests.each import each

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


def test_server_ids_count_through_the_groups_in_order():
    cluster = Cluster.from_toml(TEXT)

    assert cluster.num_servers == 6
    assert cluster.num_gpus == 44
    assert cluster.gpu_types == ("V100", "T4")
    assert cluster.server_gpus.tolist() == [8, 8, 4, 4, 4, 16]
    assert cluster.server_type.tolist() == [0, 0, 1, 1, 1, 0]
    assert cluster.server_gpus.dtype == cluster.server_type.dtype == np.int32
    assert not cluster.server_gpus.flags.writeable


def test_a_cluster_reads_well():
    assert str(Cluster.uniform(64, 8, "V100")) == "64 servers x 8 V100 (512 GPUs)"
    assert str(Cluster.uniform(1, 1)) == "1 server x 1 GPUs (1 GPU)"
    assert str(Cluster.from_toml(TEXT)) == (
        "2 servers x 8 V100 + 3 servers x 4 T4 + 1 server x 16 V100 (44 GPUs)"
    )


@given(st.lists(groups, min_size=1, max_size=4), st.text(max_size=8))
def test_toml_brings_back_an_equal_cluster(servers, name):
    cluster = Cluster(tuple(servers), name)

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
        (
            "[[servers]]\ncount = 1\ngpus = 1\nram = 2",
            r"unknown field `ram` - at `\$.servers\[0\]`",
        ),
        ("[[servers]]\ncount = '1'\ngpus = 1", r"Expected `int`, got `str` - at `\$.*count`"),
        ("[[servers]]\ncount = 1.0\ngpus = 1", r"Expected `int`, got `float` - at `\$.*count`"),
        ("[[servers]]\ncount = true\ngpus = 1", r"Expected `int`, got `bool` - at `\$.*count`"),
        ("[[servers]]\ncount = 0\ngpus = 8", r"count: 0 must lie in 1\.\.262,144"),
        ("[[servers]]\ncount = 1\ngpus = 65", r"gpus: 65 must lie in 1\.\.64"),
        ("[[servers]]\ncount = 1\ngpus = 0", r"gpus: 0 must lie in 1\.\.64"),
        ("[[servers]]\ncount = 1\ngpus = 8\ncpu = -1", r"cpu: -1.0 must be finite and positive"),
        ("[[servers]]\ncount = 1\ngpus = 8\ncpu = nan", r"cpu: nan must be finite and positive"),
        ("[[servers]]\ncount = 1\ngpus = 8\ngpu_type = ' '", r"gpu_type: ' ' must not be empty"),
        (
            "[[servers]]\ncount = 1\ngpus = 8\ngpu_type = 'a|b'",
            r"must not be empty or contain '\|'",
        ),
        ("[[servers", r"Expected"),
    ],
)
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


@settings(deadline=None)
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

    with pytest.raises(ValueError, match=r"burst: load 0.9 takes 320,064 servers of 1 GPU;"):
        smallest_cluster(trace, 1)


def test_a_server_with_next_to_no_cpu_has_none_and_not_as_much_as_is_wanted():
    jobs = gs.Trace.from_columns([0, 0], [5, 5], [1, 1], cpu=[1, 0])
    for cpu, fit in ((0.0004, [False, True]), (1, [True, True]), (None, [True, True])):
        cluster = gs.Cluster.uniform(servers=1, gpus=4, cpu=cpu)
        result = gs.simulate(jobs, cluster, policy="fifo-skip", placement="best-fit")
        assert (result.schedule.status == 0).tolist() == fit
