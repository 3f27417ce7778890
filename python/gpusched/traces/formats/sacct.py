"""Slurm accounting: ``sacct --parsable2``, with any delimiter.

Steps, jobs that wait or run, and jobs without GPUs are rejected and counted. Requeues of one job
are merged. Times are local, unless they have an offset from UTC.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from gpusched.base.delimited_text import Table
from gpusched.base.files import MAX_COLUMNS
from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.sacct_jobs import COLUMNS, IDS, NODES, OPTIONS, TIMES, TRES, jobs_of
from gpusched.traces.workload import Trace

FREE_TEXT: Final = (
    "JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra",
)  # fmt: skip
"""Columns written by users, which may contain the delimiter."""
_FIRST_NAMES: Final = re.compile(r"\s*([A-Za-z]+)([^A-Za-z0-9]+)[A-Za-z]")
_MAX_DELIMITER: Final = 20


def delimiter_of(header: str) -> str | None:
    """Return the text between the first two names of a header, or None."""
    found = _FIRST_NAMES.match(header)
    return found[2] if found and len(found[2]) <= _MAX_DELIMITER else None


def names_of(header: str, delimiter: str) -> list[str]:
    """Return the column names; the last is empty if lines end in a delimiter."""
    return [name.strip() for name in header.split(delimiter)]


def read_sacct_table(
    source: Source,
    delimiter: str | None,
    known: Sequence[str],
    free_text: Sequence[str] = FREE_TEXT,
) -> Table:
    """Read the table; column names match ``known`` ones regardless of case.

    An extra delimiter (unless a comma) is attributed to the one column of ``free_text``.

    ``delimiter``: one or several characters; None: those between the first names of the header.
    """
    header, *rest = source.text.split("\n")
    delimiter = delimiter or delimiter_of(header)
    if delimiter is None:
        raise ValueError(f"{source}, line 1: not a header of sacct; run sacct --parsable2")
    if delimiter.strip(" ") == "":
        raise ValueError(f"{source}: this is sacct's human-readable output; run sacct --parsable2")
    canonical = {name.lower(): name for name in (*known, *free_text)}
    names = [canonical.get(name.lower(), name) for name in names_of(header, delimiter)]
    _check_names(source, names)
    every = polars.Series(rest, dtype=polars.String)
    is_row = every.str.strip_chars() != ""
    lines = is_row.arg_true().to_numpy().astype(np.int64) + 2
    if not lines.size:
        raise ValueError(f"{source}: no jobs; the file has no row below its header")
    fields = every.filter(is_row).str.split(delimiter)
    surplus = fields.list.len().cast(polars.Int64).to_numpy() - len(names)
    free = [place for place, name in enumerate(names) if name in free_text]
    if delimiter == ",":  # also separates resources, so the extra field cannot be attributed
        free = []
    ragged = np.flatnonzero(surplus != 0 if len(free) != 1 else surplus < 0)
    if ragged.size:
        row = int(ragged[0])
        raise _ragged(source, int(lines[row]), len(names) + int(surplus[row]), len(names))
    columns = {
        name: fields.list.get(place).str.strip_chars() for place, name in enumerate(names) if name
    }
    longer = np.flatnonzero(surplus)
    if longer.size:
        _mend(columns, names, free[0], fields, longer, delimiter)
    return Table(source, columns, lines)


def _mend(
    columns: dict[str, polars.Series],
    names: Sequence[str],
    free: int,
    fields: polars.Series,
    rows: np.ndarray[tuple[int], np.dtype[np.int64]],
    delimiter: str,
) -> None:
    """Assign the extra fields of ``rows`` to the column at ``free``."""
    mended = []
    for parts in fields[rows].to_list():
        end = free + 1 + len(parts) - len(names)
        mended.append([*parts[:free], delimiter.join(parts[free:end]), *parts[end:]])
    for name, values in zip(names, zip(*mended, strict=True), strict=True):
        if name:
            columns[name] = columns[name].scatter(rows, [value.strip() for value in values])


def _check_names(source: Source, names: Sequence[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"{source}, line 1: {len(names):,} columns, more than {MAX_COLUMNS:,}")
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{source}, line 1: column {name!r} occurs twice")
        seen.add(name)


def _ragged(source: Source, line: int, num_fields: int, expected: int) -> ValueError:
    plural = "field" if num_fields == 1 else "fields"
    return ValueError(
        f"{source}, line {line}: {num_fields} {plural}, but a row must have {expected} "
        "(a truncated row, or a text contains the delimiter: run sacct with another --delimiter)"
    )


NEEDED: Final = tuple(column.name for column in TIMES if column.name != "Eligible")
KNOWN: Final = (
    *IDS, *NEEDED, *COLUMNS, "Eligible", "State", "User", "Partition", "Account", "QOS",
    "Timelimit", "TimelimitRaw", "Elapsed", "ElapsedRaw", "Suspended", "Priority", "Cluster",
)  # fmt: skip


def read(source: Source, *, on_bad: OnBad, delimiter: str | None = None, **options: Any) -> Trace:
    """Read output of sacct.

    ``delimiter``: text between fields; default: the text between the first names of the header.
    ``options``: see :func:`gpusched.traces.sacct_jobs.jobs_of`.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter):
        raise ValueError(f"delimiter: {delimiter!r} must be a text that is not empty")
    table = read_sacct_table(source, delimiter, KNOWN)
    _check_columns(table, TRES if options.get("gpus_per_node") is None else (*TRES, *NODES))
    where = f"{source}, line 1"
    return jobs_of(source, table.screen(), table.columns, where, on_bad, **options)


