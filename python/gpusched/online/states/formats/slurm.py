"""A cluster under Slurm: output of ``squeue --json`` and ``sinfo --json``.

Jobs and servers are read as by the trace format ``squeue`` and ``gpusched.read_cluster``, plus
where jobs run. GPUs held by jobs outside the state, and those of servers that take no jobs now, are
part of the cluster but out of use, so jobs that need them wait.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.labels import Labels
from gpusched.base.source import Source
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import plural
from gpusched.online.cluster_state import ClusterState, no_jobs
from gpusched.online.holding import UNMET
from gpusched.online.states.server_room import RoomServer, settle
from gpusched.online.states.state_formats import StateFormat, register_state_format
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.dependencies import parsed
from gpusched.traces.format_registry import excerpt_files
from gpusched.traces.formats import slurm_nodes, squeue
from gpusched.traces.formats.slurm_nodes import SlurmServer
from gpusched.traces.formats.squeue import QueuedJob
from gpusched.traces.job_columns import moved
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
"""Reasons of jobs that a decision may start; others but those of ``squeue.HELD`` name a limit or a
rule of the site."""
CLOSED_SERVERS: Final = "Nodes required for job are DOWN, DRAINED or reserved"
"""Reason in squeue's output if a job waits for servers that are unavailable now."""
_DETAIL: Final = re.compile(r"\bgpu(?::[^:(,]+)*:(\d{1,4})\(IDX:([^()]*)\)")
_NO_SHOWN: Final = 3


def read(
    sources: Sequence[Source],
    *,
    now: int | None = None,
    unlimited_s: int = YEAR_S,
    partition: str | None = None,
) -> ClusterState:
    """Read output of squeue and sinfo.

    ``now``: seconds since 1970; default: as in the trace format ``squeue``.
    ``unlimited_s``: time limit for jobs without one.
    ``partition``: only the jobs and servers of this partition. Default: all, as if each job may run
        on every server.
    """
    queue, nodes, others = _sorted(sources)
    known = slurm_nodes.servers_of(nodes)
    if partition is not None:
        known = [server for server in known if partition in server.partitions]
        if not known:
            raise ValueError(f"partition: no server with GPUs in {nodes} is in {partition!r}")
    room = {server.name: _room_server(server) for server in known}
    found = read_records(queue, "jobs", may_be_empty=True)
    records = squeue.queued(found)
    trace = no_jobs(queue.name) if not records else squeue.jobs_of(
        found, records, on_bad="reject", service="whole", now=now, unlimited_s=unlimited_s,
        may_be_empty=True, takes_held=True,
    )  # fmt: skip
    number_of = {name: number for number, record in enumerate(records) for name in record.ids}
    own = np.array([number_of[str(name)] for name in trace.id.tolist()], np.int64)
    jobs = _Jobs(trace, own, records)
    if partition is not None:
        jobs = jobs.taken([partition in _partitions(record) for record in jobs.records])
    jobs = _startable(jobs, known, found.lines)
    jobs, places, notes = _with_places(jobs, room)
    _hold(jobs, places, room)
    now_s = float(now) if now is not None else squeue.now_of(found)
    trace = _on_unix_clock(jobs.trace)
    if len(trace):
        trace = replace(trace, dependency=Labels.of(jobs.texts(_dependency_of)))
    start_s = jobs.spread([r.count("start_time") if r.runs else np.nan for r in jobs.records])
    if now is None:
        now_s = max(now_s, float(trace.submit_s.max(initial=0)), float(np.nanmax([0.0, *start_s])))
    cluster, columns = settle(list(room.values()), nodes.name)
    notes += [f"{other}: not read, since it is not output of squeue or sinfo" for other in others]
    notes += _remarks(jobs, room, unlimited_s, partition)
    return ClusterState(
        cluster,
        replace(trace, notes=(*trace.notes, *notes)),
        now_s,
        start_s=start_s,
        preemptions=jobs.spread([_restarts(record) for record in jobs.records]).astype(np.int32),
        hold=jobs.texts(_hold_of),
        **columns,
    )


