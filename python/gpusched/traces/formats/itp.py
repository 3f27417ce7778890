"""Microsoft ITP, 2021 (Gu et al., ASPLOS 2023): one CSV per cluster, seconds since one epoch."""

from __future__ import annotations

from typing import Final

from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import TextColumn, TextSchema

HEADER: Final = ("job_id", "submission_time", "duration", "num_gpu")
SCHEMA: Final = TextSchema(
    (
        TextColumn("submission_time", "submit_s"),
        TextColumn("duration", "service_s"),
        TextColumn("num_gpu", "gpus"),
        TextColumn("job_id", "id", "id"),
    ),
    header=HEADER,
)

register_trace_format(
    TraceFormat(
        name="itp",
        summary="Microsoft ITP clusters, 2021 (CSV).",
        source="Gu et al., ASPLOS 2023.",
        detection="its header",
        recognises=SCHEMA.recognises,
        read=SCHEMA.read,
        excerpt=text_file(
            "itp.csv", ",".join(HEADER), "a,1000,3600,8", "b,1005,60,1", "c,1007,120,2"
        ),
    )
)
