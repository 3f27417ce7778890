"""Slurm accounting as JSON: ``sacct --json``.

The nested objects are converted to the table that ``sacct --parsable2`` prints, with times in
seconds since 1970, and read like that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import slurm_values as slurm
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.json_records import has_member, read_records, text_of
from gpusched.traces.sacct_jobs import OPTIONS, jobs_of
from gpusched.traces.workload import Trace

TIMES: Final = {"Submit": "submission", "Eligible": "eligible", "Start": "start", "End": "end"}
LABELS: Final = {
    "User": "user", "Account": "account", "Partition": "partition", "QOS": "qos",
    "JobName": "name", "Cluster": "cluster", "Group": "group",
}  # fmt: skip
_SHOWN: Final = 40


def read(source: Source, *, on_bad: OnBad, **options: Any) -> Trace:
    """Read output of sacct; options are those of :func:`gpusched.traces.sacct_jobs.jobs_of`."""
    found = read_records(source, "jobs")
    rows = [_texts(job) for job in found.records]
    text = {
        name: polars.Series(name, [row[name] for row in rows], dtype=polars.String)
        for name in rows[0]
    }
    return jobs_of(source, found.screen(), text, str(source), on_bad, **options)


def _texts(job: Mapping[str, Any]) -> dict[str, str]:
    """Return a job's texts in sacct's table, by column."""
    time, tres = _within(job, "time"), _within(job, "tres")
    owner, needs = _within(job, "association"), _within(job, "required")
    return {
        "JobID": _id(job),
        **{ours: _seconds(time.get(theirs)) for ours, theirs in TIMES.items()},
        "ElapsedRaw": _whole(time.get("elapsed")),
        "Suspended": f"0:0:{_whole(_within(time, 'suspended').get('seconds')) or 0}",
        "TimelimitRaw": _minutes(time.get("limit")),
        "State": _state(_within(job, "state").get("current")),
        **{ours: text_of(job.get(theirs)) for ours, theirs in LABELS.items()},
        "User": text_of(job.get("user")) or text_of(owner.get("user")),
        "Account": text_of(job.get("account")) or text_of(owner.get("account")),
        "AllocTRES": ",".join(_resources(tres.get("allocated"))),
        "ReqTRES": ",".join(_resources(tres.get("requested"))),
        "ReqCPUS": _whole(needs.get("CPUs")),
        "NNodes": _whole(job.get("allocation_nodes")),
        "Priority": _whole(job.get("priority")),
    }


def _within(job: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = job.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _id(job: Mapping[str, Any]) -> str:
    """Return 123, 123_4 (task), 123_[5-9] (waiting tasks) or 123+1 (component)."""
    array, parts = _within(job, "array"), _within(job, "het")
    whole, task = _whole(array.get("job_id")), _whole(array.get("task_id"))
    waiting = text_of(array.get("task"))
    if whole not in ("", "0") and (task or waiting):
        return f"{whole}_{task}" if task else f"{whole}_[{waiting}]"
    leader, part = _whole(parts.get("job_id")), _whole(parts.get("job_offset"))
    if leader not in ("", "0") and part:
        return f"{leader}+{part}"
    return _whole(job.get("job_id"))


def _whole(value: Any) -> str:
    return text_of(slurm.number(value))


def _seconds(value: Any) -> str:
    """Return a time as text, empty if unknown; other values unchanged as text."""
    plain = slurm.number(value)
    if plain is None or plain == 0 or plain == math.inf:
        return ""
    return str(plain)[:_SHOWN]


def _minutes(value: Any) -> str:
    plain = slurm.number(value)
    if plain is None:
        return ""
    return "UNLIMITED" if plain == math.inf else str(plain)[:_SHOWN]


def _state(value: Any) -> str:
    """Return the state, without the flags that follow it in later versions."""
    given = value if isinstance(value, list) else [value]
    return text_of(given[0]).strip().upper() if given else ""


def _resources(entries: Any) -> Iterator[str]:
    """Yield a text such as ``gres/gpu:a100=8`` per resource; memory is in MiB."""
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, Mapping):
            continue
        kind, name = text_of(entry.get("type")), text_of(entry.get("name"))
        amount = _whole(entry.get("count"))
        if kind and amount:
            unit = "M" if kind == "mem" else ""
            yield f"{kind}{f'/{name}' if name else ''}={amount}{unit}"


def _recognises(source: Source) -> bool:
    return has_member(source, "jobs", "time", "submission")


register_trace_format(
    TraceFormat(
        name="sacct-json",
        summary="Slurm accounting as JSON (sacct --json).",
        source="SchedMD, Slurm.",
        detection="a JSON object with `jobs` that have a `submission`",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "sacct.json"),
        options=OPTIONS,
    )
)
