"""From the columns of Slurm's accounting to jobs, however they were printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import plural
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.intake.declared_columns import ReadColumns, TextColumn
from gpusched.traces.intake.text_schema import trace_of
from gpusched.traces.job_columns import NOT_A_TIME
from gpusched.traces.sacct_attempts import JOB_ID, Attempts, joined, separated
from gpusched.traces.sacct_demands import demand_of, each, numbers_of
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    import polars

IDS: Final = ("JobID", "JobIDRaw")
STATUS: Final = {
    "COMPLETED": "ok",
    "FAILED": "failed",
    "NODE_FAIL": "failed",
    "BOOT_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "LAUNCH_FAILED": "failed",
    "CANCELLED": "killed",
    "TIMEOUT": "killed",
    "DEADLINE": "killed",
    "PREEMPTED": "killed",
    "REVOKED": "killed",
}
_ABSENT: Final = ("unknown", "none", "n/a")
TIMES: Final = (
    TextColumn("Submit", "submit_s", "time", may_count=True, is_part=True),
    *(
        TextColumn(name, ours, "time", may_count=True, may_miss=True, absent=_ABSENT, is_part=True)
        for name, ours in (("Eligible", "eligible"), ("Start", "start"), ("End", "end"))
    ),
)
_HOUR_US: Final = 3_600 * US_PER_S
_WEEK_US: Final = 7 * 24 * _HOUR_US
_SUNDAY_US: Final = 3 * 24 * _HOUR_US  # 1970-01-04
ARRIVALS: Final = ("submit", "eligible")
REQUEUES: Final = ("join", "separate")
TYPES: Final = ("allocated", "requested", "any")
OPTIONS: Final = ("arrival", "requeues", "gpu_types", "queue", "group")
"""What :func:`jobs_of` may be told."""


def jobs_of(
    source: Source,
    screen: Screen,
    text: dict[str, polars.Series],
    where: str,
    on_bad: OnBad,
    *,
    arrival: str = "submit",
    requeues: str = "join",
    gpu_types: str = "allocated",
    queue: str = "Partition",
    group: str = "Account",
) -> Trace:
    """Make a trace of columns of text under the names that sacct has for them.

    Parameters
    ----------
    where
        Names the columns in messages: the file, and the line of its header if it has one.
    arrival
        A job arrives at its ``"submit"``, or when it is ``"eligible"`` (begin times and
        dependencies met); its wait counts from there.
    requeues
        ``"join"``: rows of one JobID are one job, which arrives with the first and takes the run
        times of all; ``"separate"``: each is a job.
    gpu_types
        A job may run on the types it was ``"allocated"``, the types it ``"requested"``, or
        ``"any"``.
    queue, group
        The columns that name these.
    """
    for option, value, allowed in (
        ("arrival", arrival, ARRIVALS),
        ("requeues", requeues, REQUEUES),
        ("gpu_types", gpu_types, TYPES),
    ):
        if value not in allowed:
            raise ValueError(f"{option}: {value!r} must be one of {', '.join(allowed)}")
    _check_options(where, list(text), arrival, gpu_types, {"queue": queue, "group": group})
    read = ReadColumns(screen, text)
    ids = next(text[name] for name in IDS if name in text)
    _require_jobs(screen, ids)
    attempts = _attempts(read, arrival)
    users = text.get("User")
    ids = (joined if requeues == "join" else separated)(screen, ids, attempts, users)
    if requeues == "join" and "State" in text:
        num_resized = int(text["State"].str.starts_with("RESIZING").sum())
        if num_resized:
            read.notes += (
                f"{plural(num_resized, 'row')} of jobs that were resized as they ran (RESIZING): "
                "the run time is that of all rows, the width that of the last",
            )
    _require_ended(screen, attempts)
    demand_of(read, gpu_types)
    read.numeric |= {
        "submit_us": attempts.submit_us,
        "service_s": attempts.service_us / US_PER_S,
        "source_wait_s": (attempts.start_us - attempts.submit_us) / US_PER_S,
    }
    _take_estimates(read)
    labels = (
        TextColumn("User", "user", "label"),
        TextColumn(queue, "queue", "label"),
        TextColumn(group, "group", "label"),
        TextColumn("State", "status", "status", states=STATUS, within=r"^([A-Z_]+)"),
    )
    for column in labels:
        if column.name in text:
            read.take(column)
    read.ids = parse.identifiers(screen, "JobID", ids.set(type(ids)(screen.bad), "0"))
    screen.show("id", "JobID", ids)
    return trace_of(source.name, read, on_bad)


def _check_options(
    where: str, present: list[str], arrival: str, gpu_types: str, named: Mapping[str, str]
) -> None:
    """Refuse options for which a column is missing."""
    for option, name in named.items():
        if not isinstance(name, str):
            raise TypeError(f"{option}: {name!r} must be a text")
        if name not in present and name not in ("Partition", "Account"):
            raise ValueError(
                f"{where}: no column {name!r} for the {option}{nearest(name, present)}"
            )
    if arrival == "eligible" and "Eligible" not in present:
        raise ValueError(f"{where}: arrival: 'eligible' needs the column 'Eligible'")
    if gpu_types == "requested" and not {"ReqTRES", "ReqGRES"} & set(present):
        raise ValueError(f"{where}: gpu_types: 'requested' needs the column 'ReqTRES'")


def _require_jobs(screen: Screen, ids: polars.Series) -> None:
    screen.show("id", "JobID", ids)
    is_step = ids.str.contains(".", literal=True).to_numpy()
    screen.require(~is_step, "id", "must be a job (a step)")
    waits = ids.str.contains("[", literal=True).to_numpy()
    screen.require(~waits, "id", "must be one job (tasks of an array that wait)")
    screen.require(ids.str.contains(JOB_ID).to_numpy(), "id", "must be like 123, 123_4 or 123+1")


def _attempts(read: ReadColumns, arrival: str) -> Attempts:
    for column in TIMES:
        if column.name != "Eligible" or arrival == "eligible":
            read.take(column)
    submit_us = read.values["Submit"]
    if arrival == "eligible":
        submit_us = np.maximum(read.values["Eligible"], submit_us)
    start_us, end_us = read.values["Start"], read.values["End"]
    has_start, has_end = start_us != NOT_A_TIME, end_us != NOT_A_TIME
    start_us, end_us = np.where(has_start, start_us, 0), np.where(has_end, end_us, 0)
    service_us = _run_times_us(read, start_us, end_us)
    return Attempts(submit_us, start_us, service_us, has_start, has_end)


def _run_times_us(read: ReadColumns, start_us: Int64, end_us: Int64) -> Int64:
    """Return how long each row ran: by what Slurm counted, or by the clock less suspensions.

    ``Elapsed`` leaves suspensions out, and does not change where a local clock is put back or
    forward. Where ``Suspended`` is there as well, the two can be compared, and a clock that says
    more counts (our choice), unless it may have been put forward meanwhile: by an hour at most,
    on a Sunday before four, as is the custom in most places.
    """
    data, clock_us = read.data, end_us - start_us
    elapsed_s = None
    if "ElapsedRaw" in data:
        elapsed_s = numbers_of(data["ElapsedRaw"])
    elif "Elapsed" in data:
        elapsed_s = np.array(each(data["Elapsed"], slurm.duration_s))
    if "Suspended" in data:
        suspended_s = np.array(each(data["Suspended"], slurm.duration_s))
        clock_us = clock_us - _us(suspended_s, np.zeros(len(clock_us), np.int64))
    if elapsed_s is None:
        return clock_us
    elapsed_us = _us(elapsed_s, clock_us)
    if "Suspended" not in data:
        return elapsed_us
    sunday_us = (end_us - _SUNDAY_US) // _WEEK_US * _WEEK_US + _SUNDAY_US  # the last one before
    may_skip = (sunday_us + 4 * _HOUR_US >= start_us) & (clock_us - elapsed_us <= _HOUR_US)
    return np.where(may_skip, elapsed_us, np.maximum(elapsed_us, clock_us))


def _us(seconds: Float64, missing: Int64) -> Int64:
    """Return microseconds; where seconds are no number, what stands for them."""
    is_known = np.isfinite(seconds) & (seconds >= 0) & (seconds < 2**40)
    found: Int64 = np.where(is_known, np.where(is_known, seconds, 0) * US_PER_S, missing).astype(
        np.int64
    )
    return found


def _require_ended(screen: Screen, attempts: Attempts) -> None:
    rule = "must be known (a job that has not started)"
    screen.require(attempts.has_start, "start", rule)
    screen.require(attempts.has_end, "end", "must be known (a job that still runs)")
    screen.show("service_s", "End - Start", attempts.service_us / US_PER_S)
    waits_s = (attempts.start_us - attempts.submit_us) / US_PER_S
    screen.show("source_wait_s", "Start - Submit", waits_s)


def _take_estimates(read: ReadColumns) -> None:
    """Take time limits, if there are any."""
    label = next((name for name in ("Timelimit", "TimelimitRaw") if name in read.data), None)
    if label is None:
        return
    seconds = np.array(each(read.data[label], slurm.duration_s))
    read.screen.show("estimate_s", label, read.data[label])
    read.screen.require(~np.isnan(seconds), "estimate_s", "must be a duration like 1-12:00:00")
    is_limit = (seconds > 0) & np.isfinite(seconds)
    if is_limit.any():
        read.numeric["estimate_s"] = np.where(is_limit, seconds, np.nan)
