"""Files of outages: ours, and the events of Slurm's accounting."""

from __future__ import annotations

import json

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.source import Source
from gpusched.traces.formats import slurm_nodes
from gpusched.traces.outages import drawn_for
from tests.each import each

TRACE = gs.Trace.from_columns(["2024-05-01T09:00:00", "2024-05-01T10:00:00"], [5, 5], [1, 1])
EVENTS = """\
Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
c||2024-04-01T00:00:00|Unknown||Cluster Registered TRES|root
c|g1|2024-05-01T09:01:00|2024-05-01T09:02:00|DOWN*|Not | responding "x|slurm(1)
c|g[1-2]|2024-05-01T08:01:00|Unknown|IDLE+DRAIN|bad|ann
c|g2|2024-04-01T08:01:00|2024-04-02T00:00:00|DOWN|bad|ann
c|cpu1|2024-05-01T08:01:00|Unknown|DOWN|bad|ann
c|g2|2024-05-01T08:01:00|Unknown|MAINT|bad|ann
c|g2|2024-05-01T09:30:00|2024-05-01T09:40:00|FAIL|bad|ann
"""


def test_every_file_of_ours_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outages = gs.Outages.from_columns([3, 1, 0], [60, 30.5, 1], [90, None, 2], ["", "drain", ""])
    outages.to_csv("ours.csv")
    outages.to_polars().write_parquet("ours.parquet")
    (tmp_path / "target.csv").write_text(
        "end_s;target;start_s;kind\n90;3;60;\n;1;30.5;drain\n2;0;1;fail\n"
    )
    (tmp_path / "ours.toml").write_text(
        "[[outages]]\nserver = 3\nstart_s = 60\nend_s = 90.0\n[[outages]]\nserver = '1'\n"
        "start_s = 30.5\nkind = 'drain'\n[[outages]]\nserver = 0\nstart_s = 1\nend_s = 2\n"
    )
    for name in ("ours.csv", "ours.parquet", "target.csv", "ours.toml"):
        read = gs.read_outages(name)
        assert read.sha256 == outages.sha256, name
        assert read.source == name
        assert read.notes == ()
    assert gs.read_outages("target.csv").row.tolist() == [4, 3, 2]


