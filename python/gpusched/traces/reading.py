"""Read trace files; the format is detected from the file."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from gpusched.base.files import naming
from gpusched.base.rejects import OnBad
from gpusched.base.run_warning import warn
from gpusched.base.source import AnyFile, Source
from gpusched.base.suggest import HintedError, nearest
from gpusched.traces.format_registry import detect, find, trace_formats
from gpusched.traces.intake.wall_clock import local_zone
from gpusched.traces.workload import Trace
from gpusched.traces.writers import write_trace

__all__ = ["read_trace", "trace_formats", "write_trace"]

# A job, task or step and fields between bars: sacct output without a header.
_HEADLESS: Final = re.compile(r"\d+(?:_\d+|\+\d+)?(?:\.\w+)?\|[^|]*\|[^|]*\|")
_QUEUE: Final = re.compile(r"\s*JOBID\s+\S.*\s(?:ST|STATE)\s")


def read_trace(
    path: AnyFile | Sequence[AnyFile],
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    on_bad: OnBad = "reject",
    max_bytes: int | None = None,
    member: str | None = None,
    time_zone: str | None = None,
    **options: Any,
) -> Trace:
    r"""Read one or more trace files, plain or compressed, as one trace.

    Jobs are sorted by (submit, position in the file) and shifted so that the first submit is 0;
    ``epoch`` and ``origin_s`` keep the source's clock.

    Parameters
    ----------
    path
        The file: a path, or an open file such as ``sys.stdin.buffer``. It may be packed by gzip,
        zstd (with the extra ``gpusched-core[zstd]``), bz2, xz, zip or tar. Several files become one
        trace on their common clock; an id in two of them is an error, and positions continue.
    format
        A name listed by ``gpusched trace formats``; default: detected from the file.
    columns
        For CSV, JSON, Parquet and NumPy files: column names of the file by the names of
        :meth:`Trace.from_columns <gpusched.traces.workload.Trace.from_columns>`, e.g.
        ``{"service_s": "length"}``. ``trace.notes`` lists unused columns.
    on_bad
        ``"reject"`` leaves out invalid rows (no GPU, no run time, not a number ...) and counts
        them by reason, with line numbers, in ``trace.rejects``; ``"error"`` raises at the first.
    max_bytes
        Size limit of the file and of its unpacked content. Default: 4 GiB, and 250 times the size
        of a packed file if that is more than 64 MiB.
    member
        The trace's file name in an archive of several files.
    time_zone
        Time zone of dates without one, such as ``"Europe/Berlin"``; they are converted to UTC. An
        ambiguous time (end of summer time) is the earlier one. Default: dates keep no zone.
    options
        Further options of the format: ``date_order`` (csv, parquet, json), ``processors`` and
        ``processors_per_gpu`` (swf), ``throughputs`` and ``gpu_type`` (gavel).

    Returns
    -------
    Trace
        The valid jobs, in order of submission; ``rejects`` counts the others.

    Warns
    -----
    RunWarning
        If rows were left out (one warning, with numbers by reason), or if the file takes more than
        half of the memory.

    Raises
    ------
    OSError
        If the file cannot be opened.
    MemoryError
        If it cannot fit into memory; raised before the file, its text or its columns are loaded.
    ImportError
        If it is packed by zstd and the library for it is missing.
    TypeError
        If a typed column holds neither numbers nor text, or the format has no such option.
    ValueError
        If the format is unknown, the file malformed, truncated or too long, a column missing or
        ambiguous, an id used twice, or no job left; the message names file, line, column, value
        and rule.

    Examples
    --------
    >>> with open("jobs.csv", "w") as file:
    ...     _ = file.write("submit_s,service_s,gpus\n0,60,1\n5,0,2\n")
    >>> trace = gs.read_trace("jobs.csv")  # warns of the job with a run time of 0
    >>> len(trace), trace.rejects.total
    (1, 1)
    """
    trace = read_quietly(
        path, format, columns=columns, on_bad=on_bad, max_bytes=max_bytes, member=member,
        time_zone=time_zone, **options,
    )  # fmt: skip
    if trace.rejects:
        reasons = "; ".join(trace.rejects.lines())
        warn([f"{trace.name}: rows left out, {trace.rejects.total:,}: {reasons}"], stacklevel=2)
    return trace


def read_quietly(
    path: AnyFile | Sequence[AnyFile],
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    on_bad: OnBad = "reject",
    max_bytes: int | None = None,
    member: str | None = None,
    time_zone: str | None = None,
    **options: Any,
) -> Trace:
    """Read as :func:`read_trace` does, but without a warning of rejected rows."""
    is_one = isinstance(path, str | os.PathLike) or hasattr(path, "read")
    files = [cast("AnyFile", path)] if is_one else list(cast("Sequence[AnyFile]", path))
    if not files:
        raise ValueError("read_trace: at least one file is needed")
    sources = [Source(file, max_bytes=max_bytes, member=member) for file in files]
    _check_once(files)
    parts = []
    for source in sources:
        with naming(source), local_zone(time_zone) as zone:
            part = read_source(source, format, columns, on_bad, options)
        if zone is not None:
            if not zone.is_used:
                raise ValueError(f"{source}: time_zone: no date in the file lacks a zone")
            part = dataclasses.replace(part, notes=(*part.notes, *zone.notes))
        parts.append(part)
    return parts[0] if len(parts) == 1 else Trace.concat(parts, list(map(str, sources)))


def _check_once(files: Sequence[AnyFile]) -> None:
    """Raise ValueError if a file is given twice."""
    seen: set[object] = set()
    for file in files:
        place = os.path.realpath(file) if isinstance(file, str | os.PathLike) else id(file)
        if place in seen:
            raise ValueError(f"{file}: the file is given twice")
        seen.add(place)


def read_source(
    source: Source,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    on_bad: OnBad = "reject",
    options: Mapping[str, Any] | None = None,
) -> Trace:
    """Read one file; parameters and errors are those of :func:`read_trace`."""
    given = dict(options or {})
    if format is not None:
        reader = find(format)
    elif columns is not None:
        generic = [known for known in trace_formats().values() if "columns" in known.options]
        reader = next((r for r in generic if r.recognises(source)), generic[-1])
    else:
        _check_kind(source)
        reader = detect(source)
    if columns is not None:
        given["columns"] = columns
    for name in given:
        if name not in reader.options:
            known = nearest(name, reader.options) if reader.options else "; it has none"
            raise TypeError(f"{source}: format {reader.name!r} has no option {name!r}{known}")
    trace: Trace = reader.read(source, on_bad=on_bad, **given)
    return trace


def _check_kind(source: Source) -> None:
    """Raise ValueError for files that are commonly mistaken for traces."""
    line = source.first_line
    if _HEADLESS.match(line):
        raise ValueError(
            f"{source}, line 1: {line[:40]!r} is not a header; run sacct without --noheader"
        )
    if _QUEUE.match(line):
        raise ValueError(f"{source}: this is squeue's human-readable output; run squeue --json")
    if line.strip() and line.lstrip()[0] not in "{[":
        return
    from gpusched.traces.formats import generic_json, slurm_nodes

    if slurm_nodes.recognises(source) and not generic_json.recognises(source):
        raise HintedError(
            f"{source}: lists servers, not jobs",
            " (read it with gpusched.read_cluster)", " (give it as --cluster)",
        )  # fmt: skip
