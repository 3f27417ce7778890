"""Microsoft Philly, 2017 (Jeon et al., ATC 2019): the original ``cluster_job_log`` (JSON array).

This is no table: a job has a list of attempts, and each of these a list of servers.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Final

import msgspec
import numpy as np

from gpusched.base.arrays import Int64
from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.format_registry import TraceFormat, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, trace_of
from gpusched.traces.json_records import has_field, read_entries
from gpusched.traces.workload import Trace

STATUS: Final = {"Pass": "ok", "Killed": "killed", "Failed": "failed"}
_TICK: Final = timedelta(microseconds=1)
_TIME_RULE: Final = "must be a time like 2017-10-09 07:01:55"
_TIME_LENGTH: Final = 19


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

    The service is the sum of the run times of all attempts that started, the width is the number
    of GPUs of the first attempt, and the virtual cluster becomes the queue. Jobs without an
    attempt, and jobs with an attempt that started and has no end, are rejected.
    """
    jobs, lines = _jobs(source)
    screen = Screen(str(source), lines, "line")

    submits = [_time(job.submitted_time) for job in jobs]
    screen.show("submit_s", "submitted_time", [job.submitted_time for job in jobs])
    screen.require(np.array([isinstance(t, datetime) for t in submits]), "submit_s", _TIME_RULE)

    attempts = [job.attempts for job in jobs]
    runs = [[(_time(a.start_time), _time(a.end_time)) for a in tried] for tried in attempts]
    screen.show("service_s", "attempts", [msgspec.to_builtins(tried) for tried in attempts])
    screen.require(np.array([bool(run) for run in runs]), "service_s", "must not be empty")
    readable = np.array([not any(isinstance(t, str) for pair in run for t in pair) for run in runs])
    screen.require(readable, "service_s", "must have readable times")
    ended = np.array([all(end or not start for start, end in run) for run in runs])
    good = screen.require(ended, "service_s", "must have an end time for each start time")
    service_s = [_run_time_s(run) if fine else 1.0 for run, fine in zip(runs, good, strict=True)]
    screen.show("service_s", "attempts (sum of run times)", service_s)

    widths = [sum(len(s.gpus) for a in tried[:1] for s in a.detail) for tried in attempts]
    screen.show("gpus", "attempts[0].detail", widths)
    read = ReadColumns(screen)
    read.numeric = {
        "submit_us": np.array([_ticks(time) for time in submits], dtype=np.int64),
        "service_s": np.array(service_s, dtype=np.float64),
        "gpus": np.array(widths, dtype=np.int64),
    }
    read.ids = parse.identifiers(screen, "jobid", [job.jobid for job in jobs])
    read.labels = {
        "user": Labels.of(job.user for job in jobs),
        "queue": Labels.of(job.vc for job in jobs),
        "status": parse.statuses([job.status for job in jobs], STATUS),
    }
    return trace_of(source.name, read, on_bad, epoch=parse.UNIX_EPOCH)


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


def _time(text: str | None) -> datetime | str | None:
    """Return the time, None if there is none, and the text itself if it is not a time."""
    if text is None or text in ("None", ""):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return time if len(text) == _TIME_LENGTH and time.tzinfo is None else text


def _run_time_s(run: list[tuple[datetime | str | None, datetime | str | None]]) -> float:
    pairs = ((s, e) for s, e in run if isinstance(s, datetime) and isinstance(e, datetime))
    return sum((end - start).total_seconds() for start, end in pairs)


def _ticks(time: datetime | str | None) -> int:
    return (time - parse.UNIX_EPOCH) // _TICK if isinstance(time, datetime) else 0


def _recognises(source: Source) -> bool:
    return has_field(source, "attempts")


def _excerpt() -> dict[str, bytes]:
    attempt = {
        "start_time": "2017-10-09 07:02:00",
        "end_time": "2017-10-09 08:02:00",
        "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
    }
    job = {
        "jobid": "application_1", "user": "u1", "vc": "vcA", "status": "Pass",
        "submitted_time": "2017-10-09 07:01:55", "attempts": [attempt],
    }  # fmt: skip
    return {"cluster_job_log.json": json.dumps([job]).encode()}


register_trace_format(
    TraceFormat(
        name="philly-json",
        summary="Microsoft Philly, 2017 (original cluster_job_log).",
        source="Jeon et al., ATC 2019.",
        detection="a JSON array of jobs that have `attempts`",
        recognises=_recognises,
        read=read,
        excerpt=_excerpt,
    )
)
