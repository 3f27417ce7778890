"""Microsoft Philly, 2017 (Jeon et al., ATC 2019): the original ``cluster_job_log`` (JSON array).

A job has a list of attempts, and each attempt a list of servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.labels import Labels
from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.base.ticks import US_PER_S
from gpusched.traces import text_columns as parse
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, trace_of
from gpusched.traces.intake.wall_clock import ticks_of
from gpusched.traces.job_columns import NOT_A_TIME
from gpusched.traces.json_records import has_field, read_entries
from gpusched.traces.workload import Trace

_TIME_LENGTH: Final = len("2017-10-09 07:01:55")
STATUS: Final = {"Pass": "ok", "Killed": "killed", "Failed": "failed"}


class _Server(msgspec.Struct):
    ip: str
    gpus: list[str]


class _Attempt(msgspec.Struct):
    start_time: str | None
    end_time: str | None
    detail: list[_Server]


class _Job(msgspec.Struct):
    status: str
    vc: str
    jobid: str
    attempts: list[_Attempt]
    submitted_time: str | None
    user: str


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read the original log.

    The run time is the sum over all attempts that started, the number of GPUs is that of the first
    attempt, and the virtual cluster becomes the queue. Jobs without an attempt, and jobs with an
    attempt that started and has no end, are rejected.
    """
    jobs, lines = _jobs(source)
    screen = Screen(str(source), lines, "line")
    submit_us = ticks_of(
        screen, "submit_s", "submitted_time", _texts(job.submitted_time for job in jobs)
    )
    screen.show("submit_s", "submitted_time", [job.submitted_time for job in jobs])
    screen.show("service_s", "attempts", [msgspec.to_builtins(job.attempts) for job in jobs])
    service_s = _run_times_s(screen, jobs)
    screen.show("service_s", "attempts (sum of run times)", service_s)
    widths = [sum(len(s.gpus) for a in job.attempts[:1] for s in a.detail) for job in jobs]
    screen.show("gpus", "attempts[0].detail", widths)
    read = ReadColumns(screen)
    read.numeric = {
        "submit_us": submit_us,
        "service_s": service_s,
        "gpus": np.array(widths, dtype=np.int64),
    }
    read.has_dates = True
    read.ids = parse.identifiers(screen, "jobid", [job.jobid for job in jobs])
    read.labels = {
        "user": Labels.of(job.user for job in jobs),
        "queue": Labels.of(job.vc for job in jobs),
        "status": parse.statuses([job.status for job in jobs], STATUS),
    }
    return trace_of(source.name, read, on_bad)


def _run_times_s(screen: Screen, jobs: Sequence[_Job]) -> AnyArray:
    """Add up the run times of each job's attempts, and check them."""
    attempts = [(place, each) for place, job in enumerate(jobs) for each in job.attempts]
    owner = np.array([place for place, _ in attempts], dtype=np.int64)
    tried = Screen(screen.source, screen.rows[owner], "line")
    begin, end = (
        ticks_of(
            tried, name, name, _texts(getattr(each, name) for _, each in attempts),
            missing=NOT_A_TIME,
        )
        for name in ("start_time", "end_time")
    )  # fmt: skip
    is_open = (begin != NOT_A_TIME) & (end == NOT_A_TIME)
    has_run = (begin != NOT_A_TIME) & (end != NOT_A_TIME)
    place = np.arange(len(jobs))
    screen.require(np.isin(place, owner), "service_s", "must not be empty")
    is_readable = ~np.isin(place, owner[tried.bad])
    screen.require(is_readable, "service_s", "must have readable times")
    has_ended = ~np.isin(place, owner[is_open])
    good = screen.require(has_ended, "service_s", "must have an end time for each start time")
    total_us = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(total_us, owner, np.where(has_run, end - begin, 0))
    return np.where(good, total_us / US_PER_S, 1.0)


def _texts(times: Iterable[str | None]) -> polars.Series:
    """Return times as texts, null where there is none; truncated ones become invalid."""
    return polars.Series(
        [
            None if time in (None, "None", "") else time if len(time) == _TIME_LENGTH else "cut off"
            for time in times
        ],
        dtype=polars.String,
    )


def _jobs(source: Source) -> tuple[list[_Job], Int64]:
    """Return the jobs, and the line of each in the file."""
    found = read_entries(source, may_be_lines=False)
    jobs: list[_Job] = []
    for record, line in zip(found.records, found.lines.tolist(), strict=True):
        try:
            jobs.append(msgspec.convert(record, _Job, strict=True))
        except msgspec.ValidationError as error:
            raise ValueError(f"{source}, line {line}, job {len(jobs)}: {error}") from None
    return jobs, found.lines


def _recognises(source: Source) -> bool:
    return has_field(source, "attempts")


register_trace_format(
    TraceFormat(
        name="philly-json",
        summary="Microsoft Philly, 2017 (original cluster_job_log).",
        source="Jeon et al., ATC 2019.",
        detection="a JSON array of jobs that have `attempts`",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "cluster_job_log.json"),
    )
)