@dataclass(frozen=True)
class _Jobs:
    """Jobs, and for each the index of its record in ``every``."""

    trace: Trace
    own: Int64
    every: list[QueuedJob]

    @cached_property
    def records(self) -> list[QueuedJob]:
        """The record of each group, in the order of the jobs."""
        return [self.every[self.own[group[0]]] for group in self.groups]

    @cached_property
    def groups(self) -> list[Int64]:
        """The jobs of each record."""
        if not len(self.own):
            return []
        order = np.argsort(self.own, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(self.own[order])) + 1)
        return sorted(parts, key=lambda group: int(group[0]))

    def spread(self, values: Sequence[float]) -> Float64:
        """Expand a value per group to a value per job."""
        found = np.empty(len(self.own))
        for group, value in zip(self.groups, values, strict=True):
            found[group] = value
        return found

    def texts(self, of: Callable[[QueuedJob], str]) -> tuple[str, ...]:
        """Return what ``of`` makes of the record of each job."""
        found = [""] * len(self.own)
        for record, group in zip(self.records, self.groups, strict=True):
            text = of(record)
            for job in group.tolist():
                found[job] = text
        return tuple(found)

    def taken(self, is_taken: Sequence[bool], trace: Trace | None = None) -> _Jobs:
        """Return the jobs of the selected groups; ``trace`` may have other columns."""
        return self.some(np.flatnonzero(self.spread(is_taken)), trace)

    def some(self, jobs: Int64, trace: Trace | None = None) -> _Jobs:
        """Return these jobs."""
        return _Jobs((trace or self.trace)._take(jobs), self.own[jobs], self.every)


def _room_server(server: SlurmServer) -> RoomServer:
    mask, count = in_use(server.used)
    counts = (count, slurm.of_tres(server.tres_used).gpus)
    num_used = int(max(each for each in counts if each == each))  # NaN: unknown
    by_type = {
        name: int(max(used.get(name, 0.0) for used in told))
        for told in [[slurm.gpus_by_type(text) for text in (server.used, server.tres_used)]]
        for name, _ in server.devices
    }
    return RoomServer(
        server.name, server.gpus, server.gpu_type, server.is_available, mask, num_used,
        devices=server.devices, num_used_of=by_type,
    )  # fmt: skip


def _startable(jobs: _Jobs, servers: Sequence[SlurmServer], lines: Int64) -> _Jobs:
    """Leave out and count waiting jobs that a limit or a rule of the site keeps from starting."""
    left_out: dict[str, list[int]] = {}
    is_taken = []
    for record, group in zip(jobs.records, jobs.groups, strict=True):
        why = None if record.runs else _obstacle(record, servers)
        is_taken.append(why is None)
        if why is not None:
            line = int(lines[jobs.own[group[0]]])
            left_out.setdefault(why, []).extend([line] * len(group))
    return jobs.taken(is_taken, replace(jobs.trace, rejects=jobs.trace.rejects.plus(left_out)))


def _obstacle(record: QueuedJob, servers: Sequence[SlurmServer]) -> str | None:
    """Return why a decision cannot start a waiting job; None if it can."""
    job = record.job
    reason = record.reason
    if record.text("state_reason").replace("_", " ").startswith(CLOSED_SERVERS):
        reason = "Resources"
    if reason not in WAITS_FOR_GPUS | squeue.HELD:
        return f"state_reason is {reason}"
    if record.count("het_job_id") > 0:
        return "het_job_id: is part of a heterogeneous job"
    if _names(record, "required_nodes"):
        return "required_nodes: asks for servers by name"
    if _names(record, "excluded_nodes") & {server.name for server in servers}:
        return "excluded_nodes: excludes servers of the cluster"
    wanted = record.text("features")
    if wanted and not all({*wanted.split("&")} <= server.features for server in servers):
        return f"features {wanted!r}: not all servers have them"
    exclusive = job.get("exclusive")
    if slurm.states(exclusive) - {"FALSE", "NONE", ""} or exclusive is True:
        return "exclusive: asks for whole servers"
    each, num = squeue.per_node(record), record.count("node_count")
    if num > 1 and each > 0 and each * num != squeue.resources_of(record).gpus:
        return f"tres_per_node: {each:g} GPUs on each of {num:g} servers differ from its total"
    return None


def _dependency_of(record: QueuedJob) -> str:
    """Return what a waiting job waits for; empty if that is nothing, or not to be followed."""
    text = record.text("dependency").strip()
    if not record.waits or text in ("", "(null)"):
        return ""
    try:
        is_followed = not parsed(text).is_any
    except ValueError:
        is_followed = False
    is_said = record.reason != "Dependency" or "fulfilled" in text
    return (text if is_said else text + UNMET) if is_followed else ""


def _hold_of(record: QueuedJob) -> str:
    """Return why a job is held without an end that is known; empty if it is not."""
    is_known = {"BeginTime": record.begin_s > 0, "Dependency": _dependency_of(record) != ""}
    is_held = record.waits and record.reason in squeue.HELD
    return record.reason if is_held and not is_known.get(record.reason, False) else ""


