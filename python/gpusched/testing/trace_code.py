"""Traces and clusters as code that builds them again, and traces with other columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.clusters.cluster import Cluster, ServerGroup
from gpusched.traces.workload import Trace

_SECONDS: Final = ("submit", "service")
_TIMES: Final = ("estimate", "predicted", "deadline")
_COSTS: Final = ("checkpoint", "restart")
_PLAIN: Final = ("weight", "value", "min_gpus", "max_gpus")
_SCALED: Final = {
    "gpu_share": ("share_milli", 1000),
    "cpu": ("cpu_milli", 1000),
    "memory_gib": ("memory_mib", 1024),
}

Columns = dict[str, Any]


def columns_of(trace: Trace) -> Columns:
    """Return what :meth:`Trace.from_columns` makes the jobs of; ids and labels are left out."""
    columns: Columns = {f"{name}_s": _seconds(getattr(trace, f"{name}_us")) for name in _SECONDS}
    columns["gpus"] = trace.gpus.tolist()
    for name in _TIMES:
        if (values := getattr(trace, f"{name}_us")) is not None:
            columns[f"{name}_s"] = [
                float("nan") if us < 0 else second
                for us, second in zip(values.tolist(), _seconds(values), strict=True)
            ]
    for name in _COSTS:
        if (values := getattr(trace, f"{name}_us")) is not None:
            columns[f"{name}_s"] = _seconds(values)
    for name in _PLAIN:
        if (values := getattr(trace, name)) is not None:
            columns[name] = [_number(value) for value in values.tolist()]
    for name, (column, unit) in _SCALED.items():
        if (values := getattr(trace, column)) is not None:
            columns[name] = [_number(value / unit) for value in values.tolist()]
    if trace.type_set is not None:
        columns["gpu_types"] = ["|".join(types) for types in trace.allowed_types or ()]
    for index, models in (("profile", "profiles"), ("graph", "graphs")):
        if (values := getattr(trace, index)) is not None:
            columns |= {index: values.tolist(), models: list(getattr(trace, models))}
    return columns


def with_columns(columns: Columns, **changed: Any) -> Trace:
    """Return a trace of the columns, some of which are others."""
    return Trace.from_columns(**{**columns, **changed})


def with_rows(columns: Columns, rows: Sequence[int]) -> Trace:
    """Return a trace of some of the rows, in this order of input."""
    chosen: Columns = {
        name: values if name in ("profiles", "graphs") else [values[row] for row in rows]
        for name, values in columns.items()
    }
    return Trace.from_columns(**chosen)


def trace_code(trace: Trace) -> str:
    """Return code that builds the jobs again; ids and labels are left out."""
    columns = columns_of(trace)
    given = [f"{name}={_code(values)}" for name, values in columns.items()]
    one_line = f"trace = gs.Trace.from_columns({', '.join(given)})"
    if len(one_line) <= 100:
        return one_line
    lines = "".join(f"    {text},\n" for text in given)
    return f"trace = gs.Trace.from_columns(\n{lines})"


def cluster_code(cluster: Cluster) -> str:
    """Return code that builds the servers again."""
    if len(cluster.servers) == 1 and not cluster.domains:
        (group,) = cluster.servers
        fields = _fields(group)
        fields["servers"] = fields.pop("count")
        ordered = {name: fields.pop(name) for name in ("servers", "gpus")} | fields
        return f"cluster = gs.Cluster.uniform({_arguments(ordered)})"
    groups = ", ".join(f"gs.ServerGroup({_arguments(_fields(group))})" for group in cluster.servers)
    text = f"({groups},)"
    if cluster.domains:
        domains = ", ".join(f"gs.Domain({_arguments(_fields(d))})" for d in cluster.domains)
        text += f", domains=({domains},)"
    return f"cluster = gs.Cluster({text})"


def one_more_server(cluster: Cluster) -> Cluster:
    """Return the cluster with another server like its last one."""
    last = cluster.servers[-1]
    more = msgspec.structs.replace(last, count=last.count + 1)
    return msgspec.structs.replace(cluster, servers=(*cluster.servers[:-1], more))


def cluster_of(servers: Sequence[tuple[int, str]], **more: Any) -> Cluster:
    """Return a cluster of servers of so many GPUs of a type, in this order."""
    groups: list[ServerGroup] = []
    for gpus, gpu_type in servers:
        count = 1
        if groups and (groups[-1].gpus, groups[-1].gpu_type) == (gpus, gpu_type):
            count += groups.pop().count
        groups.append(ServerGroup(count, gpus, gpu_type, **more))
    return Cluster(tuple(groups))


def _fields(struct: Any) -> Columns:
    fields = msgspec.structs.fields(struct)
    values = {field.name: getattr(struct, field.name) for field in fields}
    return {
        field.name: values[field.name]
        for field in fields
        if field.required
        or field.name == "gpus"
        or (values[field.name] != field.default and values[field.name] not in ({}, ()))
    }


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _code(value: Any) -> str:
    if isinstance(value, float) and np.isnan(value):
        return 'float("nan")'
    if isinstance(value, tuple):
        return f"({''.join(_code(entry) + ', ' for entry in value)})".replace(", )", ",)")
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    if isinstance(value, msgspec.Struct):
        given = ", ".join(f"{name}={_code(of)}" for name, of in _fields(value).items())
        return f"gs.models.{type(value).__name__}({given})"
    return repr(value)


def _seconds(us: Any) -> list[float]:
    return [_number(tick / US_PER_S) for tick in us.tolist()]


def _number(value: float) -> float:
    """Return a whole number as an int, which reads better."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value
