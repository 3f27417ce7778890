"""Alibaba's published servers and pods, as clusters, traces and requests."""

import io
import re
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gpusched.model.cluster import Cluster
from gpusched.traces.inventories import read_cluster, read_requests
from gpusched.traces.reading import read_trace
from tests.unit.real_data import DATA, counted

OPENB = DATA / "openb"
SERVERS = "sn,cpu_milli,memory_mib,gpu,model\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
)


def written(folder: Path, text: str, name: str = "list.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_the_published_cluster_has_its_servers_and_gpus():
    cluster = read_cluster(OPENB / "openb_node_list_all_node.csv")

    without = counted(real=310, excerpt=4)
    assert cluster.name == f"openb_node_list_all_node without {without} servers that have no GPU"
    totals = counted(real=(1_213, 6_212), excerpt=(20, 76))
    assert (cluster.num_servers, cluster.num_gpus) == totals
    servers: Counter[str] = Counter()
    gpus: Counter[str] = Counter()
    for group in cluster.servers:
        servers[group.gpu_type] += group.count
        gpus[group.gpu_type] += group.count * group.gpus
    assert servers == counted(
        real={
            "G2": 549, "T4": 404, "P100": 134, "V100M16": 55, "G3": 39, "V100M32": 30, "A10": 2,
        },
        excerpt={"G2": 4, "T4": 6, "P100": 4, "V100M16": 6},
    )  # fmt: skip
    assert gpus == counted(
        real={
            "G2": 4_392, "T4": 842, "P100": 265, "V100M16": 195, "G3": 312, "V100M32": 204,
            "A10": 2,
        },
        excerpt={"G2": 32, "T4": 12, "P100": 8, "V100M16": 24},
    )  # fmt: skip
    assert Cluster.from_toml(cluster.to_toml()) == cluster


def test_servers_may_stand_as_in_the_list():
    path = OPENB / "openb_node_list_all_node.csv"
    cluster = read_cluster(path, grouped=False)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    listed = [(int(row[3]), row[4]) for row in rows if row[3] != "0"]
    types = [cluster.gpu_types[index] for index in cluster.server_type]
    assert list(zip(cluster.server_gpus.tolist(), types, strict=True)) == listed


def test_the_pods_that_ran_on_gpus_are_jobs():
    path = OPENB / "openb_pod_list_default.csv"
    trace = read_trace(path)

    # Of 1,088 pods without GPUs 36 are pending as well; of 6 in the excerpt, one.
    rows, pending, without = counted(real=(8_152, 897, 1_052), excerpt=(60, 5, 5))
    assert len(trace) == rows - pending - without
    assert trace.rejects.counts == {
        "scheduled_time must not be empty (a pending pod)": pending,
        "num_gpu must be positive (a pod without GPUs)": without,
    }
    assert trace.rejects.unit == "line"
    assert sorted(np.unique(trace.gpus).tolist()) == [1, 2, 4, 8]
    assert ((trace.share_milli < 1000) <= (trace.gpus == 1)).all()
    lines = [line.split(",") for line in path.read_text().splitlines()]
    for job in (0, len(trace) // 2, len(trace) - 1):
        row = lines[trace.row[job] - 1]
        assert trace.id[job] == row[0]
        assert trace.service_s[job] == int(row[9]) - int(row[10])
        assert trace.submit_s[job] + trace.origin_s == int(row[8])
        assert trace.share_milli[job] == int(row[4])
        assert trace.cpu_milli[job] * trace.gpus[job] == int(row[1])
        assert trace.memory_mib[job] * trace.gpus[job] == int(row[2])
    assert trace.source_wait_us.min() == 0
    assert set(trace.status.names) == {"unknown", "ok", "failed"}


@pytest.mark.parametrize(
    ("name", "num_rows", "gpu_demand"),
    counted(
        real=[
            ("default", 8_152, 6_086.8),
            ("gpuspec33", 8_152, 6_086.8),
            ("multigpu50", 9_061, 11_358.8),
        ],
        excerpt=[(name, 60, 112.63) for name in ("default", "gpuspec33", "multigpu50")],
    ),
)
def test_every_pod_is_a_request_in_the_order_of_the_list(name, num_rows, gpu_demand):
    requests = read_requests(OPENB / f"openb_pod_list_{name}.csv")

    assert len(requests) == num_rows
    assert not requests.rejects
    assert requests.row.tolist() == list(range(2, num_rows + 2))
    assert requests.gpu_demand == pytest.approx(gpu_demand)
    assert int(requests.is_share.sum()) == counted(real=3_078, excerpt=12)
    assert int((requests.gpus == 0).sum()) == counted(real=1_088, excerpt=6)
    assert (requests.share_milli[requests.gpus != 1] == 1000).all()
    if name == "gpuspec33":
        named = {gpu_type for types in requests.type_sets for gpu_type in types}
        cluster = read_cluster(OPENB / "openb_node_list_all_node.csv")
        assert named == set(cluster.gpu_types)
    else:
        assert requests.type_set is None


def test_a_list_without_times_is_no_trace():
    with pytest.raises(
        ValueError, match=r"has no times; read it with gpusched.traces.read_requests"
    ):
        read_trace(OPENB / "openb_pod_list_multigpu50.csv")


def test_the_inventory_of_pai_is_read_from_its_archive():
    cluster = read_cluster(DATA / "pai" / "pai_machine_spec.tar.gz")
    servers, without, gpus = counted(real=(1_897, 83, 6_742), excerpt=(30, 6, 120))
    assert cluster.name == f"pai_machine_spec without {without} servers that have no GPU"
    assert cluster.num_servers == servers - without
    assert cluster.num_gpus == gpus
    widths = {"T4": 2, "MISC": 8, "P100": 2, "V100": 8}
    widths |= counted(real={"V100M32": 8}, excerpt={})
    assert {group.gpu_type: group.gpus for group in cluster.servers} == widths
    assert {(group.cpu, group.memory_gib) for group in cluster.servers} == {
        (96, 512), (96, 384), (64, 512),
    }  # fmt: skip


def test_a_topology_is_a_cluster_too():
    cluster = read_cluster(DATA / "lingjun" / "topo.csv", gpus=4)
    hosts = counted(real=847, excerpt=40)
    assert (cluster.num_servers, cluster.num_gpus) == (hosts, 4 * hosts)


def test_any_trace_can_be_read_as_requests(tmp_path):
    path = written(tmp_path, "submit_s,service_s,gpus\n5,1,2\n0,1,4\n")
    requests = read_requests(path)
    assert requests.gpus.tolist() == [4, 2]
    assert requests.share_milli.tolist() == [1000, 1000]


def test_a_cluster_file_is_a_cluster(tmp_path):
    cluster = Cluster.uniform(3, 4)
    path = written(tmp_path, cluster.to_toml(), "small.toml")
    assert read_cluster(path) == cluster


def test_equal_servers_stand_together_where_the_first_is(tmp_path):
    rows = "a,8000,1024,2,T4\nb,8000,1024,4,T4\nc,8000,1024,2,T4\nd,1000,1024,0,\n"
    path = written(tmp_path, SERVERS + rows)
    cluster = read_cluster(path)
    assert str(cluster) == "2 servers x 2 T4 + 1 server x 4 T4 (8 GPUs)"
    assert cluster.name == "list without 1 servers that have no GPU"
    assert cluster.servers[0].cpu == 8
    assert cluster.servers[0].memory_gib == 1
    assert read_cluster(path, grouped=False).server_gpus.tolist() == [2, 4, 2]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,8000,1024,2,\n", r"line 2, column 'model': '' must name one type where there are GPUs"),
        ("a,8000,1024,2,T4|A10\n", r"'T4\|A10' must name one type"),
        ("a,8000,1024,-1,T4\n", r"line 2, column 'gpu': '-1' must not be negative"),
        ("a,8000,1024,1.5,T4\n", r"column 'gpu': '1.5' must be a whole number"),
        ("a,8000,1024,65,T4\n", r"column 'gpu': '65' must be at most 64"),
        ("a,eight,1024,2,T4\n", r"column 'cpu_milli': 'eight' must be a number"),
        ("a,0,1024,2,T4\n", r"line 2, column 'cpu': must be positive"),
        (
            "a,8,8,1,T4\nb,8,8,1,T4\na,8,8,1,T4\n",
            r"line 4, column 'sn': 'a' must be unique, line 2",
        ),
        ("a,8000,1024,0,\n", r"list.csv: no server has a GPU"),
        ("a,8000,1024\n", r"line 2"),
    ],
)
def test_a_wrong_server_is_an_error_that_names_it(tmp_path, rows, message):
    with pytest.raises(ValueError, match=message):
        read_cluster(written(tmp_path, SERVERS + rows))


