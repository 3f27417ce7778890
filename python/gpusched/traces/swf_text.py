"""The Standard Workload Format as text: jobs as the logs of traces and of schedules write them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.labels import Labels
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import plural
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.frames import polars_of
from gpusched.traces.workload import Trace

STATUS: Final = {"0": "failed", "1": "ok", "5": "killed"}
_HELD: Final = (
    "id", "submit_s", "service_s", "gpus", "row", "estimate_s", "source_wait_s", "status", "user",
    "group", "queue",
)  # fmt: skip
"""What the format has of a trace; rows are those of the file."""
_CODE: Final = {name: code for code, name in STATUS.items()}


def write_swf(
    trace: Trace,
    path: Path,
    *,
    wait_us: Int64 | None,
    run_us: Int64,
    status: Iterable[str] | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Write whole seconds, GPUs as processors, and users, groups and queues as numbers.

    Parameters
    ----------
    wait_us, run_us
        Times of each job, :data:`NOT_GIVEN` where there is none.
    status
        Of each job, by the codes of the format; None: that of the trace.
    notes
        Lines for the head of the file.
    """
    start = trace.epoch
    if start is not None and start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"; Computer: {trace.name}\n; Note: GPUs are written as processors\n")
        file.writelines(f"; Note: {note}\n" for note in notes)
        file.write(f"; MaxJobs: {len(trace)}\n")
        if start is not None:
            file.write(f"; UnixStartTime: {int(start.timestamp())}\n")
        columns = _fields_of(trace, wait_us, run_us, status)
        file.writelines(" ".join(row) + "\n" for row in zip(*columns, strict=True))


def losses(trace: Trace, **times_us: Int64 | None) -> list[str]:
    """Say what whole seconds and numbers lose of a trace and of further times, a sentence each."""
    every = {
        "submit": trace.submit_us,
        "estimate": trace.estimate_us,
        **times_us,
    }
    rounded = [
        f"{name} of {plural(count, 'job')}"
        for name, ticks in every.items()
        if ticks is not None
        and (count := int(np.count_nonzero((ticks != NOT_GIVEN) & (ticks % US_PER_S != 0))))
    ]
    lines = []
    if rounded:
        lines.append(f"SWF counts whole seconds: rounded were {', '.join(rounded)}")
    if names := [
        column for column in ("user", "group", "queue") if getattr(trace, column) is not None
    ]:
        lines.append(f"SWF has no names: {', '.join(names)} became numbers")
    if not (trace.id.dtype.kind == "i" and bool((trace.id > 0).all())):
        lines.append("SWF numbers its jobs: ids became 1, 2, ...")
    left_out = [name for name in polars_of(trace.head(1)).columns if name not in _HELD]
    if left_out:
        lines.append(f"SWF has no field for {', '.join(left_out)}: left out")
    return lines


def _fields_of(
    trace: Trace, wait_us: Int64 | None, run_us: Int64, status: Iterable[str] | None
) -> list[list[str]]:
    num_jobs = len(trace)
    none = ["-1"] * num_jobs
    gpus = list(map(str, trace.gpus.tolist()))
    numbered = trace.id.dtype.kind == "i" and bool((trace.id > 0).all())
    ids = trace.id if numbered else np.arange(1, num_jobs + 1)
    if status is not None:
        codes = list(status)
    elif trace.status is None:
        codes = none
    else:
        code = [_CODE.get(name, "-1") for name in trace.status.names]
        codes = np.array(code)[trace.status.codes].tolist()
    return [
        list(map(str, ids.tolist())),
        _seconds(trace.submit_us),
        none if wait_us is None else _seconds(wait_us),
        _seconds(run_us, least=1),
        gpus,
        none,
        none,
        gpus,
        none if trace.estimate_us is None else _seconds(trace.estimate_us, least=1),
        none,
        codes,
        _numbers(trace.user, num_jobs),
        _numbers(trace.group, num_jobs),
        none,
        _numbers(trace.queue, num_jobs),
        none,
        none,
        none,
    ]


def _seconds(ticks: AnyArray, least: int = 0) -> list[str]:
    seconds = np.maximum(np.rint(ticks / US_PER_S).astype(np.int64), least)
    return list(map(str, np.where(ticks == NOT_GIVEN, -1, seconds).tolist()))


def _numbers(labels: Labels | None, num_jobs: int) -> list[str]:
    if labels is None:
        return ["-1"] * num_jobs
    number = [-1 if name == "" else index + 1 for index, name in enumerate(labels.names)]
    return list(map(str, np.array(number)[labels.codes].tolist()))
