"""Who may use which GPUs under Kueue: flavors, and the queues that share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpusched.online.states.kube_objects import (
    HOSTNAME,
    KubeObject,
    at,
    count_of,
    items_of,
    text_of,
)


@dataclass(frozen=True)
class ClusterQueue:
    """What jobs of one ClusterQueue may use.

    Attributes
    ----------
    name
        Its name.
    quotas
        GPUs by flavor, in the order in which it tries them.
    is_stopped
        Whether it admits nobody.
    """

    name: str
    quotas: dict[str, int]
    is_stopped: bool


@dataclass(frozen=True)
class Queues:
    """All queues and flavors that the files tell of.

    Attributes
    ----------
    clusters
        The ClusterQueues by name.
    local
        The ClusterQueue of each LocalQueue by its key, and whether that is stopped.
    labels
        The labels of the servers of each flavor.
    levels
        The labels of what the servers of a flavor are in, from the outermost to the innermost; of
        flavors with a topology.
    """

    clusters: dict[str, ClusterQueue] = field(default_factory=dict)
    local: dict[str, tuple[str, bool]] = field(default_factory=dict)
    labels: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, namespace: str, queue: str) -> tuple[ClusterQueue | None, bool]:
        """Return the ClusterQueue behind a LocalQueue, and whether that admits jobs.

        Without any LocalQueue in the files, the one ClusterQueue is that of all.
        """
        if not self.local and len(self.clusters) == 1:
            (only,) = self.clusters.values()
            return only, not only.is_stopped
        name, is_stopped = self.local.get(f"{namespace}/{queue}", ("", False))
        found = self.clusters.get(name)
        return found, found is not None and not (is_stopped or found.is_stopped)

    def flavors(self, queue: ClusterQueue, selector: Mapping[str, Any]) -> list[str]:
        """Return the flavors of a queue that have GPUs on servers that pods select."""
        return [
            flavor
            for flavor in queue.quotas
            if all(
                selector.get(label, value) == value
                for label, value in self.labels.get(flavor, {}).items()
            )
        ]


def queues_of(objects: Sequence[KubeObject], is_gpu: Callable[[str], bool]) -> Queues:
    """Read queues and flavors.

    Raises
    ------
    ValueError
        If a quota of GPUs is no whole number; the message names the object.
    """
    found = Queues()
    topologies = {each.name: _levels(each) for each in objects if each.kind == "Topology"}
    for each in objects:
        if each.kind == "ResourceFlavor":
            labels = each.at("spec", "nodeLabels")
            found.labels[each.name] = labels if isinstance(labels, Mapping) else {}
            topology = topologies.get(text_of(each.at("spec", "topologyName")))
            if topology:
                found.levels[each.name] = topology
        elif each.kind == "ClusterQueue":
            found.clusters[each.name] = ClusterQueue(
                each.name, _quotas(each, is_gpu), _is_stopped(each)
            )
        elif each.kind == "LocalQueue":
            queue = text_of(each.at("spec", "clusterQueue"))
            found.local[each.key] = (queue, _is_stopped(each))
    return found


def _levels(topology: KubeObject) -> tuple[str, ...]:
    """Return the labels of its levels above servers."""
    labels = [text_of(level.get("nodeLabel")) for level in items_of(topology.at("spec", "levels"))]
    return tuple(label for label in labels if label and label != HOSTNAME)


def _quotas(queue: KubeObject, is_gpu: Callable[[str], bool]) -> dict[str, int]:
    quotas: dict[str, int] = {}
    for group in items_of(queue.at("spec", "resourceGroups")):
        for flavor in items_of(group.get("flavors")):
            for resource in items_of(flavor.get("resources")):
                if not is_gpu(text_of(resource.get("name"))):
                    continue
                given = at(resource, "nominalQuota")
                count = count_of(given)
                if count is None:
                    raise ValueError(f"{queue}: nominalQuota {given!r} must be a whole number")
                name = text_of(flavor.get("name"))
                quotas[name] = quotas.get(name, 0) + count
    return quotas


def _is_stopped(queue: KubeObject) -> bool:
    return text_of(queue.at("spec", "stopPolicy")) in ("Hold", "HoldAndDrain")
