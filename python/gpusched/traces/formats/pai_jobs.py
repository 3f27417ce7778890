"""Alibaba PAI, 2020 (Weng et al., NSDI 2022): the tables of jobs and of their tasks, headerless.

Either table is the trace; the other one is beside it, or named. A task is some instances that ask
for percents of a GPU, each on one server; all tasks of a job make one gang.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, Span, TextColumn, TextSchema
from gpusched.traces.pai_tasks import TASKS, TaskSums, sums_of_jobs
from gpusched.traces.workload import Trace

BEGIN: Final = "first start of a task"
STATUS: Final = {"Terminated": "ok", "Failed": "failed"}
JOBS: Final = TextSchema(
    (
        TextColumn("start_time", "submit_s"),
        TextColumn("end_time", "service_s", is_part=True),
        TextColumn("job_name", "id", "id"),
        TextColumn("user", "user", "label"),
        TextColumn("status", "status", "status", states=STATUS),
    ),
    spans=(
        Span("service_s", "end_time", BEGIN),
        Span("source_wait_s", BEGIN, "start_time"),
    ),
    header=("job_name", "inst_id", "user", "status", "start_time", "end_time"),
    has_no_header=True,
)
_STATES: Final = ("Terminated", "Failed", "Running", "Waiting")
_PACKED: Final = ("", ".gz", ".tar.gz")


def read(
    source: Source,
    *,
    on_bad: OnBad,
    jobs: str | os.PathLike[str] | None = None,
    tasks: str | os.PathLike[str] | None = None,
) -> Trace:
    """Read the two tables.

    A job arrives at its own start, runs from the first start of a task to its own end, and may run
    on the types its tasks were given. A job of one instance may take a share of a GPU; where
    several instances ask for parts, each takes whole GPUs.

    Parameters
    ----------
    jobs, tasks
        The other table; default: the file beside this one whose name says ``job`` where this one
        says ``task``, or the other way round.
    """
    is_tasks = len(source.header) == len(TASKS.required)
    other = _other(source, is_tasks, jobs, tasks)
    job_file, task_file = (other, source) if is_tasks else (source, other)

    def add_up(read: ReadColumns) -> None:
        sums = sums_of_jobs(task_file, read.data["job_name"], on_bad)
        _require_tasks(read, task_file, sums)
        _take_sums(read, task_file, sums)

    return JOBS.read(job_file, on_bad=on_bad, judge=add_up, name=source.name)


def _require_tasks(read: ReadColumns, tasks: Source, sums: TaskSums) -> None:
    screen = read.screen
    screen.show("tasks", "job_name", read.data["job_name"])
    screen.require(sums.is_there, "tasks", f"must have tasks in {tasks.path.name}")
    rule = f"must have tasks that can be read in {tasks.path.name}{sums.fault}"
    screen.require(sums.is_readable, "tasks", rule)
    screen.require(sums.gpus > 0, "tasks", "must have tasks on GPUs")
    screen.require(~np.isnan(sums.start_s), "tasks", "must have a task that started")


def _take_sums(read: ReadColumns, tasks: Source, sums: TaskSums) -> None:
    """Take from the tasks what a job has, and when it began to run."""
    read.values[BEGIN] = sums.start_s
    read.numeric |= {
        "gpus": sums.gpus,
        "gpu_share": sums.share,
        "cpu": sums.cpus,
        "memory_gib": sums.memory_gib,
    }
    read.of_job |= {"cpu", "memory_gib"}
    read.gpu_types = sums.types
    rounded = f", {sums.num_rounded:,} jobs of parts of GPUs take whole ones"
    read.how = f"tasks from {tasks}{rounded if sums.num_rounded else ''}"


def _other(
    source: Source,
    is_tasks: bool,
    jobs: str | os.PathLike[str] | None,
    tasks: str | os.PathLike[str] | None,
) -> Source:
    if (tasks if is_tasks else jobs) is not None:
        raise ValueError(f"{source}: is the table of {'tasks' if is_tasks else 'jobs'} itself")
    given = jobs if is_tasks else tasks
    if given is not None and not isinstance(given, str | os.PathLike):
        raise TypeError(f"{'jobs' if is_tasks else 'tasks'}: {given!r} must be a path")
    own, wanted = ("task", "job") if is_tasks else ("job", "task")
    stem = source.path.name.removesuffix(".gz").removesuffix(".tar").removesuffix(".csv")
    beside = source.path.with_name(stem.replace(own, wanted))
    candidates = [Path(given)] if given is not None else [
        Path(f"{beside}{ending}{packed}")
        for ending in (".csv", "")
        for packed in _PACKED
        if stem != beside.name
    ]  # fmt: skip
    for path in candidates:
        if path.is_file():
            return Source(path, max_bytes=source.max_bytes)
    looked = f"there is no {candidates[0]}" if candidates else "its name does not say where it is"
    raise ValueError(f"{source}: needs the table of {wanted}s; {looked} (name it: {wanted}s=...)")


def _recognises(source: Source) -> bool:
    fields = source.header
    if fields in (JOBS.header, TASKS.header):
        return True
    return len(fields) in (len(JOBS.required), len(TASKS.required)) and fields[3] in _STATES


def _excerpt() -> dict[str, bytes]:
    jobs = ("j1,i1,u1,Terminated,1000.0,4610.0", "j2,i2,u2,Failed,1005.0,1070.0")
    tasks = (
        "j1,ps,1.0,Terminated,1010.0,4610.0,600.0,29.3,,",
        "j1,worker,4.0,Terminated,1011.0,4610.0,400.0,29.3,100.0,V100",
        "j2,tensorflow,1.0,Failed,1006.0,1070.0,600.0,29.3,50.0,MISC",
    )
    return {
        f"pai_{name}_table.csv": "".join(f"{line}\n" for line in lines).encode()
        for name, lines in (("job", jobs), ("task", tasks))
    }


register_trace_format(
    TraceFormat(
        name="pai-2020",
        summary="Alibaba PAI, 2020 (pai_job_table.csv with pai_task_table.csv).",
        source="Weng et al., NSDI 2022.",
        detection="6 or 10 fields, the fourth a state; or their names",
        recognises=_recognises,
        read=read,
        excerpt=_excerpt,
        options=("jobs", "tasks"),
    )
)
