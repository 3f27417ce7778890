"""SenseTime Helios, 2020 (Hu et al., SC 2021): ``cluster_log.csv``.

More than half of its rows use no GPU; they are rejected and counted. Times are naive local times.
"""

from __future__ import annotations

from typing import Final

from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import TextColumn, TextSchema

STATUS: Final = {
    "COMPLETED": "ok",
    "CANCELLED": "killed",
    "TIMEOUT": "killed",
    "FAILED": "failed",
    "NODE_FAIL": "failed",
}
SCHEMA: Final = TextSchema(
    (
        TextColumn("gpu_num", "gpus"),
        TextColumn("submit_time", "submit_s", "time"),
        TextColumn("duration", "service_s"),
        TextColumn("queue", "source_wait_s", may_miss=True),
        TextColumn("job_id", "id", "id"),
        TextColumn("user", "user", "label"),
        TextColumn("vc", "queue", "label"),
        TextColumn("state", "status", "status", states=STATUS),
    ),
    marks=("node_num",),
)
"""The virtual cluster becomes the queue; the file's ``queue`` is the recorded wait."""

register_trace_format(
    TraceFormat(
        name="helios",
        summary="SenseTime Helios, 2020 (cluster_log.csv).",
        source="Hu et al., SC 2021.",
        detection="its header",
        recognises=SCHEMA.recognises,
        read=SCHEMA.read,
        excerpt=text_file(
            "cluster_log.csv",
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
            "duration,queue",
            "2,u1,vcA,8,4,1,TIMEOUT,2020-04-01 00:00:05,2020-04-01 00:00:15,"
            "2020-04-01 00:01:05,50.0,10",
            "3,u2,vcB,1,4,1,COMPLETED,2020-04-01 00:00:06,2020-04-01 00:00:06,"
            "2020-04-01 00:00:13,7,0",
        ),
    )
)