def test_what_is_no_list_of_servers_is_an_error(tmp_path):
    with pytest.raises(
        ValueError, match=r"no known list of servers begins with 'hello'; the name of a cluster"
    ):
        read_cluster(written(tmp_path, "hello\n"))
    with pytest.raises(TypeError, match=r"has no option 'gpus'"):
        read_cluster(written(tmp_path, SERVERS + "a,8000,1024,2,T4\n"), gpus=8)


def test_an_archive_must_hold_one_file(tmp_path):
    path = tmp_path / "pai.tar.gz"
    line = b"a,T4,8,16,2\n"
    for names, message in (
        (["a", "b"], r"the archive holds 2 files \(a, b\); name one"),
        (["a"], None),
    ):
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(line)
                archive.addfile(member, io.BytesIO(line))
        if message is None:
            assert str(read_cluster(path)) == "1 server x 2 T4 (2 GPUs)"
        else:
            with pytest.raises(ValueError, match=message):
                read_cluster(path)


def test_pods_that_are_no_jobs_are_counted_by_reason(tmp_path):
    rows = (
        "fine,8000,2048,2,1000,T4|T4|A10,LS,Running,10,40,20\n"
        "share,4000,1024,1,250,,BE,Failed,0,9,5\n"
        "cpu,4000,1024,0,0,,BE,Running,0,9,5\n"
        "pending,4000,1024,1,1000,,BE,Pending,0,9,\n"
        "instant,4000,1024,1,1000,,BE,Succeeded,0,9,9\n"
        "broken,4000,1024,2,500,,BE,Succeeded,0,9,5\n"
    )
    trace = read_trace(written(tmp_path, PODS + rows))

    assert trace.id.tolist() == ["share", "fine"]
    assert trace.service_s.tolist() == [4, 20]
    assert trace.submit_s.tolist() == [0, 10]
    assert trace.allowed_types == [(), ("A10", "T4")]
    assert trace.share_milli.tolist() == [250, 1000]
    assert trace.cpu_milli.tolist() == [4000, 4000]
    assert trace.queue.values().tolist() == ["BE", "LS"]
    assert {reason.split(" must")[0]: first for reason, first in trace.rejects.first.items()} == {
        "num_gpu": (4,),
        "scheduled_time": (5,),
        "deletion_time - scheduled_time": (6,),
        "gpu_milli": (7,),
    }
    with pytest.raises(ValueError, match=re.escape("a pod without GPUs")):
        read_trace(written(tmp_path, PODS + rows), on_bad="error")
