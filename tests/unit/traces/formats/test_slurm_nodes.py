"""Servers as Slurm prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.traces.inventories import read_cluster


def node(name: str, gres: str = "gpu:a100:4(S:0-1)", **given: Any) -> dict[str, Any]:
    return {
        "name": name,
        "gres": gres,
        "cpus": 64,
        "real_memory": 524_288,
        "state": "idle",
        **given,
    }


def write(folder: Path, *nodes: object, key: str = "nodes") -> Path:
    path = folder / "sinfo.json"
    path.write_text(json.dumps({"meta": {}, "errors": [], key: nodes}, indent=1))
    return path


def read(folder: Path, *nodes: object, key: str = "nodes", **options: Any) -> gs.Cluster:
    return read_cluster(write(folder, *nodes, key=key), **options)


def test_servers_have_what_slurm_says_of_them(tmp_path):
    cluster = read(tmp_path, node("a"), node("b", "gpu:2"), node("c"), node("d", ""))

    assert [(g.count, g.gpus, g.gpu_type, g.cpu, g.memory_gib) for g in cluster.servers] == [
        (2, 4, "a100", 64, 512),
        (1, 2, "gpu", 64, 512),
    ]
    assert cluster.name == "sinfo without 1 servers that have no GPU"


@pytest.mark.parametrize(
    "state",
    [
        {"state": "down"},
        {"state": "idle", "state_flags": ["DRAIN"]},
        {"state": ["MIXED", "DRAIN"]},
        {"state": ["IDLE", "MAINTENANCE"]},
        {"state": ["DOWN", "NOT_RESPONDING"]},
    ],
)
def test_servers_on_which_no_job_starts_are_left_out(tmp_path, state):
    nodes = (node("a", **state), node("b"))

    cluster = read(tmp_path, *nodes)
    assert cluster.num_servers == 1
    assert cluster.name == "sinfo without 1 that are not available"
    assert read(tmp_path, *nodes, unavailable=True).num_servers == 2


@pytest.mark.parametrize("state", ["idle", "mixed", ["ALLOCATED"], ["IDLE", "POWERED_DOWN"], None])
def test_others_are_kept(tmp_path, state):
    assert read(tmp_path, node("a", state=state)).num_servers == 1


def test_later_versions_wrap_numbers(tmp_path):
    wrapped = {"set": True, "infinite": False, "number": 524_288}

    assert read(tmp_path, node("a", real_memory=wrapped)) == read(tmp_path, node("a"))


def test_gpus_may_stand_among_the_trackable_resources_alone(tmp_path):
    cluster = read(tmp_path, node("a", "", tres="cpu=64,mem=512G,gres/gpu=8,gres/gpu:h100=8"))

    assert str(cluster.servers[0].gpu_type) == "h100"
    assert cluster.num_gpus == 8


def line(names: list[str], gres: str = "gpu:a100:4", state: str = "IDLE") -> dict[str, Any]:
    return {
        "node": {"state": [state]},
        "nodes": {"total": len(names), "nodes": names},
        "cpus": {"total": 64 * len(names), "idle": 3},
        "memory": {"minimum": 524_288, "maximum": 524_288},
        "gres": {"total": gres, "used": "gpu:a100:0"},
        "partition": {"name": "gpu"},
    }


def test_lines_of_later_versions_stand_for_several_servers(tmp_path):
    cluster = read(
        tmp_path, line(["a", "b"]), line(["a"]), line(["c"], "gpu:v100:8", "DOWN"), key="sinfo"
    )

    assert cluster == gs.Cluster(
        (gs.ServerGroup(2, 4, "a100", 64, 512),), "sinfo without 1 that are not available"
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((node("a"), node("a")), r"line 12, column 'name': 'a' must be unique, line 5 has it too"),
        ((node(""),), r"line 5: a server must have a name"),
        ((node("a", "gpu:a100:2,gpu:v100:2"),), r"line 5, column 'gres': '.*' must be of one type"),
        ((node("a", "gpu:a100:999"),), r"line 5, column 'gres': '?999.* must be at most 64"),
        ((node("a", "gpu:a:b:c"),), r"line 5, column 'gres': 'gpu:a:b:c' must be a number"),
        ((node("a", cpus="many"),), r"line 5, column 'cpus': 'many' must be a number"),
        ((node("a", real_memory=None),), r"line 5, column 'memory': '' must not be empty"),
        ((node("a", ""),), r"no server has a GPU"),
        ((node("a", state="down"),), r"none of the 1 servers is available"),
        ((), r"the array 'nodes' is empty"),
        (("a",), r"line 5: an entry of 'nodes' must be an object"),
    ],
)
def test_a_server_that_cannot_be_read_is_an_error(tmp_path, nodes, message):
    with pytest.raises(ValueError, match=rf"sinfo.json.*{message}"):
        read(tmp_path, *nodes)


def test_an_option_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"sinfo.json has no option 'down'"):
        read(tmp_path, node("a"), down=True)
    with pytest.raises(TypeError, match=r"unavailable: 1 must be True or False"):
        read(tmp_path, node("a"), unavailable=1)
