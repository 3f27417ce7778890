"""Any Parquet file with columns for submit time, duration and GPUs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.files import MAX_COLUMNS, check_room, naming, too_long, unpacked_limit
from gpusched.base.libraries import polars
from gpusched.base.rejects import Screen
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format
from gpusched.traces.formats.generic import OPTIONS, Opened, losses, reader_of
from gpusched.traces.workload import Trace

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # the length of the footer, and the magic bytes
_LEAST_BYTES: Final = 8  # of a decoded value


def open_parquet(source: Source, _: object = None) -> Opened:
    """Read the columns; rows are numbered from 0."""
    with naming(source, "truncated or damaged Parquet"):
        _check_lengths(source.data)
        lazy = polars.scan_parquet(io.BytesIO(source.data))
        names = lazy.collect_schema().names()
        if len(names) > MAX_COLUMNS:
            raise ValueError(f"{len(names):,} columns; at most {MAX_COLUMNS:,} are allowed")
        # Use the number of rows in the footer: a column of equal values takes almost no space.
        num_rows = int(lazy.select(polars.len()).collect().item())
        least = num_rows * len(names) * _LEAST_BYTES
        limit = unpacked_limit(source.num_packed, source.max_bytes)
        if least > limit:
            raise too_long(source, least, limit)
        check_room(source, least)
        frame = polars.read_parquet(io.BytesIO(source.data))
    screen = Screen(str(source), np.arange(frame.height, dtype=np.int64))
    data = {name: frame[name] for name in frame.columns}
    return screen, data, ()


def _check_lengths(data: bytes) -> None:
    """Check that a file is long enough for its end and its footer."""
    if len(data) < len(_MAGIC) + _TAIL or not data.endswith(_MAGIC):
        raise ValueError("the end of the file is missing")
    if int.from_bytes(data[-_TAIL:-4], "little") > len(data) - len(_MAGIC) - _TAIL:
        raise ValueError("its footer is longer than the file")


def recognises(source: Source) -> bool:
    """Whether a file begins as Parquet does."""
    return source.data.startswith(_MAGIC)


def write(trace: Trace, path: Path) -> None:
    """Write all columns of :meth:`gpusched.Trace.to_polars`, with dates if there are any."""
    trace.to_polars(dates=True).write_parquet(path)


def _excerpt() -> dict[str, bytes]:
    trace = Trace.from_columns([0, 5.5], [3600, 60], [8, 1], user=["ann", "bob"])
    file = io.BytesIO()
    trace.to_polars().write_parquet(file)
    return {"jobs.parquet": file.getvalue()}


register_trace_format(
    TraceFormat(
        name="parquet",
        summary="Any Parquet file.",
        source="Any.",
        detection="its first bytes",
        recognises=recognises,
        read=reader_of(open_parquet),
        excerpt=_excerpt,
        write=write,
        losses=losses,
        endings=("parquet",),
        options=OPTIONS,
        rank=-1,
    )
)
