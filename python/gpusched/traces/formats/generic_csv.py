"""Any CSV with a header that names submit time, duration and GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched.base.delimited_text import read_table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import Reader, register
from gpusched.traces.formats.generic import trace_of
from gpusched.traces.workload import Trace


def read(source: Source, *, on_bad: OnBad, columns: Mapping[str, str] | None = None) -> Trace:
    """Read a CSV (or, by its ending, a TSV) with a header.

    Parameters
    ----------
    columns
        The file's name for each of ours, e.g. ``{"service_s": "length"}``.
    """
    table = read_table(source, separator="\t" if source.suffix == ".tsv" else ",")
    return trace_of(source, table.screen(), table.columns, columns, on_bad)


def _recognises(source: Source) -> bool:
    return source.suffix in (".csv", ".tsv") or len(source.header) > 2


register(Reader("csv", "Any CSV with a header.", _recognises, read, options=("columns",), rank=9))
