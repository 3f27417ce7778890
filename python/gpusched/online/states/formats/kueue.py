"""A cluster under Kueue: its objects, as ``kubectl get -o yaml`` or ``-o json`` prints them.

Quotas count GPUs without servers. If the objects include Nodes, these are the servers; otherwise
each flavor gets as many servers as its quotas need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from itertools import takewhile
from typing import Any, Final

import numpy as np

from gpusched.base.field_checks import check_integer
from gpusched.base.rejects import Rejects
from gpusched.base.source import Source
from gpusched.base.wording import plural
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS
from gpusched.online.cluster_state import ClusterState, no_jobs
from gpusched.online.states.server_room import RoomServer, settle
from gpusched.online.states.state_formats import StateFormat, register_state_format
from gpusched.traces.format_registry import excerpt_files
from gpusched.traces.kube_objects import (
    HOSTNAME,
    KUEUE,
    KubeObject,
    Pods,
    Unfit,
    Workload,
    amounts_of,
    at,
    count_of,
    items_of,
    objects_of,
    text_of,
    workload_of,
)
from gpusched.traces.text_columns import UNIX_EPOCH
from gpusched.traces.workload import Trace

YEAR_S: Final = 365 * 86_400
_HEAD_BYTES: Final = 1 << 20
_NO_SHOWN: Final = 3
_KINDS: Final = {
    "ClusterQueue", "LocalQueue", "ResourceFlavor", "Topology", "Workload", "Cohort",
    "WorkloadPriorityClass", "AdmissionCheck",
}  # fmt: skip


@dataclass(frozen=True)
class ClusterQueue:
    """A ClusterQueue and its quotas.

    ``name``: its name.
    ``quotas``: GPUs by type, in the order in which it tries their flavors.
    ``is_stopped``: whether it admits no workloads.
    """

    name: str
    quotas: dict[str, int]
    is_stopped: bool


@dataclass(frozen=True)
class Queues:
    """All queues and flavors in the files.

    The GPU type of a flavor is its name, or if quotas cover several of its resources, one type for
    each: ``a100/nvidia.com/gpu``.

    ``clusters``: the ClusterQueues by name.
    ``local``: by key of a LocalQueue: its ClusterQueue, and whether it is stopped.
    ``labels``: the server labels of each flavor.
    ``levels``: for flavors with a topology: the labels of its domains, from the outermost to the
        innermost.
    ``covered``: the GPU resources of each flavor that quotas cover.
    """

    clusters: dict[str, ClusterQueue] = field(default_factory=dict)
    local: dict[str, tuple[str, bool]] = field(default_factory=dict)
    labels: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    covered: dict[str, set[str]] = field(default_factory=dict)

    def type_of(self, flavor: str, resource: str) -> str:
        """Return the GPU type for a flavor and a resource."""
        is_only = self.covered.get(flavor, {resource}) <= {resource}
        return flavor if is_only else f"{flavor}/{resource}"

    def of(self, namespace: str, queue: str) -> tuple[ClusterQueue | None, bool]:
        """Return the ClusterQueue of a LocalQueue, and whether it admits jobs.

        If the files have no LocalQueue and one ClusterQueue, that one is used.
        """
        if not self.local and len(self.clusters) == 1:
            (only,) = self.clusters.values()
            return only, not only.is_stopped
        name, is_stopped = self.local.get(f"{namespace}/{queue}", ("", False))
        found = self.clusters.get(name)
        return found, found is not None and not (is_stopped or found.is_stopped)

    def flavor_of(self, labels: object, resource: str, types: Collection[str]) -> str | None:
        """Return the first flavor (by name) for a server's GPUs with one of these types."""
        for flavor in sorted(self.covered):
            is_one = resource in self.covered[flavor] and self.type_of(flavor, resource) in types
            wanted = self.labels.get(flavor, {}).items()
            if is_one and all(at(labels, name) == value for name, value in wanted):
                return flavor
        return None

    def types(self, queue: ClusterQueue, selector: Mapping[str, Any], resource: str) -> list[str]:
        """Return the types of a queue for this resource, on servers that pods select."""
        selected = {
            self.type_of(flavor, resource)
            for flavor, covered in self.covered.items()
            if resource in covered and all(
                selector.get(label, value) == value
                for label, value in self.labels.get(flavor, {}).items()
            )
        }  # fmt: skip
        return [name for name in queue.quotas if name in selected]


