"""SenseTime Helios, 2020 (Hu et al., SC 2021): ``cluster_log.csv``.

More than half of its rows use no GPU; they are rejected and counted. Times are naive local times.
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

COLUMNS: Final = (
    "job_id", "user", "vc", "gpu_num", "state", "submit_time", "duration", "queue",
)  # fmt: skip
STATUS: Final = {
    "COMPLETED": "ok",
    "CANCELLED": "killed",
    "TIMEOUT": "killed",
    "FAILED": "failed",
    "NODE_FAIL": "failed",
}


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a Helios log; the virtual cluster becomes the queue, ``queue`` the source's wait."""
    table = read_table(source, COLUMNS)
    screen, text = table.screen(), table.columns
    numeric = {
        "gpus": parse.numbers(screen, "gpus", "gpu_num", text["gpu_num"]),
        "submit_us": parse.times(screen, "submit_s", "submit_time", text["submit_time"]),
        "service_s": parse.numbers(screen, "service_s", "duration", text["duration"]),
        "source_wait_s": parse.numbers(
            screen, "source_wait_s", "queue", text["queue"], may_miss=True
        ),
    }
    attributes = assemble(
        screen,
        numeric,
        ids=parse.identifiers(screen, "job_id", text["job_id"]),
        labels={
            "user": Labels.of(text["user"].to_list()),
            "queue": Labels.of(text["vc"].to_list()),
            "status": parse.statuses(text["state"], STATUS),
        },
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        epoch=parse.UNIX_EPOCH,
        rebase=True,
    )
    return Trace(**attributes)


def _recognises(source: Source) -> bool:
    return set(COLUMNS) <= set(source.header) and "node_num" in source.header


register_trace_format(
    TraceFormat(
        name="helios",
        summary="SenseTime Helios, 2020 (cluster_log.csv).",
        source="Hu et al., SC 2021.",
        detection="its header",
        recognises=_recognises,
        read=read,
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
