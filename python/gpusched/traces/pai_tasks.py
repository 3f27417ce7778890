"""What the tasks of each job of Alibaba PAI ask for together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.traces.intake.text_schema import TextColumn, TextSchema

if TYPE_CHECKING:
    import polars

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


@dataclass(frozen=True)
class TaskSums:
    """One entry for each job.

    Attributes
    ----------
    gpus, share
        GPUs of all instances, and the part of one that a job of one instance takes.
    cpus, memory_gib
        Of all instances.
    start_s
        When the first task started; NaN if none did.
    types
        Models of the GPUs that the tasks were given, with ``|`` between them.
    is_there, is_readable
        Whether the job has tasks, and whether all of them can be read.
    fault
        What is wrong with the first task that cannot, or ``""``.
    num_rounded
        Jobs of which several instances ask for parts of GPUs, and take whole ones.
    """

    gpus: Float64
    share: Float64
    cpus: Float64
    memory_gib: Float64
    start_s: Float64
    types: list[str]
    is_there: Bool
    is_readable: Bool
    fault: str
    num_rounded: int


def sums_of_jobs(source: Source, jobs: polars.Series, on_bad: OnBad) -> TaskSums:
    """Add up the tasks of each of ``jobs`` in the table of tasks.

    Raises
    ------
    ValueError
        As :meth:`TextSchema.columns_of`, and for the first task that cannot be read if ``on_bad``
        is ``"error"``.
    """
    import polars

    read = TASKS.columns_of(source)
    screen, text, given = read.screen, read.data, read.numeric
    for name, values in given.items():
        known = np.nan_to_num(values, nan=0.0, posinf=np.inf)
        screen.require(np.isfinite(known), name, "must be a finite number")
        screen.require((known >= 0) | (name == "start_time"), name, "must not be negative")
    if on_bad == "error" and screen.bad.any():
        screen.finish(on_bad)
    count = np.where(screen.bad, 0.0, np.nan_to_num(given["inst_num"]))
    percent = np.where(screen.bad, 0.0, np.nan_to_num(given["plan_gpu"]))
    asks = percent > 0
    frame = polars.DataFrame(
        {
            "job": text["job_name"],
            "gpus": count * np.ceil(percent / _PERCENT),
            "instances": np.where(asks, count, 0.0),
            "percent": percent,
            "is_part": asks & (percent % _PERCENT != 0),
            "cpus": count * np.nan_to_num(given["plan_cpu"]) / _PERCENT,
            "memory": count * np.nan_to_num(given["plan_mem"]),
            "start": polars.Series(given["start_time"], nan_to_null=True),
            "type": polars.Series(text["gpu_type"]).str.strip_chars().set(
                polars.Series(~asks), ""
            ),
            "is_bad": screen.bad,
        }
    )  # fmt: skip
    column = polars.col
    added = frame.group_by("job").agg(
        column("gpus", "instances", "cpus", "memory").sum(),
        column("percent", "is_part", "is_bad").max(),
        column("start").min(),
        column("type").filter(column("type") != "").unique().sort().alias("types"),
    )
    wanted = polars.DataFrame({"job": jobs}).join(
        added, on="job", how="left", maintain_order="left"
    )
    is_one = ((wanted["instances"] == 1) & (wanted["percent"] < _PERCENT)).fill_null(False)
    rounded = wanted["is_part"].fill_null(False) & ~is_one
    share = np.where(is_one.to_numpy(), _floats(wanted["percent"]) / _PERCENT, 1.0)
    return TaskSums(
        gpus=np.nan_to_num(_floats(wanted["gpus"])),
        share=share,
        cpus=_floats(wanted["cpus"]),
        memory_gib=_floats(wanted["memory"]),
        start_s=_floats(wanted["start"]),
        types=wanted["types"].list.join("|").fill_null("").to_list(),
        is_there=wanted["gpus"].is_not_null().to_numpy(),
        is_readable=~wanted["is_bad"].fill_null(False).to_numpy(),
        fault=_fault(screen),
        num_rounded=int(rounded.sum()),
    )


def _fault(screen: Screen) -> str:
    return f" (line {screen.rows[np.argmax(screen.bad)]} cannot)" if screen.bad.any() else ""


def _floats(values: polars.Series) -> Float64:
    import polars

    return values.cast(polars.Float64).fill_null(np.nan).to_numpy()
