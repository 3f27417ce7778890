"""Alibaba's GPU-sharing cluster, 2023 (Weng et al., ATC 2023): the lists of pods.

Read as a trace: scheduled pods with GPUs. Read as requests to fill a cluster with: all pods, in the
order of the list. A list without times can only be read as requests.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU
from gpusched.traces.filling_requests import Requests, screened_requests
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.intake.text_schema import ReadColumns, Span, TextColumn, TextSchema
from gpusched.traces.workload import Trace

SHORT: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
HEADER: Final = (
    *SHORT, "gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time",
)  # fmt: skip
STATUS: Final = {"Succeeded": "ok", "Failed": "failed"}
"""Other phases are unknown, such as pods that were still running."""
_WISHES: Final = (
    TextColumn("num_gpu", "gpus"),
    TextColumn("gpu_milli", "gpu_share", parts=WHOLE_GPU),
    TextColumn("cpu_milli", "cpu", parts=MILLI_PER_CORE, is_of_job=True),
    TextColumn("memory_mib", "memory_gib", parts=MIB_PER_GIB, is_of_job=True),
    TextColumn("gpu_spec", "gpu_types", "types", is_required=False),
    TextColumn("name", "id", "id"),
)
WISHES: Final = TextSchema(_WISHES)
"""The requests of pods; CPU and memory are those of the whole pod."""
PODS: Final = TextSchema(
    (
        *_WISHES,
        TextColumn("creation_time", "submit_s"),
        TextColumn("scheduled_time", "source_wait_s", may_miss=True, is_part=True),
        TextColumn("deletion_time", "service_s", is_part=True),
        TextColumn("qos", "queue", "label"),
        TextColumn("pod_phase", "status", "status", states=STATUS),
    ),
    spans=(
        Span("service_s", "deletion_time", "scheduled_time"),
        Span("source_wait_s", "scheduled_time", "creation_time"),
    ),
    header=HEADER,
)
"""The QoS class becomes the queue."""


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a list of pods as jobs.

    Pods without GPUs and pods that were never scheduled are rejected.
    """
    if source.header == SHORT:
        raise ValueError(f"{source}: has no times; read it with gpusched.traces.read_requests")
    return PODS.read(source, on_bad=on_bad, judge=_scheduled, derive=_jobs)


def read_requests(source: Source, *, on_bad: OnBad) -> Requests:
    """Read a list of pods, with or without times, as requests in the order of the list."""
    read = WISHES.columns_of(source)
    _no_share_of_none(read)
    read.share_between_workers()
    return screened_requests(
        read.screen,
        read.numeric,
        ids=read.ids,
        gpu_types=read.gpu_types,
        on_bad=on_bad,
        name=source.name,
        source=str(source),
    )


def _scheduled(read: ReadColumns) -> None:
    """Reject pods that were never scheduled, and those without GPUs."""
    screen = read.screen
    for column, label in (("service_s", "scheduled_time"), ("gpus", "num_gpu")):
        screen.show(column, label, read.data[label])
    is_scheduled = (read.data["pod_phase"] != "Pending").to_numpy()
    screen.require(is_scheduled, "service_s", "must not be empty (a pending pod)")
    has_gpus = (read.data["num_gpu"].str.strip_chars() != "0").to_numpy()
    screen.require(has_gpus, "gpus", "must be positive (a pod without GPUs)")


def _jobs(read: ReadColumns) -> None:
    scheduled = read.values["scheduled_time"]
    read.screen.require(~np.isnan(scheduled), "source_wait_s", "must not be empty")
    _no_share_of_none(read)


def _no_share_of_none(read: ReadColumns) -> None:
    """Set the GPU share of pods without GPUs to 1."""
    numeric = read.numeric
    numeric["gpu_share"] = np.where(numeric["gpus"] == 0, 1.0, numeric["gpu_share"])


def recognises(source: Source) -> bool:
    """Whether a file is a list of pods, with or without times."""
    return source.header in (SHORT, HEADER)


register_trace_format(
    TraceFormat(
        name="openb",
        summary="Alibaba PAI, 2023: its GPU-sharing cluster (list of pods, CSV).",
        source="Weng et al., ATC 2023.",
        detection="its header",
        recognises=recognises,
        read=read,
        excerpt=text_file(
            "pods.csv",
            ",".join(HEADER),
            "p1,4000,8192,1,500,,LS,Succeeded,100,900,130",
            "p2,8000,16384,2,1000,V100M16,BE,Failed,110,700,140",
        ),
        aliases=("pai-2023",),
    )
)