def _check_columns(table: Table, sizes: Sequence[str]) -> None:
    for names in (IDS, *((name,) for name in NEEDED), sizes):
        if not set(names) & set(table.columns):
            raise ValueError(
                f"{table.source}, line 1: column {names[0]!r} is missing; the header has "
                f"{', '.join(table.columns)} (run sacct --format={names[0]},...)"
            )


def _recognises(source: Source) -> bool:
    delimiter = delimiter_of(source.first_line)
    if delimiter is None:
        return False
    written = names_of(source.first_line, delimiter)
    names = {name.lower() for name in written}
    is_whole = all(
        any(name.lower() in names for name in needed)
        for needed in (IDS, *((name,) for name in NEEDED), TRES)
    )
    # No other format begins like this: accept it, and let the reader name missing columns.
    return is_whole or (delimiter != "," and written[0] in IDS)


register_trace_format(
    TraceFormat(
        name="sacct",
        summary="Slurm accounting (sacct --parsable2, any delimiter).",
        source="SchedMD, Slurm.",
        detection="its header: JobID, Submit, Start, End, AllocTRES or ReqTRES",
        recognises=_recognises,
        read=read,
        excerpt=text_file(
            "sacct.txt",
            "JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|Timelimit|State|ReqTRES|"
            "AllocTRES",
            "101|ann|vision|gpu|normal|2024-05-01T09:00:00|2024-05-01T09:00:00|"
            "2024-05-01T09:00:10|2024-05-01T10:00:10|1-00:00:00|COMPLETED|"
            "billing=8,cpu=16,gres/gpu=8,mem=256G,node=1|billing=8,cpu=16,gres/gpu=8,mem=256G,node=1",
            "102_1|bob|speech|gpu|high|2024-05-01T09:01:00|2024-05-01T09:01:00|"
            "2024-05-01T09:05:00|2024-05-01T09:06:30|02:00:00|CANCELLED by 1000|"
            "billing=1,cpu=4,gres/gpu=1,mem=32G,node=1|billing=1,cpu=4,gres/gpu=1,mem=32G,node=1",
            "102_2|bob|speech|gpu|high|2024-05-01T09:01:00|2024-05-01T09:01:00|"
            "2024-05-01T09:05:00|2024-05-01T11:05:12|02:00:00|TIMEOUT|"
            "billing=1,cpu=4,gres/gpu=1,mem=32G,node=1|billing=1,cpu=4,gres/gpu=1,mem=32G,node=1",
        ),
        options=("delimiter", *OPTIONS),
    )
)
