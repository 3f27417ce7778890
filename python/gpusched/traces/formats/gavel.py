"""Gavel traces (Narayanan et al., OSDI 2020): tab-separated, without a header.

A row has a number of training steps. Its run time is that number over the isolated throughput of
its job type on one GPU type, or on the fastest of several, from a table of throughputs (JSON).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.base.suggest import HintedError, nearest
from gpusched.model.throughputs import UNCONSOLIDATED, read_isolated
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, TextColumn, TextSchema
from gpusched.traces.model_columns import stated_on
from gpusched.traces.workload import Trace

_SCALE: Final = TextColumn("scale_factor", "gpus")
_STEPS: Final = TextColumn("total_steps", "service_s", is_positive=True, is_part=True)
_COLUMNS: Final = (
    _SCALE, _STEPS, TextColumn("arrival_time", "submit_s"), TextColumn("job_type", "group", "label")
)  # fmt: skip
SHORT: Final = TextSchema(
    _COLUMNS,
    header=(
        "job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps", "arrival_time",
        "scale_factor",
    ),
    has_no_header=True,
    separator="\t",
)  # fmt: skip
LONG: Final = TextSchema(
    (*_COLUMNS, TextColumn("priority", "weight")),
    header=(
        "job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir",
        "total_steps", "scale_factor", "priority", "slo", "arrival_time",
    ),
    has_no_header=True,
    separator="\t",
)  # fmt: skip
TIMED: Final = TextSchema(
    (
        _SCALE, TextColumn("duration", "service_s", is_positive=True),
        TextColumn("arrival_time", "submit_s"), TextColumn("job_type", "group", "label"),
        TextColumn("priority_weight", "weight"),
    ),
    header=(
        "job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir",
        "total_steps", "scale_factor", "mode", "priority_weight", "slo", "duration",
        "arrival_time",
    ),
    has_no_header=True,
    separator="\t",
)  # fmt: skip
"""Shockwave's format, with run times. In all three, the job type becomes the group."""
TABLE_NAME: Final = "oracle_throughputs.json"


def read(
    source: Source,
    *,
    on_bad: OnBad,
    throughputs: str | os.PathLike[str] | None = None,
    gpu_type: str = "v100",
) -> Trace:
    """Read a Gavel trace of 7 or 10 columns, or Shockwave's of 12, which has run times.

    ``throughputs``: the table; default: ``oracle_throughputs.json`` in the parent folder of the
        trace, or in its folder. If its keys have a scale factor, a job needs the entry of its own
        scale; a table of plain job types applies to all scales.
    ``gpu_type``: the GPU type in that table that gives the run time. With several, separated by
        commas, the fastest counts: in a run with ``speed="table"`` on exactly these types every job
        then does the steps in the trace.
    """

    def timed(read: ReadColumns) -> None:
        path = _table_path(source, throughputs)
        gpu_types = [name.strip() for name in gpu_type.split(",")]
        speeds = _speeds(path, gpu_types)
        read.take(_SCALE)
        read.take(_STEPS)
        speed = _speed_of_each(read, speeds, f"{gpu_type} in {path.name}")
        read.numeric["service_s"] = read.values["total_steps"] / speed
        read.screen.show("service_s", "total_steps", read.data["total_steps"])
        on = stated_on([name.removesuffix(UNCONSOLIDATED).upper() for name in gpu_types])
        read.how = f"durations from {path}, {gpu_type}; {on}"

    if source.first_line.count("\t") == len(TIMED.required) - 1:
        if throughputs is not None:
            raise ValueError(f"{source}: throughputs: the file has durations, in column 11")
        return TIMED.read(source, on_bad=on_bad)
    schema = LONG if source.first_line.count("\t") == len(LONG.required) - 1 else SHORT
    return schema.read(source, on_bad=on_bad, judge=timed)


def _table_path(source: Source, given: str | os.PathLike[str] | None) -> Path:
    folder = source.path.parent
    above = folder.parent if folder.name else folder / ".."
    candidates = [Path(given)] if given is not None else [above / TABLE_NAME, folder / TABLE_NAME]
    for path in candidates:
        if path.is_file():
            return path
    raise HintedError(
        f"{source}: durations need a table of throughputs; there is no "
        f"{' or '.join(map(str, candidates))} (name one with ",
        "throughputs=...)",
        "--option throughputs=...)",
    )


def _speeds(path: Path, gpu_types: Sequence[str]) -> dict[tuple[str, int | None], float]:
    """Return isolated steps per second by (job type, scale factor; None = every scale)."""
    tables = read_isolated(Source(path))
    greatest: dict[tuple[str, int | None], float] = {}
    for gpu_type in gpu_types:
        if gpu_type not in tables:
            raise ValueError(f"{path}: no GPU type {gpu_type!r}{nearest(gpu_type, list(tables))}")
        for key, speed in tables[gpu_type].items():
            # The others were measured only together with a second job.
            if speed is not None and speed >= 0:
                kind = (key.job_type, key.gpus)
                greatest[kind] = max(speed, greatest.get(kind, 0.0))
    return greatest


def _speed_of_each(
    read: ReadColumns, speeds: dict[tuple[str, int | None], float], where: str
) -> Float64:
    screen, job_types = read.screen, read.data["job_type"]
    screen.show("job_type", "job_type", job_types)
    rows = zip(job_types, read.values["scale_factor"].tolist(), strict=True)
    found = (speeds.get((kind, None), speeds.get((kind, width))) for kind, width in rows)
    speed = np.array([np.nan if value is None else value for value in found])
    screen.require(~np.isnan(speed), "job_type", f"must have a throughput at its scale on {where}")
    good = screen.require(speed > 0, "job_type", f"must fit at its scale on {where}")
    return np.where(good, speed, 1.0)


def _recognises(source: Source) -> bool:
    fields = source.first_line.split("\t")
    of_width = {
        len(SHORT.required): (4, 6),
        len(LONG.required): (5, 6),
        len(TIMED.required): (5, 6),
    }
    places = of_width.get(len(fields), ())
    return bool(places) and all(fields[place].strip().isdigit() for place in places)


register_trace_format(
    TraceFormat(
        name="gavel",
        summary="Gavel traces: steps, timed by a table of throughputs; Shockwave's.",
        source="Narayanan et al., OSDI 2020; Zheng et al., NSDI 2023.",
        detection="tabs, no header",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "small.trace", "oracle_throughputs.json"),
        options=("throughputs", "gpu_type"),
    )
)
