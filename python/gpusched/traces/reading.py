"""Trace files: a reader per format, found by looking at the file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpusched.base.files import naming
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.traces.format_registry import TraceFormat, detect, find, trace_formats
from gpusched.traces.workload import Trace
from gpusched.traces.writers import write_trace

__all__ = ["read_trace", "trace_formats", "write_trace"]


def read_trace(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    on_bad: OnBad = "reject",
    max_bytes: int | None = None,
    **options: Any,
) -> Trace:
    r"""Read a trace file, plain or gzip.

    Jobs are sorted by (submit, position in the file) and shifted so that the first submit is 0;
    the source's own clock stays in ``epoch`` and ``origin_s``.

    Parameters
    ----------
    path
        The file.
    format
        A name listed by ``gpusched trace formats``; default: found by looking at the file.
    columns
        For CSV, Parquet and NumPy files: the file's name for each of the names of
        :meth:`Trace.from_columns <gpusched.traces.workload.Trace.from_columns>`, e.g.
        ``{"service_s": "length"}``.
    on_bad
        ``"reject"`` leaves out rows that are no jobs (no GPU, no run time, not a number ...) and
        counts them, by reason and with line numbers, in ``trace.rejects``; ``"error"`` raises at
        the first.
    max_bytes
        A file of more bytes, or that unpacks to more, is refused. Default: 4 GiB, and 250 times
        the size of a packed file if that is more than 64 MiB.
    options
        Further options of the format: ``processors`` and ``processors_per_gpu`` (swf),
        ``throughputs`` and ``gpu_type`` (gavel).

    Returns
    -------
    Trace
        The jobs that are such, in order of submission; ``rejects`` counts the others.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TypeError
        If a typed column holds neither numbers nor text, or the format lacks an option.
    ValueError
        If the format is unknown, the file malformed, truncated or too long, a column missing, an
        id used twice, or no job left; the message names file, line, column, value and rule.

    Examples
    --------
    >>> with open("jobs.csv", "w") as file:
    ...     _ = file.write("submit_s,service_s,gpus\n0,60,1\n5,0,2\n")
    >>> trace = gs.read_trace("jobs.csv")
    >>> len(trace), trace.rejects.total
    (1, 1)
    """
    source = Source(path, max_bytes=max_bytes)
    with naming(source):
        return _read(source, format, columns, on_bad, options)


def _read(
    source: Source,
    format: str | None,
    columns: Mapping[str, str] | None,
    on_bad: OnBad,
    options: dict[str, Any],
) -> Trace:
    if format is not None:
        reader = find(format)
    elif columns is not None:
        generic = _generic_formats()
        reader = next((r for r in generic if r.recognises(source)), generic[-1])
    else:
        reader = detect(source)
    if columns is not None:
        options["columns"] = columns
    for name in options:
        if name not in reader.options:
            known = nearest(name, reader.options) if reader.options else "; it has none"
            raise TypeError(f"{source}: format {reader.name!r} has no option {name!r}{known}")
    trace: Trace = reader.read(source, on_bad=on_bad, **options)
    return trace


def _generic_formats() -> list[TraceFormat]:
    return [known for known in trace_formats().values() if "columns" in known.options]
