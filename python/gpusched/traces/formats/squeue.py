"""The queue of Slurm as it is now: ``squeue --json``, jobs that run and jobs that wait.

A job's run time is not known before it ends: its time limit stands for it. This is no table: one
record may be many jobs, numbers may be objects, and what counts depends on a job's state.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB
from gpusched.traces import slurm_json
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.format_registry import TraceFormat, register_trace_format
from gpusched.traces.intake.declared_columns import ReadColumns
from gpusched.traces.intake.text_schema import trace_of
from gpusched.traces.json_records import Records, floats, has_member, read_records, text_of
from gpusched.traces.workload import Trace

SERVICES: Final = ("left", "whole")
HELD: Final = frozenset(
    {"JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime"}
)
"""Reasons for which a job does not wait for GPUs."""
_LAST_S: Final = 253_402_300_799  # the last second of the year 9999
_TIMES: Final = ("submit_time", "start_time", "last_sched_evaluation")


@dataclass(frozen=True)
class QueuedJob:
    """A job, or a task of an array that waits: its record, its id, and what it does."""

    place: int
    id: str
    job: dict[str, Any]
    states: frozenset[str]
    is_readable: bool = True

    @property
    def runs(self) -> bool:
        return "RUNNING" in self.states

    @property
    def waits(self) -> bool:
        return "PENDING" in self.states and not self.runs


def read(
    source: Source,
    *,
    on_bad: OnBad,
    service: str = "left",
    now: int | None = None,
    unlimited_s: int | None = None,
    may_be_empty: bool = False,
) -> Trace:
    """Read what squeue printed.

    Parameters
    ----------
    service
        ``"left"``: all jobs are there now, first those that run, with what is left of their time
        limits, then those that wait, in the order of their submission. ``"whole"``: jobs arrive
        when they were submitted, and take their time limits.
    now
        Seconds since 1970; default: when the file was written, if it tells, else the last time in
        it.
    unlimited_s
        Stands for the time limit of jobs that have none; default: they are rejected.
    may_be_empty
        Whether all jobs may be rejected.
    """
    if service not in SERVICES:
        raise ValueError(f"service: {service!r} must be one of {', '.join(SERVICES)}")
    for option, value in (("now", now), ("unlimited_s", unlimited_s)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{option}: {value!r} must be an integer")
        if value is not None and not 0 < value <= _LAST_S:
            raise ValueError(f"{option}: {value} must be positive and lie before the year 10000")
    found = read_records(source, "jobs")
    now_s = float(now) if now is not None else now_of(found)
    rows = [row for place, job in enumerate(found.records) for row in rows_of(place, job)]
    if service == "left":
        rows.sort(key=lambda row: (not row.runs, slurm_json.count(row.job.get("submit_time"))))
    screen = found.screen([row.place for row in rows])
    screen.may_be_empty = may_be_empty
    runs = np.array([row.runs for row in rows], dtype=np.bool_)
    _require_queued(screen, rows, runs)
    read = ReadColumns(screen)
    _take_demand(read, rows)
    submit_s = _numbers(screen, rows, "submit_s", "submit_time")
    screen.require(submit_s > 0, "submit_s", "must be known")
    start_s = _numbers(screen, rows, "start", "start_time")
    screen.require((start_s > 0) | ~runs, "start", "must be known (a job that runs)")
    limit_s = _limits(screen, rows, unlimited_s)
    service_s = limit_s
    if service == "left":
        end_s = _numbers(screen, rows, "end", "end_time")
        end_s = np.where(end_s > start_s, end_s, start_s + limit_s)
        service_s = np.where(runs, end_s - now_s, limit_s)
        screen.show("service_s", "what is left of time_limit", service_s)
    read.numeric |= {
        "submit_s": np.full(len(rows), now_s) if service == "left" else submit_s,
        "service_s": service_s,
        "estimate_s": np.where(service_s > 0, service_s, np.nan),
        # Clocks of servers differ: who began before it was submitted waited for an unknown time.
        "source_wait_s": np.where(runs & (start_s >= submit_s), start_s - submit_s, np.nan),
    }
    read.ids = parse.identifiers(screen, "job_id", [row.id for row in rows])
    read.labels = {
        ours: Labels.of(text_of(row.job.get(theirs)) for row in rows)
        for ours, theirs in (("user", "user_name"), ("queue", "partition"), ("group", "account"))
    }
    read.how = f"{service} of time limits at {datetime.fromtimestamp(now_s, UTC)}"
    return trace_of(source.name, read, on_bad, epoch=parse.UNIX_EPOCH.replace(tzinfo=UTC))


def now_of(found: Records) -> float:
    """When the file was written, or the last time at which something happened in it."""
    told = slurm_json.count(found.others.get("last_update"))
    if 0 < told <= _LAST_S:
        return told
    times = [
        slurm_json.count(job.get(name))
        for job in found.records
        for name in _TIMES
        if name != "start_time" or "RUNNING" in slurm_json.states(job.get("job_state"))
    ]
    return max((time for time in times if 0 < time <= _LAST_S), default=1.0)


def rows_of(place: int, job: dict[str, Any]) -> list[QueuedJob]:
    """Return the job, or the tasks of an array that wait in one record."""
    name = text_of(slurm_json.number(job.get("job_id")))
    states = slurm_json.states(job.get("job_state"))
    array = text_of(slurm_json.number(job.get("array_job_id")))
    task = text_of(slurm_json.number(job.get("array_task_id")))
    waiting = text_of(job.get("array_task_string"))
    if array not in ("", "0") and task and not waiting:
        return [QueuedJob(place, f"{array}_{task}", job, states)]
    if not waiting or "PENDING" not in states:
        return [QueuedJob(place, name, job, states, name != "")]
    tasks = slurm_json.tasks(waiting)
    if tasks is None:
        return [QueuedJob(place, name, job, states, False)]
    return [QueuedJob(place, f"{name}_{number}", job, states, name != "") for number in tasks]


def _require_queued(screen: Screen, rows: list[QueuedJob], runs: Bool) -> None:
    screen.show("state", "job_state", [row.job.get("job_state") for row in rows])
    waits = np.array([row.waits for row in rows], dtype=np.bool_)
    screen.require(runs | waits, "state", "must be RUNNING or PENDING")
    reasons = [row.job.get("state_reason") for row in rows]
    screen.show("reason", "state_reason", reasons)
    held = np.array([isinstance(reason, str) and reason in HELD for reason in reasons])
    rule = "must be to wait for GPUs (held, or for another job or a time)"
    screen.require(runs | ~held, "reason", rule)
    told = [(row.job.get("job_id"), row.job.get("array_task_string")) for row in rows]
    screen.show("id", "job_id, array_task_string", told)
    readable = np.array([row.is_readable for row in rows], dtype=np.bool_)
    rule = f"must name a job, or at most {slurm_json.MAX_TASKS:,} tasks like 1-10,12"
    screen.require(readable, "id", rule)


def _take_demand(read: ReadColumns, rows: list[QueuedJob]) -> None:
    """Take what each job has or asks for: what is allocated to those that run, else the request."""
    resources = [resources_of(row) for row in rows]
    gpus, screen = np.array([one.gpus for one in resources]), read.screen
    screen.show("gpus", "tres_req_str", [row.job.get("tres_req_str") for row in rows])
    screen.require(gpus != 0, "gpus", "must name GPUs (a job without)")
    screen.require(~np.isnan(gpus), "gpus", "must tell the number of GPUs")
    read.numeric["gpus"] = gpus
    read.numeric["cpu"] = np.array([one.cpus for one in resources])
    read.numeric["memory_gib"] = np.array([one.memory_mib for one in resources]) / MIB_PER_GIB
    read.of_job |= {"cpu", "memory_gib"}
    read.gpu_types = [one.types for one in resources]


def resources_of(row: QueuedJob) -> slurm.Resources:
    """Return what the job has if it runs, else what it asks for."""
    names = ("tres_alloc_str", "tres_req_str") if row.runs else ("tres_req_str",)
    first = None
    for name in names:
        read = slurm.of_tres(text_of(row.job.get(name)))
        if read.gpus != 0:
            return read
        first = first or read
    for name, times in (("tres_per_job", None), ("tres_per_node", "node_count")):
        read = slurm.of_gres(text_of(row.job.get(name)))
        if read.gpus != 0:
            many = 1.0 if times is None else slurm_json.count(row.job.get(times))
            return slurm.Resources(read.gpus * many, read.types)
    return first or slurm.Resources()


def _numbers(screen: Screen, rows: list[QueuedJob], column: str, label: str) -> Float64:
    return floats(screen, column, label, [slurm_json.number(row.job.get(label)) for row in rows])


def _limits(screen: Screen, rows: list[QueuedJob], unlimited_s: int | None) -> Float64:
    limit_s = 60 * _numbers(screen, rows, "service_s", "time_limit")
    is_none = ~np.isfinite(limit_s) | (limit_s == 0)
    if unlimited_s is not None:
        return np.where(is_none, float(unlimited_s), limit_s)
    screen.require(~is_none, "service_s", "must be set (or name unlimited_s)")
    return np.where(is_none, math.nan, limit_s)


def recognises(source: Source) -> bool:
    """Whether a file is an object with jobs of a queue."""
    return has_member(source, "jobs", "job_state")


def _excerpt() -> dict[str, bytes]:
    def wrapped(number: int) -> dict[str, Any]:
        return {"set": True, "infinite": False, "number": number}

    old = {
        "job_id": 41, "job_state": "RUNNING", "user_name": "ann", "partition": "gpu",
        "account": "vision", "submit_time": 1_714_550_000, "start_time": 1_714_550_060,
        "end_time": 1_714_557_260, "time_limit": 120, "state_reason": "None",
        "tres_alloc_str": "cpu=16,mem=128G,node=1,billing=16,gres/gpu=8",
        "tres_req_str": "cpu=16,mem=128G,node=1,billing=16,gres/gpu=8",
        "node_count": 1, "nodes": "gpu01", "job_resources": {"nodes": "gpu01"},
    }  # fmt: skip
    new = {
        "job_id": 42, "job_state": ["PENDING"], "user_name": "bob", "partition": "gpu",
        "account": "speech", "submit_time": wrapped(1_714_550_100), "start_time": wrapped(0),
        "end_time": wrapped(0), "time_limit": wrapped(60), "state_reason": "Resources",
        "array_task_string": "1-3%2", "tres_alloc_str": "",
        "tres_req_str": "cpu=4,mem=32G,node=1,billing=4,gres/gpu=1",
        "node_count": wrapped(1), "nodes": "", "job_resources": {},
    }  # fmt: skip
    document = {"jobs": [old, new], "last_update": wrapped(1_714_550_160), "errors": []}
    return {"squeue.json": json.dumps(document, indent=1).encode()}


register_trace_format(
    TraceFormat(
        name="squeue",
        summary="The queue of Slurm now (squeue --json): jobs that run and wait.",
        source="SchedMD, Slurm.",
        detection="a JSON object with `jobs` that have a `job_state`",
        recognises=recognises,
        read=read,
        excerpt=_excerpt,
        options=("service", "now", "unlimited_s"),
    )
)
