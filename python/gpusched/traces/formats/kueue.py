"""Finished Kueue Workloads, as ``kubectl get workloads -o json`` or ``-o yaml`` prints them.

Their conditions hold the times of admission and end. Kueue deletes finished workloads with their
jobs; to keep a history, export them before or set ``objectRetentionPolicies``.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any, Final

import numpy as np

from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.wording import plural
from gpusched.traces import text_columns as parse
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, trace_of
from gpusched.traces.kube_objects import KUEUE, Unfit, Workload, objects_of, text_of, workload_of
from gpusched.traces.workload import Trace

STATUS: Final = {"Succeeded": "ok", "JobFinished": "unknown", "Failed": "failed"}
"""Status by reason of the condition ``Finished``; earlier versions have one for both ends."""
_HEAD_BYTES: Final = 1 << 16


def read(source: Source, *, on_bad: OnBad, resource: str | None = None) -> Trace:
    """Read finished workloads; those that wait or run are rejected.

    ``resource``: resource name of GPUs, such as ``"nvidia.com/gpu"``; default: all that end in
        ``/gpu``.
    """
    every = [
        each for each in objects_of([source]) if each.group == KUEUE and each.kind == "Workload"
    ]
    if not every:
        raise ValueError(f"{source}: no jobs; no object is a Workload")
    screen = Screen(str(source), np.arange(len(every), dtype=np.int64))
    found: list[Workload | None] = []
    whys: dict[str, list[int]] = {}
    for row, each in enumerate(every):
        try:
            found.append(workload_of(each, lambda name: _is_gpu(name, resource)))
        except Unfit as unfit:
            found.append(None)
            whys.setdefault(str(unfit), []).append(row)
    for why, rows in whys.items():
        is_fit = ~np.isin(np.arange(len(every)), rows)
        screen.require(is_fit, "gpus", f"must be known ({why})")
    read = ReadColumns(screen)

    def numbers(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([np.nan if each is None else getattr(each, name) for each in found])

    submit_s, start_s, end_s, limit_s = map(numbers, ("submit_s", "start_s", "end_s", "limit_s"))
    is_over = end_s == end_s
    screen.require(is_over, "status", "must be finished (the workload is waiting or running)")
    past_s, preemptions = numbers("past_s"), numbers("preemptions")
    screen.show("service_s", "Finished - Admitted", end_s - start_s + past_s)
    read.numeric = {
        "submit_s": submit_s,
        "service_s": end_s - start_s + past_s,
        "gpus": numbers("gpus"),
        "estimate_s": limit_s,
        "time_limit_s": np.maximum(limit_s, end_s - start_s + past_s),  # it may count each run
        "priority": numbers("priority"),
        # For preempted workloads only the last admission is known, not the wait.
        "source_wait_s": np.where(preemptions == 0, np.maximum(start_s - submit_s, 0), np.nan),
    }
    flavors = [sorted({pods.flavor for pods in each.pods} - {""}) if each else () for each in found]
    if any(flavors):
        read.gpu_types = flavors
    read.ids = parse.identifiers(screen, "name", [each.key for each in every])
    read.labels = {
        "user": Labels.of(each.namespace for each in every),
        "queue": Labels.of(text_of(each.at("spec", "queueName")) for each in every),
        "status": Labels.of(STATUS.get(each.reason if each else "", "unknown") for each in found),
    }
    again = int((preemptions > 0).sum())
    if again:
        read.notes += (
            f"{plural(again, 'workload')} preempted: the run time is the time since the last "
            "admission plus accumulatedPastExecutionTimeSeconds; the wait is unknown",
        )
    return trace_of(source.name, read, on_bad, epoch=parse.UNIX_EPOCH.replace(tzinfo=UTC))


def _is_gpu(name: str, resource: str | None) -> bool:
    return name.endswith("/gpu") if resource is None else name == resource


def _recognises(source: Source) -> bool:
    head = source.data[:_HEAD_BYTES]
    return KUEUE.encode() in head and b"Workload" in head


register_trace_format(
    TraceFormat(
        name="kueue",
        summary="Workloads of Kueue that have finished (kubectl get workloads -o json).",
        source="kubernetes-sigs/kueue, v1beta1 and v1beta2.",
        detection="a file that names `kueue.x-k8s.io` and a `Workload`",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "workloads.json"),
        options=("resource",),
    )
)
