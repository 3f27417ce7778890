"""Traces to files: CSV, Parquet and NumPy under our own names, and SWF."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.labels import Labels
from gpusched.base.suggest import nearest
from gpusched.traces import checked_columns as check
from gpusched.traces.frames import polars_of
from gpusched.traces.workload import Trace

_SWF_STATUS: Final = {"ok": "1", "failed": "0", "killed": "5"}


def write_trace(trace: Trace, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write ``trace``; :func:`gpusched.read_trace` reads all of these back.

    Parameters
    ----------
    format
        ``"csv"``, ``"parquet"``, ``"npz"`` or ``"swf"``; default: by the ending of ``path``. CSV,
        Parquet and npz have the columns of ``Trace.to_polars``. SWF counts whole seconds: times
        are rounded, half to even, up to 1 s for a shorter run; users, groups and queues become
        numbers.

    Raises
    ------
    ValueError
        If the format is unknown.
    """
    target = Path(path)
    name = format if format is not None else target.suffix.lower().removeprefix(".")
    if name not in WRITERS:
        raise ValueError(f"format: unknown format {name!r}{nearest(name, list(WRITERS))}")
    WRITERS[name](trace, target)


def _write_csv(trace: Trace, path: Path) -> None:
    polars_of(trace).write_csv(path)


def _write_parquet(trace: Trace, path: Path) -> None:
    polars_of(trace).write_parquet(path)


def _write_npz(trace: Trace, path: Path) -> None:
    import polars

    columns: dict[str, Any] = {
        series.name: np.asarray(series.to_list(), dtype=np.str_)
        if series.dtype == polars.String
        else series.to_numpy()
        for series in polars_of(trace)
    }
    with path.open("wb") as file:  # savez would append an ending of its own
        np.savez(file, **columns)


def _write_swf(trace: Trace, path: Path) -> None:
    start = trace.epoch
    if start is not None and start.tzinfo is None:
        start = start.replace(tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        file.write(f"; Computer: {trace.name}\n; Note: GPUs are written as processors\n")
        file.write(f"; MaxJobs: {len(trace)}\n")
        if start is not None:
            file.write(f"; UnixStartTime: {int(start.timestamp())}\n")
        file.writelines(" ".join(row) + "\n" for row in zip(*_swf_fields(trace), strict=True))


def _swf_fields(trace: Trace) -> list[list[str]]:
    num_jobs = len(trace)
    none = ["-1"] * num_jobs
    gpus = list(map(str, trace.gpus.tolist()))
    numbered = trace.id.dtype.kind == "i" and bool((trace.id > 0).all())
    ids = trace.id if numbered else np.arange(1, num_jobs + 1)
    if trace.status is None:
        status = none
    else:
        code = [_SWF_STATUS.get(name, "-1") for name in trace.status.names]
        status = np.array(code)[trace.status.codes].tolist()
    return [
        list(map(str, ids.tolist())),
        _seconds(trace.submit_us),
        none if trace.source_wait_us is None else _seconds(trace.source_wait_us),
        _seconds(trace.service_us, least=1),
        gpus,
        none,
        none,
        gpus,
        none if trace.estimate_us is None else _seconds(trace.estimate_us, least=1),
        none,
        status,
        _numbers(trace.user, num_jobs),
        _numbers(trace.group, num_jobs),
        none,
        _numbers(trace.queue, num_jobs),
        none,
        none,
        none,
    ]


def _seconds(ticks: AnyArray, least: int = 0) -> list[str]:
    seconds = np.maximum(np.rint(ticks / 1_000_000).astype(np.int64), least)
    return list(map(str, np.where(ticks == check.NOT_GIVEN, -1, seconds).tolist()))


def _numbers(labels: Labels | None, num_jobs: int) -> list[str]:
    if labels is None:
        return ["-1"] * num_jobs
    number = [-1 if name == "" else index + 1 for index, name in enumerate(labels.names)]
    return list(map(str, np.array(number)[labels.codes].tolist()))


WRITERS: Final[dict[str, Callable[[Trace, Path], None]]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "npz": _write_npz,
    "swf": _write_swf,
}
