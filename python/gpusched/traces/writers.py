"""Traces to files, in the formats that are written."""

from __future__ import annotations

import os
from pathlib import Path

from gpusched.base.replacing import replacing
from gpusched.base.suggest import nearest
from gpusched.traces.format_registry import trace_formats
from gpusched.traces.workload import Trace


def write_trace(trace: Trace, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write ``trace``; :func:`gpusched.read_trace` reads all of these back.

    Parameters
    ----------
    format
        ``"csv"``, ``"parquet"``, ``"npz"`` or ``"swf"``, or another that is written, by its name
        or ending; default: by the ending of ``path``. CSV, Parquet and npz have the columns of
        ``Trace.to_polars``. SWF counts whole seconds: times are rounded, half to even, up to 1 s
        for a shorter run; users, groups and queues become numbers.

    Raises
    ------
    ValueError
        If the format is unknown, or only read.
    """
    target = Path(path)
    name = format if format is not None else target.suffix.lower().removeprefix(".")
    formats = trace_formats().values()
    by_ending = {ending: known.write for known in formats for ending in known.endings}
    writers = by_ending | {known.name: known.write for known in formats if known.endings}
    write = writers.get(name)
    if write is None:
        raise ValueError(f"format: unknown format {name!r}{nearest(name, list(by_ending))}")
    with replacing(target) as partial:
        write(trace, partial)
