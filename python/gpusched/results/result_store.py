"""Result files: arrays and a JSON header in a :mod:`gpusched.base.container`, no pickle."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base import container
from gpusched.base.arrays import AnyArray
from gpusched.base.files import naming
from gpusched.prediction.accuracy import PredictionReport
from gpusched.schedules.schedule import (
    DECISION_COLUMNS,
    INTERVAL_COLUMNS,
    OPTIONAL_COLUMNS,
    REJECT_REASONS,
    SCHEDULE_COLUMNS,
    STATUSES,
    StoredSchedule,
    digest_of,
)
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.outage_store import OUTAGE_MEMBERS, outage_members, stored_outages
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.trace_store import (
    TRACE_MEMBERS,
    TraceHeader,
    stored_column,
    stored_trace,
    trace_members,
)

KIND: Final = container.Kind("gpusched-result", 5)
_MEMBERS: Final = TRACE_MEMBERS | OUTAGE_MEMBERS | frozenset((
    *(f"schedule.{column}" for column in (*SCHEDULE_COLUMNS, *OPTIONAL_COLUMNS)),
    *(f"intervals.{column}" for column in INTERVAL_COLUMNS),
    *(f"decisions.{column}" for column in DECISION_COLUMNS),
))  # fmt: skip


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    digest: str
    spec: RunSpec
    wall_s: float
    clairvoyant: bool
    counters: dict[str, int]
    warnings: tuple[str, ...]
    trace: TraceHeader
    prediction: PredictionReport | None = None


def write(result: Any, path: str | os.PathLike[str]) -> None:
    """Write a :class:`~.result.Result` atomically."""
    trace, schedule = result.trace, result.schedule
    trace_header, arrays = trace_members(trace)
    arrays |= outage_members(result.outages)
    for column in SCHEDULE_COLUMNS:
        arrays[f"schedule.{column}"] = getattr(schedule, column)
    for column in OPTIONAL_COLUMNS:
        if len(getattr(schedule, column)):
            arrays[f"schedule.{column}"] = getattr(schedule, column)
    for column in INTERVAL_COLUMNS:
        arrays[f"intervals.{column}"] = result.intervals[column]
    decisions = schedule.decisions()
    for column in DECISION_COLUMNS:
        if len(decisions["job"]):
            arrays[f"decisions.{column}"] = np.asarray(decisions[column])
    header = _Header(
        version=result.spec.version,
        digest=schedule.digest,
        spec=result.spec,
        wall_s=result.wall_s,
        clairvoyant=result.clairvoyant,
        counters=dict(schedule.counters),
        warnings=tuple(schedule.warnings),
        trace=trace_header,
        prediction=result.prediction,
    )
    container.write(path, KIND, msgspec.json.encode(header), arrays)


def read(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the arguments of a saved :class:`~.result.Result`.

    Parameters and errors as for :func:`gpusched.load_result`.
    """
    with naming(path, "not a readable gpusched result"):
        return _read(path, max_bytes)


def _read(path: str | os.PathLike[str], max_bytes: int | None) -> dict[str, Any]:
    encoded, arrays = container.read(path, KIND, max_bytes=max_bytes)
    header = msgspec.json.decode(encoded, type=_Header, strict=True)
    unknown = set(arrays) - _MEMBERS
    if unknown:
        raise ValueError(f"{min(unknown)} is not expected")

    trace = stored_trace(header.trace, arrays)
    rows = _rows(arrays)
    columns = {
        column: stored_column(arrays, f"schedule.{column}", dtype, len(trace))
        for column, dtype in SCHEDULE_COLUMNS.items()
    }
    for column, dtype in OPTIONAL_COLUMNS.items():
        if f"schedule.{column}" in arrays:
            columns[column] = stored_column(arrays, f"schedule.{column}", dtype, len(trace))
    if columns["status"].max() >= len(STATUSES) or columns["reason"].max() >= len(REJECT_REASONS):
        raise ValueError("an unknown status or reason")
    if fingerprint(trace) != header.spec.trace.sha256:
        raise ValueError("its trace does not have the stored fingerprint: it was changed")
    if digest_of(rows, columns["status"], columns["reason"]) != header.digest:
        raise ValueError("its schedule does not have the stored digest: it was changed")
    schedule = StoredSchedule(
        **columns,
        rows=rows,
        decision_rows=_decisions(arrays),
        digest=header.digest,
        counters=header.counters,
        warnings=header.warnings,
    )
    return {
        "trace": trace,
        "cluster": header.spec.cluster,
        "spec": header.spec,
        "schedule": schedule,
        "wall_s": header.wall_s,
        "clairvoyant": header.clairvoyant,
        "prediction": header.prediction,
        "outages": stored_outages(header.spec, arrays),
    }


def _rows(arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    num_rows = len(arrays.get("intervals.job", ()))
    num_jobs = len(arrays["trace.submit_us"])
    rows = {
        column: stored_column(arrays, f"intervals.{column}", dtype, num_rows)
        for column, dtype in INTERVAL_COLUMNS.items()
    }
    if num_rows and not 0 <= rows["job"].min() <= rows["job"].max() < num_jobs:
        raise ValueError("intervals.job: has jobs that are not in the trace")
    return rows


def _decisions(arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    if "decisions.job" not in arrays:
        return {}
    num_rows = len(arrays["decisions.job"])
    rows = {
        column: stored_column(
            arrays, f"decisions.{column}", "" if dtype is np.str_ else dtype, num_rows
        )
        for column, dtype in DECISION_COLUMNS.items()
    }
    if not 0 <= rows["job"].min() <= rows["job"].max() < len(arrays["trace.submit_us"]):
        raise ValueError("decisions.job: has jobs that are not in the trace")
    return rows
