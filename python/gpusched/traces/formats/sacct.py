"""The accounting of Slurm: ``sacct --parsable2``, with any delimiter.

Steps, jobs that wait or run, and jobs without GPUs are rejected and counted. Requeues of one job
are joined. Times are local, unless they have an offset from UTC.
"""

from __future__ import annotations

from typing import Any, Final

from gpusched.base.delimited_text import Table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.sacct_demands import COLUMNS, TRES
from gpusched.traces.sacct_jobs import IDS, OPTIONS, TIMES, jobs_of
from gpusched.traces.sacct_table import delimiter_of, names_of, read_sacct_table
from gpusched.traces.workload import Trace

NEEDED: Final = tuple(column.name for column in TIMES if column.name != "Eligible")
KNOWN: Final = (
    *IDS, *NEEDED, *COLUMNS, "Eligible", "State", "User", "Partition", "Account", "QOS",
    "Timelimit", "TimelimitRaw", "Elapsed", "ElapsedRaw", "Suspended",
)  # fmt: skip


def read(source: Source, *, on_bad: OnBad, delimiter: str | None = None, **options: Any) -> Trace:
    """Read what sacct printed.

    Parameters
    ----------
    delimiter
        What stands between fields; default: what stands between the first names of the header.
    options
        See :func:`gpusched.traces.sacct_jobs.jobs_of`.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or not delimiter):
        raise ValueError(f"delimiter: {delimiter!r} must be a text that is not empty")
    table = read_sacct_table(source, delimiter, KNOWN)
    _check_columns(table)
    where = f"{source}, line 1"
    return jobs_of(source, table.screen(), table.columns, where, on_bad, **options)


def _check_columns(table: Table) -> None:
    for names in (IDS, *((name,) for name in NEEDED), TRES):
        if not set(names) & set(table.columns):
            raise ValueError(
                f"{table.source}, line 1: column {names[0]!r} is missing; the header has "
                f"{', '.join(table.columns)} (print it with sacct --format={names[0]},...)"
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
    # Nothing else begins like this: what is missing is an error that names it.
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
