"""States from objects of Kueue, as its versions write them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import gpusched as gs
from gpusched.online.states.state_formats import state_formats

Objects = list[dict[str, Any]]
YEAR_S = 365 * 86_400


@pytest.fixture
def objects() -> Objects:
    return json.loads(state_formats()["kueue"].excerpt()["kueue.json"])["items"]


@pytest.fixture
def state(tmp_path: Path) -> Callable[..., gs.online.ClusterState]:
    def read(given: Objects, **options: Any) -> gs.online.ClusterState:
        path = tmp_path / "all.yaml"
        path.write_text(yaml.safe_dump_all(given))
        return gs.online.read_state(path, **options)

    return read


def named(objects: Objects, name: str) -> dict[str, Any]:
    return next(each for each in objects if each["metadata"]["name"] == name)


def server(name: str, gpus: int, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {}, "status": {"allocatable": {"nvidia.com/gpu": str(gpus), "cpu": "96"}},
    }  # fmt: skip


def test_quotas_stand_for_servers_and_workloads_name_them(state, objects):
    found = state(objects)
    assert found.jobs.id.tolist() == ["vision/first", "vision/second", "vision/third"]
    assert found.jobs.gpus.tolist() == [12, 8, 16]
    assert found.jobs.queue.values().tolist() == ["research"] * 3
    assert [each.name for each in found.servers] == ["gpu01", "gpu02", "a100-0"]
    assert found.held_server.tolist() == [0, 1]
    assert [int(mask).bit_count() for mask in found.held_mask] == [8, 4]
    assert found.attained_s.tolist() == [0, 0, 0]
    assert state(objects, now=int(found.now_s) + 60).attained_s.tolist() == [60, 0, 0]
    assert gs.decide(found).job.tolist() == [1]


def test_json_yaml_lists_and_files_tell_the_same(state, objects, tmp_path):
    whole = state(objects)
    for number, each in enumerate(objects):
        (tmp_path / f"{number}.json").write_text(json.dumps(each))
    workloads = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList"}
    bare = [
        {key: value for key, value in each.items() if key not in ("kind", "apiVersion")}
        for each in objects
        if each["kind"] == "Workload"
    ]
    rest = [each for each in objects if each["kind"] != "Workload"]
    (tmp_path / "all.yaml").unlink()
    parts = gs.online.read_state(tmp_path)
    for path in tmp_path.iterdir():
        path.unlink()
    lists = state([*rest, {**workloads, "items": bare}])
    for other in (parts, lists):
        assert other.cluster == whole.cluster
        assert other.jobs.id.tolist() == whole.jobs.id.tolist()
        assert other.held_mask.tolist() == whole.held_mask.tolist()


def test_v1beta1_names_domains_one_by_one(state, objects):
    new = state(objects)
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    assigned["topologyAssignment"] = {
        "levels": ["kubernetes.io/hostname"],
        "domains": [{"values": ["gpu01"], "count": 2}, {"values": ["gpu02"], "count": 1}],
    }
    old = state(objects)
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
def test_slices_are_spelled_out(state, objects, level):
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    part = {"domainCount": 2, "valuesPerLevel": [level], "podCounts": [1, 2]}
    assigned["topologyAssignment"]["slices"] = [part]
    found = state(objects)
    held = zip(found.held_server.tolist(), found.held_mask.tolist(), strict=True)
    on = {found.servers[at].name: mask.bit_count() for at, mask in held}
    assert on == ({"gpu01": 4, "gpu02": 8} if "2" in str(level) else {"gpu01": 12})


def test_without_hostnames_pods_lie_where_there_is_room(state, objects):
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    del assigned["topologyAssignment"]
    found = state(objects)
    assert [each.name for each in found.servers] == ["a100-0", "a100-1", "a100-2"]
    assert sum(int(mask).bit_count() for mask in found.held_mask) == 12
    assert any("laid where there was room" in note for note in found.jobs.notes)


def test_nodes_are_the_servers(state, objects):
    nodes = [server(f"gpu0{number}", 8, gpu="a100") for number in (1, 2, 3)]
    nodes[2]["spec"]["unschedulable"] = True
    nodes += [server("other", 4, gpu="t4"), server("login", 0)]
    found = state([*objects, *nodes])
    assert [each.name for each in found.servers] == ["gpu01", "gpu02"]
    assert any("no flavor selects, left out: other" in note for note in found.jobs.notes)
    assert not gs.decide(found).job.size  # the third is closed


def test_quotas_that_were_lowered_leave_what_is_held(state, objects):
    queue = named(objects, "research")["spec"]["resourceGroups"][0]["flavors"][0]
    queue["resources"][0]["nominalQuota"] = "4"
    found = state(objects)
    assert sum(int(mask).bit_count() for mask in found.held_mask) == 12
    assert found.cluster.num_gpus == 12


def test_flavors_are_types_and_selectors_choose(state, objects):
    flavors = named(objects, "research")["spec"]["resourceGroups"][0]["flavors"]
    flavors.append({"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]})
    objects.append({**copy.deepcopy(named(objects, "a100")), "spec": {"nodeLabels": {"gpu": "h1"}}})
    objects[-1]["metadata"]["name"] = "h100"
    pods = named(objects, "second")["spec"]["podSets"][0]["template"]["spec"]
    pods["nodeSelector"] = {"gpu": "h1"}
    found = state(objects)
    types = [found.jobs.type_sets[at] for at in found.jobs.type_set]
    assert types == [("a100",), ("h100",), ("a100", "h100")]


def test_what_each_pod_asks_for(state, objects):
    def box(count: Any, kind: str = "limits", **given: Any) -> dict[str, Any]:
        return {"resources": {kind: {"nvidia.com/gpu": count}}, **given}

    spec = named(objects, "second")["spec"]
    spec["podSets"] = [
        {"count": 2, "template": {"spec": {
            "containers": [box(1), box("2", "requests"), {"name": "none"}],
            "initContainers": [box(5), box(1, restartPolicy="Always")],
        }}},
        {"template": {"spec": {"containers": [box(3)]}}},
    ]  # fmt: skip
    assert state(objects).jobs.gpus[1] == 2 * 5 + 3


def test_times_evictions_and_limits(state, objects):
    del named(objects, "second")["spec"]["maximumExecutionTimeSeconds"]
    named(objects, "second")["status"] = {
        "accumulatedPastExecutionTimeSeconds": 90,
        "schedulingStats": {"evictions": [
            {"reason": "Preempted", "count": 2}, {"reason": "PodsReadyTimeout", "count": 5}]},
    }  # fmt: skip
    found = state(objects)
    assert found.jobs.service_s.tolist() == [7200, YEAR_S, 7200]
    assert found.attained_s.tolist() == [0, 90, 0]
    assert found.preemptions.tolist() == [0, 2, 0]
    assert any("1 workload without maximumExecutionTime" in note for note in found.jobs.notes)
    assert state(objects, unlimited_s=500).jobs.service_s[1] == 500


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w, q: w.update(status={"conditions": [{"type": "Finished", "status": "True"}]}),
         "has finished"),
        (lambda w, q: w["spec"].update(active=False), "spec.active is false"),
        (lambda w, q: w["spec"].update(podSets=[]), "asks for no GPU"),
        (lambda w, q: w["spec"].update(queueName="none"), "queueName names no LocalQueue"),
        (lambda w, q: w["metadata"].update(creationTimestamp="soon"), "creationTimestamp"),
        (lambda w, q: w["spec"]["podSets"][0].update(count="many"), "count is no number of pods"),
        (lambda w, q: q["spec"].update(stopPolicy="Hold"), "its queue is stopped"),
    ],
)  # fmt: skip
def test_workloads_that_are_left_out_are_counted(state, objects, change, reason):
    change(named(objects, "second"), named(objects, "users"))
    rejects = state(objects).jobs.rejects
    assert any(reason in line for line in rejects.lines()), rejects


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, q: a.update(count=5), "12 GPUs are not shared by 5 pods"),
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
def test_what_is_held_must_be_readable(state, objects, change, message):
    assigned = named(objects, "first")["status"]["admission"]["podSetAssignments"][0]
    change(assigned, named(objects, "research")["spec"]["resourceGroups"][0]["flavors"][0])
    with pytest.raises(ValueError, match=message):
        state(objects)


def test_one_queue_alone(state, objects):
    other = copy.deepcopy(named(objects, "research"))
    other["metadata"]["name"] = "teaching"
    found = state([*objects, other])
    assert found.cluster.num_gpus == 48
    assert any("2 ClusterQueues share all quotas" in note for note in found.jobs.notes)
    assert state([*objects, other], queue="research").cluster.num_gpus == 24
    assert not len(state([*objects, other], queue="teaching").jobs)
    with pytest.raises(ValueError, match="queue: no ClusterQueue 'none'"):
        state(objects, queue="none")


def test_a_workload_of_more_gpus_than_there_can_be_is_left_out(state, objects):
    spec = named(objects, "second")["spec"]["podSets"][0]["template"]["spec"]
    spec["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1Gi"
    found = state(objects)
    assert found.jobs.id.tolist() == ["vision/first", "vision/third"]
    assert "more GPUs than a cluster can have" in found.jobs.rejects.lines()[0]


def test_queues_without_workloads_are_a_state(state, objects):
    found = state([each for each in objects if each["kind"] != "Workload"], now=7)
    assert (len(found.jobs), found.cluster.num_gpus, found.now_s) == (0, 24, 7)
    assert not gs.decide(found).what.size


def test_other_objects_are_named(state, objects):
    found = state([*objects, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}])
    assert any("objects of other kinds are not read: 1 Job" in note for note in found.jobs.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kueue.x-k8s.io: [", "line 2"),
        ("- " * 5000 + "kueue.x-k8s.io", "nested too deeply"),
        ("kueue.x-k8s.io", "is no object with a kind"),
        ('{"kueue.x-k8s.io": ', "line 1"),
        ("&a [kueue.x-k8s.io, *a]", "is no object with a kind"),
        ("a: !!python/object/apply:os.system [kueue.x-k8s.io]", "could not determine"),
    ],
)
def test_text_that_is_none_of_it_is_refused(tmp_path, text, message):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"a\.yaml: not a readable state") as caught:
        gs.online.read_state(path)
    assert message in str(caught.value)


def test_levels_of_a_topology_above_servers_are_the_domains_of_the_cluster(state, objects):
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
    cluster = state([*objects, *servers]).cluster
    assert {each.name: each.parent for each in cluster.domains} == {
        "kueue": None, "kueue/b1": "kueue", "kueue/b2": "kueue", "kueue/b1/r1": "kueue/b1",
        "kueue/b1/r2": "kueue/b1", "kueue/b2/r1": "kueue/b2",
    }  # fmt: skip
    inside = [group.domain for group in cluster.servers for _ in range(group.count)]
    assert inside == ["kueue/b1/r1", "kueue/b1/r2", "kueue/b2/r1", "kueue/b2", "kueue"]
    assert gs.decide(state([*objects, *servers]), placement="topology").job.size
    # Without labels of the nodes, or without the topology, nothing is known of them.
    assert not state([*objects, server("gpu01", 8, gpu="a100"), servers[-1]]).cluster.domains
    others = [each for each in objects if each["kind"] != "Topology"]
    assert not state([*others, *servers]).cluster.domains
