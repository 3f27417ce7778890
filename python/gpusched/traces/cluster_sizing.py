"""Size a cluster for the jobs of a trace, and find the jobs that fit on a cluster."""

from __future__ import annotations

import math

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.defaults import GPUS_PER_SERVER, MAX_LOAD
from gpusched.base.field_checks import check_integer
from gpusched.base.ticks import us_to_seconds
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU
from gpusched.base.wording import plural
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS, Cluster, ServerGroup
from gpusched.traces.workload import Trace


def smallest_cluster(
    trace: Trace, gpus_per_server: int = GPUS_PER_SERVER, max_load: float = MAX_LOAD
) -> Cluster:
    """Return the fewest equal servers with load at most ``max_load`` that fit every job.

    The servers never exceed the peak demand, that is, the GPUs that would be busy if no job waited:
    the load of a few jobs in a few seconds is not meaningful. If jobs are bound to GPU types, each
    type gets the fewest servers for its jobs; a job counts for the allowed type on which most work
    may run.

    Parameters
    ----------
    gpus_per_server
        GPUs of each server.
    max_load
        Bound on :meth:`Trace.offered_load <gpusched.traces.workload.Trace.offered_load>`, exceeded
        only if no job would wait. If all jobs arrive at one instant, no load is defined and the
        largest job decides.

    Returns
    -------
    Cluster
        Equal servers, one group for each GPU type that is used.

    Raises
    ------
    ValueError
        If more than 262,144 servers are needed.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 100, 1000], [300, 600, 60], [4, 12, 4])
    >>> gs.traces.smallest_cluster(trace, gpus_per_server=4).num_servers
    3
    >>> gs.traces.smallest_cluster(trace, gpus_per_server=4, max_load=0.5).num_servers
    4
    """
    check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    if not (np.isfinite(max_load) and max_load > 0):
        raise ValueError(f"max_load: {max_load!r} must be finite and positive")
    types = _types_of_jobs(trace)
    groups = [
        ServerGroup(_servers(trace, of_type, gpus_per_server, max_load), gpus_per_server, name)
        for name, of_type in types.items()
    ]
    return Cluster(tuple(groups))


def assumed_cluster(trace: Trace, gpus_per_server: int = GPUS_PER_SERVER) -> tuple[Cluster, str]:
    """Return the default cluster for a trace, :func:`smallest_cluster`, and a sentence on it."""
    cluster = smallest_cluster(trace, gpus_per_server)
    servers = f"{gpus_per_server}-GPU servers"
    if len(cluster.gpu_types) > 1:
        servers += " of each type that jobs ask for"
    if trace.span_us and trace.offered_load(cluster.num_gpus) > MAX_LOAD:
        why = (
            f"{servers} for the peak demand, that is, all jobs that would run if none waited "
            f"(more would stay idle, although the load is above {MAX_LOAD:g})"
        )
    else:
        why = f"the fewest {servers} with load at most {MAX_LOAD:g} that fit the largest job"
    return cluster, f"cluster assumed: {cluster}, {why}"


def types_named(trace: Trace) -> list[str]:
    """Return the GPU types that jobs of a trace name, in alphabetical order."""
    if trace.type_set is None:
        return []
    sets = {trace.type_sets[index] for index in np.unique(trace.type_set).tolist()}
    return sorted({name for allowed in sets for name in allowed})


def _types_of_jobs(trace: Trace) -> dict[str, Bool]:
    """Give each job the allowed type on which most work may run.

    If no job is restricted, all jobs get the type ``gpu``.
    """
    every = np.ones(len(trace), dtype=np.bool_)
    if trace.type_set is None:
        return {"gpu": every}
    work = trace.gpus * trace.service_s
    names = sorted({name for allowed in trace.type_sets for name in allowed})
    may_run = {
        name: np.array([name in allowed for allowed in trace.type_sets])[trace.type_set]
        for name in names
    }
    ranked = sorted(names, key=lambda name: (-float(work[may_run[name]].sum()), name))
    is_free = np.array([not allowed for allowed in trace.type_sets])[trace.type_set]
    jobs: dict[str, Bool] = {}
    left = every
    for name in ranked:
        mine = left & (may_run[name] | is_free)
        left = left & ~mine
        if mine.any():
            jobs[name] = mine
    return jobs


