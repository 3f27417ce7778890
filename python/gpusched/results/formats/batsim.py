"""Batsim's ``jobs.csv``: one row per job, as Batsim and its tools write and read it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64
from gpusched.base.libraries import polars as pl
from gpusched.base.ticks import us_to_seconds
from gpusched.base.wording import plural
from gpusched.results.format_registry import Exported, ScheduleFormat, register_schedule_format
from gpusched.schedules.schedule import FAILED, FINISHED, KILLED, REJECTED

_STATES: Final = {
    FINISHED: "COMPLETED_SUCCESSFULLY", REJECTED: "REJECTED",
    KILLED: "COMPLETED_WALLTIME_REACHED", FAILED: "COMPLETED_FAILED",
}  # fmt: skip


def write(exported: Exported, path: Path) -> list[str]:
    """Write the jobs that are over; the resources are GPUs, numbered from 0."""
    trace, schedule = exported.trace, exported.schedule
    finished, rejected = exported.is_finished, exported.is_rejected
    start_us, over_us = np.asarray(schedule.start_us), exported.over_us
    over = over_us >= 0
    run_s = _where(over, over_us - start_us)
    turnaround_s = _where(over, over_us - trace.submit_us)
    stretch = np.divide(turnaround_s, run_s, out=np.full(len(trace), -1.0), where=run_s > 0)
    requested_s = np.full(len(trace), -1.0)
    if trace.estimate_us is not None:
        requested_s = _where(trace.estimate_us >= 0, trace.estimate_us)
    frame = pl.DataFrame(
        {
            "job_id": trace.id.tolist(),
            "workload_name": [trace.name] * len(trace),
            "profile": [f"delay{service}" for service in us_to_seconds(trace.service_us).tolist()],
            "submission_time": us_to_seconds(trace.submit_us),
            "requested_number_of_resources": trace.gpus,
            "requested_time": requested_s,
            "success": finished.astype(np.int8),
            "final_state": [_STATES.get(code, "") for code in np.asarray(schedule.status).tolist()],
            "starting_time": _where(over, start_us),
            "execution_time": np.maximum(run_s, 0.0),
            "finish_time": _where(over, over_us),
            "waiting_time": _where(over, start_us - trace.submit_us),
            "turnaround_time": turnaround_s,
            "stretch": stretch,
            "allocated_resources": _allocated(exported),
            "consumed_energy": np.full(len(trace), -1.0),
            "metadata": [""] * len(trace),
        }
    )
    frame.filter(pl.Series(over | rejected)).write_csv(path, float_precision=6)
    return _lost(exported)


def _lost(exported: Exported) -> list[str]:
    schedule, over = exported.schedule, exported.over_us >= 0
    changed = (np.asarray(schedule.preemptions) > 0) | (np.asarray(schedule.resizes) > 0)
    if len(schedule.failures):
        changed |= schedule.failures > 0
    num_changed = int(np.count_nonzero(changed & over))
    num_left = int(np.count_nonzero(~over & ~exported.is_rejected))
    lines = []
    if num_changed:
        lines.append(
            f"{plural(num_changed, 'job')} changed GPUs: the row has the last ones, and "
            "execution_time is from the first start to the end"
        )
    if num_left:
        lines.append(f"{plural(num_left, 'unfinished job')} left out")
    if len(exported.intervals["server"]) and exported.intervals["server"][0] < 0:
        lines.append("the cluster is one pool: allocated_resources is empty")
    return lines


def _where(known: Bool, ticks: AnyArray) -> Float64:
    """Return seconds, -1 for undefined ones."""
    return np.where(known, us_to_seconds(ticks), -1.0)


def _allocated(exported: Exported) -> list[str]:
    """Write the GPUs of each job's last allocation as ``0-3 8-11``, numbered over all servers."""
    rows = exported.intervals
    texts = [""] * len(exported.trace)
    if len(rows["job"]) == 0 or rows["server"][0] < 0:
        return texts
    gpus = np.asarray(exported.cluster.server_gpus, dtype=np.int64)
    first = np.concatenate(([0], np.cumsum(gpus)[:-1]))
    last_start = np.full(len(texts), -1, dtype=np.int64)
    np.maximum.at(last_start, rows["job"], rows["start_us"])
    is_last = rows["start_us"] == last_start[rows["job"]]
    held = zip(
        rows["job"][is_last].tolist(),
        first[rows["server"][is_last]].tolist(),
        rows["mask"][is_last].tolist(),
        strict=True,
    )
    pieces: list[list[tuple[int, int]]] = [[] for _ in texts]
    for job, base, mask in held:
        of = pieces[job]
        for low, high in _runs(int(mask)):
            if of and of[-1][1] == base + low - 1:
                of[-1] = (of[-1][0], base + high)
            else:
                of.append((base + low, base + high))
    return [
        " ".join(str(low) if low == high else f"{low}-{high}" for low, high in of) for of in pieces
    ]


def _runs(mask: int) -> list[tuple[int, int]]:
    """Return the lowest and highest position of each run of ones in a mask."""
    found, place = [], 0
    while mask:
        skipped = (mask & -mask).bit_length() - 1
        mask, place = mask >> skipped, place + skipped
        length = (~mask & (mask + 1)).bit_length() - 1
        found.append((place, place + length - 1))
        mask, place = mask >> length, place + length
    return found


register_schedule_format(
    ScheduleFormat(
        name="batsim",
        summary="Jobs as Batsim writes them (jobs.csv), for its tools.",
        source="Dutot et al., Batsim, JSSPP 2016.",
        endings=("csv",),
        write=write,
        options={},
    )
)