def _names(record: QueuedJob, field: str) -> set[str]:
    try:
        return set(slurm.names_of(record.text(field)) if record.job.get(field) else ())
    except ValueError:
        return {record.text(field)}


def _sorted(sources: Sequence[Source]) -> tuple[Source, Source, list[Source]]:
    """Return the file of the queue, the file of the servers, and other files."""
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
            raise ValueError(f"exactly one file must be the output of {what}, not {named}")
    return queues[0], nodes[0], [each for each in sources if each not in (*queues, *nodes)]


def _partitions(record: QueuedJob) -> list[str]:
    return record.text("partition").split(",")


def _with_places(
    jobs: _Jobs, room: Mapping[str, RoomServer]
) -> tuple[_Jobs, dict[int, list[Place]], list[str]]:
    """Return the jobs with their GPUs on known servers, places by record, and notes on cuts."""
    places: dict[int, list[Place]] = {}
    gpus = jobs.trace.gpus.copy()
    told = jobs.trace.gpus_per_node
    per_node = np.zeros(len(gpus), np.int32) if told is None else told.copy()
    has_parts = any(server.devices for server in room.values())
    several: list[str] = []
    elsewhere: list[str] = []
    partly: list[str] = []
    is_taken = []
    for record, group in zip(jobs.records, jobs.groups, strict=True):
        left = asked = int(gpus[group[0]])
        if record.runs:
            every = _places(record, asked)
            found = places[int(jobs.own[group[0]])] = [p for p in every if p.server in room]
            if has_parts and len(_types(found, room)) > 1:
                several.append(record.ids[0])
                found.clear()  # its GPUs are out of use
            left = sum(place.gpus for place in found)
            if any(place.gpus != per_node[group[0]] for place in found):
                per_node[group] = 0  # its placement differs from its request
            if left < asked and record.ids[0] not in several:
                (partly if left else elsewhere).append(record.ids[0])
                gpus[group] = left or asked
        is_taken.append(left > 0)
    notes = [
        f"{plural(len(names), 'job')} {what} on unknown servers: {_shown(names)}"
        for names, what in ((elsewhere, "left out: run"), (partly, "reduced: run partly"))
        if names
    ]
    if several:
        notes.append(
            f"{plural(len(several), 'job')} left out: run on several GPU types: {_shown(several)}"
        )
    asked_of_each = per_node if per_node.any() else None
    trace = replace(jobs.trace, gpus=gpus, gpus_per_node=asked_of_each)
    return jobs.taken(is_taken, trace), places, notes


def _types(places: Sequence[Place], room: Mapping[str, RoomServer]) -> set[str]:
    """Return the known types of the GPUs that a job holds."""
    found: set[str] = set()
    for place in places:
        masks = room[place.server].types
        if place.mask is not None:
            found |= {name for name, mask in masks.items() if mask & place.mask}
        else:
            found |= ({*place.types} & masks.keys()) or {*masks}
    return found


def _places(record: QueuedJob, gpus: int) -> list[Place]:
    try:
        return places_of(record.job, gpus, squeue.resources_of(record).types)
    except ValueError as error:
        raise ValueError(f"job {record.ids[0]}: {error}") from None


def _hold(jobs: _Jobs, places: Mapping[int, list[Place]], room: Mapping[str, RoomServer]) -> None:
    """Record the GPUs of the jobs, and those of other jobs as out of use."""
    job_of = {int(own): job for job, own in enumerate(jobs.own.tolist())}
    for number, record in enumerate(jobs.every):
        job = job_of.get(number)
        for place in _held_by_others(record) if job is None else places.get(number, ()):
            server = room.get(place.server)
            if server is None:
                continue
            if place.mask is None:
                server.hold_some(job, place.gpus, server.mask_of(place.types))
            else:
                server.hold(job, place.mask)


def _held_by_others(record: QueuedJob) -> list[Place]:
    """Return the readable GPUs of a job that is not in the state."""
    if not record.states & HOLDING:
        return []
    read = squeue.resources_of(record)
    return _places(record, int(read.gpus)) if read.gpus > 0 else []


def _on_unix_clock(jobs: Trace) -> Trace:
    """Return the jobs with submissions in seconds since 1970."""
    origin_us = round(jobs.origin_s * US_PER_S)
    return replace(
        jobs,
        submit_us=jobs.submit_us + origin_us,
        **moved(jobs, origin_us),
        origin_s=0.0,
        epoch=parse.UNIX_EPOCH.replace(tzinfo=UTC),
        # CPUs used by jobs without GPUs are unknown, so CPU and memory are ignored.
        cpu_milli=None,
        memory_mib=None,
    )


