"""A run in the terms of the readable engine: jobs, servers, network and parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.audit.case import parameters
from gpusched.audit.links import Links
from gpusched.readable import Graph, GraphStage, Job, Network, Profile, Samples, Throughputs

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

_BYTES_PER_S = 1e9 / 8  # of one Gbit/s


def jobs_of(trace: Trace, count: int, predicted: str, speed: str) -> list[Job]:
    """Return the first jobs of a trace.

    Parameters
    ----------
    predicted
        The column of the trace that policies take for services.
    """
    columns: dict[str, list[Any]] = {}
    for name in (
        "submit_us", "service_us", "gpus", "weight", "checkpoint_us", "restart_us", "share_milli",
        "cpu_milli", "memory_mib", "value", "min_gpus",
    ):  # fmt: skip
        values = getattr(trace, name)
        if values is not None:
            columns[name] = values[:count].tolist()
    for name in ("estimate_us", "deadline_us"):
        values = getattr(trace, name)
        if values is not None:
            columns[name] = [None if v < 0 else v for v in values[:count].tolist()]
    if predicted != "service_us":
        columns["predicted_us"] = getattr(trace, predicted)[:count].tolist()
    if trace.max_gpus is not None:
        columns["max_gpus"] = [None if v >= 2**31 - 1 else v for v in trace.max_gpus.tolist()]
    if trace.type_set is not None:
        sets = [frozenset(names) or None for names in trace.type_sets]
        columns["allowed"] = [sets[index] for index in trace.type_set[:count].tolist()]
    if trace.profile is not None and speed in _MODELS:
        kind, make = _MODELS[speed]
        models = [make(profile) for profile in trace.profiles]
        columns[kind] = [models[index] for index in trace.profile[:count].tolist()]
    if trace.graph is not None and speed == "stages":
        graphs = [_graph(graph) for graph in trace.graphs]
        columns["graph"] = [graphs[index] for index in trace.graph[:count].tolist()]
    names = list(columns)
    rows = zip(*(columns[name][:count] for name in names), strict=True)
    return [Job(**dict(zip(names, row, strict=True))) for row in rows]


def _by_type(figure: float | Mapping[str, float]) -> Mapping[str, float]:
    """Return a figure by GPU type; one that is given alone is that of every type."""
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
    return Throughputs(dict(profile.throughput), dict(spread) if spread else None)


def _samples(profile: Any) -> Samples:
    return Samples(
        dict(profile.samples_per_s),
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


def room_of(cluster: Cluster) -> list[tuple[int | None, int | None]]:
    """Return CPU and memory of each server; nothing if no server states any."""
    limits = (cluster.server_cpu_milli, cluster.server_memory_mib)
    if all(limit is None for limit in limits):
        return []
    size = cluster.num_servers
    columns = [
        [None] * size if limit is None else [None if v < 0 else v for v in limit.tolist()]
        for limit in limits
    ]
    return list(zip(*columns, strict=True))


def network_of(cluster: Cluster) -> Network:
    """Return the bandwidths, as an audit reads them from the description of the cluster."""
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


def values_of(text: str) -> tuple[str, dict[str, Any]]:
    """Split the text of a name with parameters, the values as what they are."""
    name, given = parameters(text)
    return name, {key: _value(value) for key, value in given.items()}


def typed(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of parameters as what they are."""
    values = {key: _value(value) for key, value in given.items()}
    if "limits" in values and not isinstance(values["limits"], list):
        values["limits"] = [values["limits"]]
    return values


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "/" in text:
        return [_value(part) for part in text.split("/")]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
