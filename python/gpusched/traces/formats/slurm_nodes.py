"""Servers of Slurm: ``sinfo --json`` and ``scontrol show nodes --json``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.delimited_text import Table
from gpusched.base.libraries import polars
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB
from gpusched.model.cluster import Cluster, Devices, ServerGroup
from gpusched.traces import slurm_values as slurm
from gpusched.traces.json_records import has_member, read_records, text_of
from gpusched.traces.server_tables import ServerTable

UNAVAILABLE: Final = frozenset(
    {
        "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVALID",
        "INVALID_REG", "MAINT", "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND", "REBOOT_ISSUED",
        "REBOOT_REQUESTED", "REBOOT", "UNKNOWN",
    }
)  # fmt: skip
"""States, and flags of states, in which no job starts on a server."""
TAKEN: Final = frozenset({"BLOCKED", "PLANNED", "POWERING_DOWN", "RESERVED"})
"""States in which a server is part of the cluster, but no job may start there now."""
NO_TYPE: Final = "gpu"


@dataclass(frozen=True)
class _Node:
    name: str
    line: int
    states: frozenset[str]
    gres: str
    tres: str
    cpus: str
    memory_mib: str
    partitions: frozenset[str]
    used: str
    tres_used: str
    features: frozenset[str]


@dataclass(frozen=True)
class SlurmServer:
    """A server with GPUs.

    ``name``, ``gpus``, ``gpu_type``: as in the file; :data:`NO_TYPE` where no type is named.
    ``is_available``: whether jobs may start on it now.
    ``partitions``, ``features``: its partitions and features.
    ``used``, ``tres_used``: the GPUs in use as ``gpu:a100:2(IDX:0-1)``, and as ``gres/gpu=2``;
        empty if unknown.
    ``devices``: types and numbers of its GPUs, if it has several types; ``gpu_type`` is then
        unused.
    """

    name: str
    gpus: int
    gpu_type: str
    is_available: bool
    partitions: frozenset[str]
    used: str
    tres_used: str
    features: frozenset[str]
    devices: tuple[tuple[str, int], ...] = ()


def servers_of(source: Source) -> list[SlurmServer]:
    """Return the servers with GPUs, including those that take no jobs.

    Errors are those of :func:`read`.
    """
    nodes = _nodes(source)
    plain = [node for node in nodes if not _devices(node)]
    figures: dict[str, tuple[int, str]] = {}
    if plain:
        columns, cluster = _cluster(source, plain, grouped=False)
        with_gpus = [node for node, gpus in zip(plain, columns["gres"], strict=True) if float(gpus)]
        types = [cluster.gpu_types[kind] for kind in cluster.server_type.tolist()]
        names = (node.name for node in with_gpus)
        figures = dict(
            zip(names, zip(cluster.server_gpus.tolist(), types, strict=True), strict=True)
        )
    servers = []
    for node in nodes:
        devices = _devices(node)
        gpus, gpu_type = figures.get(node.name, (sum(count for _, count in devices), ""))
        if gpus:
            is_available = not node.states & (UNAVAILABLE | TAKEN)
            servers.append(
                SlurmServer(
                    node.name,
                    gpus,
                    gpu_type,
                    is_available,
                    node.partitions,
                    node.used,
                    node.tres_used,
                    node.features,
                    devices,
                )
            )
    return servers


def read(source: Source, *, grouped: bool = True, unavailable: bool = False) -> Cluster:
    """Read the servers; see :func:`gpusched.read_cluster`.

    ``unavailable``: whether to include servers that are down, drained or in maintenance.
    """
    if not isinstance(unavailable, bool):
        raise TypeError(f"unavailable: {unavailable!r} must be True or False")
    nodes = _nodes(source)
    ready = [node for node in nodes if unavailable or not node.states & UNAVAILABLE]
    if not ready:
        raise ValueError(f"{source}: none of the {len(nodes):,} servers is available")
    plain = [node for node in ready if not _devices(node)]
    groups: tuple[ServerGroup, ...] = ()
    name = source.name
    if plain:
        _, cluster = _cluster(source, plain, grouped=grouped)
        groups, name = cluster.servers, cluster.name
    if missing := len(nodes) - len(ready):
        name = f"{name} without {missing:,} unavailable servers"
    mixed = [_group(node) for node in ready if _devices(node)]
    same = groupby(mixed) if grouped else ((group, [group]) for group in mixed)
    more = (msgspec.structs.replace(group, count=len(list(equal))) for group, equal in same)
    return Cluster((*groups, *more), name)


def server_names(source: Source, *, grouped: bool = True, unavailable: bool = False) -> list[str]:
    """Return the names of the servers of :func:`read`, in the order of its cluster."""
    ready = [node for node in _nodes(source) if unavailable or not node.states & UNAVAILABLE]
    plain = [node for node in ready if not _devices(node)]
    names: list[str] = []
    if plain:
        columns, cluster = _cluster(source, plain, grouped=False)
        names = [n.name for n, gpus in zip(plain, columns["gres"], strict=True) if float(gpus)]
        kinds = [
            msgspec.structs.replace(group, count=1)
            for group in cluster.servers
            for _ in range(group.count)
        ]
        first = {kind: place for place, kind in reversed([*enumerate(kinds)])}
        if grouped:
            names = [names[at] for at in sorted(range(len(names)), key=lambda at: first[kinds[at]])]
    mixed = [(node.name, _group(node)) for node in ready if _devices(node)]
    for group, equal in groupby(mixed, key=lambda node: node[1] if grouped else node[0]):
        found = [name for name, _ in equal]
        num_types = (
            len(group.devices) if isinstance(group, ServerGroup) else len(mixed[0][1].devices)
        )
        names += found * num_types
    return names


def _group(node: _Node) -> ServerGroup:
    """Return a server with several types of GPUs."""
    return ServerGroup(
        1,
        cpu=float(node.cpus) if node.cpus else None,
        memory_gib=float(node.memory_mib) / MIB_PER_GIB if node.memory_mib else None,
        devices=tuple(Devices(name, count) for name, count in _devices(node)),
    )


def _devices(node: _Node) -> tuple[tuple[str, int], ...]:
    """Return a server's numbers of GPUs by type, if it has several readable types."""
    counts = slurm.gpus_by_type(node.gres)
    if not math.fsum(counts.values()):
        counts = {name: count for name, count in slurm.gpus_by_type(node.tres).items() if name}
    known = {name or NO_TYPE: count for name, count in counts.items() if count > 0}
    is_readable = all(count == count for count in counts.values())
    return tuple((name, int(count)) for name, count in known.items()) if (
        is_readable and len(known) > 1
    ) else ()  # fmt: skip


