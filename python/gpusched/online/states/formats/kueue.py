"""A cluster under Kueue: its objects, as ``kubectl get -o yaml`` or ``-o json`` prints them.

Quotas count GPUs and name no servers. Where Nodes are among the objects, these are the servers;
else each flavor has as many servers as its quotas stand for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from gpusched.base.field_checks import check_integer
from gpusched.base.rejects import Rejects
from gpusched.base.source import Source
from gpusched.base.wording import plural
from gpusched.model.cluster import MAX_GPUS_PER_SERVER
from gpusched.online.cluster_state import ClusterState, no_jobs
from gpusched.online.states.kube_objects import KubeObject, objects_of
from gpusched.online.states.kueue_queues import Queues, queues_of
from gpusched.online.states.kueue_servers import Layout, of_nodes, of_quotas
from gpusched.online.states.kueue_workloads import Unfit, Workload, workload_of
from gpusched.online.states.server_room import settle
from gpusched.online.states.state_formats import StateFormat, register_state_format
from gpusched.traces.workload import Trace

GROUP: Final = "kueue.x-k8s.io"
YEAR_S: Final = 365 * 86_400
_HEAD_BYTES: Final = 1 << 20
_KINDS: Final = {
    "ClusterQueue", "LocalQueue", "ResourceFlavor", "Topology", "Workload", "Cohort",
    "WorkloadPriorityClass", "AdmissionCheck",
}  # fmt: skip


def read(
    sources: Sequence[Source],
    *,
    now: int | None = None,
    unlimited_s: int = YEAR_S,
    queue: str | None = None,
    resource: str | None = None,
    gpus_per_server: int = 8,
) -> ClusterState:
    """Read workloads, queues, flavors and, if they are there, servers.

    Parameters
    ----------
    now
        Seconds since 1970; default: the last time in the files.
    unlimited_s
        Stands for the longest time of workloads that have none.
    queue
        The workloads and quotas of this ClusterQueue alone; default: all together.
    resource
        What GPUs are called, such as ``"nvidia.com/gpu"``; default: all that ends in ``/gpu``.
    gpus_per_server
        Of servers that quotas stand for.
    """
    check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    check_integer("unlimited_s", unlimited_s, 1, 10 * YEAR_S)
    objects = list(objects_of(sources))
    own = [each for each in objects if each.group == GROUP]
    nodes = [each for each in objects if each.kind == "Node" and not each.group]
    is_gpu = _named_as(resource)
    queues = _of_queue(queues_of(own, is_gpu), queue)
    if not any(of_one.quotas for of_one in queues.clusters.values()):
        raise ValueError("no ClusterQueue among the objects has a quota of GPUs")
    layout, notes = _given_servers(nodes, queues, is_gpu) if nodes else (None, [])
    workloads, flavors, others, rejects = _workloads(own, queues, is_gpu, layout)
    order = sorted(range(len(workloads)), key=lambda row: workloads[row].submit_s)
    workloads, flavors = [workloads[row] for row in order], [flavors[row] for row in order]
    if layout is None:
        layout = of_quotas(queues, workloads, gpus_per_server)
        notes.append(
            f"no Node among the objects: servers of {gpus_per_server} GPUs stand for the quotas"
        )
    layout.place(workloads, others if nodes else (), may_grow=not nodes)
    if layout.num_guessed:
        notes.append(
            f"{plural(layout.num_guessed, 'workload')} of which no topologyAssignment names the "
            "servers: laid where there was room"
        )
    cluster, columns = settle(layout.servers, "kueue")
    notes += _remarks(objects, own, nodes, queues, workloads, unlimited_s)
    times = [
        max(each.submit_s, 0.0 if np.isnan(each.start_s) else each.start_s) for each in workloads
    ]
    trace = no_jobs("kueue") if not workloads else Trace.from_columns(
        [each.submit_s for each in workloads],
        [unlimited_s if np.isnan(each.limit_s) else each.limit_s for each in workloads],
        [each.gpus for each in workloads],
        id=[each.key for each in workloads],
        user=[each.namespace for each in workloads],
        queue=[each.queue for each in workloads],
        gpu_types=flavors,
        name="kueue",
    )  # fmt: skip
    now_s = max(times, default=0.0) if now is None else float(now)
    start_s = np.array([each.start_s for each in workloads])
    past_s = np.array([each.past_s for each in workloads])
    return ClusterState(
        cluster,
        replace(trace, rejects=rejects, notes=tuple(notes)),
        now_s,
        start_s=start_s,
        attained_s=past_s + np.where(np.isnan(start_s), 0.0, np.maximum(0.0, now_s - start_s)),
        preemptions=np.array([each.preemptions for each in workloads], np.int32),
        **columns,
    )


def _named_as(resource: str | None) -> Callable[[str], bool]:
    if resource is None:
        return lambda name: name.endswith("/gpu")
    return lambda name: name == resource


def _of_queue(queues: Queues, queue: str | None) -> Queues:
    if queue is None:
        return queues
    if queue not in queues.clusters:
        raise ValueError(f"queue: no ClusterQueue {queue!r} among the objects")
    return Queues({queue: queues.clusters[queue]}, queues.local, queues.labels)


def _workloads(
    own: Sequence[KubeObject],
    queues: Queues,
    is_gpu: Callable[[str], bool],
    layout: Layout | None,
) -> tuple[list[Workload], list[list[str]], list[Workload], Rejects]:
    """Return those that wait or run, the flavors that each may have, and why others are left out.

    Before the last stand those that other queues have admitted.
    """
    kept, flavors, others = [], [], []
    left_out: dict[str, list[int]] = {}
    number = -1
    for each in own:
        if each.kind != "Workload":
            continue
        number += 1
        try:
            workload = workload_of(each, is_gpu)
            if workload.pods and workload.queue not in queues.clusters:
                others.append(workload)
                raise Unfit("is admitted by another ClusterQueue")
            allowed, of_queue = _allowed(workload, queues)
            if layout is not None and workload.widest > layout.widest(allowed):
                raise Unfit("has a pod that asks for more GPUs than any of its servers has")
        except Unfit as unfit:
            left_out.setdefault(str(unfit), []).append(number)
            continue
        kept.append(replace(workload, queue=of_queue))
        flavors.append(allowed)
    return kept, flavors, others, Rejects().plus(left_out)


def _allowed(workload: Workload, queues: Queues) -> tuple[list[str], str]:
    """Return the flavors that a workload may have, and its ClusterQueue."""
    if workload.pods:
        return sorted({pods.flavor for pods in workload.pods}), workload.queue
    found, admits = queues.of(workload.namespace, workload.queue)
    if found is None:
        raise Unfit("queueName names no LocalQueue of a ClusterQueue that is there")
    if not admits:
        raise Unfit("its queue is stopped")
    flavors = queues.flavors(found, workload.selector)
    if not flavors:
        raise Unfit("its queue has no flavor with GPUs on servers that it selects")
    return flavors, found.name


def _given_servers(
    nodes: Sequence[KubeObject], queues: Queues, is_gpu: Callable[[str], bool]
) -> tuple[Layout, list[str]]:
    layout, unknown = of_nodes(nodes, queues, is_gpu)
    if not unknown:
        return layout, []
    named = ", ".join(unknown[:3])
    return layout, [f"{plural(len(unknown), 'server')} that no flavor selects, left out: {named}"]


def _remarks(
    objects: Sequence[KubeObject],
    own: Sequence[KubeObject],
    nodes: Sequence[KubeObject],
    queues: Queues,
    workloads: Sequence[Workload],
    unlimited_s: int,
) -> list[str]:
    notes = []
    endless = sum(np.isnan(each.limit_s) for each in workloads)
    if endless:
        notes.append(
            f"{plural(int(endless), 'workload')} without maximumExecutionTimeSeconds, taken for "
            f"{unlimited_s:,} s"
        )
    if len(queues.clusters) > 1:
        notes.append(
            f"{len(queues.clusters)} ClusterQueues share all quotas, as in one cohort without "
            "limits; name one by queue"
        )
    used = {id(each) for each in (*own, *nodes) if each.kind in (_KINDS | {"Node"})}
    others = Counter(each.kind for each in objects if id(each) not in used)
    if others:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        notes.append(f"objects of other kinds are not read: {told}")
    return notes


def _recognises(sources: Sequence[Source]) -> bool:
    return any(GROUP.encode() in source.data[:_HEAD_BYTES] for source in sources)


def _excerpt() -> dict[str, bytes]:
    def thing(kind: str, name: str, spec: dict[str, Any], **given: Any) -> dict[str, Any]:
        at = {"name": name, "creationTimestamp": "2026-03-02T09:00:00Z"}
        if kind in ("Workload", "LocalQueue"):
            at["namespace"] = "vision"
        return {
            "apiVersion": f"{GROUP}/v1beta2", "kind": kind, "metadata": at, "spec": spec, **given
        }  # fmt: skip

    def workload(name: str, pods: int, gpus: int, **given: Any) -> dict[str, Any]:
        container = {"name": "train", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
        sets = [{"name": "main", "count": pods, "template": {"spec": {"containers": [container]}}}]
        limit = {"maximumExecutionTimeSeconds": 7200}
        return thing("Workload", name, {"queueName": "users", "podSets": sets, **limit}, **given)

    slices = [
        {"domainCount": 2, "valuesPerLevel": [{"prefix": "gpu0", "roots": ["1", "2"]}],
         "podCounts": [2, 1]}
    ]  # fmt: skip
    assigned = {
        "name": "main", "count": 3, "flavors": {"nvidia.com/gpu": "a100"},
        "resourceUsage": {"nvidia.com/gpu": "12"},
        "topologyAssignment": {"levels": ["kubernetes.io/hostname"], "slices": slices},
    }  # fmt: skip
    admitted = {
        "admission": {"clusterQueue": "research", "podSetAssignments": [assigned]},
        "conditions": [
            {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-03-02T09:01:00Z"}
        ],
    }
    quota = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 24}]}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [quota]}
    items = [
        thing("Topology", "racks", {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}),
        thing("ResourceFlavor", "a100", {"nodeLabels": {"gpu": "a100"}, "topologyName": "racks"}),
        thing("ClusterQueue", "research", {"resourceGroups": [group]}),
        thing("LocalQueue", "users", {"clusterQueue": "research"}),
        workload("first", 3, 4, status=admitted),
        workload("second", 1, 8),
        workload("third", 2, 8),
    ]
    return {"kueue.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()}


register_state_format(
    StateFormat(
        name="kueue",
        summary="Objects of Kueue: workloads, queues, flavors; servers too where Nodes are there.",
        source="kubernetes-sigs/kueue, v1beta1 and v1beta2.",
        detection="a file that names `kueue.x-k8s.io`",
        recognises=_recognises,
        read=read,
        excerpt=_excerpt,
        options=("now", "unlimited_s", "queue", "resource", "gpus_per_server"),
    )
)
