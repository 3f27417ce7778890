"""Acme, Shanghai AI Laboratory, 2023 (Hu et al., NSDI 2024): ``trace_seren``, ``trace_kalos``.

The run time is taken from start and end: the published durations disagree with their schema.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.delimited_text import Table, read_table
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.wall_clock import UNIX_EPOCH, ticks_of
from gpusched.traces.workload import Trace

COLUMNS: Final = (
    "job_id", "user", "node_num", "gpu_num", "cpu_num", "type", "state", "submit_time",
    "start_time", "end_time",
)  # fmt: skip
MEMORY: Final = "mem_per_pod_GB"
STATUS: Final = {
    "COMPLETED": "ok",
    "CANCELLED": "killed",
    "TIMEOUT": "killed",
    "FAILED": "failed",
    "NODE_FAIL": "failed",
}


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a log of Seren or Kalos; the type of workload becomes the group, GB are GiB."""
    table = read_table(source, COLUMNS)
    screen, text = table.screen(), table.columns
    gpus = parse.numbers(screen, "gpus", "gpu_num", text["gpu_num"])
    screen.require(gpus != 0, "gpus", "must be positive")
    submit_us = ticks_of(screen, "submit_s", "submit_time", text["submit_time"])
    start_us = ticks_of(screen, "source_wait_s", "start_time", text["start_time"])
    end_us = ticks_of(screen, "service_s", "end_time", text["end_time"])
    service_s, wait_s = (end_us - start_us) / 1_000_000, (start_us - submit_us) / 1_000_000
    screen.show("service_s", "end_time - start_time", service_s)
    screen.show("source_wait_s", "start_time - submit_time", wait_s)
    attributes = assemble(
        screen,
        {
            "submit_us": submit_us,
            "service_s": service_s,
            "source_wait_s": wait_s,
            "gpus": gpus,
            **_demand(screen, table, gpus),
        },
        ids=parse.identifiers(screen, "job_id", text["job_id"]),
        labels={
            "user": Labels.of(text["user"].to_list()),
            "group": Labels.of(text["type"].to_list()),
            "status": parse.statuses(text["state"], STATUS),
        },
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        epoch=UNIX_EPOCH,
        rebase=True,
    )
    return Trace(**attributes)


def _demand(screen: Screen, table: Table, gpus: AnyArray) -> dict[str, AnyArray]:
    """What each worker asks for; the log tells CPUs of the job and memory of each of its pods."""
    text = table.columns
    workers = np.maximum(np.nan_to_num(gpus, nan=1), 1)
    cpus = parse.numbers(screen, "cpu", "cpu_num", text["cpu_num"], may_miss=True)
    asked = {"cpu": cpus / workers}
    if MEMORY in text:
        pods = parse.numbers(screen, "nodes", "node_num", text["node_num"], may_miss=True)
        memory = parse.numbers(screen, "memory_gib", MEMORY, text[MEMORY], may_miss=True)
        asked["memory_gib"] = memory * pods / workers
    return asked


def _recognises(source: Source) -> bool:
    return set(COLUMNS) <= set(source.header)


register_trace_format(
    TraceFormat(
        name="acme",
        summary="Shanghai AI Laboratory Acme, 2023 (trace_seren.csv, trace_kalos.csv).",
        source="Hu et al., NSDI 2024.",
        detection="its header",
        recognises=_recognises,
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
