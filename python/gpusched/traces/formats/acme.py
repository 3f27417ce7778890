"""Acme, Shanghai AI Laboratory, 2023 (Hu et al., NSDI 2024): ``trace_seren``, ``trace_kalos``.

The run time is taken from start and end: the published durations disagree with their schema.
"""

from __future__ import annotations

from typing import Final

from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.formats.helios import STATUS
from gpusched.traces.intake.text_schema import ReadColumns, Span, TextColumn, TextSchema
from gpusched.traces.workload import Trace

MEMORY: Final = "mem_per_pod_GB"
SCHEMA: Final = TextSchema(
    (
        TextColumn("gpu_num", "gpus", is_positive=True),
        TextColumn("submit_time", "submit_s", "time"),
        TextColumn("start_time", "source_wait_s", "time", is_part=True),
        TextColumn("end_time", "service_s", "time", is_part=True),
        TextColumn("cpu_num", "cpu", may_miss=True, is_of_job=True),
        TextColumn("node_num", "nodes", may_miss=True, is_part=True, only_with=MEMORY),
        TextColumn(MEMORY, "memory_gib", may_miss=True, is_of_job=True, is_required=False),
        TextColumn("job_id", "id", "id"),
        TextColumn("user", "user", "label"),
        TextColumn("type", "group", "label"),
        TextColumn("state", "status", "status", states=STATUS),
    ),
    spans=(
        Span("service_s", "end_time", "start_time"),
        Span("source_wait_s", "start_time", "submit_time"),
    ),
    names=(
        "job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time",
        "start_time", "end_time",
    ),
)  # fmt: skip
"""The workload type becomes the group; GB are read as GiB."""


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a log of Seren or Kalos."""
    return SCHEMA.read(source, on_bad=on_bad, derive=_memory_of_pods)


def _memory_of_pods(read: ReadColumns) -> None:
    """Multiply the memory of a pod by the number of pods, one per node."""
    if MEMORY in read.values:
        read.numeric["memory_gib"] = read.values[MEMORY] * read.values["node_num"]


register_trace_format(
    TraceFormat(
        name="acme",
        summary="Shanghai AI Laboratory Acme, 2023 (trace_seren.csv, trace_kalos.csv).",
        source="Hu et al., NSDI 2024.",
        detection="its header",
        recognises=SCHEMA.recognises,
        read=read,
        excerpt=text_file(
            "trace_seren.csv",
            "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
            "duration,queue,gpu_time",
            "71,u1,2,16,256,Pretrain,FAILED,2023-03-02 00:10:00+08:00,2023-03-02 00:10:30+08:00,"
            "2023-03-02 02:10:30+08:00,7200,30,115200.0",
            "72,u2,1,1,8,Evaluation,COMPLETED,2023-03-02 00:11:00+08:00,"
            "2023-03-02 00:11:00+08:00,2023-03-02 00:12:40+08:00,100,0,100.0",
        ),
    )
)
