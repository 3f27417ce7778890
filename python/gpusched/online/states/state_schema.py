"""Cluster states as JSON, which resource managers can write; read strictly."""

from __future__ import annotations

import os
from typing import Annotated, Any, Final

import msgspec
import numpy as np

from gpusched.base.replacing import write_bytes
from gpusched.model.cluster import Cluster
from gpusched.online.cluster_state import ClusterState, NamedServer, no_jobs
from gpusched.traces.job_columns import HELD
from gpusched.traces.workload import Trace

Seconds = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]

_OPTIONAL: Final = (
    "estimate_s", "weight", "gpu_share", "cpu", "memory_gib", "deadline_s", "restart_s",
    "gpus_per_node", "priority", "nice", "time_limit_s", "eligible_s", "array_limit",
)  # fmt: skip
_NAMES: Final = ("user", "queue", "group", "array", "dependency")


class HeldGpus(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """GPUs that a job holds on one server.

    ``server``: position in the cluster, from 0.
    ``gpus``: numbers of its GPUs, from 0.
    """

    server: Count
    gpus: tuple[Annotated[int, msgspec.Meta(ge=0, le=63)], ...]


class StateJob(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A waiting or running job; times in seconds.

    ``id``, ``submit_s``, ``gpus``: its id, submit time, and number of GPUs.
    ``service_s``: its predicted run time or time limit.
    ``start_s``: start of its current run; absent if it waits.
    ``attained_s``: its run time so far. Absent: the time since ``start_s`` plus ``cost_s``.
    ``cost_s``: restart overhead at the start of the current run.
    ``preemptions``: number of preemptions.
    ``added_s``: work that was added to its service. Absent: what the policy adds.
    ``held``: its GPUs, if it runs.
    ``gpu_types``: allowed GPU types; empty for any.
    ``estimate_s``, ``weight``, ``gpu_share``, ``cpu``, ``memory_gib``, ``deadline_s``,
        ``restart_s``, ``gpus_per_node``, ``priority``, ``nice``: as for
        :meth:`gpusched.Trace.from_columns`.
    ``time_limit_s``, ``eligible_s``, ``array_limit``: likewise.
    ``user``, ``queue``, ``group``, ``array``, ``dependency``: names, and what the job waits for.
    ``hold``: why the job must not start until a later state says otherwise; empty: it may.
    """

    id: str
    submit_s: Seconds
    gpus: Annotated[int, msgspec.Meta(ge=1)]
    service_s: Annotated[float, msgspec.Meta(gt=0)]
    start_s: Seconds | None = None
    attained_s: Seconds | None = None
    cost_s: Seconds = 0.0
    preemptions: Count = 0
    added_s: Seconds | None = None
    held: tuple[HeldGpus, ...] = ()
    gpu_types: tuple[str, ...] = ()
    estimate_s: float | None = None
    weight: float | None = None
    gpu_share: float | None = None
    cpu: float | None = None
    memory_gib: float | None = None
    deadline_s: float | None = None
    restart_s: float | None = None
    gpus_per_node: Count | None = None
    priority: float | None = None
    nice: float | None = None
    time_limit_s: float | None = None
    eligible_s: float | None = None
    array_limit: Count | None = None
    user: str = ""
    queue: str = ""
    group: str = ""
    array: str = ""
    dependency: str = ""
    hold: str = ""


class StateFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A cluster snapshot.

    ``now_s``: the current time in seconds, on the clock of the jobs.
    ``cluster``: as :class:`gpusched.Cluster`.
    ``jobs``: the waiting and running jobs.
    ``server_names``: one per server, in order; absent: no names.
    ``unavailable``: existing GPUs that no job may have now: on servers that are down, drained or
        reserved, or held by others.
    """

    now_s: Seconds
    cluster: Cluster
    jobs: tuple[StateJob, ...]
    server_names: tuple[str, ...] = ()
    unavailable: tuple[HeldGpus, ...] = ()


def state_of(given: StateFile) -> ClusterState:
    """Return the state from a decoded file.

    Errors are those of :func:`gpusched.online.read_state`.
    """
    jobs = sorted(given.jobs, key=lambda job: job.submit_s)
    held = [
        (row, each.server, sum(1 << gpu for gpu in set(each.gpus)))
        for row, gpus in ((-1, given.unavailable), *((i, job.held) for i, job in enumerate(jobs)))
        for each in gpus
    ]
    for job in jobs:
        if job.held and job.start_s is None:
            raise ValueError(f"jobs: {job.id!r} holds GPUs but has no start_s")
        if len({each.server for each in job.held}) < len(job.held):
            raise ValueError(f"jobs: {job.id!r} names a server twice in held")
        if job.start_s is not None and not job.held:
            raise ValueError(f"jobs: {job.id!r} has start_s but no held GPUs")
    optional: dict[str, Any] = {
        name: [np.nan if (value := getattr(job, name)) is None else value for job in jobs]
        for name in _OPTIONAL
        if any(getattr(job, name) is not None for job in jobs)
    }
    texts: dict[str, Any] = {
        name: [getattr(job, name) for job in jobs]
        for name in _NAMES
        if any(getattr(job, name) for job in jobs)
    }
    trace = no_jobs() if not jobs else Trace.from_columns(
        [job.submit_s for job in jobs],
        [job.service_s for job in jobs],
        [job.gpus for job in jobs],
        id=[job.id for job in jobs],
        gpu_types=[job.gpu_types for job in jobs] if any(job.gpu_types for job in jobs) else None,
        name="state",
        **optional,
        **texts,
    )  # fmt: skip
    return ClusterState(
        given.cluster,
        trace,
        given.now_s,
        start_s=_seconds([job.start_s for job in jobs]),
        attained_s=_seconds([job.attained_s for job in jobs]),
        cost_s=_seconds([job.cost_s for job in jobs]),
        preemptions=np.array([job.preemptions for job in jobs], np.int32),
        added_s=_seconds([job.added_s for job in jobs]),
        held_job=np.array([row for row, _, _ in held], np.int64),
        held_server=np.array([server for _, server, _ in held], np.int64),
        held_mask=np.array([mask for _, _, mask in held], np.uint64),
        servers=_named(given),
        hold=tuple(job.hold for job in jobs) if any(job.hold for job in jobs) else (),
    )


def _seconds(values: list[float | None]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _named(given: StateFile) -> tuple[NamedServer, ...]:
    names, cluster = given.server_names, given.cluster
    if not names:
        return ()
    if len(names) != cluster.num_servers:
        raise ValueError(f"server_names: {len(names)} names for {cluster.num_servers} servers")
    part_of = cluster.server_part_of
    wholes = list(range(len(names))) if part_of is None else part_of.tolist()
    if len(set(names)) < len(set(wholes)) or any(
        names[whole] != name for name, whole in zip(names, wholes, strict=True)
    ):
        raise ValueError("server_names: must be unique, and the same for all parts of a server")
    begins = cluster.server_first_gpu.tolist()
    return tuple(
        NamedServer(name, tuple(range(begin, begin + gpus)))
        for name, begin, gpus in zip(names, begins, cluster.server_gpus.tolist(), strict=True)
    )


def write_state(state: ClusterState, path: str | os.PathLike[str]) -> None:
    """Write a state as JSON that :func:`gpusched.online.read_state` reads.

    Only data for decisions is written, for jobs the columns in :func:`state_schema`.

    Parameters
    ----------
    path
        An existing file is replaced.

    Returns
    -------
    None

    Raises
    ------
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16], id=["runs", "waits"])
    >>> state = gs.online.ClusterState(
    ...     gs.Cluster.uniform(servers=2, gpus=8), jobs, now_s=20, start_s=[0, float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> gs.online.write_state(state, "cluster.json")
    >>> gs.online.read_state("cluster.json").is_running.tolist()
    [True, False]
    """
    text = msgspec.json.format(msgspec.json.encode(_file_of(state)), indent=1)
    write_bytes(path, text)


def _file_of(state: ClusterState) -> StateFile:
    jobs = state.jobs
    held: dict[int, list[HeldGpus]] = {}
    rows = zip(state.held_job.tolist(), state.held_server, state.held_mask, strict=True)
    for job, server, mask in rows:
        gpus = tuple(gpu for gpu in range(64) if int(mask) >> gpu & 1)
        held.setdefault(job, []).append(HeldGpus(int(server), gpus))
    frame = jobs.to_polars()
    columns: dict[str, list[Any]] = {
        name: frame[name].to_list()
        for name in ("submit_s", "service_s", "gpus", *_OPTIONAL, *_NAMES)
        if name in frame.columns
    }
    columns["id"] = [str(name) for name in jobs.id.tolist()]
    columns["preemptions"] = state.preemptions.tolist()
    for name in ("start_s", "attained_s", "cost_s", "added_s"):
        seconds = getattr(state, name).tolist()
        columns[name] = [None if np.isnan(value) else value for value in seconds]
    if jobs.allowed_types is not None:
        columns["gpu_types"] = list(jobs.allowed_types)
    columns["hold"] = list(state.hold) or [""] * len(jobs)
    if jobs.eligible_us is not None:  # JSON has no infinite times
        for row in np.flatnonzero(jobs.eligible_us >= HELD).tolist():
            columns["hold"][row] = columns["hold"][row] or "for good"
            columns["eligible_s"][row] = None
    columns["held"] = [tuple(held.get(job, ())) for job in range(len(jobs))]
    records = [
        StateJob(**dict(zip(columns, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]
    names = tuple(server.name for server in state.servers)
    return StateFile(state.now_s, state.cluster, tuple(records), names, tuple(held.get(-1, ())))
