"""Alibaba's GPU-sharing cluster, 2023 (Weng et al., ATC 2023): the lists of pods.

As a trace: the pods that were scheduled and ask for GPUs. As requests to fill a cluster with: all
of them, in the order of the list. A list without times is requests alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.delimited_text import Table, read_table
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.filling_requests import Requests
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file
from gpusched.traces.workload import Trace

SHORT: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
HEADER: Final = (
    *SHORT, "gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time",
)  # fmt: skip
STATUS: Final = {"Succeeded": "ok", "Failed": "failed"}
"""How a pod that was still running ended is not known."""


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a list of pods as jobs; the class of service becomes the queue.

    Pods without GPUs and pods that were never scheduled are no jobs.
    """
    if source.header == SHORT:
        raise ValueError(f"{source}: has no times; read it with gpusched.traces.read_requests")
    table = read_table(source, HEADER)
    screen, text = table.screen(), table.columns
    for column, label in (("service_s", "scheduled_time"), ("gpus", "num_gpu")):
        screen.show(column, label, text[label])
    is_scheduled = (text["pod_phase"] != "Pending").to_numpy()
    screen.require(is_scheduled, "service_s", "must not be empty (a pending pod)")
    demand = _demand(table, screen)
    screen.require(demand["gpus"] != 0, "gpus", "must be positive (a pod without GPUs)")
    created = parse.numbers(screen, "submit_s", "creation_time", text["creation_time"])
    scheduled = parse.numbers(
        screen, "source_wait_s", "scheduled_time", text["scheduled_time"], may_miss=True
    )
    screen.require(~np.isnan(scheduled), "source_wait_s", "must not be empty")
    deleted = parse.numbers(screen, "service_s", "deletion_time", text["deletion_time"])
    screen.show("service_s", "deletion_time - scheduled_time", deleted - scheduled)
    screen.show("source_wait_s", "scheduled_time - creation_time", scheduled - created)
    attributes = assemble(
        screen,
        {
            "submit_s": created,
            "service_s": deleted - scheduled,
            "source_wait_s": scheduled - created,
            **demand,
        },
        ids=parse.identifiers(screen, "name", text["name"]),
        labels={
            "queue": Labels.of(text["qos"].to_list()),
            "status": parse.statuses(text["pod_phase"], STATUS),
        },
        gpu_types=text["gpu_spec"].to_list(),
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        rebase=True,
    )
    return Trace(**attributes)


def read_requests(source: Source, *, on_bad: OnBad) -> Requests:
    """Read a list of pods, with or without times, as requests in the order of the list."""
    table = read_table(source, SHORT)
    screen, text = table.screen(), table.columns
    types = text["gpu_spec"].to_list() if "gpu_spec" in text else None
    return Requests.screened(
        screen,
        _demand(table, screen),
        ids=parse.identifiers(screen, "name", text["name"]),
        gpu_types=types,
        on_bad=on_bad,
        name=source.name,
        source=str(source),
    )


def _demand(table: Table, screen: Screen) -> dict[str, AnyArray]:
    """What each worker asks for; the list tells CPU and memory of the whole pod."""
    text = table.columns
    gpus = parse.numbers(screen, "gpus", "num_gpu", text["num_gpu"])
    share = parse.numbers(screen, "gpu_share", "gpu_milli", text["gpu_milli"]) / WHOLE_GPU
    cpu = parse.numbers(screen, "cpu", "cpu_milli", text["cpu_milli"]) / MILLI_PER_CORE
    memory = parse.numbers(screen, "memory_gib", "memory_mib", text["memory_mib"]) / MIB_PER_GIB
    workers = np.maximum(gpus, 1)
    return {
        "gpus": gpus,
        "gpu_share": np.where(gpus == 0, 1.0, share),
        "cpu": cpu / workers,
        "memory_gib": memory / workers,
    }


def recognises(source: Source) -> bool:
    """Whether a file is such a list, with or without times."""
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
