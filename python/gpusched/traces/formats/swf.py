"""Standard Workload Format of the Parallel Workloads Archive, plain or gzip.

A workload of CPU jobs: processors are read as GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.labels import Labels
from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import plural
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import ReadColumns, TextColumn, TextSchema
from gpusched.traces.workload import Trace

FIELDS: Final = (
    "job", "submit", "wait", "run_time", "allocated_processors", "cpu_time", "memory",
    "requested_processors", "requested_time", "requested_memory", "status", "user", "group",
    "application", "queue", "partition", "preceding_job", "think_time",
)  # fmt: skip
ABSENT: Final = "-1"
STATUS: Final = {"0": "failed", "1": "ok", "5": "killed"}
_HELD: Final = (
    "id", "submit_s", "service_s", "gpus", "row", "estimate_s", "source_wait_s", "status", "user",
    "group", "queue",
)  # fmt: skip
"""Columns that the format holds; rows are those of the file."""
SCHEMA: Final = TextSchema(
    (
        TextColumn("allocated_processors", "gpus", is_part=True),
        TextColumn("requested_processors", "gpus", is_part=True),
        TextColumn("submit", "submit_s"),
        TextColumn("run_time", "service_s"),
        TextColumn("requested_time", "estimate_s", least=1),
        TextColumn("wait", "source_wait_s", least=0),
        TextColumn("job", "id", "id"),
        TextColumn("status", "status", "status", states=STATUS),
        TextColumn("user", "user", "label"),
        TextColumn("group", "group", "label"),
        TextColumn("queue", "queue", "label"),
    ),
    header=FIELDS,
    comment=";",
    absent=ABSENT,
)
_LAST_S: Final = 253_402_300_799  # the last second of the year 9999
PROCESSORS: Final = ("allocated", "requested")


def read(
    source: Source,
    *,
    on_bad: OnBad,
    processors: str = "allocated",
    processors_per_gpu: int | None = None,
    gpus_per_node: int | None = None,
) -> Trace:
    """Read an SWF log.

    The format has no GPUs: these options define them.

    ``processors``: which count gives the GPUs: ``"allocated"`` (field 5) or ``"requested"`` (field
        8); where that is missing (-1), the other one.
    ``processors_per_gpu``: processors per GPU; the quotient is rounded up. Default: 1.
    ``gpus_per_node``: alternatively, GPUs per node, shared by ``MaxProcs`` over ``MaxNodes``
        processors (header of the log). A job has the GPUs of its part of the nodes, rounded up.
    """
    if processors not in PROCESSORS:
        raise ValueError(f"processors: {processors!r} must be one of {', '.join(PROCESSORS)}")
    if processors_per_gpu is not None and gpus_per_node is not None:
        raise ValueError("processors_per_gpu: cannot be combined with gpus_per_node")
    for option, value in (
        ("processors_per_gpu", processors_per_gpu), ("gpus_per_node", gpus_per_node)
    ):  # fmt: skip
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{option}: {value!r} must be an integer")
        if value < 1:
            raise ValueError(f"{option}: {value} must be at least 1")
    each, gpus_of_each, how = processors_per_gpu or 1, 1, f"{processors_per_gpu or 1} each"
    if gpus_per_node is not None:
        each, gpus_of_each = _processors_per_node(source), gpus_per_node
        how = f"{gpus_per_node} for each node of {each}"
    start = _header(source, "UnixStartTime")

    def width(read: ReadColumns) -> None:
        other = "requested" if processors == "allocated" else "allocated"
        wanted, instead = f"{processors}_processors", f"{other}_processors"
        count = read.values[wanted]
        count = np.where(count == -1, read.values[instead], count)
        read.numeric["gpus"] = np.ceil(count * gpus_of_each / each)
        read.how = f"{processors} processors as GPUs, {how}"
        read.screen.show("gpus", wanted, read.data[wanted])
        if np.isnan(read.numeric["estimate_s"]).all():
            del read.numeric["estimate_s"]

    return SCHEMA.read(
        source,
        on_bad=on_bad,
        derive=width,
        epoch=_epoch(source, start) if start is not None else None,
    )


def _header(source: Source, name: str) -> int | None:
    found = re.search(rf"^;\s*{name}:\s*(\d{{1,12}})(?![\w.])", source.text, re.MULTILINE)
    return int(found[1]) if found else None


def _processors_per_node(source: Source) -> int:
    nodes, all_processors = _header(source, "MaxNodes"), _header(source, "MaxProcs")
    if not nodes or not all_processors:
        raise ValueError(
            f"{source}: gpus_per_node needs MaxNodes and MaxProcs, above 0, in the header"
        )
    if all_processors % nodes:
        raise ValueError(
            f"{source}: gpus_per_node: MaxProcs {all_processors} must be a multiple of MaxNodes "
            f"{nodes}; name processors_per_gpu"
        )
    return all_processors // nodes


def _epoch(source: Source, seconds: int) -> datetime:
    if seconds > _LAST_S:
        raise ValueError(f"{source}: UnixStartTime {seconds} must lie before the year 10000")
    return datetime.fromtimestamp(seconds, tz=UTC)


def _recognises(source: Source) -> bool:
    line = source.first_line
    return line.startswith(";") or (source.suffix == ".swf" and len(line.split()) == len(FIELDS))


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

    ``wait_us``, ``run_us``: times of each job, :data:`NOT_GIVEN` where there is none.
    ``status``: codes of the format, one per job; None: the statuses of the trace.
    ``notes``: lines for the header of the file.
    """
    start = trace.epoch
    if start is not None and start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    code = {name: int(code) for code, name in STATUS.items()}
    given = {
        "job": trace.id if _has_numbers(trace) else np.arange(1, len(trace) + 1),
        "submit": _seconds(trace.submit_us),
        "wait": None if wait_us is None else _seconds(wait_us),
        "run_time": _seconds(run_us, least=1),
        "allocated_processors": trace.gpus,
        "requested_processors": trace.gpus,
        "requested_time": None if trace.estimate_us is None else _seconds(trace.estimate_us, 1),
        "status": None if status is None else np.array(list(status), dtype=np.int64),
        **{name: _numbers(getattr(trace, name)) for name in ("user", "group", "queue")},
    }
    if status is None and trace.status is not None:
        codes = [code.get(name, -1) for name in trace.status.names]
        given["status"] = np.array(codes, dtype=np.int64)[trace.status.codes]
    absent = np.full(len(trace), int(ABSENT))
    fields = [given.get(name) for name in FIELDS]
    rows = polars.DataFrame([absent if values is None else values for values in fields], FIELDS)
    with path.open("wb") as file:
        head = [f"Computer: {trace.name}", "Note: GPUs are written as processors"]
        head += [*(f"Note: {note}" for note in notes), f"MaxJobs: {len(trace)}"]
        if start is not None:
            head.append(f"UnixStartTime: {int(start.timestamp())}")
        file.write("".join(f"; {line}\n" for line in head).encode())
        rows.write_csv(file, include_header=False, separator=" ")