@each(
    ("text", "message"),
    [
        ("target,start_s,end_s\n3,60,60\n", "line 2, column 'end_s': '60' must be after start_s"),
        ("target,start_s\nx,60\n", "line 2, column 'target': 'x' must be the number of a server"),
        ("target,start_s\n1,x\n", "line 2, column 'start_s': 'x' must be a number"),
        ("server,start_s\n1,\n", "line 2, column 'start_s': '' must not be empty"),
        ("server,start_s,kind\n1,5,slow\n", "line 2, column 'kind': 'slow' must be fail, drain or"),
        (
            "server,start_s,kind,known_s\n1,5,maint,6\n",
            "line 2, column 'known_s': '6' must not be after start_s",
        ),
        ("server,start_s,end\n1,5,6\n", r"unknown column 'end'; did you mean 'end_s'\?"),
        ("server,end_s\n1,5\n", "column 'start_s' is missing; there are server, end_s"),
        ("server,start_s,target\n1,1,1\n", "either of the columns 'server' and 'target' must be"),
        ("server,start_s\n1,2024-05-01T09:00\n", r"has dates, and the trace has none \(pass trace"),
        ("server,start_s\n1,5,6\n", "line 2: 3 fields, but a row must have 2"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        gs.read_outages(path)
    assert str(caught.value).startswith(str(path))


@each(
    ("text", "message"),
    [
        ("[[outages]]\nserver = 1\n", "column 'start_s' is missing; there are server"),
        ("[[outages]]\nserver = 1\nstart_s = 1\nfactor = 0.5\n", "unknown column 'factor'"),
        ("[[outages]]\nserver = 1\nstart_s = 2\nend_s = 1\n", "row 0, column 'end_s': '1' must be"),
        ("[[outages]]\nserver = 1\nstart_s = true\n", "Expected `int | float | str`, got `bool`"),
        ("[[outage]]\nserver = 1\n", "Invalid enum value 'outage'"),
        ("[[outages]]\nstart_s = 2\n", "column 'server' is missing"),
    ],
)
def test_a_malformed_table_is_named(tmp_path, text, message):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(ValueError, match=f"bad.toml.*{message}"):
        gs.read_outages(tmp_path / "bad.toml")


def test_seconds_count_from_the_first_submission(tmp_path):
    (tmp_path / "jobs.csv").write_text("submit_s,service_s,gpus\n1000,5,1\n1009,5,1\n")
    gs.Outages.from_columns([1], [5]).to_csv(tmp_path / "ours.csv")
    read = gs.read_outages(tmp_path / "ours.csv", trace=gs.read_trace(tmp_path / "jobs.csv"))
    assert read.start_us.tolist() == [5_000_000]
    assert read.notes == ("outages: seconds after the first submission (1000 in its file)",)


def test_dates_count_from_the_first_submission(tmp_path):
    path = tmp_path / "dated.csv"
    text = (
        "server,start_s,end_s\n0,2024-05-01T09:01:00,2024-05-01T09:02:00\n"
        "1,2024-04-30T09:00:00,\n2,2024-04-01T00:00:00,2024-05-01T09:00:00\n"
    )
    path.write_text(text)
    read = gs.read_outages(path, trace=TRACE)
    assert read.to_polars().rows() == [(1, 0.0, None, "fail"), (0, 60.0, 120.0, "fail")]
    assert read.notes == ("1 outage left out: over before second 0 of the trace",)
    path.write_text(
        "server,start_s,kind,known_s\n0,2024-05-01T09:01:00,maint,2024-04-30T09:00:00\n"
        "1,2024-05-01T09:01:00,maint,2024-05-01T09:00:30\n2,2024-05-01T09:01:00,fail,\n"
    )
    assert gs.read_outages(path, trace=TRACE).known_us.tolist() == [0, 30_000_000, 60_000_000]
    path.write_text(text)
    aware = gs.Trace.from_columns(["2024-05-01T09:00:00Z"], [5], [1])
    with pytest.raises(ValueError, match="dates without a time zone, and the trace with one; set "):
        gs.read_outages(path, trace=aware)
    moved = gs.read_outages(path, trace=aware, time_zone="Europe/Berlin")
    assert moved.server.tolist() == [1]  # two hours earlier: the others are over
    with pytest.raises(ValueError, match="dates with a time zone, and the trace without one"):
        gs.read_outages(path, trace=TRACE, time_zone="Europe/Berlin")


def test_events_of_slurm_are_failures_and_drains(tmp_path):
    path = tmp_path / "events.txt"
    path.write_text(EVENTS)
    read = gs.read_outages(path, names=["g1", "g2"], trace=TRACE)
    assert read.to_polars().rows() == [
        (0, 0.0, None, "drain", None), (1, 0.0, None, "drain", None), (1, 0.0, None, "maint", 0.0),
        (0, 60.0, 120.0, "fail", None), (1, 1800.0, 2400.0, "fail", None),
    ]  # fmt: skip
    assert read.row.tolist() == [4, 4, 7, 3, 8]
    assert read.notes == (
        "1 event left out: states blank (1)",
        "1 event left out: unknown servers cpu1 (1)",
        "1 outage left out: over before second 0 of the trace",
    )
    for options, message in (
        ({}, r"lists servers by name, and those of the cluster have none \(pass names=\)"),
        ({"names": ["a"]}, "no server of the cluster is named as 'g1' is"),
    ):
        with pytest.raises(ValueError, match=message):
            gs.read_outages(path, trace=TRACE, **options)
    path.write_text(EVENTS.replace("2024-05-01T09:01:00", "yesterday"))
    with pytest.raises(ValueError, match="line 3, column 'TimeStart': 'yesterday' must be a time"):
        gs.read_outages(path, names=["g1", "g2"], trace=TRACE)
    path.write_text(EVENTS.replace("g[1-2]", "g[1-"))
    with pytest.raises(ValueError, match=r"nodes: 'g\[1-' must be a list of servers"):
        gs.read_outages(path, names=["g1", "g2"], trace=TRACE)


@pytest.mark.parametrize("grouped", [True, False])
def test_names_of_servers_are_in_the_order_of_the_cluster(tmp_path, grouped):
    kinds = ["gpu:a:4", "gpu:a:2,gpu:b:1", "gpu:b:8", "", "gpu:a:4", "gpu:a:2,gpu:b:1", "gpu:b:8"]
    nodes = [
        {"name": f"n{place}", "state": ["IDLE"], "gres": gres, "cpus": 8, "real_memory": 1024}
        for place, gres in enumerate(kinds)
    ]
    nodes.append(nodes[0] | {"name": "n7", "state": ["DOWN"]})
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"nodes": nodes}))
    names = slurm_nodes.server_names(Source(path), grouped=grouped)
    cluster = gs.read_cluster(path, grouped=grouped)
    assert len(names) == cluster.num_servers
    wide = {f"n{place}": gres for place, gres in enumerate(kinds)}
    types = np.array(cluster.gpu_types)[cluster.server_type]
    for name, gpus, gpu_type in zip(names, cluster.server_gpus, types, strict=True):
        assert f"gpu:{gpu_type}:{gpus}" in wide[name].split(",")
    assert names[:4] == (["n0", "n4", "n2", "n6"] if grouped else ["n0", "n2", "n4", "n6"])
    first = cluster.server_part_of
    assert first is not None
    assert [names[part] for part in first] == names


def test_failures_are_drawn_beyond_the_run_of_a_trace():
    cluster = gs.Cluster.uniform(2, 1)
    drawn = drawn_for(TRACE.with_columns(gpus=2, service_s=[50, 100]), cluster, 600.0, 60.0, seed=2)
    assert drawn.until_s == 3600 + 4 * 150
    same = gs.generate_outages(cluster, until_s=4200, mtbf_s=600, repair_s=60, seed=2)
    assert drawn.sha256 == same.sha256