def queues_of(objects: Sequence[KubeObject], is_gpu: Callable[[str], bool]) -> Queues:
    """Read queues and flavors."""
    found = Queues()
    quotas = {
        each.name: _quotas(each, is_gpu) for each in objects if each.kind == "ClusterQueue"
    }  # fmt: skip
    for flavor, resource in (kind for of_queue in quotas.values() for kind in of_queue):
        found.covered.setdefault(flavor, set()).add(resource)
    topologies = {each.name: _levels(each) for each in objects if each.kind == "Topology"}
    for each in objects:
        if each.kind == "ResourceFlavor":
            labels = each.at("spec", "nodeLabels")
            found.labels[each.name] = labels if isinstance(labels, Mapping) else {}
            topology = topologies.get(text_of(each.at("spec", "topologyName")))
            if topology:
                found.levels[each.name] = topology
        elif each.kind == "ClusterQueue":
            by_type = {found.type_of(*kind): count for kind, count in quotas[each.name].items()}
            found.clusters[each.name] = ClusterQueue(each.name, by_type, _is_stopped(each))
        elif each.kind == "LocalQueue":
            queue = text_of(each.at("spec", "clusterQueue"))
            found.local[each.key] = (queue, _is_stopped(each))
    return found


def _levels(topology: KubeObject) -> tuple[str, ...]:
    """Return the labels of a topology's levels above servers."""
    labels = [text_of(level.get("nodeLabel")) for level in items_of(topology.at("spec", "levels"))]
    return tuple(label for label in labels if label and label != HOSTNAME)


def _quotas(queue: KubeObject, is_gpu: Callable[[str], bool]) -> dict[tuple[str, str], int]:
    """Return the GPUs of each flavor and resource."""
    quotas: dict[tuple[str, str], int] = {}
    for group in items_of(queue.at("spec", "resourceGroups")):
        for flavor in items_of(group.get("flavors")):
            for resource in items_of(flavor.get("resources")):
                what = text_of(resource.get("name"))
                if not is_gpu(what):
                    continue
                given = at(resource, "nominalQuota")
                count = count_of(given)
                if count is None:
                    raise ValueError(f"{queue}: nominalQuota {given!r} must be a whole number")
                kind = (text_of(flavor.get("name")), what)
                quotas[kind] = quotas.get(kind, 0) + count
    return quotas


def _is_stopped(queue: KubeObject) -> bool:
    return text_of(queue.at("spec", "stopPolicy")) in ("Hold", "HoldAndDrain")


