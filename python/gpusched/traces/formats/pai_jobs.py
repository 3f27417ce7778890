"""Alibaba PAI, 2020 (Weng et al., NSDI 2022): the tables of jobs and of their tasks, headerless.

Give either table; the other one is in the same folder, or named. A task has instances that request
percents of a GPU, each on one server; all tasks of a job start together.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, Span, TextColumn, TextSchema
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
TASKS: Final = TextSchema(
    (
        TextColumn("inst_num", "inst_num"),
        TextColumn("plan_cpu", "plan_cpu", may_miss=True),
        TextColumn("plan_mem", "plan_mem", may_miss=True),
        TextColumn("plan_gpu", "plan_gpu", may_miss=True),
        TextColumn("start_time", "start_time", may_miss=True),
    ),
    header=(
        "job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu",
        "plan_mem", "plan_gpu", "gpu_type",
    ),
    has_no_header=True,
)  # fmt: skip
_PERCENT: Final = 100
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
    on the types its tasks were given. A job with one instance may take a share of a GPU; if several
    instances request parts, each takes whole GPUs.

    ``jobs``, ``tasks``: the other table; default: the file in the same folder with ``job`` in its
        name where this one has ``task``, or vice versa.
    """
    is_tasks = len(source.header) == len(TASKS.required)
    other = _other(source, is_tasks, jobs, tasks)
    job_file, task_file = (other, source) if is_tasks else (source, other)

    def add_up(read: ReadColumns) -> None:
        _take_sums(read, task_file, on_bad)

    return JOBS.read(job_file, on_bad=on_bad, judge=add_up, name=source.name)


def _take_sums(read: ReadColumns, tasks: Source, on_bad: OnBad) -> None:
    """Add each job's resources and start from its tasks; reject jobs without tasks."""
    sums, fault = _sums_of_jobs(tasks, read.data["job_name"], on_bad)
    gpus, share, cpus, memory_gib, start_s = (
        sums[name].cast(polars.Float64).fill_null(np.nan).to_numpy()
        for name in ("gpus", "share", "cpus", "memory", "start")
    )
    screen, name = read.screen, tasks.path.name
    screen.show("tasks", "job_name", read.data["job_name"])
    screen.require(sums["is_there"].to_numpy(), "tasks", f"must have tasks in {name}")
    rule = f"must have readable tasks in {name}{fault}"
    screen.require(sums["is_readable"].to_numpy(), "tasks", rule)
    screen.require(gpus > 0, "tasks", "must have tasks on GPUs")
    screen.require(~np.isnan(start_s), "tasks", "must have a task that started")
    read.values[BEGIN] = start_s
    read.numeric |= {"gpus": gpus, "gpu_share": share, "cpu": cpus, "memory_gib": memory_gib}
    read.of_job |= {"cpu", "memory_gib"}
    read.gpu_types = sums["types"].to_list()
    num_rounded = int(sums["is_rounded"].sum())
    rounded = f", {num_rounded:,} jobs with parts of GPUs take whole ones" if num_rounded else ""
    read.how = f"tasks from {tasks}{rounded}"


def _sums_of_jobs(
    source: Source, jobs: polars.Series, on_bad: OnBad
) -> tuple[polars.DataFrame, str]:
    """Add up the tasks of each of ``jobs``; also return the first unreadable line in words.

    A row for each job: GPUs of all instances, the GPU share of a job with one instance, CPUs,
    memory, the first start of a task, the types between ``|``, whether there are tasks, whether all
    are readable, and whether parts of GPUs became whole ones; then a text on the first unreadable
    task, or ``""``.
    """
    read = TASKS.columns_of(source)
    screen, text, given = read.screen, read.data, read.numeric
    for name, values in given.items():
        known = np.nan_to_num(values, nan=0.0, posinf=np.inf)
        screen.require(np.isfinite(known), name, "must be a finite number")
        screen.require((known >= 0) | (name == "start_time"), name, "must not be negative")
    if on_bad == "error" and screen.bad.any():
        screen.finish(on_bad)
    column = polars.col
    tasks = polars.DataFrame(
        {
            **{name: np.nan_to_num(values) for name, values in given.items()},
            "start": polars.Series(given["start_time"], nan_to_null=True),
            "job": text["job_name"],
            "type": text["gpu_type"].str.strip_chars(),
            "is_bad": screen.bad,
        }
    )
    is_asked = ~column("is_bad") & (column("plan_gpu") > 0)
    count = polars.when(~column("is_bad")).then("inst_num").otherwise(0.0)
    percent = polars.when(is_asked).then("plan_gpu").otherwise(0.0)
    named = column("type").filter(is_asked & (column("type") != ""))
    added = tasks.group_by("job").agg(
        (count * (percent / _PERCENT).ceil()).sum().alias("gpus"),
        count.filter(is_asked).sum().alias("instances"),
        percent.max().alias("percent"),
        (is_asked & (percent % _PERCENT != 0)).any().alias("is_part"),
        (count * column("plan_cpu") / _PERCENT).sum().alias("cpus"),
        (count * column("plan_mem")).sum().alias("memory"),
        column("start").min(),
        named.unique().sort().alias("types"),
        column("is_bad").any(),
    )
    is_one = ((column("instances") == 1) & (column("percent") < _PERCENT)).fill_null(False)
    sums = (
        polars.DataFrame({"job": jobs})
        .join(added, on="job", how="left", maintain_order="left")
        .select(
            column("gpus").fill_null(0),
            "cpus", "memory", "start",
            polars.when(is_one).then(column("percent") / _PERCENT).otherwise(1.0).alias("share"),
            column("types").list.join("|").fill_null(""),
            column("gpus").is_not_null().alias("is_there"),
            (~column("is_bad").fill_null(False)).alias("is_readable"),
            (column("is_part").fill_null(False) & ~is_one).alias("is_rounded"),
        )
    )  # fmt: skip
    fault = f" (not line {screen.rows[np.argmax(screen.bad)]})" if screen.bad.any() else ""
    return sums, fault


def _other(
    source: Source,
    is_tasks: bool,
    jobs: str | os.PathLike[str] | None,
    tasks: str | os.PathLike[str] | None,
) -> Source:
    if (tasks if is_tasks else jobs) is not None:
        raise ValueError(f"{source}: is already the table of {'tasks' if is_tasks else 'jobs'}")
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
    looked = f"{candidates[0]} not found" if candidates else "its name does not say where it is"
    raise ValueError(f"{source}: needs the table of {wanted}s; {looked} (name it: {wanted}s=...)")


def _recognises(source: Source) -> bool:
    fields = source.header
    if fields in (JOBS.header, TASKS.header):
        return True
    return len(fields) in (len(JOBS.required), len(TASKS.required)) and fields[3] in _STATES


register_trace_format(
    TraceFormat(
        name="pai-2020",
        summary="Alibaba PAI, 2020 (pai_job_table.csv with pai_task_table.csv).",
        source="Weng et al., NSDI 2022.",
        detection="6 or 10 fields, the fourth a state; or their names",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "pai_job_table.csv", "pai_task_table.csv"),
        options=("jobs", "tasks"),
    )
)
