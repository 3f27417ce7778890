"""Microsoft Philly, 2017 (Jeon et al., ATC 2019), reduced to a CSV of passed jobs.

Not sorted by time; equal rows are separate jobs; there is no id. Times are naive local times.
"""

from __future__ import annotations

from typing import Final

from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import TextColumn, TextSchema

HEADER: Final = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")
SCHEMA: Final = TextSchema(
    (
        TextColumn("timestamp", "submit_s", "time"),
        TextColumn("duration", "service_s"),
        TextColumn("num_gpus", "gpus"),
        TextColumn("cluster", "queue", "label"),  # the virtual cluster
    ),
    header=HEADER,
)

register_trace_format(
    TraceFormat(
        name="philly-csv",
        summary="Microsoft Philly, 2017 (CSV of passed jobs).",
        source="Jeon et al., ATC 2019.",
        detection="its header",
        recognises=SCHEMA.recognises,
        read=SCHEMA.read,
        excerpt=text_file(
            "philly.csv",
            ",".join(HEADER),
            "2017-10-09 07:01:55,66.0,1,66.0,11cb48",
            "2017-10-09 07:01:54,2.0,2,4.0,6214e9",
        ),
    )
)
