"""Microsoft Philly, 2017 (Jeon et al., ATC 2019), reduced to a CSV of passed jobs.

Not sorted by time; equal rows are separate jobs; there is no id. Times are naive local times.
"""

from __future__ import annotations

from typing import Final

from gpusched.base.delimited_text import read_table
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.workload import Trace

HEADER: Final = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a Philly CSV; the virtual cluster becomes the queue."""
    table = read_table(source, HEADER)
    screen, text = table.screen(), table.columns
    numeric = {
        "submit_us": parse.times(screen, "submit_s", "timestamp", text["timestamp"]),
        "service_s": parse.numbers(screen, "service_s", "duration", text["duration"]),
        "gpus": parse.numbers(screen, "gpus", "num_gpus", text["num_gpus"]),
    }
    attributes = assemble(
        screen,
        numeric,
        labels={"queue": Labels.of(text["cluster"].to_list())},
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        epoch=parse.UNIX_EPOCH,
        rebase=True,
    )
    return Trace(**attributes)


def _recognises(source: Source) -> bool:
    return source.header == HEADER


register_trace_format(
    TraceFormat(
        name="philly-csv",
        summary="Microsoft Philly, 2017 (CSV of passed jobs).",
        source="Jeon et al., ATC 2019.",
        detection="its header",
        recognises=_recognises,
        read=read,
        excerpt=text_file(
            "philly.csv",
            ",".join(HEADER),
            "2017-10-09 07:01:55,66.0,1,66.0,11cb48",
            "2017-10-09 07:01:54,2.0,2,4.0,6214e9",
        ),
    )
)
