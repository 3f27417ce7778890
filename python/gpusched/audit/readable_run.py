"""A run in the terms of the reference engine: jobs, servers, network and parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.model.outages import KINDS, NEVER, core_outages
from gpusched.reference import (
    Dependency,
    Graph,
    GraphStage,
    Job,
    Network,
    Outage,
    Profile,
    Samples,
    Throughputs,
)
from gpusched.traces import dependencies

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.traces.workload import Trace

_BYTES_PER_S = 1e9 / 8  # of one Gbit/s


def jobs_of(
    trace: Trace,
    which: AnyArray | slice,
    predicted: str,
    speed: str,
    precedence: Int64 | None = None,
) -> list[Job]:
    """Return some of the jobs of a trace.

    ``predicted``: the column of the trace that policies take for services.
    ``precedence``: of each job of the trace.
    """
    columns: dict[str, list[Any]] = {}

    def add(name: str, values: AnyArray | None, of: Callable[[Any], Any] | None = None) -> None:
        if values is not None:
            listed = values[which].tolist()
            columns[name] = listed if of is None else [of(value) for value in listed]

    for name in (
        "submit_us", "service_us", "gpus", "weight", "checkpoint_us", "restart_us", "share_milli",
        "cpu_milli", "memory_mib", "value", "min_gpus", "gpus_per_node", "checkpoint_every_us",
        "checkpoint_write_us", "requeue_back",
    ):  # fmt: skip
        add(name, getattr(trace, name))
    for name in ("estimate_us", "deadline_us", "time_limit_us", "max_requeues"):
        add(name, getattr(trace, name), lambda value: None if value < 0 else value)
    if predicted != "service_us":
        add("predicted_us", getattr(trace, predicted))
    add("max_gpus", trace.max_gpus, lambda most: None if most >= 2**31 - 1 else most)
    sets = [frozenset(names) or None for names in trace.type_sets]
    add("allowed", trace.type_set, sets.__getitem__)
    if trace.profile is not None and speed in _MODELS:
        kind, make = _MODELS[speed]
        add(kind, trace.profile, [make(profile) for profile in trace.profiles].__getitem__)
    if trace.graph is not None and speed == "stages":
        add("graph", trace.graph, [_graph(graph) for graph in trace.graphs].__getitem__)
    add("precedence", precedence)
    columns |= _holds(trace, which)
    return [Job(**dict(zip(columns, row, strict=True)))
            for row in zip(*columns.values(), strict=True)]  # fmt: skip


def _holds(trace: Trace, which: AnyArray | slice) -> dict[str, list[Any]]:
    """Return the columns of some of the jobs that hold or cancel them."""
    held = dependencies.holds_of(trace).columns
    columns: dict[str, list[Any]] = {
        name: [None if value < 0 else value for value in held[name][which].tolist()]
        for name in ("eligible_us", "cancel_at_us", "array")
        if name in held
    }
    if "dependency_begin" not in held:
        return columns
    for name in ("dependency_any", "exit_failed"):
        if name in held:
            columns[name] = held[name][which].tolist()
    begin, target, kind = (held[f"dependency_{name}"] for name in ("begin", "target", "kind"))
    delay_us = held.get("dependency_delay_us", np.zeros(len(target), np.int64))
    spans = zip(begin[:-1][which].tolist(), begin[1:][which].tolist(), strict=True)
    columns["dependencies"] = [
        tuple(
            Dependency(int(target[i]), dependencies.KINDS[kind[i]], int(delay_us[i]))
            for i in range(*span)
        )
        for span in spans
    ]
    return columns


def array_limits(trace: Trace) -> list[int | None]:
    """Return how many tasks of each array may be in the queue or running; None: any number."""
    limits = dependencies.holds_of(trace).columns.get("array_limit", np.empty(0, np.int32))
    return [None if limit < 0 else limit for limit in limits.tolist()]


def _by_type(figure: float | Mapping[str, float]) -> Mapping[str, float]:
    """Return a figure by GPU type; a single figure applies to every type."""
    return dict(figure) if isinstance(figure, Mapping) else defaultdict(lambda: figure)


def _ring(profile: Any) -> Profile:
    return Profile(
        profile.gradient_bytes,
        profile.batch,
        _by_type(profile.forward_s),
        _by_type(profile.backward_s),
    )


def _table(profile: Any) -> Throughputs:
    spread = profile.spread_throughput
    packed: dict[str, Any] = defaultdict(dict, profile.throughput)
    return Throughputs(packed, defaultdict(dict, spread) if spread else None)


def _samples(profile: Any) -> Samples:
    return Samples(
        defaultdict(float, profile.samples_per_s),
        profile.global_batch,
        dict(profile.max_samples or {}),
        profile.gradient_bytes or 0.0,
    )


_MODELS = {
    "ring": ("profile", _ring),
    "table": ("throughputs", _table),
    "proportional": ("samples", _samples),
}


def _graph(graph: Any) -> Graph:
    return Graph(
        tuple(
            GraphStage(
                stage.replicas,
                _by_type(stage.compute_s),
                stage.parameter_bytes,
                stage.activation_bytes,
            )
            for stage in graph.stages
        )
    )


def servers_of(cluster: Cluster) -> list[tuple[int, str]]:
    """Return (GPUs, GPU type) of each server."""
    types = [cluster.gpu_types[index] for index in cluster.server_type.tolist()]
    return list(zip(cluster.server_gpus.tolist(), types, strict=True))


def outages_of(outages: Outages | None, cluster: Cluster) -> list[Outage]:
    """Return the failures, drains and maintenance of servers."""
    if outages is None:
        return []
    return [
        Outage(server, start_us, None if end_us == NEVER else end_us, KINDS[kind], *known)
        for server, start_us, end_us, kind, *known in zip(
            *core_outages(outages, cluster).values(), strict=True
        )
    ]


def room_of(cluster: Cluster) -> list[tuple[int | None, int | None]]:
    """Return CPU and memory of each server; empty if no server states any."""
    limits = (cluster.server_cpu_milli, cluster.server_memory_mib)
    if all(limit is None for limit in limits):
        return []
    size = cluster.num_servers
    columns = [
        [None] * size if limit is None else [None if v < 0 else v for v in limit.tolist()]
        for limit in limits
    ]
    return list(zip(*columns, strict=True))


def parts_of(cluster: Cluster) -> list[int]:
    """Return the first part of each part's server; empty if no server has parts."""
    part_of = cluster.server_part_of
    return [] if part_of is None else part_of.tolist()