def _restarts(record: QueuedJob) -> int:
    count = record.count("restart_cnt")
    return int(count) if 0 <= count < 2**31 else 0


def _remarks(
    jobs: _Jobs, room: Mapping[str, RoomServer], unlimited_s: int, partition: str | None
) -> list[str]:
    notes = []
    closed = [server.name for server in room.values() if not server.takes_jobs]
    if closed:
        notes.append(f"{plural(len(closed), 'server')} closed to new jobs: {_shown(closed)}")
    endless = [
        str(jobs.trace.id[job])
        for record, group in zip(jobs.records, jobs.groups, strict=True)
        if not 0 < record.count("time_limit") < np.inf
        for job in group
    ]
    if endless:
        notes.append(
            f"{plural(len(endless), 'job')} without a time limit, {unlimited_s:,} s assumed: "
            f"{_shown(endless)}"
        )
    named = sorted({name for record in jobs.every for name in _partitions(record)} - {""})
    if partition is None and len(named) > 1:
        notes.append(
            f"{len(named)} partitions ({_shown(named)}) are read as one: a job may run on every "
            "server; choose one with the option partition"
        )
    return notes


class Place(NamedTuple):
    """GPUs of a job on one server: a mask, or None if only number and types are known."""

    server: str
    gpus: int
    mask: int | None
    types: tuple[str, ...] = ()


def places_of(job: Mapping[str, Any], gpus: int, types: tuple[str, ...] = ()) -> list[Place]:
    """Return the servers of a job with so many GPUs of some types, and its GPUs on each."""
    servers = _servers_of(job)
    details = job.get("gres_detail")
    if isinstance(details, list) and len(details) == len(servers):
        found = [
            _place(server, text_of(detail), types)
            for server, detail in zip(servers, details, strict=True)
        ]
        if sum(place.gpus for place in found) == gpus:
            return [place for place in found if place.gpus]
    if servers and gpus % len(servers) == 0:
        return [Place(server, gpus // len(servers), None, types) for server in servers]
    raise ValueError(
        f"gres_detail: {str(details)[:80]!r} does not say how {gpus} GPUs are spread over "
        f"{len(servers)} servers"
    )


def _place(server: str, detail: str, types: tuple[str, ...]) -> Place:
    count, mask = _of_detail(detail)
    named = slurm.of_gres(detail.replace("(null)", "null")).types
    return Place(server, count, mask, () if mask is not None else named or types)


def in_use(used: str) -> tuple[int, int]:
    """Return the mask and number of GPUs in ``gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:4)``."""
    count, mask = _of_detail(used)
    return mask or 0, count


def _servers_of(job: Mapping[str, Any]) -> list[str]:
    resources = job.get("job_resources")
    held = resources.get("nodes") if isinstance(resources, Mapping) else None
    if isinstance(held, Mapping):
        listed = held.get("allocation")
        if isinstance(listed, list) and listed:
            return [text_of(each.get("name")) for each in listed if isinstance(each, Mapping)]
        held = held.get("list")
    return slurm.names_of(text_of(held) or text_of(job.get("nodes")))


def _of_detail(text: str) -> tuple[int, int | None]:
    """Return the number of GPUs, and their mask or None if unknown."""
    text = text.replace("(null)", "null")  # a type without a name
    count, mask = 0, 0
    for given, numbers in _DETAIL.findall(text):
        listed = slurm.tasks(numbers) if numbers.strip() else []
        named = set(listed) if listed is not None and max(listed, default=0) < 64 else set()
        if len(named) != int(given):
            mask = -1
        count += int(given)
        mask = mask if mask < 0 else mask | sum(1 << number for number in named)
    if count:
        return count, mask if mask >= 0 else None
    gpus = slurm.of_gres(text).gpus
    return (int(gpus) if gpus == gpus else 0), None


def _shown(names: Sequence[str]) -> str:
    more = ", ..." if len(names) > _NO_SHOWN else ""
    return ", ".join(names[:_NO_SHOWN]) + more


def _recognises(sources: Sequence[Source]) -> bool:
    return any(squeue.recognises(each) or slurm_nodes.recognises(each) for each in sources)


register_state_format(
    StateFormat(
        name="slurm",
        summary="Output of squeue --json and sinfo --json (two files).",
        source="SchedMD, Slurm.",
        detection="a JSON object with `jobs` that have a `job_state`, or with `nodes` or `sinfo`",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "squeue.json", "sinfo.json"),
        options=("now", "unlimited_s", "partition"),
    )
)
