"""Any Parquet file with columns for submit time, duration and GPUs."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np

from gpusched.rejects import OnBad, Screen
from gpusched.traces.generic import trace_of
from gpusched.traces.registry import Reader, register
from gpusched.traces.source import Source
from gpusched.workload import Trace


def read(source: Source, *, on_bad: OnBad, columns: Mapping[str, str] | None = None) -> Trace:
    """Read a Parquet file; rows are numbered from 0.

    Parameters
    ----------
    columns
        The file's name for each of ours, e.g. ``{"service_s": "length"}``.
    """
    import polars

    try:
        frame = polars.read_parquet(io.BytesIO(source.data))
    except polars.exceptions.PolarsError as error:
        raise ValueError(f"{source}: truncated or damaged Parquet: {error}") from None
    screen = Screen(str(source), np.arange(frame.height, dtype=np.int64))
    data = {name: frame[name] for name in frame.columns}
    return trace_of(source, screen, data, columns, on_bad)


def _recognises(source: Source) -> bool:
    return source.data.startswith(b"PAR1")


register(Reader("parquet", "Any Parquet file.", _recognises, read, options=("columns",), rank=-1))
