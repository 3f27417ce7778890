"""Microsoft ITP, 2021 (Gu et al., ASPLOS 2023): one CSV per cluster, seconds since one epoch."""

from __future__ import annotations

from typing import Final

from gpusched.base.delimited_text import read_table
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.workload import Trace

HEADER: Final = ("job_id", "submission_time", "duration", "num_gpu")


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read an ITP file."""
    table = read_table(source, HEADER)
    screen, text = table.screen(), table.columns
    numeric = {
        "submit_s": parse.numbers(screen, "submit_s", "submission_time", text["submission_time"]),
        "service_s": parse.numbers(screen, "service_s", "duration", text["duration"]),
        "gpus": parse.numbers(screen, "gpus", "num_gpu", text["num_gpu"]),
    }
    ids = parse.identifiers(screen, "job_id", text["job_id"])
    attributes = assemble(
        screen, numeric, ids=ids, on_bad=on_bad, name=source.name, source=str(source), rebase=True
    )
    return Trace(**attributes)


def _recognises(source: Source) -> bool:
    return source.header == HEADER


register_trace_format(
    TraceFormat(
        name="itp",
        summary="Microsoft ITP clusters, 2021 (CSV).",
        source="Gu et al., ASPLOS 2023.",
        detection="its header",
        recognises=_recognises,
        read=read,
        excerpt=text_file(
            "itp.csv", ",".join(HEADER), "a,1000,3600,8", "b,1005,60,1", "c,1007,120,2"
        ),
    )
)
