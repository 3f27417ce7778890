"""Gavel traces (Narayanan et al., OSDI 2020): tab-separated, without a header.

A row tells a number of training steps. Its duration is that number over the isolated throughput
of its job type on one GPU type, from a table of throughputs (JSON).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64
from gpusched.base.delimited_text import read_table
from gpusched.base.hints import HintedError
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.models.gavel_tables import read_isolated
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.format_registry import TraceFormat, register_trace_format
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    import polars

_STEPS: Final = ("job_type", "command", "num_steps_arg", "needs_data_dir", "total_steps")
SHORT: Final = (*_STEPS, "arrival_time", "scale_factor")
LONG: Final = (
    "job_type", "command", "working_directory", "num_steps_arg", "needs_data_dir", "total_steps",
    "scale_factor", "priority", "slo", "arrival_time",
)  # fmt: skip
TABLE_NAME: Final = "oracle_throughputs.json"


def read(
    source: Source,
    *,
    on_bad: OnBad,
    throughputs: str | os.PathLike[str] | None = None,
    gpu_type: str = "v100",
) -> Trace:
    """Read a Gavel trace of 7 or 10 columns.

    Parameters
    ----------
    throughputs
        The table; default: ``oracle_throughputs.json`` in the folder above the trace, or beside
        it. Where its keys hold a scale factor, a job needs the entry of its own scale; a table of
        plain job types holds for all scales.
    gpu_type
        The GPU type in that table whose throughput makes the duration.
    """
    num_columns = len(source.first_line.split("\t"))
    header = LONG if num_columns == len(LONG) else SHORT
    table = read_table(source, separator="\t", header=header)
    screen, text = table.screen(), table.columns
    path = _table_path(source, throughputs)
    speeds = _speeds(path, gpu_type)
    scale = parse.numbers(screen, "gpus", "scale_factor", text["scale_factor"])
    steps = parse.numbers(screen, "service_s", "total_steps", text["total_steps"])
    screen.require(steps > 0, "service_s", "must be positive")
    speed = _speed_of_each(screen, text["job_type"], scale, speeds, f"{gpu_type} in {path.name}")
    screen.show("service_s", "total_steps", text["total_steps"])
    numeric = {
        "submit_s": parse.numbers(screen, "submit_s", "arrival_time", text["arrival_time"]),
        "service_s": steps / speed,
        "gpus": scale,
    }
    if header is LONG:
        numeric["weight"] = parse.numbers(screen, "weight", "priority", text["priority"])
    attributes = assemble(
        screen,
        numeric,
        labels={"group": Labels.of(text["job_type"].to_list())},
        on_bad=on_bad,
        name=source.name,
        source=f"{source} (durations from {path}, {gpu_type})",
        rebase=True,
    )
    return Trace(**attributes)


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


def _speeds(path: Path, gpu_type: str) -> dict[tuple[str, int | None], float]:
    """Return isolated steps per second by (job type, scale factor; None = every scale)."""
    tables = read_isolated(Source(path))
    if gpu_type not in tables:
        raise ValueError(f"{path}: no GPU type {gpu_type!r}{nearest(gpu_type, list(tables))}")
    # Others were measured beside a partner only.
    return {
        (key.job_type, key.gpus): speed
        for key, speed in tables[gpu_type].items()
        if speed is not None and speed >= 0
    }


def _speed_of_each(
    screen: Screen,
    job_types: polars.Series,
    scale: AnyArray,
    speeds: dict[tuple[str, int | None], float],
    where: str,
) -> Float64:
    screen.show("job_type", "job_type", job_types)
    rows = zip(job_types, scale.tolist(), strict=True)
    found = (speeds.get((kind, None), speeds.get((kind, width))) for kind, width in rows)
    speed = np.array([np.nan if value is None else value for value in found])
    screen.require(~np.isnan(speed), "job_type", f"must have a throughput at its scale on {where}")
    good = screen.require(speed > 0, "job_type", f"must fit at its scale on {where}")
    return np.where(good, speed, 1.0)


def _recognises(source: Source) -> bool:
    fields = source.first_line.split("\t")
    places = {len(SHORT): (4, 6), len(LONG): (5, 6)}.get(len(fields), ())
    return bool(places) and all(fields[place].strip().isdigit() for place in places)


def _excerpt() -> dict[str, bytes]:
    kind = "ResNet-18 (batch size 16)"
    rows = [(1_000, 0, 1), (2_000, 60, 1)]
    lines = [
        f"{kind}\tpython3 main.py\t--num_steps\t1\t{steps}\t{arrival}\t{scale}\n"
        for steps, arrival, scale in rows
    ]
    table = {"v100": {kind: {"null": 4.0}}}
    return {"small.trace": "".join(lines).encode(), TABLE_NAME: json.dumps(table).encode()}


register_trace_format(
    TraceFormat(
        name="gavel",
        summary="Gavel traces: steps, timed by a table of throughputs.",
        source="Narayanan et al., OSDI 2020.",
        detection="tabs, no header",
        recognises=_recognises,
        read=read,
        excerpt=_excerpt,
        options=("throughputs", "gpu_type"),
    )
)
