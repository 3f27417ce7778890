"""Any CSV with a header that names submit time, duration and GPUs."""

from __future__ import annotations

from pathlib import Path

from gpusched.base.delimited_text import read_table
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.formats.generic import OPTIONS, Opened, losses, reader_of
from gpusched.traces.workload import Trace


def open_csv(source: Source, _: object = None) -> Opened:
    """Read a header and fields separated by commas, semicolons, tabs or bars."""
    separator = _separator(source)
    table = read_table(source, separator=separator)
    notes = () if separator in ",\t" else (f"fields are separated by {separator!r}",)
    return table.screen(), table.columns, notes


def _separator(source: Source) -> str:
    """Return the separator: the most frequent candidate in the header, a comma on a tie."""
    if source.suffix == ".tsv":
        return "\t"
    return max(",;\t|", key=source.first_line.count)


def _recognises(source: Source) -> bool:
    line = source.first_line
    return source.suffix in (".csv", ".tsv") or line.count(_separator(source)) > 1


def write(trace: Trace, path: Path) -> None:
    """Write all columns of :meth:`gpusched.Trace.to_polars`, with dates if there are any."""
    trace.to_polars(dates=True).write_csv(path)


register_trace_format(
    TraceFormat(
        name="csv",
        summary="Any CSV with a header.",
        source="Any.",
        detection="its ending or header",
        recognises=_recognises,
        read=reader_of(open_csv),
        excerpt=text_file(
            "jobs.csv", "submit_s,service_s,gpus,user", "0,3600,8,ann", "5.5,60,1,bob"
        ),
        write=write,
        losses=losses,
        endings=("csv",),
        options=OPTIONS,
        rank=9,
    )
)
