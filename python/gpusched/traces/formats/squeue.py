"""Slurm's current queue, ``squeue --json``: running and waiting jobs.

Run times are unknown before jobs end, so time limits replace them. One record may be many jobs,
numbers may be objects, and relevant fields depend on a job's state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.base.units import MIB_PER_GIB
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, trace_of
from gpusched.traces.json_records import Records, has_member, numbers_of, read_records, text_of
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
    """A record: one job, or the waiting tasks of an array, which differ only in their ids."""

    job: dict[str, Any]
    ids: list[str]
    states: frozenset[str]
    is_readable: bool = True
    array: str = ""

    @property
    def runs(self) -> bool:
        return "RUNNING" in self.states

    @property
    def waits(self) -> bool:
        return "PENDING" in self.states and not self.runs

    @property
    def reason(self) -> str:
        """Why it waits, as Slurm names it."""
        return self.text("state_reason").partition(",")[0].strip()

    @property
    def begin_s(self) -> float:
        """Begin time of a waiting job, seconds since 1970; NaN if unknown."""
        if not self.waits:
            return math.nan
        at_s = self.count("eligible_time")
        if not at_s > 0 and self.reason == "BeginTime":
            at_s = self.count("start_time")  # of such a job, its earliest
        return at_s if 0 < at_s <= _LAST_S else math.nan

    @property
    def array_limit(self) -> float:
        """Most tasks of its array at once; NaN for no limit."""
        limit = self.count("array_max_tasks")
        told = self.text("array_task_string").partition("%")[2]
        if math.isnan(limit) and told.isdecimal():
            limit = float(told[:9])
        return limit if 0 < limit < math.inf else math.nan

    def count(self, field: str) -> float:
        """Return a number of the record; NaN for other values."""
        return slurm.count(self.job.get(field))

    def text(self, field: str) -> str:
        """Return a text of the record; "" for other values."""
        return text_of(self.job.get(field))


class _Spread:
    """Values of records, indexed by job."""

    def __init__(self, values: Sequence[Any], record: Int64) -> None:
        self._values, self._record = values, record

    def __getitem__(self, job: int) -> Any:
        return self._values[self._record[job]]


class _Queue:
    """The records of a file, and the screen for their jobs.

    ``records``: one or more jobs each.
    ``record``: int64: the record of each job.
    """

    def __init__(self, found: Records, order: Sequence[int], records: list[QueuedJob]) -> None:
        self.records = [records[place] for place in order]
        self.record = np.repeat(
            np.arange(len(order)), [len(record.ids) for record in self.records]
        ).astype(np.int64)
        self.screen = found.screen(np.asarray(order, np.int64)[self.record].tolist())

    def show(self, column: str, field: str, values: Sequence[Any] | None = None) -> None:
        """Quote a field of the records, or ``values``, in messages on a column."""
        shown = [record.job.get(field) for record in self.records] if values is None else values
        self.screen.show(column, field, _Spread(shown, self.record))

    def require(self, good: Iterable[Any], column: str, rule: str) -> None:
        """Reject the jobs of records that are not good."""
        self.screen.require(np.array(list(good), np.bool_)[self.record], column, rule)

    def numbers(self, column: str, field: str) -> Float64:
        """Return a field of each record; NaN where missing; reject other non-numbers."""
        values = [slurm.number(record.job.get(field)) for record in self.records]
        self.show(column, field, values)
        numbers, good = numbers_of(values)
        self.require(good, column, "must be a number")
        return numbers

    def labels(self, field: str) -> Labels:
        """Return the names in a field, one per job."""
        return Labels.of(record.text(field) for record in self.records).take(self.record)


def read(
    source: Source,
    *,
    on_bad: OnBad,
    service: str = "left",
    now: int | None = None,
    unlimited_s: int | None = None,
) -> Trace:
    """Read output of squeue.

    ``service``: ``"left"``: all jobs arrive now, first running jobs with the rest of their time
        limits, then waiting jobs, each in order of submission. ``"whole"``: jobs arrive when they
        were submitted and take their full time limits.
    ``now``: seconds since 1970; default: when the file was written, if stated, else the last time
        in it.
    ``unlimited_s``: time limit for jobs without one; default: they are rejected.
    """
    found = read_records(source, "jobs")
    return jobs_of(
        found, queued(found), on_bad=on_bad, service=service, now=now, unlimited_s=unlimited_s
    )


def jobs_of(
    found: Records,
    records: list[QueuedJob],
    *,
    on_bad: OnBad,
    service: str,
    now: int | None,
    unlimited_s: int | None,
    may_be_empty: bool = False,
    takes_held: bool = False,
) -> Trace:
    """Return the jobs of records; options are those of :func:`read`.

    ``may_be_empty``: whether all jobs may be rejected.
    ``takes_held``: whether jobs are read that do not wait for GPUs, with their begin times.
    """
    if service not in SERVICES:
        raise ValueError(f"service: {service!r} must be one of {', '.join(SERVICES)}")
    for option, value in (("now", now), ("unlimited_s", unlimited_s)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise TypeError(f"{option}: {value!r} must be an integer")
        if value is not None and not 0 < value <= _LAST_S:
            raise ValueError(f"{option}: {value} must be positive and lie before the year 10000")
    now_s = float(now) if now is not None else now_of(found)
    order = list(range(len(records)))
    if service == "left":
        order.sort(key=lambda place: (not records[place].runs, records[place].count("submit_time")))
    queue = _Queue(found, order, records)
    queue.screen.may_be_empty = may_be_empty
    runs = np.array([record.runs for record in queue.records], np.bool_)
    _require_queued(queue, runs | takes_held)
    read = ReadColumns(queue.screen)
    _take_demand(read, queue)
    submit_s = queue.numbers("submit_s", "submit_time")
    queue.require(submit_s > 0, "submit_s", "must be known")
    start_s = queue.numbers("start", "start_time")
    queue.require((start_s > 0) | ~runs, "start", "must be known (the job is running)")
    limit_s = _limits(queue, unlimited_s)
    service_s = limit_s
    if service == "left":
        end_s = queue.numbers("end", "end_time")
        end_s = np.where(end_s > start_s, end_s, start_s + limit_s)
        service_s = np.where(runs, end_s - now_s, limit_s)
        queue.show("service_s", "remaining time_limit", service_s.tolist())
    # Records of running tasks may lack the limit.
    limits = {
        each.array: each.array_limit
        for each in queue.records
        if each.array and each.array_limit > 0
    }
    columns = {
        "submit_s": np.full(len(runs), now_s) if service == "left" else submit_s,
        "service_s": service_s,
        "estimate_s": np.where(service_s > 0, service_s, np.nan),
        # Server clocks differ: the wait of a job that began before its submission is unknown.
        "source_wait_s": np.where(runs & (start_s >= submit_s), start_s - submit_s, np.nan),
        "time_limit_s": np.where(limit_s > 0, limit_s, np.nan),
        "priority": [record.count("priority") for record in queue.records],
        "array_limit": [limits.get(record.array, math.nan) for record in queue.records],
    }
    nice = [record.count("nice") for record in queue.records]
    if np.isnan(columns["priority"]).all() > np.isnan(nice).all():  # a priority contains it
        columns["nice"] = nice
    if takes_held:
        begin_s = np.array([record.begin_s for record in queue.records])
        columns["eligible_s"] = np.where(begin_s > np.maximum(submit_s, now_s), begin_s, np.nan)
    read.numeric |= {name: np.asarray(values)[queue.record] for name, values in columns.items()}
    ids = [name for record in queue.records for name in record.ids]
    read.ids = parse.identifiers(queue.screen, "job_id", ids)
    read.labels = {
        "user": queue.labels("user_name"),
        "queue": queue.labels("partition"),
        "group": queue.labels("account"),
        "partition": queue.labels("partition"),
        "account": queue.labels("account"),
        "qos": queue.labels("qos"),
        "dependency": queue.labels("dependency"),
        "array": Labels.of(record.array for record in queue.records).take(queue.record),
    }
    read.how = f"{service} of time limits at {datetime.fromtimestamp(now_s, UTC)}"
    return trace_of(found.source.name, read, on_bad, epoch=parse.UNIX_EPOCH.replace(tzinfo=UTC))


def now_of(found: Records) -> float:
    """Return when the file was written, or the last event in it."""
    told = slurm.count(found.others.get("last_update"))
    if 0 < told <= _LAST_S:
        return told
    times = [
        slurm.count(job.get(name))
        for job in found.records
        for name in _TIMES
        if name != "start_time" or "RUNNING" in slurm.states(job.get("job_state"))
    ]
    return max((time for time in times if 0 < time <= _LAST_S), default=1.0)


def queued(found: Records) -> list[QueuedJob]:
    """Return the records of a file: single jobs, or the waiting tasks of an array."""
    return [_queued(job) for job in found.records]


def _queued(job: dict[str, Any]) -> QueuedJob:
    name = text_of(slurm.number(job.get("job_id")))
    states = slurm.states(job.get("job_state"))
    array = text_of(slurm.number(job.get("array_job_id")))
    task = text_of(slurm.number(job.get("array_task_id")))
    waiting = text_of(job.get("array_task_string"))
    if array not in ("", "0") and task and not waiting:
        return QueuedJob(job, [f"{array}_{task}"], states, array=array)
    if not waiting or "PENDING" not in states:
        return QueuedJob(job, [name], states, name != "")
    tasks = slurm.tasks(waiting)
    if tasks is None:
        return QueuedJob(job, [name], states, False)
    ids = [f"{name}_{number}" for number in tasks]
    return QueuedJob(job, ids, states, name != "", array=name)


def _require_queued(queue: _Queue, may_be_held: Bool) -> None:
    records = queue.records
    queue.show("state", "job_state")
    queue.require(
        (record.runs or record.waits for record in records), "state", "must be RUNNING or PENDING"
    )
    queue.show("reason", "state_reason")
    held = np.array([record.text("state_reason") in HELD for record in records], np.bool_)
    rule = "must be a wait for GPUs (held, or waits for a dependency or begin time)"
    queue.require(may_be_held | ~held, "reason", rule)
    told = [(record.job.get("job_id"), record.job.get("array_task_string")) for record in records]
    queue.show("id", "job_id, array_task_string", told)
    rule = f"must name a job, or at most {slurm.MAX_TASKS:,} tasks like 1-10,12"
    queue.require((record.is_readable for record in records), "id", rule)


def _take_demand(read: ReadColumns, queue: _Queue) -> None:
    """Read each job's resources: allocated ones if it runs, else requested ones."""
    resources = [resources_of(record) for record in queue.records]
    gpus = np.array([one.gpus for one in resources])
    queue.show("gpus", "tres_req_str")
    queue.require(gpus != 0, "gpus", "must name GPUs (a job without GPUs)")
    queue.require(~np.isnan(gpus), "gpus", "must give the number of GPUs")
    cpus, memory_mib = (
        np.array([getattr(one, name) for one in resources])[queue.record]
        for name in ("cpus", "memory_mib")
    )
    read.numeric["gpus"] = gpus[queue.record]
    read.numeric["cpu"], read.numeric["memory_gib"] = cpus, memory_mib / MIB_PER_GIB
    read.of_job |= {"cpu", "memory_gib"}
    each = np.array([per_node(record) for record in queue.records])
    # Ignore it for one GPU, or if it does not divide the total.
    each[(gpus < 2) | (gpus % each != 0)] = math.nan
    read.numeric["gpus_per_node"] = each[queue.record]
    types = [one.types for one in resources]
    read.gpu_types = [types[record] for record in queue.record.tolist()]


