"""Standard Workload Format of the Parallel Workloads Archive, plain or gzip.

A workload of CPU jobs: processors are read as GPUs.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64
from gpusched.base.delimited_text import Table, read_spaced
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.swf_text import STATUS, losses, write_swf
from gpusched.traces.workload import Trace

FIELDS: Final = (
    "job", "submit", "wait", "run_time", "allocated_processors", "cpu_time", "memory",
    "requested_processors", "requested_time", "requested_memory", "status", "user", "group",
    "application", "queue", "partition", "preceding_job", "think_time",
)  # fmt: skip
_LAST_S: Final = 253_402_300_799  # the last second of the year 9999
PROCESSORS: Final = ("allocated", "requested")


def read(
    source: Source, *, on_bad: OnBad, processors: str = "allocated", processors_per_gpu: int = 1
) -> Trace:
    """Read an SWF log.

    Parameters
    ----------
    processors
        Which count is the gang's width: ``"allocated"`` (field 5) or ``"requested"`` (field 8);
        where that is missing (-1), the other one.
    processors_per_gpu
        Processors that are counted as one GPU; the quotient is rounded up.
    """
    if processors not in PROCESSORS:
        raise ValueError(f"processors: {processors!r} must be one of {', '.join(PROCESSORS)}")
    if isinstance(processors_per_gpu, bool) or not isinstance(processors_per_gpu, int):
        raise TypeError(f"processors_per_gpu: {processors_per_gpu!r} must be an integer")
    if processors_per_gpu < 1:
        raise ValueError(f"processors_per_gpu: {processors_per_gpu} must be at least 1")
    table = read_spaced(source, FIELDS, comment=";")
    screen, text = table.screen(), table.columns
    start = re.search(r"^;\s*UnixStartTime:\s*(\d{1,12})\s*$", source.text, re.MULTILINE)

    wanted = f"{processors}_processors"
    other = "requested_processors" if processors == "allocated" else "allocated_processors"
    first, second = (parse.numbers(screen, "gpus", name, text[name]) for name in (wanted, other))
    screen.show("gpus", wanted, text[wanted])
    numeric = {
        "submit_s": parse.numbers(screen, "submit_s", "submit", text["submit"]),
        "service_s": parse.numbers(screen, "service_s", "run_time", text["run_time"]),
        "gpus": np.ceil(np.where(first == -1, second, first) / processors_per_gpu),
        "estimate_s": _given(
            parse.numbers(screen, "estimate_s", "requested_time", text["requested_time"]), 1
        ),
        "source_wait_s": _given(parse.numbers(screen, "source_wait_s", "wait", text["wait"]), 0),
    }
    if np.isnan(numeric["estimate_s"]).all():
        del numeric["estimate_s"]
    note = f"{source} ({processors} processors as GPUs, {processors_per_gpu} each)"
    attributes = assemble(
        screen,
        numeric,
        ids=parse.identifiers(screen, "job", text["job"]),
        labels={
            "status": parse.statuses(text["status"], STATUS),
            **{column: _labels(table, column) for column in ("user", "group", "queue")},
        },
        on_bad=on_bad,
        name=source.name,
        source=note,
        epoch=_epoch(source, int(start[1])) if start else None,
        rebase=True,
    )
    return Trace(**attributes)


def _epoch(source: Source, seconds: int) -> datetime:
    if seconds > _LAST_S:
        raise ValueError(f"{source}: UnixStartTime {seconds} must lie before the year 10000")
    return datetime.fromtimestamp(seconds, tz=UTC)


def _given(values: AnyArray, least: int) -> Float64:
    """Return NaN where the log has no value (-1, or below ``least``)."""
    return np.where(values >= least, values, np.nan)


def _labels(table: Table, column: str) -> Labels:
    names = table.columns[column]
    return Labels.of(names.replace("-1", "").to_list())


def _recognises(source: Source) -> bool:
    line = source.first_line
    return line.startswith(";") or (source.suffix == ".swf" and len(line.split()) == len(FIELDS))


def write(trace: Trace, path: Path) -> None:
    """Write whole seconds, GPUs as processors, and users, groups and queues as numbers."""
    write_swf(trace, path, wait_us=trace.source_wait_us, run_us=trace.service_us)


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
        options=("processors", "processors_per_gpu"),
    )
)