@dataclass(frozen=True)
class Links:
    """The links of a cluster: the network card of each server, then the uplink of each domain.

    ``bytes_per_s``, ``gpus``: bandwidth, and GPUs behind it; the root's uplink is infinite.
    ``intra``: bandwidth within each server.
    ``above``: per depth of the tree, the link number of each server's domain; -1: none.
    """

    bytes_per_s: Float64
    gpus: Int64
    intra: Float64
    above: tuple[Int64, ...]

    @classmethod
    def of(cls, cluster: Cluster) -> Links:
        """Read the links from the description of the cluster."""
        counts = [group.count for group in cluster.servers]
        cards = [(group.nic_gbps or np.nan) * _BYTES_PER_S for group in cluster.servers]
        inside = [(group.intra_gbps or np.nan) * _BYTES_PER_S for group in cluster.servers]
        chains = {domain.name: [domain.name] for domain in cluster.domains}
        parent = {domain.name: domain.parent for domain in cluster.domains}
        for chain in chains.values():  # from the root down
            while (name := parent[chain[0]]) is not None:
                chain.insert(0, name)
        number = {name: cluster.num_servers + i for i, name in enumerate(chains)}
        gpus = dict.fromkeys(chains, 0)
        below = dict.fromkeys(chains, 0.0)
        for group, card in zip(cluster.servers, cards, strict=True):
            for name in chains.get(group.domain or "", []):
                gpus[name] += group.count * group.gpus
            if group.domain is not None:
                below[group.domain] += group.count * card
        uplink = dict.fromkeys(chains, np.inf)
        for domain in sorted(cluster.domains, key=lambda d: -len(chains[d.name])):
            if domain.parent is None:
                continue
            if domain.uplink_gbps is not None:
                uplink[domain.name] = domain.uplink_gbps * _BYTES_PER_S
            else:
                uplink[domain.name] = below[domain.name] / (domain.oversubscription or np.nan)
            below[domain.parent] += uplink[domain.name]
        above: list[Int64] = []
        for depth in range(1, max(map(len, chains.values()), default=0)):
            of_group = [
                number[chain[depth]] if len(chain) > depth else -1
                for chain in (chains[group.domain or ""] for group in cluster.servers)
            ]
            above.append(np.repeat(np.array(of_group, dtype=np.int64), counts))
        return cls(
            np.append(np.repeat(cards, counts), list(uplink.values())),
            np.append(cluster.server_gpus, list(gpus.values())).astype(np.int64),
            np.repeat(inside, counts),
            tuple(above),
        )


def network_of(cluster: Cluster) -> Network:
    """Return the bandwidths from the description of the cluster."""
    counts = [group.count for group in cluster.servers]
    nic = np.repeat([group.nic_gbps or np.nan for group in cluster.servers], counts)
    intra = np.repeat([group.intra_gbps or np.nan for group in cluster.servers], counts)
    if not cluster.domains:
        return Network(nic.tolist(), intra.tolist())
    number = {domain.name: index for index, domain in enumerate(cluster.domains)}
    of_group = [-1 if group.domain is None else number[group.domain] for group in cluster.servers]
    uplinks = Links.of(cluster).bytes_per_s[cluster.num_servers :] / _BYTES_PER_S
    return Network(
        nic.tolist(),
        intra.tolist(),
        np.repeat(of_group, counts).tolist(),
        [None if domain.parent is None else number[domain.parent] for domain in cluster.domains],
        [
            None if domain.parent is None else float(uplink)
            for domain, uplink in zip(cluster.domains, uplinks, strict=True)
        ],
    )