def write(trace: Trace, path: Path) -> None:
    """Write whole seconds, GPUs as processors, and users, groups and queues as numbers."""
    write_swf(trace, path, wait_us=trace.source_wait_us, run_us=trace.service_us)


def losses(trace: Trace, **times_us: Int64 | None) -> list[str]:
    """Return what SWF cannot hold of a trace and of further times, a sentence each."""
    every = {"submit": trace.submit_us, "estimate": trace.estimate_us, **times_us}
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
    if not _has_numbers(trace):
        lines.append("SWF numbers its jobs: ids became 1, 2, ...")
    left_out = [name for name in trace.head(1).to_polars().columns if name not in _HELD]
    if left_out:
        lines.append(f"SWF has no field for {', '.join(left_out)}: left out")
    return lines


def _has_numbers(trace: Trace) -> bool:
    return trace.id.dtype.kind == "i" and bool((trace.id > 0).all())


def _seconds(ticks: AnyArray, least: int = 0) -> AnyArray:
    seconds = np.maximum(np.rint(ticks / US_PER_S).astype(np.int64), least)
    return np.where(ticks == NOT_GIVEN, -1, seconds)


def _numbers(labels: Labels | None) -> AnyArray | None:
    if labels is None:
        return None
    number = [-1 if name == "" else index + 1 for index, name in enumerate(labels.names)]
    return np.array(number)[labels.codes]


def _losses(trace: Trace) -> list[str]:
    return losses(trace, wait=trace.source_wait_us, **{"run time": trace.service_us})


register_trace_format(
    TraceFormat(
        name="swf",
        summary="Standard Workload Format, processors as GPUs (plain or .gz).",
        source="Chapin et al., JSSPP 1999.",
        detection="`;` lines, or 18 fields in `.swf`",
        recognises=_recognises,
        read=read,
        excerpt=text_file(
            "small.swf",
            "; UnixStartTime: 1000000000",
            "1 0 5 3600 8 -1 -1 8 7200 -1 1 3 1 -1 1 -1 -1 -1",
            "2 10 0 60 1 -1 -1 1 -1 -1 0 4 1 -1 1 -1 -1 -1",
        ),
        write=write,
        losses=_losses,
        endings=("swf",),
        options=("processors", "processors_per_gpu", "gpus_per_node"),
    )
)
