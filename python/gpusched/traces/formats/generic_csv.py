"""Any CSV with a header that names submit time, duration and GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpusched.base.delimited_text import read_table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.formats.generic import losses, read_columns
from gpusched.traces.frames import polars_of
from gpusched.traces.workload import Trace


def read(source: Source, *, on_bad: OnBad, columns: Mapping[str, str] | None = None) -> Trace:
    """Read a CSV (or, by its ending, a TSV) with a header.

    Parameters
    ----------
    columns
        The file's name for each of ours, e.g. ``{"service_s": "length"}``.
    """
    table = read_table(source, separator="\t" if source.suffix == ".tsv" else ",")
    return read_columns(source, table.screen(), table.columns, columns, on_bad)


def _recognises(source: Source) -> bool:
    return source.suffix in (".csv", ".tsv") or len(source.header) > 2


def write(trace: Trace, path: Path) -> None:
    """Write all columns of :meth:`gpusched.Trace.to_polars`."""
    polars_of(trace).write_csv(path)


register_trace_format(
    TraceFormat(
        name="csv",
        summary="Any CSV with a header.",
        source="Any.",
        detection="its ending or header",
        recognises=_recognises,
        read=read,
        excerpt=text_file(
            "jobs.csv", "submit_s,service_s,gpus,user", "0,3600,8,ann", "5.5,60,1,bob"
        ),
        write=write,
        losses=losses,
        endings=("csv",),
        options=("columns",),
        rank=9,
    )
)
