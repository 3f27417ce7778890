"""Alibaba's cluster of spot GPUs (``cluster-trace-v2026-spot-gpu``): ``job_info_df.csv``.

A job has several workers, each with some GPUs or a part of one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import ReadColumns, TextColumn, TextSchema
from gpusched.traces.workload import Trace

SCHEMA: Final = TextSchema(
    (
        TextColumn("gpu_request", "gpus", is_positive=True, is_part=True),
        TextColumn("worker_num", "gpus", is_positive=True, is_part=True),
        TextColumn("cpu_request", "cpu", may_miss=True, is_part=True),
        TextColumn("submit_time", "submit_s"),
        TextColumn("duration", "service_s"),
        TextColumn("job_name", "id", "id"),
        TextColumn("organization", "account", "label"),
        TextColumn("job_type", "qos", "label"),
        TextColumn("gpu_model", "gpu_types", "types"),
    ),
)
"""The job type (spot or not) becomes the QOS."""


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read the jobs; if several workers request parts of a GPU, each takes a whole one."""
    return SCHEMA.read(source, on_bad=on_bad, derive=_add_up_workers)


def _add_up_workers(read: ReadColumns) -> None:
    each, workers = read.values["gpu_request"], read.values["worker_num"]
    is_share = (each < 1) & (workers == 1)
    gpus = np.ceil(each) * workers
    read.screen.show("gpus", "gpu_request x worker_num", gpus)
    read.numeric |= {
        "gpus": gpus,
        "gpu_share": np.where(is_share, each, 1.0),
        "cpu": read.values["cpu_request"] * workers,
    }
    read.of_job.add("cpu")
    num_rounded = int(np.count_nonzero((each % 1 != 0) & ~is_share))
    if num_rounded:
        read.how = f"workers of {num_rounded:,} jobs with parts of GPUs take whole ones"


register_trace_format(
    TraceFormat(
        name="pai-2026",
        summary="Alibaba PAI, 2026: its cluster of spot GPUs (job_info_df.csv).",
        source="alibaba/clusterdata, cluster-trace-v2026-spot-gpu.",
        detection="its header",
        recognises=SCHEMA.recognises,
        read=read,
        excerpt=text_file(
            "job_info_df.csv",
            "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,"
            "duration,job_type",
            "1,7,A100,15,1,16,1000,3600,HP",
            "2,3,T4,4,0.5,1,1005,60,Spot",
        ),
    )
)