def resources_of(record: QueuedJob) -> slurm.Resources:
    """Return a job's allocated resources if it runs, else the requested ones."""
    names = ("tres_alloc_str", "tres_req_str") if record.runs else ("tres_req_str",)
    first = None
    for name in names:
        read = slurm.of_tres(record.text(name))
        if read.gpus != 0:
            return read
        first = first or read
    for name, times in (("tres_per_job", None), ("tres_per_node", "node_count")):
        read = slurm.of_gres(record.text(name))
        if read.gpus != 0:
            many = 1.0 if times is None else record.count(times)
            return slurm.Resources(read.gpus * many, read.types)
    return first or slurm.Resources()


def per_node(record: QueuedJob) -> float:
    """Return the GPUs that a job requests per server; NaN if not given."""
    each = slurm.of_gres(record.text("tres_per_node")).gpus
    return each if each > 0 else math.nan


def _limits(queue: _Queue, unlimited_s: int | None) -> Float64:
    limit_s = 60 * queue.numbers("service_s", "time_limit")
    is_none = ~np.isfinite(limit_s) | (limit_s == 0)
    if unlimited_s is not None:
        return np.where(is_none, float(unlimited_s), limit_s)
    queue.require(~is_none, "service_s", "must be given (or set unlimited_s)")
    return np.where(is_none, math.nan, limit_s)


def recognises(source: Source) -> bool:
    """Whether a file is a JSON object with jobs of a queue."""
    return has_member(source, "jobs", "job_state")


register_trace_format(
    TraceFormat(
        name="squeue",
        summary="The queue of Slurm now (squeue --json): jobs that run and wait.",
        source="SchedMD, Slurm.",
        detection="a JSON object with `jobs` that have a `job_state`",
        recognises=recognises,
        read=read,
        excerpt=excerpt_files(__file__, "squeue.json"),
        options=("service", "now", "unlimited_s"),
    )
)