class Layout:
    """Servers, and the pods of admitted workloads on them.

    ``servers``: all servers.
    ``num_guessed``: number of workloads without known servers.
    """

    def __init__(self) -> None:
        self.servers: list[RoomServer] = []
        self.num_guessed = 0
        self._named: dict[str, int] = {}

    def add(self, server: RoomServer) -> None:
        """Add a server, or another GPU type to a known server of this name."""
        at = self._named.setdefault(server.name, len(self.servers))
        if at == len(self.servers):
            self.servers.append(server)
        else:
            known = self.servers[at]
            parts, gpus = (*known.parts, *server.parts), known.gpus + server.gpus
            self.servers[at] = replace(known, devices=parts, gpus=gpus)

    def widest(self, types: Sequence[str]) -> int:
        """Return the largest number of GPUs of one of these types on a server, or 0."""
        parts = (part for server in self.servers for part in server.parts)
        return max((count for name, count in parts if name in types), default=0)

    def room(self, types: Sequence[str], step: int, *, now: bool) -> int:
        """Return the GPUs of pods with ``step`` GPUs that fit on one of these types."""
        found = dict.fromkeys(types, 0)
        for server in self.servers:
            for name, count in server.parts:
                if name in found and (server.takes_jobs or not now):
                    gpus = server.num_free_of(name) if now else count
                    found[name] += gpus // step * step
        return max(found.values(), default=0)

    def has(self, name: str) -> bool:
        """Whether there is a server of this name."""
        return name in self._named

    def place(
        self, workloads: Sequence[Workload], others: Sequence[Workload], *, may_grow: bool
    ) -> None:
        """Place the pods of admitted workloads, first those with known servers.

        GPUs of ``others`` are held by jobs outside the state.

        Pods without servers go to free GPUs, the largest first. Flavors that then have too few GPUs
        (quotas may have been lowered) get one more server if they ``may_grow``.
        """
        told: list[tuple[int | None, Workload, Pods]] = []
        rest: list[tuple[int | None, Workload, Pods]] = []
        for job, workload in [*enumerate(workloads), *((None, other) for other in others)]:
            for pods in workload.pods:
                is_told = pods.server is not None and self.has(pods.server)
                (told if is_told else rest).append((job, workload, pods))
        for job, _, pods in told:
            server = self.servers[self._named[str(pods.server)]]
            if server.num_free_of(pods.flavor) < pods.count * pods.gpus:
                raise ValueError(
                    f"server {server.name}: pods hold more than its {server.gpus} GPUs"
                )
            server.hold_some(job, pods.count * pods.gpus, server.mask_of((pods.flavor,)))
        self.num_guessed = len({workload.key for _, workload, _ in rest})
        for job, workload, pods in sorted(rest, key=lambda each: -each[2].gpus):
            self._fit(job, pods, workload.key, may_grow=may_grow)

    def _fit(self, job: int | None, pods: Pods, key: str, *, may_grow: bool) -> None:
        left = pods.count * pods.gpus
        # Whole pods first; the rest is split over several servers, since its place is unknown.
        for unit in (pods.gpus, 1):
            for server in self.servers:
                if pods.flavor not in server.types or left < unit:
                    continue
                count = min(left, server.num_free_of(pods.flavor)) // unit * unit
                if count > 0:
                    server.hold_some(job, count, server.mask_of((pods.flavor,)))
                    left -= count
        while left:
            if not may_grow:
                raise ValueError(
                    f"workload {key}: holds {left} GPUs of {pods.flavor!r} more than the "
                    "servers of that flavor have"
                )
            width = min(left, MAX_GPUS_PER_SERVER)
            name = f"{pods.flavor}-beyond-{len(self.servers)}"
            self.servers.append(RoomServer(name, width, pods.flavor))
            self.servers[-1].hold_some(job, width)
            left -= width


def of_quotas(queues: Queues, workloads: Sequence[Workload], gpus_per_server: int) -> Layout:
    """Return servers for the quotas of each flavor, with names that workloads use."""
    layout = Layout()
    quotas: dict[str, int] = {}
    for queue in queues.clusters.values():
        for flavor, count in queue.quotas.items():
            quotas[flavor] = quotas.get(flavor, 0) + count
    held: dict[str, dict[str, int]] = {}
    for pods in (pods for workload in workloads for pods in workload.pods):
        quotas.setdefault(pods.flavor, 0)
        if pods.server is not None:
            of_flavor = held.setdefault(pods.flavor, {})
            of_flavor[pods.server] = of_flavor.get(pods.server, 0) + pods.count * pods.gpus
    for flavor, quota in quotas.items():
        if quota > MAX_SERVERS * gpus_per_server:
            raise ValueError(
                f"nominalQuota: {quota:,} GPUs of flavor {flavor!r} are more than {MAX_SERVERS:,} "
                f"servers of {gpus_per_server} have"
            )
        left, number = quota, 0
        named = held.get(flavor, {})
        for name, least in named.items():
            width = max(least, min(gpus_per_server, left))
            layout.add(RoomServer(name, min(width, MAX_GPUS_PER_SERVER), flavor))
            left -= width
        while left > 0:
            width = min(gpus_per_server, left)
            layout.servers.append(RoomServer(f"{flavor}-{number}", width, flavor))
            left, number = left - width, number + 1
    return layout


