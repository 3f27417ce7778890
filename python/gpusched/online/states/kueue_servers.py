"""The servers behind Kueue's flavors: those that are given, or as many as the quotas stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS
from gpusched.online.states.kube_objects import KubeObject, at, count_of, items_of
from gpusched.online.states.kueue_queues import Queues
from gpusched.online.states.kueue_workloads import Pods, Workload
from gpusched.online.states.server_room import RoomServer


class Layout:
    """Servers by flavor, and the pods of admitted workloads on them.

    Attributes
    ----------
    servers
        All of them.
    num_guessed
        Workloads of which it is not told on which servers they are.
    """

    def __init__(self) -> None:
        self.servers: list[RoomServer] = []
        self.num_guessed = 0
        self._named: dict[str, RoomServer] = {}

    def add(self, server: RoomServer) -> None:
        """Add a server."""
        self.servers.append(server)
        self._named[server.name] = server

    def widest(self, flavors: Sequence[str]) -> int:
        """GPUs of the widest server of these flavors; 0 if there is none."""
        mine = (server.gpus for server in self.servers if server.gpu_type in flavors)
        return max(mine, default=0)

    def has(self, name: str) -> bool:
        """Whether there is a server of this name."""
        return name in self._named

    def place(
        self, workloads: Sequence[Workload], others: Sequence[Workload], *, may_grow: bool
    ) -> None:
        """Place the pods of admitted workloads, those first of which the server is told.

        What ``others`` hold is nobody's of the state.

        The others go where there is room, the widest first. Flavors that then have too few GPUs, as
        quotas may have been lowered since, get one more server if they ``may_grow``.

        Raises
        ------
        ValueError
            If more GPUs are held than there are.
        """
        told: list[tuple[int | None, Workload, Pods]] = []
        rest: list[tuple[int | None, Workload, Pods]] = []
        for job, workload in [*enumerate(workloads), *((None, other) for other in others)]:
            for pods in workload.pods:
                is_told = pods.server is not None and self.has(pods.server)
                (told if is_told else rest).append((job, workload, pods))
        for job, _, pods in told:
            server = self._named[str(pods.server)]
            if server.num_free < pods.count * pods.gpus:
                raise ValueError(
                    f"server {server.name}: pods hold more than its {server.gpus} GPUs"
                )
            server.hold_some(job, pods.count * pods.gpus)
        self.num_guessed = len({workload.key for _, workload, _ in rest})
        for job, workload, pods in sorted(rest, key=lambda each: -each[2].gpus):
            self._fit(job, pods, workload.key, may_grow=may_grow)

    def _fit(self, job: int | None, pods: Pods, key: str, *, may_grow: bool) -> None:
        left = pods.count * pods.gpus
        # Whole pods first; what is left lies on several servers, as nobody knows better.
        for unit in (pods.gpus, 1):
            for server in self.servers:
                if server.gpu_type != pods.flavor or left < unit:
                    continue
                count = min(left, server.num_free) // unit * unit
                if count > 0:
                    server.hold_some(job, count)
                    left -= count
        while left:
            if not may_grow:
                raise ValueError(
                    f"workload {key}: holds {left} GPUs of {pods.flavor!r} more than the "
                    "servers of that flavor have"
                )
            width = min(left, MAX_GPUS_PER_SERVER)
            self.add(RoomServer(f"{pods.flavor}-beyond-{len(self.servers)}", width, pods.flavor))
            self.servers[-1].hold_some(job, width)
            left -= width


def of_quotas(queues: Queues, workloads: Sequence[Workload], gpus_per_server: int) -> Layout:
    """Return servers for the quotas of each flavor; those that workloads name have their names.

    Raises
    ------
    ValueError
        If a quota stands for more servers than a cluster may have.
    """
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
            layout.add(RoomServer(f"{flavor}-{number}", width, flavor))
            left, number = left - width, number + 1
    return layout


def of_nodes(
    nodes: Sequence[KubeObject], queues: Queues, is_gpu: Callable[[str], bool]
) -> tuple[Layout, list[str]]:
    """Return the servers that are given, and the names of those that no flavor has.

    Raises
    ------
    ValueError
        If a number of GPUs cannot be read, or two servers have one name.
    """
    layout, unknown = Layout(), []
    flavors = {flavor for queue in queues.clusters.values() for flavor in queue.quotas}
    for each in nodes:
        amounts = each.at("status", "allocatable") or each.at("status", "capacity") or {}
        counts = [count_of(count) for name, count in amounts.items() if is_gpu(str(name))]
        if None in counts or sum(filter(None, counts)) > MAX_GPUS_PER_SERVER:
            raise ValueError(f"{each}: {counts} must be at most {MAX_GPUS_PER_SERVER} whole GPUs")
        gpus = sum(filter(None, counts))
        if not gpus:
            continue
        labels = each.at("metadata", "labels") or {}
        flavor = next((name for name in sorted(flavors) if _is_of(labels, queues, name)), None)
        if flavor is None:
            unknown.append(each.name)
            continue
        if layout.has(each.name):
            raise ValueError(f"{each}: two servers have this name")
        takes_jobs = at(each.at("spec"), "unschedulable") is not True and _is_ready(each)
        inside = _domains(labels, queues.levels.get(flavor, ()))
        layout.add(RoomServer(each.name, gpus, flavor, takes_jobs, domains=inside))
    return layout, unknown


def _is_of(labels: object, queues: Queues, flavor: str) -> bool:
    wanted = queues.labels.get(flavor, {})
    return all(at(labels, name) == value for name, value in wanted.items())


def _domains(labels: object, levels: Sequence[str]) -> tuple[str, ...]:
    """Return what a server is in, down to the first level that it has no label of."""
    named = [at(labels, level) for level in levels]
    return tuple(str(name) for name in takewhile(lambda name: isinstance(name, str), named))


def _is_ready(server: KubeObject) -> bool:
    conditions = items_of(server.at("status", "conditions"))
    return all(each.get("status") == "True" for each in conditions if each.get("type") == "Ready")
