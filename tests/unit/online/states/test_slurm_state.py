"""States from what squeue and sinfo print, as several versions of Slurm print it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.online.states.state_formats import state_formats
from tests.unit.real_data import DATA, needs_real_data

Documents = tuple[dict[str, Any], dict[str, Any]]


def documents() -> Documents:
    files = state_formats()["slurm"].excerpt()
    return json.loads(files["squeue.json"]), json.loads(files["sinfo.json"])


@pytest.fixture
def state(tmp_path: Path) -> Callable[..., gs.online.ClusterState]:
    def read(given: Documents, **options: Any) -> gs.online.ClusterState:
        for name, document in zip(("squeue.json", "sinfo.json"), given, strict=True):
            (tmp_path / name).write_text(json.dumps(document))
        return gs.online.read_state(tmp_path, **options)

    return read


def test_jobs_run_where_slurm_has_them(state):
    found = state(documents())
    assert found.jobs.id.tolist() == [41, 42, 43]
    assert found.jobs.gpus.tolist() == [6, 8, 4]
    assert found.jobs.service_s.tolist() == [7200] * 3
    assert found.now_s == 1_714_550_160
    assert found.start_s[0] == 1_714_550_060
    assert found.attained_s.tolist() == [100, 0, 0]
    assert [server.name for server in found.servers] == ["gpu01", "gpu02"]
    assert found.held_server.tolist() == [0, 1]
    assert found.held_mask.tolist() == [0b1111, 0b1010_0000]
    decision = gs.decide(found, policy="fifo-skip")
    assert (decision.what.tolist(), decision.job.tolist()) == (["start"], [2])


def plain(value: Any) -> Any:
    """The document as Slurm 21.08 writes it: numbers plain, states as texts."""
    if isinstance(value, dict) and "number" in value:
        return value["number"] if value["set"] else None
    if isinstance(value, dict):
        return {
            key: plain(each[0] if key in ("job_state", "state") else each)
            for key, each in value.items()
        }
    return [plain(each) for each in value] if isinstance(value, list) else value


def lines_of_sinfo(nodes: dict[str, Any]) -> dict[str, Any]:
    """The same as Slurm 23.11 and later write it: a line for each kind of server."""
    return {
        "sinfo": [
            {
                "node": {"state": node["state"]},
                "nodes": {"nodes": [node["name"]]},
                "gres": {"total": node["gres"], "used": node["gres_used"]},
                "cpus": {"minimum": node["cpus"], "total": node["cpus"]},
                "memory": {"minimum": node["real_memory"]},
                "partition": {"name": node["partitions"][0]},
            }
            for node in nodes["nodes"]
        ]
    }


def test_every_version_tells_the_same(state):
    new = state(documents())
    for given in (
        tuple(plain(each) for each in documents()),
        (documents()[0], lines_of_sinfo(documents()[1])),
    ):
        old = state(given)
        assert old.cluster == new.cluster
        assert old.servers == new.servers
        for name in ("start_s", "held_job", "held_server", "held_mask"):
            assert str(getattr(old, name).tolist()) == str(getattr(new, name).tolist())


def test_gpus_in_use_that_no_job_has_are_out_of_use(state):
    queue, nodes = documents()
    nodes["nodes"][0]["gres_used"] = "gpu:a100:6(IDX:0-5)"
    found = state((queue, nodes))
    assert found.servers[0].gpus == (0, 1, 2, 3, 6, 7)
    # Job 43 wants four, which the first server no longer has.
    assert gs.decide(found, policy="fifo-skip").held_server.tolist() == [1]


def test_what_a_rejected_job_holds_is_out_of_use(state):
    queue, nodes = documents()
    queue["jobs"][0]["job_state"] = ["COMPLETING"]
    for node in nodes["nodes"]:
        node["gres_used"] = ""
    found = state((queue, nodes))
    assert found.jobs.id.tolist() == [42, 43]
    assert found.jobs.rejects.total == 1
    assert [server.gpus for server in found.servers] == [(4, 5, 6, 7), (0, 1, 2, 3, 4, 6)]


def test_jobs_on_servers_that_take_none_go_on_there(state):
    queue, nodes = documents()
    nodes["nodes"][1]["state"] = ["MIXED", "DRAIN"]
    found = state((queue, nodes))
    assert found.servers[1] == ("gpu02", (5, 7))
    assert any("where no job starts" in note and "gpu02" in note for note in found.jobs.notes)


def test_servers_that_are_not_listed_are_named(state):
    queue, nodes = documents()
    del nodes["nodes"][1]
    found = state((queue, nodes))
    assert found.jobs.gpus.tolist()[0] == 4
    assert any("run partly on servers that are not known: 41" in note for note in found.jobs.notes)
    queue["jobs"][0] |= {"nodes": "far[1-2]"}
    found = state((queue, nodes))
    assert found.jobs.id.tolist() == [42, 43]
    assert any("left out: run on servers that are not known" in note for note in found.jobs.notes)


def test_a_partition_is_a_cluster_of_its_own(state):
    queue, nodes = documents()
    queue["jobs"][1]["partition"] = "other"
    nodes["nodes"][2] |= {"state": ["IDLE"], "partitions": ["other"]}
    whole = state((queue, nodes))
    assert whole.cluster.num_servers == 3
    assert any("2 partitions (gpu, other) are taken for one" in note for note in whole.jobs.notes)
    found = state((queue, nodes), partition="other")
    assert found.jobs.id.tolist() == [42]
    assert [server.name for server in found.servers] == ["gpu03"]
    with pytest.raises(ValueError, match=r"partition: no server with GPUs .* is in 'none'"):
        state((queue, nodes), partition="none")


def test_jobs_without_a_limit_are_taken_for_long(state):
    queue, nodes = documents()
    queue["jobs"][1]["time_limit"] = {"set": False, "infinite": True, "number": 0}
    found = state((queue, nodes))
    assert found.jobs.service_s.tolist() == [7200, 365 * 86_400, 7200]
    assert any("1 job without a time limit" in note for note in found.jobs.notes)
    assert state((queue, nodes), unlimited_s=60).jobs.service_s[1] == 60


def test_arrays_restarts_and_the_time(state):
    queue, nodes = documents()
    queue["jobs"][0]["restart_cnt"] = 2
    queue["jobs"][1] |= {"array_task_string": "1-3%2"}
    found = state((queue, nodes), now=1_714_550_200)
    assert found.jobs.id.tolist() == ["41", "42_1", "42_2", "42_3", "43"]
    assert found.preemptions.tolist() == [2, 0, 0, 0, 0]
    assert found.attained_s[0] == 140


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, n: q["jobs"][0].update(nodes="gpu[1-"), "job 41: nodes: 'gpu"),
        (lambda q, n: q["jobs"][0].update(gres_detail=["gpu:5(IDX:0-4)"] * 2, nodes="gpu[01-04]"),
         "job 41: gres_detail: .* does not tell how 6 GPUs are spread over 4"),
        (lambda q, n: q["jobs"][0].update(gres_detail=["gpu:5(IDX:4-8)", "gpu:1(IDX:0)"]),
         "server gpu01: GPU 8 is none of its 8"),
        (lambda q, n: q["jobs"][0].update(start_time=1_900_000_000), None),
        (lambda q, n: n["nodes"][0].update(gres="gpu:a100:900"), "must be at most 64"),
        (lambda q, n: n.update(nodes=[]), "array 'nodes' is empty"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(state, change, message):
    queue, nodes = documents()
    change(queue, nodes)
    if message is None:
        assert state((queue, nodes)).now_s == 1_900_000_000
    else:
        with pytest.raises(ValueError, match=message):
            state((queue, nodes))


@pytest.mark.parametrize("is_empty", [True, False])
def test_an_empty_queue_is_a_state(state, is_empty):
    queue, nodes = documents()
    for job in queue["jobs"]:
        job |= {"job_state": ["PENDING"], "state_reason": "JobHeldUser"}
    for node in nodes["nodes"]:
        node |= {"gres_used": "gpu:a100:0(IDX:N/A)", "state": ["IDLE"]}
    if is_empty:
        queue["jobs"] = []
    found = state((queue, nodes))
    assert (len(found.jobs), found.cluster.num_gpus, found.now_s) == (0, 24, 1_714_550_160)
    assert found.jobs.rejects.total == (0 if is_empty else 3)
    assert not gs.decide(found).what.size


def test_both_files_are_needed(tmp_path):
    queue, _ = documents()
    path = tmp_path / "squeue.json"
    path.write_text(json.dumps(queue))
    with pytest.raises(ValueError, match="one file must be what sinfo --json prints; it is none"):
        gs.online.read_state(path)
    (tmp_path / "other.json").write_text(json.dumps(queue))
    with pytest.raises(ValueError, match="one file must be what squeue --json prints"):
        gs.online.read_state(tmp_path)
    with pytest.raises(TypeError, match="has no option 'partitio'"):
        gs.online.read_state(path, partitio="gpu")


@needs_real_data
def test_the_samples_of_slurm_21_have_no_gpu():
    files = [DATA / "slurm" / f"{name}_out.json" for name in ("squeue", "sinfo")]
    with pytest.raises(ValueError, match="no server has a GPU"):
        gs.online.read_state(files)


@needs_real_data
def test_the_queue_of_a_site_is_read_beside_its_servers(state):
    queue = json.loads((DATA / "slurm" / "squeue_out.json").read_text())
    for job in queue["jobs"]:
        job |= {"state_reason": "Resources", "partition": "gpu"}
        for name in ("tres_req_str", "tres_alloc_str"):
            job[name] += ",gres/gpu=4" if job[name] else ""
    _, nodes = documents()
    nodes["nodes"][0]["name"] = "cs75"
    found = state((queue, nodes))
    assert len(found.jobs) == 11
    assert [server.name for server in found.servers] == ["cs75", "gpu02"]
    assert found.held_server.tolist() == [0]