def of_nodes(
    nodes: Sequence[KubeObject], queues: Queues, is_gpu: Callable[[str], bool]
) -> tuple[Layout, list[str]]:
    """Return the servers of the Nodes, and the names of those without a flavor."""
    layout, unknown = Layout(), []
    types = {name for queue in queues.clusters.values() for name in queue.quotas}
    for each in nodes:
        given = each.at("status", "allocatable") or each.at("status", "capacity")
        amounts = amounts_of(given, is_gpu)
        if amounts is None or amounts.total() > MAX_GPUS_PER_SERVER:
            raise ValueError(f"{each}: must have whole GPUs, at most {MAX_GPUS_PER_SERVER}")
        labels = each.at("metadata", "labels") or {}
        if amounts and layout.has(each.name):
            raise ValueError(f"{each}: two servers have this name")
        takes_jobs = at(each.at("spec"), "unschedulable") is not True and all(
            has.get("status") == "True"
            for has in items_of(each.at("status", "conditions"))
            if has.get("type") == "Ready"
        )
        for resource, gpus in amounts.items():
            flavor = queues.flavor_of(labels, resource, types)
            if flavor is None:
                unknown.append(each.name if len(amounts) == 1 else f"{resource} of {each.name}")
                continue
            inside = _domains(labels, queues.levels.get(flavor, ()))
            gpu_type = queues.type_of(flavor, resource)
            layout.add(RoomServer(each.name, gpus, gpu_type, takes_jobs, domains=inside))
    return layout, unknown


def _domains(labels: object, levels: Sequence[str]) -> tuple[str, ...]:
    """Return a server's domains, down to the first level without a label."""
    named = [at(labels, level) for level in levels]
    return tuple(str(name) for name in takewhile(lambda name: isinstance(name, str), named))


