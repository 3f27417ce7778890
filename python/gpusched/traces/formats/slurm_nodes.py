"""The servers of Slurm: ``sinfo --json`` and ``scontrol show nodes --json``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from gpusched.base.delimited_text import Table
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB
from gpusched.model.cluster import Cluster
from gpusched.traces import slurm_values as slurm
from gpusched.traces.json_records import has_member, read_records, text_of
from gpusched.traces.server_tables import ServerTable

if TYPE_CHECKING:
    import polars

UNAVAILABLE: Final = frozenset(
    {
        "DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVALID",
        "INVALID_REG", "MAINT", "MAINTENANCE", "NOT_RESPONDING", "NO_RESPOND", "REBOOT_ISSUED",
        "REBOOT_REQUESTED", "REBOOT", "UNKNOWN",
    }
)  # fmt: skip
"""States, and flags of states, in which no job starts on a server."""
TAKEN: Final = frozenset({"BLOCKED", "PLANNED", "POWERING_DOWN", "RESERVED"})
"""Those in which a server is part of the cluster, and no job may start there now."""
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

    Attributes
    ----------
    name, gpus, gpu_type
        As in the file; :data:`NO_TYPE` where no type is named.
    is_available
        Whether jobs may start on it now.
    partitions, features
        Those that it stands in, and those that it has.
    used, tres_used
        The GPUs in use as ``gpu:a100:2(IDX:0-1)``, and as ``gres/gpu=2``; empty where that is not
        told.
    """

    name: str
    gpus: int
    gpu_type: str
    is_available: bool
    partitions: frozenset[str]
    used: str
    tres_used: str
    features: frozenset[str]


def servers_of(source: Source) -> tuple[list[SlurmServer], list[str]]:
    """Return the servers with GPUs of one type, also those that take no jobs, and names of others.

    Errors are those of :func:`read`.
    """
    nodes, mixed = _of_one_type(source, _nodes(source))
    columns, cluster = _cluster(source, nodes, grouped=False)
    with_gpus = [node for node, gpus in zip(nodes, columns["gres"], strict=True) if float(gpus)]
    types = cluster.gpu_types
    figures = zip(
        with_gpus, cluster.server_gpus.tolist(), cluster.server_type.tolist(), strict=True
    )
    servers = [
        SlurmServer(
            node.name, gpus, types[kind], not node.states & (UNAVAILABLE | TAKEN), node.partitions,
            node.used, node.tres_used, node.features,
        )
        for node, gpus, kind in figures
    ]  # fmt: skip
    return servers, mixed


def read(source: Source, *, grouped: bool = True, unavailable: bool = False) -> Cluster:
    """Read the servers; see :func:`gpusched.read_cluster`.

    Parameters
    ----------
    unavailable
        Whether servers that are down, drained or in maintenance count, too.
    """
    if not isinstance(unavailable, bool):
        raise TypeError(f"unavailable: {unavailable!r} must be True or False")
    nodes, mixed = _of_one_type(source, _nodes(source))
    ready = [node for node in nodes if unavailable or not node.states & UNAVAILABLE]
    if not ready:
        raise ValueError(f"{source}: none of the {len(nodes):,} servers is available")
    _, cluster = _cluster(source, ready, grouped=grouped)
    name = cluster.name
    for count, what in (
        (len(nodes) - len(ready), "that are not available"),
        (len(mixed), "with several types of GPUs"),
    ):
        if count:
            joint = "and" if name != source.name else "without"
            name = f"{name} {joint} {count:,} {what}"
    return msgspec.structs.replace(cluster, name=name)


def _of_one_type(source: Source, nodes: list[_Node]) -> tuple[list[_Node], list[str]]:
    """Return the servers whose GPUs are of one type, and the names of those with several."""
    mixed = {node.name for node in nodes if len(_gpus(node).types) > 1}
    kept = [node for node in nodes if node.name not in mixed]
    if not kept and mixed:
        raise ValueError(
            f"{source}: every server has several types of GPUs, and a server of ours has one"
        )
    return kept, sorted(mixed)


def _gpus(node: _Node) -> slurm.Resources:
    read = slurm.of_gres(node.gres)
    return read if read.gpus != 0 else slurm.of_tres(node.tres)


def _cluster(
    source: Source, nodes: list[_Node], *, grouped: bool
) -> tuple[dict[str, polars.Series], Cluster]:
    """Return the columns that were read, and the servers with GPUs as a cluster."""
    columns = _columns(source, nodes)
    table = Table(source, columns, np.array([node.line for node in nodes]))
    servers = ServerTable(table, name="name", gpus="gres", gpu_type="gpu_type")
    return columns, servers.cluster(
        cpu=servers.numbers("cpus"),
        memory_gib=servers.numbers("memory") / MIB_PER_GIB,
        grouped=grouped,
    )


def recognises(source: Source) -> bool:
    """Whether a file is an object with servers."""
    return has_member(source, "nodes") or has_member(source, "sinfo")


def _nodes(source: Source) -> list[_Node]:
    """Return the servers; one that stands in several partitions once."""
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
    import polars

    columns: dict[str, list[str]] = {
        name: [] for name in ("name", "gres", "gpu_type", "cpus", "memory")
    }
    for node in nodes:
        read = _gpus(node)
        gpus = node.gres if math.isnan(read.gpus) else str(read.gpus)
        values = (node.name, gpus, *(read.types or (NO_TYPE,)), node.cpus, node.memory_mib)
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
    """Return the servers of one line of sinfo, which are alike."""
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
            # Of servers that stand on one line none is told what is its own.
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
