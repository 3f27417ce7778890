"""Store a trace as members of a :mod:`gpusched.base.container` and a part of its header."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.labels import Labels
from gpusched.base.rejects import Rejects
from gpusched.model.job_graphs import JobGraph
from gpusched.model.profiles import JobProfile
from gpusched.traces.job_columns import JOB_COLUMNS
from gpusched.traces.workload import Trace

_STORED: Final = {column.stored: column for column in JOB_COLUMNS.values()}
_COLUMNS: Final = {"row": "i8"} | {
    name: column.dtype for name, column in _STORED.items() if column.kind != "label"
}
_REQUIRED: Final = ("row", "id", *(name for name, c in _STORED.items() if c.is_required))
_INDICES: Final = {"type_set": "type_sets", "profile": "profiles", "graph": "graphs"}
_LABELS: Final = [name for name, column in _STORED.items() if column.kind == "label"]
TRACE_MEMBERS: Final = frozenset(f"trace.{column}" for column in (*_COLUMNS, *_LABELS))


class TraceHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The part of a trace in a header: everything but columns of numbers."""

    name: str
    source: str
    epoch: datetime | None
    origin_s: float
    rejects: Rejects
    type_sets: tuple[tuple[str, ...], ...]
    label_names: dict[str, tuple[str, ...]]
    profiles: tuple[JobProfile, ...] = ()
    graphs: tuple[JobGraph, ...] = ()
    notes: tuple[str, ...] = ()
    reference_type: str | None = None


_SAID: Final = tuple(name for name in TraceHeader.__struct_fields__ if name != "label_names")


def trace_members(trace: Trace) -> tuple[TraceHeader, dict[str, AnyArray]]:
    """Return the header and arrays from which :func:`stored_trace` restores the trace."""
    arrays: dict[str, AnyArray] = {}
    label_names = {}
    for column in _COLUMNS:
        if getattr(trace, column) is not None:
            arrays[f"trace.{column}"] = getattr(trace, column)
    for column in _LABELS:
        labels = getattr(trace, column)
        if labels is not None:
            arrays[f"trace.{column}"] = labels.codes
            label_names[column] = labels.names
    said = {name: getattr(trace, name) for name in _SAID}
    return TraceHeader(label_names=label_names, **said), arrays


def stored_trace(header: TraceHeader, arrays: Mapping[str, AnyArray]) -> Trace:
    """Restore a trace; a ValueError names an invalid member."""
    num_jobs = len(arrays.get("trace.submit_us", ()))
    if num_jobs == 0:
        raise ValueError("it has no jobs")
    fields: dict[str, Any] = {}
    for column, dtype in _COLUMNS.items():
        if f"trace.{column}" in arrays or column in _REQUIRED:
            fields[column] = stored_column(arrays, f"trace.{column}", dtype, num_jobs)
    for column, names in header.label_names.items():
        if column not in _LABELS:
            raise ValueError(f"header: unknown label {column!r}")
        fields[column] = Labels(stored_column(arrays, f"trace.{column}", "i4", num_jobs), names)
    for column, of in _INDICES.items():
        index = fields.get(column)
        if index is not None and not 0 <= index.min() <= index.max() < len(getattr(header, of)):
            raise ValueError(f"trace.{column} points outside the {of.replace('_', ' ')}")
    return Trace(**fields, **{name: getattr(header, name) for name in _SAID})


def stored_column(
    arrays: Mapping[str, AnyArray], name: str, dtype: Any, *shape: int | None
) -> AnyArray:
    """Return a member after checking its type (``""``: integers or text) and shape.

    ``shape`` has None where any length is allowed.
    """
    if name not in arrays:
        raise ValueError(f"{name} is missing")
    values = arrays[name]
    wanted = np.dtype(dtype) if dtype else "integers or text"
    if values.dtype != wanted if dtype else values.dtype.kind not in "iU":
        raise ValueError(f"{name} holds {values.dtype}, not {wanted}")
    if values.ndim != len(shape) or any(
        length not in (None, found) for length, found in zip(shape, values.shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {values.shape}, not {shape}")
    return values