def read(
    sources: Sequence[Source],
    *,
    now: int | None = None,
    unlimited_s: int = YEAR_S,
    queue: str | None = None,
    resource: str | None = None,
    gpus_per_server: int = 8,
) -> ClusterState:
    """Read workloads, queues, flavors and, if present, servers.

    ``now``: seconds since 1970; default: the last time in the files.
    ``unlimited_s``: maximum run time for workloads without one.
    ``queue``: only the workloads and quotas of this ClusterQueue; default: all together.
    ``resource``: resource name of GPUs, such as ``"nvidia.com/gpu"``; default: all that end in
        ``/gpu``, and MIG instances, such as ``nvidia.com/mig-1g.5gb``.
    ``gpus_per_server``: GPUs of each server if servers are derived from quotas.
    """
    check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    check_integer("unlimited_s", unlimited_s, 1, 10 * YEAR_S)
    objects = list(objects_of(sources))
    own = [each for each in objects if each.group == KUEUE]
    nodes = [each for each in objects if each.kind == "Node" and not each.group]
    is_gpu = _named_as(resource)
    queues = _of_queue(queues_of(own, is_gpu), queue)
    if not any(of_one.quotas for of_one in queues.clusters.values()):
        raise ValueError("no ClusterQueue among the objects has a quota of GPUs")
    layout, notes = _given_servers(nodes, queues, is_gpu) if nodes else (None, [])
    workloads, flavors, others, rejects = _workloads(own, queues, is_gpu, layout)
    order = sorted(range(len(workloads)), key=lambda row: workloads[row].submit_s)
    workloads, flavors = [workloads[row] for row in order], [flavors[row] for row in order]
    if layout is None:  # quotas include GPUs that other queues hold
        others = [each for each in others if each.queue in queues.clusters]
        layout = of_quotas(queues, [*workloads, *others], gpus_per_server)
        notes.append(
            f"no Node among the objects: the quotas are read as servers of {gpus_per_server} GPUs"
        )
    layout.place(workloads, others, may_grow=not nodes)
    if layout.num_guessed:
        notes.append(
            f"{plural(layout.num_guessed, 'workload')} without servers in topologyAssignment: "
            "placed on free GPUs"
        )
    workloads = _with_fewer_pods(workloads, flavors, layout, notes)
    cluster, columns = settle(layout.servers, "kueue")
    notes += _remarks(objects, own, nodes, queues, workloads, unlimited_s)
    times = [
        max(each.submit_s, 0.0 if np.isnan(each.start_s) else each.start_s) for each in workloads
    ]
    now_s = max(times, default=0.0) if now is None else float(now)
    trace = no_jobs("kueue") if not workloads else Trace.from_columns(
        [each.submit_s for each in workloads],
        [unlimited_s if np.isnan(each.limit_s) else each.limit_s for each in workloads],
        [each.gpus for each in workloads],
        id=[each.key for each in workloads],
        user=[each.namespace for each in workloads],
        queue=[each.queue for each in workloads],
        gpu_types=flavors,
        priority=[each.priority for each in workloads],
        time_limit_s=np.maximum(1.0, [each.limit_s - each.past_s for each in workloads]),
        eligible_s=[each.eligible_s if each.eligible_s > now_s else np.nan for each in workloads],
        name="kueue",
    )  # fmt: skip
    start_s = np.array([each.start_s for each in workloads])
    past_s = np.array([each.past_s for each in workloads])
    return ClusterState(
        cluster,
        replace(trace, rejects=rejects, notes=tuple(notes), epoch=UNIX_EPOCH.replace(tzinfo=UTC)),
        now_s,
        start_s=start_s,
        attained_s=past_s + np.where(np.isnan(start_s), 0.0, np.maximum(0.0, now_s - start_s)),
        preemptions=np.array([each.preemptions for each in workloads], np.int32),
        hold=tuple("" if each.eligible_s > now_s else each.hold for each in workloads),
        **columns,
    )


def _named_as(resource: str | None) -> Callable[[str], bool]:
    if resource is None:
        return lambda name: name.endswith("/gpu") or "/mig-" in name
    return lambda name: name == resource


def _of_queue(queues: Queues, queue: str | None) -> Queues:
    if queue is None:
        return queues
    if queue not in queues.clusters:
        raise ValueError(f"queue: ClusterQueue {queue!r} not found among the objects")
    return replace(queues, clusters={queue: queues.clusters[queue]})


def _workloads(
    own: Sequence[KubeObject],
    queues: Queues,
    is_gpu: Callable[[str], bool],
    layout: Layout | None,
) -> tuple[list[Workload], list[list[str]], list[Workload], Rejects]:
    """Return workloads, their allowed types, left-out workloads with GPUs, and rejects."""
    kept, flavors, others = [], [], []
    left_out: dict[str, list[int]] = {}
    number = -1
    for each in own:
        if each.kind != "Workload":
            continue
        number += 1
        try:
            workload = workload_of(each, is_gpu)
            if workload.reason or workload.end_s == workload.end_s:
                raise Unfit("has finished")
            # The flavors of its pods are replaced by GPU types.
            pods = (
                replace(pod, flavor=queues.type_of(pod.flavor, pod.resource))
                for pod in workload.pods
            )
            workload = replace(workload, pods=tuple(pods))
            if workload.pods and workload.queue not in queues.clusters:
                others.append(workload)
                raise Unfit("is admitted by another ClusterQueue")
            if len(workload.resources) > 1:
                others.append(workload)
                raise Unfit("asks for GPUs of several resources")
            allowed, of_queue = _allowed(workload, queues)
            if layout is not None and workload.widest > layout.widest(allowed):
                raise Unfit("has a pod with more GPUs than any server it may use")
        except Unfit as unfit:
            left_out.setdefault(str(unfit), []).append(number)
            continue
        kept.append(replace(workload, queue=of_queue))
        flavors.append(allowed)
    return kept, flavors, others, Rejects().plus(left_out)


