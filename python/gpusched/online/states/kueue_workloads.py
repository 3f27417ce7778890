"""Workloads of Kueue: what each asks for, whether it is admitted, and where its pods are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS
from gpusched.online.states.kube_objects import (
    HOSTNAME,
    KubeObject,
    at,
    count_of,
    items_of,
    seconds_of,
    text_of,
)

_MAX_PODS: Final = 1_000_000
_MAX_GPUS: Final = MAX_SERVERS * MAX_GPUS_PER_SERVER
"""More has no cluster."""


@dataclass(frozen=True)
class Pods:
    """Equal pods of an admitted workload: how many, of how many GPUs each, and where."""

    count: int
    gpus: int
    flavor: str
    server: str | None


@dataclass(frozen=True)
class Workload:
    """A workload with GPUs that waits or is admitted; times in seconds since 1970.

    Attributes
    ----------
    key, namespace, queue
        Its names, and that of its LocalQueue; of an admitted one that of its ClusterQueue.
    gpus
        In all.
    submit_s, start_s
        When it was created, and admitted; NaN where it waits.
    limit_s
        Its longest time; NaN if it has none.
    past_s
        How long it was admitted before.
    preemptions
        How often it was preempted.
    selector
        The labels of servers that its pods select.
    pods
        Those with GPUs, where it is admitted.
    widest
        GPUs of its widest pod, where it waits: a pod runs on one server.
    """

    key: str
    namespace: str
    queue: str
    gpus: int
    submit_s: float
    start_s: float
    limit_s: float
    past_s: float
    preemptions: int
    selector: Mapping[str, Any]
    pods: tuple[Pods, ...]
    widest: int = 0


class Unfit(Exception):
    """Why a workload is no job of the state."""


def workload_of(given: KubeObject, is_gpu: Callable[[str], bool]) -> Workload:
    """Read a workload.

    Raises
    ------
    Unfit
        If it is none that waits or runs, or asks for no GPU.
    ValueError
        If it is admitted, and it cannot be read what it holds.
    """
    if given.condition("Finished")[0]:
        raise Unfit("has finished")
    admission = given.at("status", "admission")
    sets = items_of(given.at("spec", "podSets"))
    if isinstance(admission, Mapping):
        pods = tuple(each for each in _admitted(given, admission, sets, is_gpu) if each.gpus)
        gpus = sum(each.count * each.gpus for each in pods)
        start_s = _since(given)
        queue = text_of(admission.get("clusterQueue"))
    else:
        if given.at("spec", "active") is False:
            raise Unfit("spec.active is false")
        if any(
            each.get("type") == "Requeued" and each.get("status") == "False"
            for each in items_of(given.at("status", "conditions"))
        ):
            raise Unfit("is not requeued yet")
        pods, start_s = (), float("nan")
        gpus = sum(_requested(each, is_gpu) for each in sets)
        queue = text_of(given.at("spec", "queueName"))
    if not gpus:
        raise Unfit("asks for no GPU")
    if gpus > _MAX_GPUS and not pods:
        raise Unfit("asks for more GPUs than a cluster can have")
    submit_s = seconds_of(given.at("metadata", "creationTimestamp"))
    if not submit_s >= 0:
        if pods:
            raise ValueError(f"{given}: creationTimestamp is no time, and it holds GPUs")
        raise Unfit("creationTimestamp is no time")
    limit = count_of(given.at("spec", "maximumExecutionTimeSeconds"))
    past = count_of(given.at("status", "accumulatedPastExecutionTimeSeconds"))
    return Workload(
        given.key,
        given.namespace,
        queue,
        gpus,
        submit_s,
        max(start_s, submit_s) if pods else start_s,
        float(limit) if limit else float("nan"),
        float(past or 0),
        _preemptions(given),
        _selector(sets),
        pods,
        0 if pods else max((_of_pod(each, is_gpu) for each in sets), default=0),
    )


def _since(given: KubeObject) -> float:
    """When it was admitted; when it got its quota where it waits for checks with it."""
    for kind in ("Admitted", "QuotaReserved"):
        holds, since_s = given.condition(kind)
        if holds and since_s >= 0:
            return since_s
    raise ValueError(f"{given}: status.admission is there, and no condition tells since when")


def _admitted(
    given: KubeObject,
    admission: Mapping[str, Any],
    sets: list[Mapping[str, Any]],
    is_gpu: Callable[[str], bool],
) -> Iterator[Pods]:
    spec = {text_of(each.get("name")) or "main": each for each in sets}
    gone = {
        text_of(each.get("name")) or "main": count_of(each.get("count")) or 0
        for each in items_of(given.at("status", "reclaimablePods"))
    }
    for each in items_of(admission.get("podSetAssignments")):
        name = text_of(each.get("name")) or "main"
        usage = _amounts(each.get("resourceUsage"), is_gpu)
        if usage is None:
            raise ValueError(f"{given}: resourceUsage {each.get('resourceUsage')!r} is not read")
        count = count_of(each.get("count", at(spec.get(name), "count")))
        if not usage:
            continue
        if usage > _MAX_GPUS:
            raise ValueError(f"{given}: resourceUsage: {usage:,} GPUs are more than {_MAX_GPUS:,}")
        if not count or usage % count or count > _MAX_PODS:
            raise ValueError(f"{given}: {usage} GPUs are not shared by {count} pods")
        flavors = each.get("flavors")
        flavor = next(
            (text_of(of) for what, of in flavors.items() if is_gpu(text_of(what))), ""
        ) if isinstance(flavors, Mapping) else ""  # fmt: skip
        gpus = usage // count
        placed = list(_servers(given, each.get("topologyAssignment")))
        if sum(number for _, number in placed) != count:
            placed = [(None, count - min(count, gone.get(name, 0)))]
        for server, number in placed:
            yield Pods(number, gpus, flavor, server)


def _servers(given: KubeObject, assignment: Any) -> Iterator[tuple[str | None, int]]:
    """Yield servers and numbers of pods; nothing where domains are wider than servers.

    The shapes are that of v1beta1, domains one by one, and that of v1beta2, domains in slices.
    """
    levels = at(assignment, "levels")
    if not isinstance(levels, list) or not levels or levels[-1] != HOSTNAME:
        return
    for domain in items_of(at(assignment, "domains")):
        values, count = domain.get("values"), count_of(domain.get("count"))
        if not isinstance(values, list) or not values or not count:
            raise ValueError(f"{given}: topologyAssignment has a domain that is not read")
        yield text_of(values[-1]), count
    for part in items_of(at(assignment, "slices")):
        number = count_of(part.get("domainCount")) or 0
        values = items_of(part.get("valuesPerLevel"))
        names = _names(values[-1], number) if values and number <= _MAX_PODS else []
        counts = part.get("podCounts")
        if counts is None:
            counts = [part.get("universalPodCount")] * len(names)
        read = [count_of(count) for count in counts] if isinstance(counts, list) else []
        if not names or len(read) != len(names) or not all(read):
            raise ValueError(f"{given}: topologyAssignment has a slice that is not read")
        for name, count in zip(names, read, strict=True):
            yield name, count or 0


def _names(level: Mapping[str, Any], number: int) -> list[str]:
    if isinstance(level.get("universalValue"), str):
        return [level["universalValue"]] * number
    roots = level.get("roots")
    if not isinstance(roots, list) or len(roots) != number:
        return []
    first, last = text_of(level.get("prefix")), text_of(level.get("suffix"))
    return [f"{first}{root}{last}" for root in roots]


def _requested(pods: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> int:
    """Return the GPUs of all pods of a set."""
    count = count_of(pods.get("count", 1))
    if count is None or count > _MAX_PODS:
        raise Unfit("spec.podSets: count is no number of pods")
    return count * _of_pod(pods, is_gpu)


def _of_pod(pods: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> int:
    """Return the GPUs of one pod: of its containers together, or of one that is first."""
    together, first = 0, 0
    for list_name in ("containers", "initContainers"):
        for each in items_of(at(pods, "template", "spec", list_name)):
            amount = _of_container(each, is_gpu)
            stays = list_name == "containers" or each.get("restartPolicy") == "Always"
            together += amount if stays else 0
            first = max(first, 0 if stays else amount)
    return max(together, first)


def _of_container(container: Mapping[str, Any], is_gpu: Callable[[str], bool]) -> int:
    for kind in ("requests", "limits"):
        amount = _amounts(at(container, "resources", kind), is_gpu)
        if amount is None:
            raise Unfit("spec.podSets: the number of GPUs is no whole number")
        if amount:
            return amount
    return 0


def _amounts(resources: Any, is_gpu: Callable[[str], bool]) -> int | None:
    """Return the GPUs among resources; None if they are not whole."""
    if not isinstance(resources, Mapping):
        return 0
    found = [count_of(amount) for name, amount in resources.items() if is_gpu(text_of(name))]
    return None if None in found else sum(count or 0 for count in found)


def _selector(sets: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    merged: dict[str, Any] = {}
    for each in sets:
        selector = at(each, "template", "spec", "nodeSelector")
        merged |= selector if isinstance(selector, Mapping) else {}
    return merged


def _preemptions(given: KubeObject) -> int:
    evictions = items_of(given.at("status", "schedulingStats", "evictions"))
    counts = [
        count_of(each.get("count")) for each in evictions if each.get("reason") == "Preempted"
    ]
    return min(sum(count or 0 for count in counts), 2**31 - 1)
