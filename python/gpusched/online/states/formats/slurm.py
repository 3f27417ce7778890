"""A cluster under Slurm: what ``squeue --json`` and ``sinfo --json`` print of it.

Jobs and servers are those of the trace format ``squeue`` and of ``gpusched.read_cluster``; added is
where jobs run. GPUs that somebody holds who is not in the state, and those of servers that take no
jobs now, are there and out of use: who needs them waits.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Int64
from gpusched.base.source import Source
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import plural
from gpusched.online.cluster_state import ClusterState, no_jobs
from gpusched.online.states.server_room import RoomServer, settle
from gpusched.online.states.slurm_places import Place, in_use, names_of, places_of
from gpusched.online.states.state_formats import StateFormat, register_state_format
from gpusched.traces import slurm_json
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.formats import slurm_nodes, squeue
from gpusched.traces.formats.slurm_nodes import SlurmServer
from gpusched.traces.formats.squeue import QueuedJob
from gpusched.traces.json_records import has_member, read_records, text_of
from gpusched.traces.workload import Trace

YEAR_S: Final = 365 * 86_400
HOLDING: Final = frozenset(
    {
        "COMPLETING", "CONFIGURING", "RESIZING", "RUNNING", "SIGNALING", "STAGE_OUT", "STOPPED",
        "SUSPENDED",
    }
)  # fmt: skip
"""States, and flags of states, in which a job holds GPUs."""
WAITS_FOR_GPUS: Final = frozenset({"", "None", "Resources", "Priority", "JobArrayTaskLimit"})
"""Reasons of jobs that a decision may start; all others name a limit or a rule of the site."""
CLOSED_SERVERS: Final = "Nodes required for job are DOWN, DRAINED or reserved"
"""How squeue says that the GPUs a job waits for are those of servers that are closed now."""
_NO_SHOWN: Final = 3


def read(
    sources: Sequence[Source],
    *,
    now: int | None = None,
    unlimited_s: int = YEAR_S,
    partition: str | None = None,
) -> ClusterState:
    """Read what squeue and sinfo printed.

    Parameters
    ----------
    now
        Seconds since 1970; default: as of the trace format ``squeue``.
    unlimited_s
        Stands for the time limit of jobs that have none.
    partition
        The jobs and the servers of this partition alone. Default: all, as if each job may run on
        every server.
    """
    queue, nodes, others = _sorted(sources)
    known, mixed = slurm_nodes.servers_of(nodes)
    if partition is not None:
        known = [server for server in known if partition in server.partitions]
        if not known:
            raise ValueError(f"partition: no server with GPUs of {nodes} is in {partition!r}")
    room = {server.name: _room_server(server) for server in known}
    found = read_records(queue, "jobs", may_be_empty=True)
    rows = {row.id: row for row in _rows(found.records)}
    jobs = no_jobs(queue.name) if not rows else squeue.read(
        queue, on_bad="reject", service="whole", now=now, unlimited_s=unlimited_s,
        may_be_empty=True,
    )  # fmt: skip
    if partition is not None:
        jobs = _taken(jobs, [partition in _partitions(rows[name]) for name in _ids(jobs)])
    jobs = _startable(jobs, rows, known, found.lines)
    jobs, places, notes = _with_places(jobs, rows, room)
    if mixed:
        notes.append(
            f"{plural(len(mixed), 'server')} left out: several types of GPUs: {_shown(mixed)}"
        )
    _hold(jobs, places, rows, room)
    now_s = float(now) if now is not None else squeue.now_of(found)
    jobs = _on_unix_clock(jobs)
    start_s = [
        slurm_json.count(rows[name].job.get("start_time")) if rows[name].runs else np.nan
        for name in _ids(jobs)
    ]
    if now is None:
        now_s = max(now_s, float(jobs.submit_s.max(initial=0)), float(np.nanmax([0.0, *start_s])))
    cluster, columns = settle(list(room.values()), nodes.name)
    notes += [f"{other}: neither squeue's nor sinfo's, and not read" for other in others]
    notes += _remarks(jobs, rows, room, unlimited_s, partition)
    return ClusterState(
        cluster,
        replace(jobs, notes=(*jobs.notes, *notes)),
        now_s,
        start_s=np.array(start_s),
        preemptions=np.array([_restarts(rows[name]) for name in _ids(jobs)], np.int32),
        **columns,
    )


def _room_server(server: SlurmServer) -> RoomServer:
    mask, count = in_use(server.used)
    counts = (count, slurm.of_tres(server.tres_used).gpus)
    num_used = int(max(each for each in counts if each == each))  # NaN: it is not told
    return RoomServer(
        server.name, server.gpus, server.gpu_type, server.is_available, mask, num_used
    )


def _startable(
    jobs: Trace, rows: Mapping[str, QueuedJob], servers: Sequence[SlurmServer], lines: Int64
) -> Trace:
    """Leave out waiting jobs that Slurm would not start yet, or not anywhere, and count them."""
    running = Counter(_array(row) for row in rows.values() if row.runs)
    left_out: dict[str, list[int]] = {}
    taken = []
    for name in _ids(jobs):
        row = rows[name]
        why = None if row.runs else _obstacle(row, servers, running)
        taken.append(why is None)
        if why is not None:
            left_out.setdefault(why, []).append(int(lines[row.place]))
        elif not row.runs:
            running[_array(row)] += 1  # it may start, and counts against its array's limit
    return replace(_taken(jobs, taken), rejects=jobs.rejects.plus(left_out))


def _obstacle(
    row: QueuedJob, servers: Sequence[SlurmServer], running: Mapping[int, int]
) -> str | None:
    """Why a job that waits cannot be started by a decision; None if it can."""
    job, array = row.job, _array(row)
    reason = text_of(job.get("state_reason"))
    if reason.replace("_", " ").startswith(CLOSED_SERVERS):
        reason = "Resources"
    reason = reason.partition(",")[0].strip()
    if reason not in WAITS_FOR_GPUS:
        return f"state_reason is {reason}"
    most = slurm_json.count(job.get("array_max_tasks"))
    if array and most > 0 and running[array] >= most:
        return f"array_max_tasks is {most:g}, and so many run or may start"
    if slurm_json.count(job.get("het_job_id")) > 0:
        return "het_job_id: is one of several parts that start together"
    if _names(job, "required_nodes"):
        return "required_nodes: asks for servers by name"
    if _names(job, "excluded_nodes") & {server.name for server in servers}:
        return "excluded_nodes: must not have servers that are there"
    wanted = text_of(job.get("features"))
    if wanted and not all({*wanted.split("&")} <= server.features for server in servers):
        return f"features {wanted!r}: not all servers have them"
    exclusive = job.get("exclusive")
    if slurm_json.states(exclusive) - {"FALSE", "NONE", ""} or exclusive is True:
        return "exclusive: asks for whole servers"
    each = slurm.of_gres(text_of(job.get("tres_per_node"))).gpus
    if slurm_json.count(job.get("node_count")) > 1 and any(s.gpus != each for s in servers if each):
        return f"tres_per_node: asks for {each:g} GPUs on each of several servers"
    return None


def _array(row: QueuedJob) -> int:
    """The array of a task; 0 for other jobs."""
    number = slurm_json.count(row.job.get("array_job_id"))
    if number > 0:
        return int(number)
    own = slurm_json.count(row.job.get("job_id"))
    return int(own) if text_of(row.job.get("array_task_string")) and own > 0 else 0


def _names(job: Mapping[str, Any], field: str) -> set[str]:
    try:
        return set(names_of(text_of(job.get(field))) if job.get(field) else ())
    except ValueError:
        return {text_of(job.get(field))}


def _sorted(sources: Sequence[Source]) -> tuple[Source, Source, list[Source]]:
    """Return the queue, the servers, and what is neither."""
    nodes = [source for source in sources if slurm_nodes.recognises(source)]
    queues = [
        source
        for source in sources
        if squeue.recognises(source) or (source not in nodes and has_member(source, "jobs"))
    ]
    nodes = [source for source in nodes if source not in queues]
    for what, of_it in (("squeue --json", queues), ("sinfo --json", nodes)):
        if len(of_it) != 1:
            named = ", ".join(map(str, of_it)) or "none of the files"
            raise ValueError(f"one file must be what {what} prints; it is {named}")
    return queues[0], nodes[0], [each for each in sources if each not in (*queues, *nodes)]


def _rows(records: list[dict[str, Any]]) -> Iterator[QueuedJob]:
    for place, job in enumerate(records):
        yield from squeue.rows_of(place, job)


def _ids(jobs: Trace) -> list[str]:
    return [str(name) for name in jobs.id]


def _partitions(row: QueuedJob) -> list[str]:
    return text_of(row.job.get("partition")).split(",")


def _taken(jobs: Trace, is_taken: list[bool], gpus: list[int] | None = None) -> Trace:
    if gpus is not None:
        jobs = replace(jobs, gpus=np.array(gpus, np.int32))
    return jobs._take(np.flatnonzero(is_taken))


def _with_places(
    jobs: Trace, rows: Mapping[str, QueuedJob], room: Mapping[str, RoomServer]
) -> tuple[Trace, dict[str, list[Place]], list[str]]:
    """Return the jobs with the GPUs that they have on known servers, these, and what was cut."""
    places: dict[str, list[Place]] = {}
    gpus = jobs.gpus.tolist()
    elsewhere: list[str] = []
    partly: list[str] = []
    for number, name in enumerate(_ids(jobs)):
        if not rows[name].runs:
            continue
        every = _places(rows[name], gpus[number])
        places[name] = [place for place in every if place.server in room]
        left = sum(place.gpus for place in places[name])
        if left < gpus[number]:
            (partly if left else elsewhere).append(name)
            gpus[number] = left or gpus[number]
    is_taken = [name not in places or bool(places[name]) for name in _ids(jobs)]
    notes = [
        f"{plural(len(names), 'job')} {what} on servers that are not known: {_shown(names)}"
        for names, what in ((elsewhere, "left out: run"), (partly, "cut: run partly"))
        if names
    ]
    return _taken(jobs, is_taken, gpus), places, notes


def _places(row: QueuedJob, gpus: int) -> list[Place]:
    try:
        return places_of(row.job, gpus)
    except ValueError as error:
        raise ValueError(f"job {row.id}: {error}") from None


def _hold(
    jobs: Trace,
    places: Mapping[str, list[Place]],
    rows: Mapping[str, QueuedJob],
    room: Mapping[str, RoomServer],
) -> None:
    """Give the jobs what they hold, and take out of use what others do."""
    number_of = {name: number for number, name in enumerate(_ids(jobs))}
    for name, row in rows.items():
        number = number_of.get(name)
        held = _held_by_others(row) if number is None else places.get(name, [])
        for place in held:
            server = room.get(place.server)
            if server is None:
                continue
            if place.mask is None:
                server.hold_some(number, place.gpus)
            else:
                server.hold(number, place.mask)


def _held_by_others(row: QueuedJob) -> list[Place]:
    """Return what a job holds that is not in the state, as far as it can be read."""
    if not row.states & HOLDING:
        return []
    read = squeue.resources_of(row)
    return _places(row, int(read.gpus)) if read.gpus > 0 else []


def _on_unix_clock(jobs: Trace) -> Trace:
    """Return the jobs with submissions in seconds since 1970."""
    origin_us = round(jobs.origin_s * US_PER_S)
    return replace(
        jobs,
        submit_us=jobs.submit_us + origin_us,
        origin_s=0.0,
        epoch=parse.UNIX_EPOCH.replace(tzinfo=UTC),
        # Of servers the CPUs are not known that jobs without GPUs take.
        cpu_milli=None,
        memory_mib=None,
    )


def _restarts(row: QueuedJob) -> int:
    count = slurm_json.count(row.job.get("restart_cnt"))
    return int(count) if 0 <= count < 2**31 else 0


def _remarks(
    jobs: Trace,
    rows: Mapping[str, QueuedJob],
    room: Mapping[str, RoomServer],
    unlimited_s: int,
    partition: str | None,
) -> list[str]:
    notes = []
    closed = [server.name for server in room.values() if not server.takes_jobs]
    if closed:
        notes.append(f"{plural(len(closed), 'server')} where no job starts now: {_shown(closed)}")
    limits = {name: slurm_json.count(rows[name].job.get("time_limit")) for name in _ids(jobs)}
    endless = [name for name, limit in limits.items() if not 0 < limit < np.inf]
    if endless:
        notes.append(
            f"{plural(len(endless), 'job')} without a time limit, taken for {unlimited_s:,} s: "
            f"{_shown(endless)}"
        )
    named = sorted({name for row in rows.values() for name in _partitions(row)} - {""})
    if partition is None and len(named) > 1:
        notes.append(
            f"{len(named)} partitions ({_shown(named)}) are taken for one: a job may run on every "
            "server; name one by partition"
        )
    return notes


def _shown(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _NO_SHOWN else ""
    return ", ".join(names[:_NO_SHOWN]) + more


def _recognises(sources: Sequence[Source]) -> bool:
    return any(squeue.recognises(each) or slurm_nodes.recognises(each) for each in sources)


def _excerpt() -> dict[str, bytes]:
    def wrapped(number: int) -> dict[str, Any]:
        return {"set": True, "infinite": False, "number": number}

    def job(name: int, submit: int, gpus: int, **given: Any) -> dict[str, Any]:
        return {
            "job_id": name, "user_name": "ann", "partition": "gpu", "account": "vision",
            "submit_time": wrapped(submit), "start_time": wrapped(0), "end_time": wrapped(0),
            "time_limit": wrapped(120), "state_reason": "Resources", "job_state": ["PENDING"],
            "tres_req_str": f"cpu=16,mem=128G,node=1,billing=16,gres/gpu={gpus}",
            "tres_alloc_str": "", "gres_detail": [], "nodes": "", **given,
        }  # fmt: skip

    first = job(
        41, 1_714_550_000, 6, job_state=["RUNNING"], state_reason="None", nodes="gpu[01-02]",
        start_time=wrapped(1_714_550_060),
        gres_detail=["gpu:a100:4(IDX:0-3)", "gpu:a100:2(IDX:5,7)"],
        tres_alloc_str="cpu=16,mem=128G,node=2,billing=16,gres/gpu=6,gres/gpu:a100=6",
    )  # fmt: skip
    queue = {
        "jobs": [first, job(42, 1_714_550_100, 8), job(43, 1_714_550_120, 4)],
        "last_update": wrapped(1_714_550_160),
    }
    servers = [
        {
            "name": f"gpu0{number}", "state": [state], "gres": "gpu:a100:8(S:0-1)", "cpus": 128,
            "real_memory": 1_048_576, "partitions": ["gpu"], "gres_used": used,
        }
        for number, state, used in (
            (1, "MIXED", "gpu:a100:4(IDX:0-3)"), (2, "MIXED", "gpu:a100:2(IDX:5,7)"),
            (3, "DRAIN", "gpu:a100:0(IDX:N/A)"),
        )
    ]  # fmt: skip
    return {
        "squeue.json": json.dumps(queue, indent=1).encode(),
        "sinfo.json": json.dumps({"nodes": servers}, indent=1).encode(),
    }


register_state_format(
    StateFormat(
        name="slurm",
        summary="What squeue --json and sinfo --json print, two files.",
        source="SchedMD, Slurm.",
        detection="a JSON object with `jobs` that have a `job_state`, or with `nodes` or `sinfo`",
        recognises=_recognises,
        read=read,
        excerpt=_excerpt,
        options=("now", "unlimited_s", "partition"),
    )
)