def _with_fewer_pods(
    workloads: Sequence[Workload],
    flavors: Sequence[Sequence[str]],
    layout: Layout,
    notes: list[str],
) -> list[Workload]:
    """Reduce workloads that may start with fewer pods to free GPUs, or to existing ones.

    Kueue tries all pods first and then as many as fit (partial admission).
    """
    found, cut = [], []
    for workload, allowed in zip(workloads, flavors, strict=True):
        gpus = workload.gpus
        if workload.least < gpus and workload.step:
            room = layout.room(allowed, workload.step, now=True)
            if room < workload.least:
                room = layout.room(allowed, workload.step, now=False)
            more = (room - workload.least) // workload.step * workload.step
            gpus = min(gpus, workload.least + max(0, more))
        if gpus < workload.gpus:
            cut.append(f"{workload.key} ({gpus} of {workload.gpus} GPUs)")
        found.append(replace(workload, gpus=gpus))
    if cut:
        more_cut = ", ..." if len(cut) > _NO_SHOWN else ""
        notes.append(
            f"{plural(len(cut), 'workload')} with minCount that do not fit as a whole, read with "
            f"fewer pods: {', '.join(cut[:_NO_SHOWN])}{more_cut}"
        )
    return found


def _allowed(workload: Workload, queues: Queues) -> tuple[list[str], str]:
    """Return the GPU types that a workload may use, and its ClusterQueue."""
    if workload.pods:
        return sorted({pods.flavor for pods in workload.pods}), workload.queue
    found, admits = queues.of(workload.namespace, workload.queue)
    if found is None:
        raise Unfit("has a queueName without a LocalQueue and ClusterQueue in the files")
    if not admits:
        raise Unfit("is in a stopped queue")
    (resource,) = workload.resources
    flavors = queues.types(found, workload.selector, resource)
    if not flavors:
        raise Unfit("is in a queue without GPU flavors on servers that it selects")
    return flavors, found.name


def _given_servers(
    nodes: Sequence[KubeObject], queues: Queues, is_gpu: Callable[[str], bool]
) -> tuple[Layout, list[str]]:
    layout, unknown = of_nodes(nodes, queues, is_gpu)
    if not unknown:
        return layout, []
    named = ", ".join(unknown[:3])
    return layout, [
        f"{plural(len(unknown), 'server')} left out, as no flavor selects them: {named}"
    ]


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
            f"{plural(int(endless), 'workload')} without maximumExecutionTimeSeconds, "
            f"{unlimited_s:,} s assumed"
        )
    if len(queues.clusters) > 1:
        notes.append(
            f"{len(queues.clusters)} ClusterQueues share all quotas, as in one cohort without "
            "limits; choose one with the option queue"
        )
    used = {id(each) for each in (*own, *nodes) if each.kind in (_KINDS | {"Node"})}
    others = Counter(each.kind for each in objects if id(each) not in used)
    if others:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
        notes.append(f"objects of other kinds are not read: {told}")
    return notes


def _recognises(sources: Sequence[Source]) -> bool:
    return any(KUEUE.encode() in source.data[:_HEAD_BYTES] for source in sources)


register_state_format(
    StateFormat(
        name="kueue",
        summary="Objects of Kueue: workloads, queues, flavors; servers too where Nodes are there.",
        source="kubernetes-sigs/kueue, v1beta1 and v1beta2.",
        detection="a file that names `kueue.x-k8s.io`",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "kueue.json"),
        options=("now", "unlimited_s", "queue", "resource", "gpus_per_server"),
    )
)
