"""States as schedulers print them: rooms, Slurm's lists, queues and nodes, Kueue's objects."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import gpusched as gs
from gpusched.online.states.formats.slurm import Place, in_use, places_of
from gpusched.online.states.server_room import RoomServer, bits, settle
from gpusched.online.states.state_formats import state_formats
from gpusched.traces import slurm_values
from tests.each import each
from tests.unit.real_data import DATA, needs_real_data


@each(
    ("text", "names"),
    [
        ("gpu14", ["gpu14"]),
        ("gpu[01-03,07],login", ["gpu01", "gpu02", "gpu03", "gpu07", "login"]),
        ("prod-[099-101]", ["prod-099", "prod-100", "prod-101"]),
        ("r[1-2]n[0-1]-ib", ["r1n0-ib", "r1n1-ib", "r2n0-ib", "r2n1-ib"]),
        ("a[5]", ["a5"]),
    ],
)
def test_a_list_of_servers_is_spelled_out(text, names):
    assert slurm_values.names_of(text) == names


@each("text", ["", "gpu[1-", "gpu[a-b]", "gpu]1[", "gpu[1-999999999]", "x[0-9999]y[0-9999]", "a[]"])
def test_what_is_no_list_or_too_long_is_refused(text):
    with pytest.raises(ValueError, match="must be a list of servers"):
        slurm_values.names_of(text)


@each(
    ("text", "mask", "count"),
    [
        ("gpu:a100:2(IDX:0-1)", 0b11, 2),
        ("gpu:4(IDX:0-2,5)", 0b100111, 4),
        ("gpu:(null):3(IDX:1,4-5)", 0b110010, 3),
        ("gpu:a100:2(IDX:0,2),gpu:v100:1(IDX:4),mps:10", 0b10101, 3),
        ("gpu:a100:0(IDX:N/A)", 0, 0),
        ("gpu:2(IDX:N/A)", 0, 2),
        ("gpu:2(IDX:0,70)", 0, 2),
        ("gpu:2", 0, 2),
        ("", 0, 0),
    ],
)
def test_gpus_in_use_are_read_where_they_are_named(text, mask, count):
    assert in_use(text) == (mask, count)


JOBS: list[tuple[dict[str, Any], int, list[Place]]] = [
    (
        {"nodes": "g[1-2]", "gres_detail": ["gpu:4(IDX:0-3)", "gpu:2(IDX:5,7)"]}, 6,
        [Place("g1", 4, 0b1111), Place("g2", 2, 0b10100000)],
    ),
    ({"nodes": "g[1-2]", "gres_detail": []}, 6, [Place("g1", 3, None), Place("g2", 3, None)]),
    ({"nodes": "g[1-2]", "gres_detail": ["gpu:4", ""]}, 4, [Place("g1", 4, None)]),
    # The order of the allocation is that of the details; that of the list may be another.
    (
        {
            "nodes": "g[1-2]", "gres_detail": ["gpu:1(IDX:3)", "gpu:2(IDX:0-1)"],
            "job_resources": {"nodes": {"list": "g[1-2]", "allocation": [
                {"index": 0, "name": "g2"}, {"index": 1, "name": "g1"}]}},
        }, 3, [Place("g2", 1, 0b1000), Place("g1", 2, 0b11)],
    ),
    ({"job_resources": {"nodes": "g7"}, "gres_detail": ["gpu:8(IDX:0-7)"]}, 8,
     [Place("g7", 8, 0xFF)]),
]  # fmt: skip


def test_a_job_holds_gpus_on_servers():
    for job, gpus, places in JOBS:
        assert places_of(job, gpus) == places
    with pytest.raises(ValueError, match="does not say how 5 GPUs are spread over 2 servers"):
        places_of({"nodes": "g[1-2]"}, 5)


def held_of(servers: list[RoomServer]) -> dict[tuple[int, int], list[int]]:
    """The GPUs of each job on each server; job -1 has what no job may have."""
    _, columns = settle(servers, "c")
    rows = zip(*(columns[name].tolist() for name in ("held_job", "held_server")), strict=True)
    masks = [list(bits(mask)) for mask in columns["held_mask"].tolist()]
    return dict(zip(rows, masks, strict=True))


def test_what_others_hold_is_there_and_out_of_use():
    server = RoomServer("a", 8, "gpu")
    server.hold(0, 0b0000_1100)
    server.hold(None, 0b0000_0011)
    assert held_of([server]) == {(-1, 0): [0, 1], (0, 0): [2, 3]}


def test_a_server_that_takes_no_jobs_keeps_those_that_run():
    closed, empty = RoomServer("a", 8, "gpu", takes_jobs=False), RoomServer("b", 4, "gpu", False)
    closed.hold(0, 0b1010)
    servers = [closed, empty, RoomServer("c", 2, "gpu")]
    cluster, columns = settle(servers, "c")
    assert cluster.num_gpus == 14
    assert [server.name for server in columns["servers"]] == ["a", "b", "c"]
    gone = {(-1, 0): [0, 2, 4, 5, 6, 7], (0, 0): [1, 3], (-1, 1): [0, 1, 2, 3]}
    assert held_of(servers) == gone


def test_gpus_that_are_in_use_are_those_of_jobs_of_whom_a_number_is_known():
    server = RoomServer("a", 8, "gpu", used=0b1111_0000)
    server.hold(0, 0b1000_0000)
    server.hold_some(1, 2)
    assert held_of([server]) == {(-1, 0): [6], (0, 0): [7], (1, 0): [4, 5]}  # somebody holds 6


def test_of_gpus_in_use_that_are_not_named_those_beyond_the_jobs_are_out_of_use():
    server = RoomServer("a", 8, "gpu", num_used=5)
    server.hold(0, 0b11)
    server.hold_some(1, 1)
    assert held_of([server]) == {(-1, 0): [3, 4], (0, 0): [0, 1], (1, 0): [2]}


def test_the_numbers_known_first_need_not_be_told_first():
    server = RoomServer("a", 4, "gpu")
    server.hold_some(1, 2)
    server.hold(0, 0b0011)
    assert server.num_free == 0
    assert server.settled() == {0: 0b0011, 1: 0b1100}


def test_gpus_are_there_and_one_jobs():
    server = RoomServer("a", 4, "gpu")
    with pytest.raises(ValueError, match="server a: GPU 4 is not one of its 4"):
        server.hold(0, 0b10000)
    server.hold(0, 0b0110)
    with pytest.raises(ValueError, match="server a: two jobs hold GPU 2"):
        server.hold(1, 0b0100)
    server.hold_some(1, 3)
    with pytest.raises(ValueError, match="server a: jobs hold more than its 4 GPUs"):
        server.settled()
    with pytest.raises(ValueError, match="no server has a GPU"):
        settle([], "c")


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
    assert [server.name for server in found.servers] == ["gpu01", "gpu02", "gpu03"]
    assert found.held_job.tolist() == [-1, 0, 0]  # the third is drained
    assert found.held_server.tolist() == [2, 0, 1]
    assert found.held_mask.tolist() == [0xFF, 0b1111, 0b1010_0000]
    decision = gs.decide(found, policy="fifo-skip")
    assert (decision.what.tolist(), decision.job.tolist()) == (["start"], [2])


def plain(value: Any) -> Any:
    """The document as Slurm 21.08 writes it: numbers plain, states as texts."""
    if isinstance(value, dict) and "number" in value:
        return value["number"] if value["set"] else None
    if isinstance(value, dict):
        return {
            key: plain(one[0] if key in ("job_state", "state") else one)
            for key, one in value.items()
        }
    return [plain(one) for one in value] if isinstance(value, list) else value


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
        tuple(plain(one) for one in documents()),
        (documents()[0], lines_of_sinfo(documents()[1])),
    ):
        old = state(given)
        assert old.cluster == new.cluster
        assert old.servers == new.servers
        for name in ("start_s", "held_job", "held_server", "held_mask"):
            assert str(getattr(old, name).tolist()) == str(getattr(new, name).tolist())


def out_of_use(found: gs.online.ClusterState) -> dict[str, list[int]]:
    rows = zip(
        *(getattr(found, f"held_{name}").tolist() for name in ("job", "server", "mask")),
        strict=True,
    )
    return {found.servers[at].name: list(bits(mask)) for job, at, mask in rows if job < 0}


def test_gpus_in_use_that_no_job_has_are_out_of_use(state):
    queue, nodes = documents()
    nodes["nodes"][0]["gres_used"] = "gpu:a100:6(IDX:0-5)"
    found = state((queue, nodes))
    assert out_of_use(found) == {"gpu01": [4, 5], "gpu03": [*range(8)]}
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
    assert out_of_use(found) == {"gpu01": [0, 1, 2, 3], "gpu02": [5, 7], "gpu03": [*range(8)]}


def test_jobs_on_servers_that_take_none_go_on_there(state):
    queue, nodes = documents()
    nodes["nodes"][1]["state"] = ["MIXED", "DRAIN"]
    found = state((queue, nodes))
    assert out_of_use(found)["gpu02"] == [0, 1, 2, 3, 4, 6]
    assert any("closed to new jobs" in note and "gpu02" in note for note in found.jobs.notes)


def started(found: gs.online.ClusterState, policy: str = "fifo") -> list[str]:
    """The ids of the jobs that a policy starts; it never refuses one for good."""
    decision = gs.decide(found, policy=policy)
    assert not decision.rejected.size
    return [str(found.jobs.id[job]) for job in decision.job]


@pytest.mark.parametrize("closed", ["DRAIN", "DOWN", "RESERVED", "PLANNED", "MAINT", "BLOCKED"])
@pytest.mark.parametrize("policy", ["fifo", "easy", "easy:depth=3", "srtf", "las"])
def test_a_job_waits_for_servers_that_are_closed_now(state, closed, policy):
    queue, nodes = documents()
    nodes["nodes"][2]["state"] = ["IDLE", closed]
    queue["jobs"][1]["tres_req_str"] = "gres/gpu=18"  # 10 are free, and 8 are closed
    found = state((queue, nodes))
    decision = gs.decide(found, policy=policy)
    assert not decision.rejected.size
    assert decision.job.tolist() == ([] if policy == "fifo" else [2])  # all others pass it over
    free = "10 are free" if policy == "fifo" else "6 are free after this decision"
    assert decision.why(1) == f"waits: it needs 18 GPUs, but {free} (8 out of use)"


@pytest.mark.parametrize("mark", [" ", "_"])
def test_a_job_waits_that_slurm_says_needs_closed_servers(state, mark):
    queue, nodes = documents()
    why = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority"
    reason = f"{why} partitions".replace(" ", mark)
    queue["jobs"][1] |= {"tres_req_str": "gres/gpu=18", "state_reason": reason}
    found = state((queue, nodes))
    assert found.jobs.id.tolist() == [41, 42, 43]
    assert started(found) == []  # it stands at the head


def test_a_job_that_the_whole_cluster_cannot_hold_is_refused(state):
    queue, nodes = documents()
    queue["jobs"][1]["tres_req_str"] = "gres/gpu=25"
    decision = gs.decide(state((queue, nodes)), policy="fifo-skip")
    assert (decision.rejected.tolist(), decision.job.tolist()) == ([1], [2])


LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "limit": ({"state_reason": "QOSMaxGRESPerUser"}, "state_reason is QOSMaxGRESPerUser"),
    "nodes away": ({"state_reason": "ReqNodeNotAvail, UnavailableNodes:gpu02"},
                   "state_reason is ReqNodeNotAvail"),
    "part": ({"het_job_id": {"set": True, "number": 42}}, "is part of a heterogeneous job"),
    "these servers": ({"required_nodes": "gpu02"}, "asks for servers by name"),
    "not these": ({"excluded_nodes": "gpu[02-03]"}, "excludes servers of the cluster"),
    "features": ({"features": "h100&nvlink"}, "features 'h100&nvlink'"),
    "exclusive": ({"exclusive": ["true"]}, "asks for whole servers"),
    "shape": ({"tres_per_node": "gres/gpu:3", "node_count": 2},
              "3 GPUs on each of 2 servers differ from its total"),
}  # fmt: skip


@each(("change", "why"), named=LEFT_OUT)
def test_who_asks_for_what_a_decision_does_not_know_is_left_out(change, why, tmp_path):
    queue, nodes = documents()
    queue["jobs"][2] |= change
    for name, document in (("squeue.json", queue), ("sinfo.json", nodes)):
        (tmp_path / name).write_text(json.dumps(document))
    found = gs.online.read_state(tmp_path)
    assert found.jobs.id.tolist() == [41, 42]
    (line,) = found.jobs.rejects.lines()
    assert why in line
    assert line.endswith(": 1 row (line 1)")  # all stands on one


def test_the_shape_of_a_job_that_runs_otherwise_is_forgotten(state):
    queue, nodes = documents()
    queue["jobs"][0] |= {"tres_per_node": "gres/gpu:3", "node_count": 2}  # it has 4 and 2
    queue["jobs"][2] |= {"tres_per_node": "gres/gpu:2", "node_count": 2}
    assert state((queue, nodes)).jobs.gpus_per_node.tolist() == [0, 0, 2]


@each(
    "change",
    [
        {"excluded_nodes": "far[1-2]"},
        {"features": "a100"},
        {"exclusive": ["none"]},
        {"tres_per_node": "gres/gpu:2", "node_count": 2},
        {"tres_per_node": "gres/gpu:4", "node_count": 1},
        {"het_job_id": {"set": True, "number": 0}},
    ],
)
def test_what_every_server_fulfils_leaves_nobody_out(change, tmp_path):
    queue, nodes = documents()
    queue["jobs"][2] |= change
    for node in nodes["nodes"]:
        node["features"] = "a100,ib"
    for name, document in (("squeue.json", queue), ("sinfo.json", nodes)):
        (tmp_path / name).write_text(json.dumps(document))
    assert gs.online.read_state(tmp_path).jobs.id.tolist() == [41, 42, 43]


@each(("most", "tasks"), [(3, 2), ({"set": True, "infinite": True, "number": 0}, 8), (0, 8)])
def test_no_more_tasks_of_an_array_run_than_it_allows(state, most, tasks):
    queue, nodes = documents()
    queue["jobs"][0] |= {"array_job_id": 40, "array_task_id": 1, "array_max_tasks": most}
    queue["jobs"][1] |= {
        "job_id": 40, "array_task_string": "2-9%3", "array_max_tasks": most,
        "state_reason": "JobArrayTaskLimit", "tres_req_str": "gres/gpu=1",
    }  # fmt: skip
    found = state((queue, nodes))
    waiting = [f"40_{number}" for number in range(2, 10)]
    assert found.jobs.id.tolist() == ["40_1", *waiting, "43"]
    decision = gs.decide(found, policy="fifo-skip")
    assert decision.holds == dict.fromkeys(
        range(1 + tasks, 9), "array_limit is 3, which is reached"
    )
    assert started(found, "fifo-skip")[:tasks] == waiting[:tasks]


@each(
    ("job", "why"),
    named={
        "user": ({"state_reason": "JobHeldUser"}, "JobHeldUser"),
        "admin": ({"state_reason": "JobHeldAdmin"}, "JobHeldAdmin"),
        "begin": ({"state_reason": "BeginTime", "eligible_time": 1_714_554_000},
                  "until 2024-05-01 09:00:00+00:00"),
        "begin of older versions": ({"state_reason": "BeginTime", "start_time": 1_714_554_000},
                                    "until 2024-05-01 09:00:00+00:00"),
        "begin unknown": ({"state_reason": "BeginTime"}, "BeginTime"),
        "waits": ({"state_reason": "Dependency", "dependency": "afterok:41(unfulfilled)"},
                  "waits for afterok:41(unfulfilled)"),
        "not said": ({"state_reason": "Dependency", "dependency": "afterok:9"},
                     "waits for afterok:9(unfulfilled)"),
        "not told": ({"state_reason": "Dependency"}, "Dependency"),
        "not read": ({"state_reason": "Dependency", "dependency": "expand:41"}, "Dependency"),
        "never": ({"state_reason": "DependencyNeverSatisfied", "dependency": "afterok:9(failed)"},
                  "DependencyNeverSatisfied"),
        "begun": ({"eligible_time": 1_714_550_050, "dependency": "(null)"}, ""),
        "features": ({"state_reason": "JobHeldUser", "features": "h200"}, None),
    },
)  # fmt: skip
def test_why_slurm_holds_a_job_is_told(state, job, why):
    queue, nodes = documents()
    queue["jobs"][2] |= {"state_reason": "None", "start_time": 0} | job
    found = state((queue, nodes))
    if why is None:
        assert "43" not in found.jobs.id.astype(str)
        return
    decision = gs.decide(found, policy="fifo-skip")
    row = found.jobs.id.astype(str).tolist().index("43")
    assert decision.holds == ({row: why} if why else {})
    assert (row in decision.job.tolist()) != bool(why)


def test_begin_times_dependencies_and_limits_of_slurm_are_those_of_forecasts(state):
    queue, nodes = documents()
    queue["jobs"] = [queue["jobs"][0], queue["jobs"][2]]
    queue["jobs"][1] |= {"state_reason": "Dependency", "dependency": "afterany:41(unfulfilled)"}
    found = state((queue, nodes))
    ends_s = found.start_s[0] + found.jobs.service_s[0]
    assert found.jobs.to_polars()["time_limit_s"][0] == found.jobs.service_s[0]
    assert gs.when(1, found).median_s == ends_s
    queue["jobs"][1] |= {"eligible_time": int(ends_s) + 60}
    assert gs.when(1, state((queue, nodes))).median_s == ends_s + 60


def test_clocks_may_differ(state):
    queue, nodes = documents()
    queue["jobs"][0]["submit_time"] = queue["jobs"][0]["start_time"]["number"] + 100
    assert started(state((queue, nodes)), "fifo-skip") == ["43"]


def mixed(used: str, detail: str, tres: str) -> Documents:
    """Job 41 runs on a server that has GPUs of two types, 43 asks for two of the second."""
    queue, nodes = documents()
    nodes["nodes"] = nodes["nodes"][2:]
    nodes["nodes"][0] |= {"gres": "gpu:a100:2,gpu:t4:4", "gres_used": used, "state": ["MIXED"]}
    queue["jobs"][0] |= {"nodes": "gpu03", "gres_detail": [detail] if detail else []}
    queue["jobs"][0]["tres_alloc_str"] = tres
    queue["jobs"][2]["tres_req_str"] = "gres/gpu=2,gres/gpu:t4=2"
    return queue, nodes


@each(
    ("used", "detail", "tres", "held", "starts"),
    named={
        "numbers": ("gpu:a100:0,gpu:t4:1(IDX:3)", "gpu:t4:1(IDX:3)", "gres/gpu=1", [2], [2, 4]),
        "counts": ("gpu:a100:0,gpu:t4:1", "gpu:t4:1", "gres/gpu=1,gres/gpu:t4=1", [1], [3, 4]),
        "the job tells": ("", "", "gres/gpu=1,gres/gpu:t4=1", [1], [3, 4]),
        "somebody else": ("gpu:a100:0,gpu:t4:2(IDX:2-3)", "gpu:t4:1(IDX:2)", "gres/gpu=1", [1],
                          [4, 5]),
    },
)  # fmt: skip
def test_gpus_of_two_types_on_one_server_are_told_apart(used, detail, tres, held, starts, tmp_path):
    for name, document in zip(
        ("squeue.json", "sinfo.json"), mixed(used, detail, tres), strict=True
    ):
        (tmp_path / name).write_text(json.dumps(document))
    found = gs.online.read_state(tmp_path)
    assert [(server.name, server.gpus) for server in found.servers] == [
        ("gpu03", (0, 1)), ("gpu03", (2, 3, 4, 5)),
    ]  # fmt: skip
    of_job = found.held_job == 0
    assert found.held_server[of_job].tolist() == [1]
    assert found.held_mask[of_job].tolist() == held
    decision = gs.decide(found, policy="fifo-skip")
    assert decision.held_server.tolist() == [1]
    numbers = found.servers[1].gpus
    assert [numbers[bit] for bit in range(4) if int(decision.held_mask[0]) >> bit & 1] == starts


def test_a_job_on_gpus_of_two_types_is_left_out_and_its_gpus_are_in_use(state):
    both = "gpu:a100:1(IDX:0),gpu:t4:1(IDX:2)"
    found = state(mixed(both, both, "gres/gpu=2"))
    assert found.jobs.id.tolist() == [42, 43]
    assert any("run on several GPU types: 41" in note for note in found.jobs.notes)
    assert found.held_mask.tolist() == [1, 1]


def test_gpus_that_a_server_counts_as_used_are_not_given_out(state):
    queue, nodes = documents()
    for node in nodes["nodes"]:
        node |= {"gres_used": "", "tres_used": "cpu=1,gres/gpu=7"}
    found = state((queue, nodes))
    assert {name: len(gpus) for name, gpus in out_of_use(found).items()} == {
        "gpu01": 3, "gpu02": 5, "gpu03": 8,
    }  # fmt: skip
    assert started(found, "fifo-skip") == []


def test_servers_that_are_not_listed_are_named(state):
    queue, nodes = documents()
    del nodes["nodes"][1]
    found = state((queue, nodes))
    assert found.jobs.gpus.tolist()[0] == 4
    assert any("run partly on unknown servers: 41" in note for note in found.jobs.notes)
    queue["jobs"][0] |= {"nodes": "far[1-2]"}
    found = state((queue, nodes))
    assert found.jobs.id.tolist() == [42, 43]
    assert any("left out: run on unknown servers" in note for note in found.jobs.notes)


def test_a_partition_is_a_cluster_of_its_own(state):
    queue, nodes = documents()
    queue["jobs"][1]["partition"] = "other"
    nodes["nodes"][2] |= {"state": ["IDLE"], "partitions": ["other"]}
    whole = state((queue, nodes))
    assert whole.cluster.num_servers == 3
    assert any("2 partitions (gpu, other) are read as one" in note for note in whole.jobs.notes)
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
         "job 41: gres_detail: .* does not say how 6 GPUs are spread over 4"),
        (lambda q, n: q["jobs"][0].update(gres_detail=["gpu:5(IDX:4-8)", "gpu:1(IDX:0)"]),
         "server gpu01: GPU 8 is not one of its 8"),
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
    num_jobs = 0 if is_empty else len(found.jobs)
    assert (len(found.jobs), found.cluster.num_gpus) == (num_jobs, 24)
    assert found.now_s == 1_714_550_160
    decision = gs.decide(found)
    assert not decision.what.size
    assert decision.holds == dict.fromkeys(range(num_jobs), "JobHeldUser")
    assert is_empty == (not decision.holds)


def test_both_files_are_needed(tmp_path):
    queue, _ = documents()
    path = tmp_path / "squeue.json"
    path.write_text(json.dumps(queue))
    with pytest.raises(ValueError, match="one file must be the output of sinfo --json, not none"):
        gs.online.read_state(path)
    (tmp_path / "other.json").write_text(json.dumps(queue))
    with pytest.raises(ValueError, match="exactly one file must be the output of squeue --json"):
        gs.online.read_state(tmp_path)
    with pytest.raises(TypeError, match="has no option 'partitio'"):
        gs.online.read_state(path, partitio="gpu")


REPORTS = {
    "empty-queue": [], "kueue-backoff": ["t/b"], "kueue-fragmented": ["t/b"],
    "kueue-partial": ["t/a"], "kueue-pod-wider": [], "slurm-array-throttle": [],
    "slurm-clock-skew": [],
    "slurm-completing": [], "slurm-drained": [], "slurm-gres-null": ["6"], "slurm-het-job": [],
    "slurm-limit-reasons": [], "slurm-nodes-shape": ["1"], "slurm-required-nodes": [],
    "slurm-reserved": [], "slurm-two-types": ["1"],
}  # fmt: skip


@needs_real_data
@each(("folder", "starts"), named={name: (name, starts) for name, starts in REPORTS.items()})
def test_states_of_public_reports_are_decided_right(folder, starts):
    files = sorted((DATA / "cases" / "reports" / folder).glob("*.json"))
    assert started(gs.online.read_state(files)) == starts


@needs_real_data
def test_gpus_asked_for_on_each_of_two_servers_are_given_on_each():
    files = sorted((DATA / "cases" / "reports" / "slurm-nodes-shape").glob("*.json"))
    decision = gs.decide(gs.online.read_state(files), policy="fifo")
    assert decision.held_mask.tolist() == [0b11111] * 2


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
    assert [server.name for server in found.servers] == ["cs75", "gpu02", "gpu03"]
    assert set(found.held_server[found.held_job >= 0].tolist()) == {0}


Objects = list[dict[str, Any]]
YEAR_S = 365 * 86_400


@pytest.fixture
def objects() -> Objects:
    return json.loads(state_formats()["kueue"].excerpt()["kueue.json"])["items"]


@pytest.fixture
def kueue_state(tmp_path: Path) -> Callable[..., gs.online.ClusterState]:
    def read(given: Objects, **options: Any) -> gs.online.ClusterState:
        path = tmp_path / "all.yaml"
        path.write_text(yaml.safe_dump_all(given))
        return gs.online.read_state(path, **options)

    return read


def named(objects: Objects, name: str) -> dict[str, Any]:
    return next(one for one in objects if one["metadata"]["name"] == name)


def server(name: str, gpus: int, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {}, "status": {"allocatable": {"nvidia.com/gpu": str(gpus), "cpu": "96"}},
    }  # fmt: skip


def test_quotas_stand_for_servers_and_workloads_name_them(kueue_state, objects):
    found = kueue_state(objects)
    assert found.jobs.id.tolist() == ["vision/first", "vision/second", "vision/third"]
    assert found.jobs.gpus.tolist() == [12, 8, 16]
    assert found.jobs.queue.values().tolist() == ["research"] * 3
    assert [one.name for one in found.servers] == ["gpu01", "gpu02", "a100-0"]
    assert found.held_server.tolist() == [0, 1]
    assert [int(mask).bit_count() for mask in found.held_mask] == [8, 4]
    assert found.attained_s.tolist() == [0, 0, 0]
    assert kueue_state(objects, now=int(found.now_s) + 60).attained_s.tolist() == [60, 0, 0]
    assert gs.decide(found).job.tolist() == [1]


def test_priorities_of_workloads_are_a_column(kueue_state, objects):
    named(objects, "second")["spec"]["priority"] = -5
    assert kueue_state(objects).jobs.priority.tolist() == [0, -5, 0]


@each(
    ("count", "least", "gpus"),
    # 12 of 24 GPUs are free.
    [(3, 1, 12), (4, 2, 12), (8, 1, 12), (8, 4, 24), (6, 4, 24), (2, 1, 8), (8, None, 32)],
)
def test_who_may_start_with_fewer_pods_has_those_for_which_there_is_room(
    kueue_state, objects, count, least, gpus
):
    (pods,) = named(objects, "third")["spec"]["podSets"]
    (container,) = pods["template"]["spec"]["containers"]
    container["resources"]["requests"]["nvidia.com/gpu"] = "4"
    pods.pop("minCount", None)
    pods |= {"count": count} | ({} if least is None else {"minCount": least})
    found = kueue_state(objects)
    assert found.jobs.gpus.tolist() == [12, 8, gpus]
    is_cut = gpus < 4 * count
    assert (f"vision/third ({gpus} of {4 * count} GPUs)" in " ".join(found.jobs.notes)) == is_cut


def test_json_yaml_lists_and_files_tell_the_same(kueue_state, objects, tmp_path):
    whole = kueue_state(objects)
    for number, one in enumerate(objects):
        (tmp_path / f"{number}.json").write_text(json.dumps(one))
    workloads = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList"}
    bare = [
        {key: value for key, value in one.items() if key not in ("kind", "apiVersion")}
        for one in objects
        if one["kind"] == "Workload"
    ]
    rest = [one for one in objects if one["kind"] != "Workload"]
    (tmp_path / "all.yaml").unlink()
    parts = gs.online.read_state(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    lists = kueue_state([*rest, {**workloads, "items": bare}])
    for other in (parts, lists):
        assert other.cluster == whole.cluster
        assert other.jobs.id.tolist() == whole.jobs.id.tolist()
        assert other.held_mask.tolist() == whole.held_mask.tolist()


def test_v1beta1_names_domains_one_by_one(kueue_state, objects):
    new = kueue_state(objects)
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    assigned["topologyAssignment"] = {
        "levels": ["kubernetes.io/hostname"],
        "domains": [{"values": ["gpu01"], "count": 2}, {"values": ["gpu02"], "count": 1}],
    }
    old = kueue_state(objects)
    assert old.servers == new.servers
    assert old.held_mask.tolist() == new.held_mask.tolist()


@pytest.mark.parametrize(
    "level",
    [
        {"roots": ["gpu01", "gpu02"]},
        {"prefix": "gpu", "roots": ["01", "02"]},
        {"prefix": "gpu", "roots": ["0", "0"], "suffix": "1"},
        {"universalValue": "gpu01"},
    ],
)
def test_slices_are_spelled_out(kueue_state, objects, level):
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    part = {"domainCount": 2, "valuesPerLevel": [level], "podCounts": [1, 2]}
    assigned["topologyAssignment"]["slices"] = [part]
    found = kueue_state(objects)
    held = zip(found.held_server.tolist(), found.held_mask.tolist(), strict=True)
    on = {found.servers[at].name: mask.bit_count() for at, mask in held}
    assert on == ({"gpu01": 4, "gpu02": 8} if "2" in str(level) else {"gpu01": 12})


def test_without_hostnames_pods_lie_where_there_is_room(kueue_state, objects):
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    del assigned["topologyAssignment"]
    found = kueue_state(objects)
    assert [one.name for one in found.servers] == ["a100-0", "a100-1", "a100-2"]
    assert sum(int(mask).bit_count() for mask in found.held_mask) == 12
    assert any("placed on free GPUs" in note for note in found.jobs.notes)


def test_nodes_are_the_servers(kueue_state, objects):
    nodes = [server(f"gpu0{number}", 8, gpu="a100") for number in (1, 2, 3)]
    nodes[2]["spec"]["unschedulable"] = True
    nodes += [server("other", 4, gpu="t4"), server("login", 0)]
    found = kueue_state([*objects, *nodes])
    assert out_of_use(found) == {"gpu03": [*range(8)]}
    assert any("left out, as no flavor selects them: other" in note for note in found.jobs.notes)
    assert not started(found)  # the third is closed


WHOLE, PART = "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"


def asking(workload: dict[str, Any], amounts: dict[str, int]) -> None:
    (pods,) = workload["spec"]["podSets"]
    pods["template"]["spec"]["containers"][0]["resources"]["requests"] = amounts


def with_parts(objects: Objects) -> Objects:
    """The same queue with a quota of MIG instances, and servers that have 4 GPUs and 14 of these.

    The second workload asks for 3 instances, the third for 2 GPUs on each of two servers.
    """
    (group,) = named(objects, "research")["spec"]["resourceGroups"]
    group["flavors"][0]["resources"].append({"name": PART, "nominalQuota": 28})
    asking(named(objects, "second"), {PART: 3})
    asking(named(objects, "third"), {WHOLE: 2})
    del named(objects, "first")["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    nodes = [server(f"gpu0{number}", 4, gpu="a100") for number in (1, 2, 3, 4)]
    for node in nodes:
        node["status"]["allocatable"][PART] = "14"
    return [*objects, {"apiVersion": "v1", "kind": "List", "items": nodes}]


def test_gpus_of_several_resources_are_types_of_one_server(kueue_state, objects):
    given = with_parts(objects)
    found = kueue_state(given)
    types = (f"a100/{WHOLE}", f"a100/{PART}")
    assert [(group.gpus, group.gpu_type) for group in found.cluster.servers] == [
        (4, types[0]), (14, types[1]),
    ]  # fmt: skip
    assert [each.name for each in found.servers] == ["gpu01", "gpu02", "gpu03", "gpu04"] * 2
    assert found.servers[4].gpus == tuple(range(4, 18))
    assert found.jobs.allowed_types == [types[:1], types[1:], types[:1]]
    assert found.held_server.tolist() == [0, 1, 2]  # three pods of 4 GPUs
    decision = gs.decide(found, policy="fifo-skip")
    assert [str(found.jobs.id[job]) for job in decision.job] == ["vision/second", "vision/third"]
    on = [int(mask).bit_count() for mask in decision.held_mask]
    assert [(at // 4, gpus) for at, gpus in zip(decision.held_server, on, strict=True)] == [
        (1, 3), (0, 4),
    ]  # fmt: skip
    assert started(kueue_state(given, resource=WHOLE)) == ["vision/third"]
    given[-1]["items"][0]["status"]["allocatable"][PART] = "61"
    with pytest.raises(ValueError, match="Node gpu01: must have whole GPUs, at most 64"):
        kueue_state(given)


def test_instances_that_no_quota_covers_are_left_out_and_named(kueue_state, objects):
    given = with_parts(objects)
    (group,) = named(objects, "research")["spec"]["resourceGroups"]
    del group["flavors"][0]["resources"][1:]
    found = kueue_state(given)
    assert [(group.gpus, group.gpu_type) for group in found.cluster.servers] == [(4, "a100")]
    assert any(f"no flavor selects them: {PART} of gpu01" in n for n in found.jobs.notes)
    assert "is in a queue without GPU flavors" in found.jobs.rejects.lines()[0]


def test_two_kinds_of_gpus_in_flavors_of_their_own_have_the_names_of_these(kueue_state, objects):
    (group,) = named(objects, "research")["spec"]["resourceGroups"]
    quota = [{"name": "amd.com/gpu", "nominalQuota": 8}]
    group["flavors"].append({"name": "mi300", "resources": quota})
    objects.append({**copy.deepcopy(named(objects, "a100"))})
    objects[-1]["metadata"]["name"] = "mi300"
    asking(named(objects, "second"), {"amd.com/gpu": 8})
    nodes = [server(f"gpu0{number}", 8, gpu="a100") for number in (1, 2)]
    nodes[1]["status"]["allocatable"]["amd.com/gpu"] = "8"
    found = kueue_state([*objects, *nodes])
    assert found.cluster.gpu_types == ("a100", "mi300")
    assert found.jobs.allowed_types == [("a100",), ("mi300",), ("a100",)]
    assert started(found, "fifo-skip") == ["vision/second"]


def test_a_workload_on_gpus_of_two_resources_is_left_out_and_its_gpus_are_in_use(
    kueue_state, objects
):
    given = with_parts(objects)
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    assigned["resourceUsage"] = {WHOLE: "3", PART: "6"}
    assigned["flavors"] = {WHOLE: "a100", PART: "a100"}
    asking(named(objects, "third"), {WHOLE: 1, PART: 1})
    found = kueue_state(given)
    assert found.jobs.id.tolist() == ["vision/second"]
    assert found.jobs.rejects.counts == {"asks for GPUs of several resources": 2}
    assert sorted(zip(found.held_server.tolist(), map(int, found.held_mask), strict=True)) == [
        (0, 0b111), (4, 0b111111),
    ]  # fmt: skip
    assert found.held_job.tolist() == [-1, -1]
    assert kueue_state(given[:-1]).num_withheld == 9


def test_a_server_may_be_called_as_those_of_quotas_are(kueue_state, objects):
    (part,) = named(objects, "first")["status"]["admission"]["podSetAssignments"][0][
        "topologyAssignment"
    ]["slices"]
    part["valuesPerLevel"] = [{"roots": ["a100-0", "a100-1"]}]
    found = kueue_state(objects)
    assert [each.name for each in found.servers] == ["a100-0", "a100-1", "a100-0"]
    assert found.held_server.tolist() == [0, 1]


def test_quotas_of_several_resources_stand_for_servers_too(kueue_state, objects):
    given = with_parts(objects)[:-1]
    slices = [{"domainCount": 1, "valuesPerLevel": [{"roots": ["gpu01"]}], "podCounts": [3]}]
    for name, of in (("first", {WHOLE: "12"}), ("second", {PART: "6"})):
        workload = named(objects, name)
        workload["status"] = copy.deepcopy(named(objects, "first")["status"])
        (assigned,) = workload["status"]["admission"]["podSetAssignments"]
        assigned |= {"resourceUsage": of, "flavors": dict.fromkeys(of, "a100")}
        assigned["topologyAssignment"] = {"levels": ["kubernetes.io/hostname"], "slices": slices}
    found = kueue_state(given)
    held = zip(found.held_server.tolist(), found.held_mask.tolist(), strict=True)
    on = [(found.servers[at].name, found.servers[at].gpus[0], mask) for at, mask in held]
    assert on == [("gpu01", 0, 2**12 - 1), ("gpu01", 12, 2**6 - 1)]


def test_who_is_not_requeued_yet_or_inactive_is_held(kueue_state, objects):
    second = named(objects, "second")
    second["status"] = {"conditions": [{"type": "Requeued", "status": "False"}]}
    assert gs.decide(kueue_state(objects), policy="fifo-skip").holds == {1: "is not requeued yet"}
    second["status"]["requeueState"] = {"requeueAt": "2026-03-02T10:00:00Z"}
    found = kueue_state(objects)
    assert gs.decide(found).why(1) == "is held: until 2026-03-02 10:00:00+00:00"
    assert gs.when(1, found, policy="fifo-skip").median_s == 1_772_445_600
    later = gs.decide(kueue_state(objects, now=1_772_445_600))
    assert later.holds == {1: "is not requeued yet"}
    second["spec"]["active"] = False
    decision = gs.decide(kueue_state(objects))
    assert decision.why(1) == "is held: is inactive (spec.active is false)"


def test_a_pod_runs_on_one_server(kueue_state, objects):
    nodes = [server(f"gpu0{number}", 6, gpu="a100") for number in (1, 2, 3, 4)]
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    del assigned["topologyAssignment"]
    found = kueue_state([*objects, *nodes])
    assert found.jobs.id.tolist() == ["vision/first"]  # the others have pods of 8
    (line,) = found.jobs.rejects.lines()
    assert line.startswith("has a pod with more GPUs than any server it may use: 2 rows")


def test_quotas_that_were_lowered_leave_what_is_held(kueue_state, objects):
    queue = named(objects, "research")["spec"]["resourceGroups"][0]["flavors"][0]
    queue["resources"][0]["nominalQuota"] = "4"
    found = kueue_state(objects)
    assert sum(int(mask).bit_count() for mask in found.held_mask) == 12
    assert found.cluster.num_gpus == 12


def test_flavors_are_types_and_selectors_choose(kueue_state, objects):
    flavors = named(objects, "research")["spec"]["resourceGroups"][0]["flavors"]
    flavors.append({"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]})
    objects.append({**copy.deepcopy(named(objects, "a100")), "spec": {"nodeLabels": {"gpu": "h1"}}})
    objects[-1]["metadata"]["name"] = "h100"
    pods = named(objects, "second")["spec"]["podSets"][0]["template"]["spec"]
    pods["nodeSelector"] = {"gpu": "h1"}
    found = kueue_state(objects)
    types = [found.jobs.type_sets[at] for at in found.jobs.type_set]
    assert types == [("a100",), ("h100",), ("a100", "h100")]


def test_what_each_pod_asks_for(kueue_state, objects):
    def box(count: Any, kind: str = "limits", **given: Any) -> dict[str, Any]:
        return {"resources": {kind: {"nvidia.com/gpu": count}}, **given}

    spec = named(objects, "second")["spec"]
    spec["podSets"] = [
        {"count": 2, "template": {"spec": {
            "containers": [box(1), box("2", "requests"), {"name": "none"}],
            "initContainers": [box(5), box(1, restartPolicy="Always")],
        }}},
        {"template": {"spec": {"containers": [box(3)]}}},
        {"count": 0, "template": {"spec": {"containers": [
            {"resources": {"limits": {"amd.com/gpu": 1}}}]}}},
    ]  # fmt: skip
    assert kueue_state(objects).jobs.gpus[1] == 2 * 5 + 3


def test_times_evictions_and_limits(kueue_state, objects):
    del named(objects, "second")["spec"]["maximumExecutionTimeSeconds"]
    named(objects, "second")["status"] = {
        "accumulatedPastExecutionTimeSeconds": 90,
        "schedulingStats": {"evictions": [
            {"reason": "Preempted", "count": 2}, {"reason": "PodsReadyTimeout", "count": 5}]},
    }  # fmt: skip
    found = kueue_state(objects)
    assert found.jobs.service_s.tolist() == [7200, YEAR_S, 7200]
    assert found.jobs.to_polars()["time_limit_s"].to_list() == [7200, None, 7200]
    assert found.attained_s.tolist() == [0, 90, 0]
    assert found.preemptions.tolist() == [0, 2, 0]
    assert any("1 workload without maximumExecutionTime" in note for note in found.jobs.notes)
    assert kueue_state(objects, unlimited_s=500).jobs.service_s[1] == 500


def requests_of(workload):
    """What the first container of a workload requests."""
    (container,) = workload["spec"]["podSets"][0]["template"]["spec"]["containers"]
    return container["resources"]["requests"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w, q: w.update(status={"conditions": [{"type": "Finished", "status": "True"}]}),
         "has finished"),
        (lambda w, q: w["spec"].update(podSets=[]), "asks for no GPU"),
        (lambda w, q: w["spec"].update(queueName="none"), "has a queueName without a LocalQueue"),
        (lambda w, q: w["metadata"].update(creationTimestamp="soon"), "creationTimestamp"),
        (lambda w, q: w["spec"]["podSets"][0].update(count="many"), "invalid count in a pod set"),
        (lambda w, q: requests_of(w).update({"nvidia.com/gpu": "1.5"}),
         "has a pod set without a whole number of GPUs"),
        (lambda w, q: q["spec"].update(stopPolicy="Hold"), "is in a stopped queue"),
    ],
)  # fmt: skip
def test_workloads_that_are_left_out_are_counted(kueue_state, objects, change, reason):
    change(named(objects, "second"), named(objects, "users"))
    rejects = kueue_state(objects).jobs.rejects
    assert any(reason in line for line in rejects.lines()), rejects


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, q: a.update(count=5), "12 GPUs cannot be divided among 5 pods"),
        (lambda a, q: a.update(resourceUsage={"nvidia.com/gpu": "1.5"}), "resourceUsage"),
        (lambda a, q: a["topologyAssignment"]["slices"][0].update(podCounts=[1]), "slice"),
        (lambda a, q: a["topologyAssignment"].update(domains=[{"count": 1}]), "domain"),
        (lambda a, q: a.update(resourceUsage={"nvidia.com/gpu": "3Gi"}), "3,221,225,472 GPUs are"),
        (lambda a, q: q["resources"][0].update(nominalQuota="2.5"), "nominalQuota '2.5'"),
        (lambda a, q: q["resources"][0].update(nominalQuota="16M"),
         "nominalQuota: 16,000,000 GPUs of flavor 'a100' are more than 262,144 servers of 8"),
        (lambda a, q: q["resources"][0].update(nominalQuota="1Gi"), "1,073,741,824 GPUs of flavor"),
        (lambda a, q: q["resources"][0].update(name="cpu"), "no ClusterQueue .* quota of GPUs"),
    ],
)  # fmt: skip
def test_what_is_held_must_be_readable(kueue_state, objects, change, message):
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    change(assigned, named(objects, "research")["spec"]["resourceGroups"][0]["flavors"][0])
    with pytest.raises(ValueError, match=message):
        kueue_state(objects)


def test_one_queue_alone(kueue_state, objects):
    other = copy.deepcopy(named(objects, "research"))
    other["metadata"]["name"] = "teaching"
    found = kueue_state([*objects, other])
    assert found.cluster.num_gpus == 48
    assert any("2 ClusterQueues share all quotas" in note for note in found.jobs.notes)
    assert kueue_state([*objects, other], queue="research").cluster.num_gpus == 24
    assert not len(kueue_state([*objects, other], queue="teaching").jobs)
    with pytest.raises(ValueError, match="queue: ClusterQueue 'none' not found"):
        kueue_state(objects, queue="none")


def test_a_workload_of_more_gpus_than_there_can_be_is_left_out(kueue_state, objects):
    spec = named(objects, "second")["spec"]["podSets"][0]["template"]["spec"]
    spec["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1Gi"
    found = kueue_state(objects)
    assert found.jobs.id.tolist() == ["vision/first", "vision/third"]
    assert "more GPUs than a cluster can have" in found.jobs.rejects.lines()[0]


def test_queues_without_workloads_are_a_state(kueue_state, objects):
    found = kueue_state([one for one in objects if one["kind"] != "Workload"], now=7)
    assert (len(found.jobs), found.cluster.num_gpus, found.now_s) == (0, 24, 7)
    assert not gs.decide(found).what.size


def test_other_objects_are_named(kueue_state, objects):
    found = kueue_state(
        [*objects, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}]
    )
    assert any("objects of other kinds are not read: 1 Job" in note for note in found.jobs.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kueue.x-k8s.io: [", "line 2"),
        ("- " * 5000 + "kueue.x-k8s.io", "nested too deeply"),
        ("kueue.x-k8s.io", "must be an object with a kind"),
        ('{"kueue.x-k8s.io": ', "line 1"),
        ("&a [kueue.x-k8s.io, *a]", "must be an object with a kind"),
        ("a: !!python/object/apply:os.system [kueue.x-k8s.io]", "could not determine"),
    ],
)
def test_text_that_is_none_of_it_is_refused(tmp_path, text, message):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"a\.yaml: not a readable cluster state") as caught:
        gs.online.read_state(path)
    assert message in str(caught.value)


def test_levels_of_a_topology_above_servers_are_the_domains_of_the_cluster(kueue_state, objects):
    block, rack, host = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
    levels = [{"nodeLabel": label} for label in (block, rack, host)]
    named(objects, "racks")["spec"]["levels"] = levels
    servers = [
        server("gpu01", 8, gpu="a100", **{block: "b1", rack: "r1"}),
        server("gpu02", 8, gpu="a100", **{block: "b1", rack: "r2"}),
        server("gpu03", 8, gpu="a100", **{block: "b2", rack: "r1"}),
        server("gpu04", 8, gpu="a100", **{block: "b2"}),
        server("gpu05", 8, gpu="a100"),
    ]
    cluster = kueue_state([*objects, *servers]).cluster
    assert {one.name: one.parent for one in cluster.domains} == {
        "kueue": None, "kueue/b1": "kueue", "kueue/b2": "kueue", "kueue/b1/r1": "kueue/b1",
        "kueue/b1/r2": "kueue/b1", "kueue/b2/r1": "kueue/b2",
    }  # fmt: skip
    inside = [group.domain for group in cluster.servers for _ in range(group.count)]
    assert inside == ["kueue/b1/r1", "kueue/b1/r2", "kueue/b2/r1", "kueue/b2", "kueue"]
    assert gs.decide(kueue_state([*objects, *servers]), placement="topology").job.size
    assert kueue_state([*objects, *servers], queue="research").cluster.domains == cluster.domains
    # Without labels of the nodes, or without the topology, nothing is known of them.
    assert not kueue_state([*objects, server("gpu01", 8, gpu="a100"), servers[-1]]).cluster.domains
    others = [one for one in objects if one["kind"] != "Topology"]
    assert not kueue_state([*others, *servers]).cluster.domains