def _gpus(node: _Node) -> slurm.Resources:
    read = slurm.of_gres(node.gres)
    return read if read.gpus != 0 else slurm.of_tres(node.tres)


def _cluster(
    source: Source, nodes: list[_Node], *, grouped: bool
) -> tuple[dict[str, polars.Series], Cluster]:
    """Return the columns, and the servers with GPUs as a cluster."""
    columns = _columns(source, nodes)
    table = Table(source, columns, np.array([node.line for node in nodes]))
    servers = ServerTable(table, name="name", gpus="gres", gpu_type="gpu_type")
    return columns, servers.cluster(
        cpu=servers.numbers("cpus"),
        memory_gib=servers.numbers("memory") / MIB_PER_GIB,
        grouped=grouped,
    )


def recognises(source: Source) -> bool:
    """Whether a file is a JSON object with servers."""
    return has_member(source, "nodes") or has_member(source, "sinfo")


def _nodes(source: Source) -> list[_Node]:
    """Return the servers, each once even if it is in several partitions."""
    found = read_records(source, "nodes", "sinfo")
    nodes: dict[str, _Node] = {}
    for record, line in zip(found.records, found.lines.tolist(), strict=True):
        for node in (_single if found.key == "nodes" else _several)(record, line):
            if not node.name:
                raise ValueError(f"{source}, line {line}: a server must have a name")
            known = nodes.setdefault(node.name, node)
            if known is node:
                continue
            nodes[node.name] = replace(known, partitions=known.partitions | node.partitions)
            if found.key == "nodes" or known.gres != node.gres:
                raise ValueError(
                    f"{source}, line {line}, column 'name': {node.name!r} must be unique, line "
                    f"{known.line} has it too"
                )
    return list(nodes.values())


def _columns(source: Source, nodes: list[_Node]) -> dict[str, polars.Series]:
    columns: dict[str, list[str]] = {
        name: [] for name in ("name", "gres", "gpu_type", "cpus", "memory")
    }
    for node in nodes:
        read = _gpus(node)
        gpus = node.gres if math.isnan(read.gpus) else str(read.gpus)
        gpu_type = (read.types or (NO_TYPE,))[0]
        values = (node.name, gpus, gpu_type, node.cpus, node.memory_mib)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    return {name: polars.Series(name, values) for name, values in columns.items()}


def _single(record: dict[str, Any], line: int) -> Iterator[_Node]:
    yield _Node(
        text_of(record.get("name")),
        line,
        slurm.states(record.get("state")) | slurm.states(record.get("state_flags")),
        text_of(record.get("gres")),
        text_of(record.get("tres")),
        _text(record.get("cpus")),
        _text(record.get("real_memory")),
        frozenset(_names(record.get("partitions"))),
        text_of(record.get("gres_used")),
        text_of(record.get("tres_used")),
        frozenset(_names(record.get("active_features") or record.get("features"))),
    )


def _several(record: dict[str, Any], line: int) -> Iterator[_Node]:
    """Yield the equal servers of one record of sinfo."""
    part = {name: _object(record.get(name)) for name in ("nodes", "node", "gres", "cpus", "memory")}
    listed = part["nodes"].get("nodes") or part["nodes"].get("hostnames")
    names = listed if isinstance(listed, list) else []
    cpus = _text(part["cpus"].get("minimum"))
    if not cpus:
        cpus = str(slurm.count(part["cpus"].get("total")) / max(len(names), 1))
    for name in names:
        yield _Node(
            text_of(name),
            line,
            slurm.states(part["node"].get("state")),
            text_of(part["gres"].get("total")),
            "",
            cpus,
            _text(part["memory"].get("minimum", part["memory"].get("maximum"))),
            frozenset({text_of(_object(record.get("partition")).get("name"))} - {""}),
            # If a record has several servers, their own GPUs in use are unknown.
            text_of(part["gres"].get("used")) if len(names) == 1 else "",
            "",
            frozenset(_names(_object(record.get("features")).get("total"))),
        )


def _text(value: Any) -> str:
    plain = slurm.number(value)
    return "" if plain is None else str(plain)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _names(value: Any) -> list[str]:
    given = value.split(",") if isinstance(value, str) else value
    return [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