def _servers(trace: Trace, jobs: Bool, gpus_per_server: int, max_load: float) -> int:
    """Return how many servers ``jobs`` need during the span of the trace."""
    gpus = trace.gpus[jobs]
    held = gpus * (1.0 if trace.share_milli is None else trace.share_milli[jobs] / WHOLE_GPU)
    work = float(np.sum(held * trace.service_s[jobs]))
    span_s = us_to_seconds(trace.span_us)

    def load(servers: int) -> float:
        return work / (servers * gpus_per_server * span_s) if span_s else float("inf")

    servers = -(-int(gpus.max()) // gpus_per_server)
    present = load(servers)
    if not (np.isfinite(present) and present > max_load):
        return servers
    wanted = present * servers / max_load
    busy = _busy_at_once(held, trace.submit_us[jobs], trace.service_us[jobs])
    most = max(servers, math.ceil(busy / gpus_per_server))
    if min(wanted, most) > MAX_SERVERS:
        raise ValueError(
            f"{trace.name}: load {max_load:g} needs {min(wanted, most):,.0f} servers of "
            f"{plural(gpus_per_server, 'GPU')}; give a cluster, or lower the load"
        )
    if wanted > most + 1:
        return most
    # Start one below the quotient: the division above is rounded.
    servers = max(servers, int(wanted) - 1)
    while load(servers) > max_load:
        servers += 1
    return min(servers, most)


def _busy_at_once(held: AnyArray, submit_us: Int64, service_us: Int64) -> float:
    """Return the peak demand: GPUs in use if every job started at its submission."""
    times = np.concatenate([submit_us, submit_us + service_us])
    change = np.concatenate([held, -held])
    order = np.lexsort((change, times))  # at one instant, ends come before starts
    # Shares are thousandths: round sums to thousandths.
    return round(float(np.cumsum(change[order]).max()) * WHOLE_GPU) / WHOLE_GPU


def fitting_jobs(trace: Trace, cluster: Cluster) -> Bool:
    """Return which jobs fit on the empty cluster, by GPUs, GPU types, CPUs and memory.

    A placement may refuse more jobs than these.

    bool, one per job.
    """
    room = np.zeros(len(trace), dtype=np.float64)
    for group in cluster.servers:
        room += np.where(_is_allowed(trace, group.gpu_type), group.count * _held(trace, group), 0)
    return room >= trace.gpus


def fitting_load(trace: Trace, cluster: Cluster, fits: Bool) -> float:
    """Return the offered load of the jobs that fit.

    Infinite if all jobs arrive at one instant; 0 if none fits.
    """
    if not fits.any():
        return 0.0
    load = trace.offered_load(cluster.num_gpus)
    return load if fits.all() else load * trace.filter(fits).gpu_seconds / trace.gpu_seconds


def _is_allowed(trace: Trace, gpu_type: str) -> Bool:
    if trace.type_set is None:
        return np.ones(len(trace), dtype=np.bool_)
    allowed = [not names or gpu_type in names for names in trace.type_sets]
    return np.array(allowed, dtype=np.bool_)[trace.type_set]


def _held(trace: Trace, group: ServerGroup) -> Float64:
    """Return how many workers of each job fit on one server of the group."""
    held = np.full(len(trace), group.gpus, dtype=np.float64)
    for has, unit, asked in (
        (group.cpu, MILLI_PER_CORE, trace.cpu_milli),
        (group.memory_gib, MIB_PER_GIB, trace.memory_mib),
    ):
        if has is not None and asked is not None:
            held = np.minimum(held, _quotient(np.floor(has * unit), asked))
    return held


def _quotient(has: float, asked: AnyArray) -> Float64:
    each = np.where(asked > 0, asked, 1)
    return np.where(asked > 0, has // each, np.inf)
