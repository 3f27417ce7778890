"""Synthetic workloads, calibrated to published clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64, UInt32, read_only
from gpusched.base.labels import Labels
from gpusched.base.memory import check_fits
from gpusched.base.run_warning import warn
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us, us_to_seconds
from gpusched.clusters.cluster import Cluster
from gpusched.generator import laws
from gpusched.generator.ordering import stable_order
from gpusched.generator.published_clusters import PROFILES
from gpusched.traces.assembly import check_horizon
from gpusched.traces.workload import Trace

DEFAULT_CLUSTER: Final = Cluster.uniform(servers=64, gpus=8)
# How much a job's run time owes to its group, its width and itself (only the order matters).
_GROUP_SHARE: Final = 0.75
_WIDTH_SHARE: Final = 0.15
_OWN_SHARE: Final = 0.25
# Runs of one group lie around a date of its own, mostly within this part of the whole span.
_GROUP_SPREAD: Final = 0.1
_MAX_JOBS: Final = 2**31 - 1
_LEAST_BYTES: Final = 110  # of a job, while its run time is drawn


def generate(
    name: str,
    jobs: int,
    load: float = 0.9,
    cluster: Cluster | None = None,
    seed: int = 0,
) -> Trace:
    """Generate a workload with the aggregates of a real cluster.

    Mean and median run time and mean width are those of the named profile at every size: run
    times are drawn stratified, one in each of ``jobs`` equally likely parts of their law, and the
    number of jobs of each width is fixed. Arrivals follow the day and the week. Jobs belong to
    recurring groups (one user, one width, similar run times, runs around one date); group sizes
    are heavy-tailed, users follow a Zipf law, wider jobs run somewhat longer. Run times are whole
    seconds.

    Parameters
    ----------
    name
        ``"philly"``, ``"helios"``, ``"itp"`` (six clusters together), ``"acme"`` (its cluster
        Seren) or ``"pai"`` (GPU shares rounded up to whole GPUs: 1.13 on average); targets and
        sources are in :data:`gpusched.generator.published_clusters.PROFILES`.
    jobs
        Number of jobs.
    load
        Sum of gpus x service over (GPUs of ``cluster`` x time from first to last arrival); met
        exactly, by the length of that time. One job alone has no load.
    cluster
        The cluster that the load refers to; default: 64 servers of 8 GPUs. Wider jobs are clipped
        to what fits its largest servers together.
    seed
        A whole number, 0 or more. One seed gives one workload on every machine.

    Returns
    -------
    Trace
        Its jobs in order of submission; equal arguments give equal jobs.

    Warns
    -----
    RunWarning
        If they need more than half of the memory that there is.

    Raises
    ------
    TypeError
        If ``jobs`` or ``seed`` is not an integer.
    ValueError
        If the name is unknown (the nearest is suggested) or a number is out of range.
    MemoryError
        If so many jobs cannot fit into memory; nothing is drawn then.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=8, gpus=8)
    >>> trace = gs.generate("philly", 1_000, load=0.8, cluster=cluster, seed=7)
    >>> round(trace.offered_load(cluster.num_gpus), 2)
    0.8
    """
    if name not in PROFILES:
        raise ValueError(f"generate: unknown workload {name!r}{nearest(name, list(PROFILES))}")
    _check_integer("jobs", jobs, 1, _MAX_JOBS)
    _check_integer("seed", seed, 0, None)
    if isinstance(load, bool) or not isinstance(load, int | float):
        raise TypeError(f"load: {load!r} must be a number")
    if not (math.isfinite(load) and load > 0):
        raise ValueError(f"load: {load!r} must be finite and positive")
    what = f"to generate {jobs:,} jobs needs"
    remedy = "generate fewer jobs, give it more memory, or end what else uses it"
    warn(check_fits(jobs * _LEAST_BYTES, what, remedy), stacklevel=2)
    cluster = DEFAULT_CLUSTER if cluster is None else cluster
    profile = PROFILES[name]
    # One generator, named: NumPy may change what default_rng stands for.
    random = np.random.Generator(np.random.PCG64(seed))

    widths, counts = laws.width_counts(profile, _shares(name), jobs, _widest(cluster))
    width_index = np.repeat(np.arange(len(widths)), counts)
    num_groups, group = _groups(random.random(jobs), width_index, counts, profile.jobs_per_group)
    position = _positions(random, num_groups, group)
    width_index, group = width_index[position], group[position]
    gpus = widths[width_index]
    service_s = _run_times(random, name, num_groups, group, width_index / len(widths))

    span_us = float(np.sum(gpus * service_s)) * US_PER_S / (load * cluster.num_gpus)
    if jobs == 1:
        span_us = 0.0
    elif not 1 <= span_us <= MAX_SUBMIT_US:
        raise ValueError(f"load: {load!r} needs all arrivals within {span_us / US_PER_S:g} s")
    submit_us = laws.arrivals(random.random(jobs), round(span_us))

    group_user = laws.zipf(random.random(num_groups), profile.num_users)
    user_queue = laws.zipf(random.random(profile.num_users), profile.num_queues)
    user = group_user[group]
    # What is drawn needs none of the checks of columns that others made.
    submit_us, service_us = seconds_to_us(us_to_seconds(submit_us)), seconds_to_us(service_s)
    check_horizon(name, submit_us, service_us)
    return Trace(
        submit_us=read_only(submit_us),
        service_us=read_only(service_us),
        gpus=read_only(gpus),
        row=read_only(np.arange(jobs)),
        id=read_only(np.arange(jobs)),
        user=_labels(user, _names("user", profile.num_users)),
        queue=_labels(user_queue[user], _names("queue", profile.num_queues)),
        group=_labels(group, _names("group", num_groups)),
        status=_statuses(random.random(jobs), profile.statuses),
        name=name,
        source=f"generate({name!r}, jobs={jobs}, load={load:g}, cluster={cluster}, seed={seed})",
    )


def _widest(cluster: Cluster) -> int:
    """Return the widest gang that every placement can hold on the empty cluster."""
    largest = max(group.gpus for group in cluster.servers)
    return sum(group.count * group.gpus for group in cluster.servers if group.gpus == largest)


def _groups(
    uniform: Float64, width_index: Int64, counts: Int64, jobs_per_group: float
) -> tuple[int, Int64]:
    """Return the number of groups and each job's group; groups have one width."""
    num_groups = np.ceil(counts / jobs_per_group).astype(np.int64)
    first_group = np.cumsum(num_groups) - num_groups
    # A power of a uniform number: few large groups, many small ones.
    skewed = uniform * uniform * np.sqrt(uniform)
    rank = np.floor(skewed * num_groups[width_index]).astype(np.int64)
    return int(num_groups.sum()), first_group[width_index] + rank


def _positions(random: np.random.Generator, num_groups: int, group: Int64) -> UInt32:
    """Return an order of arrival in which the runs of one group lie around one date."""
    date = random.random(num_groups)
    # The difference of two uniform numbers: a hat around the group's date, wrapped at the ends.
    offset = (random.random(len(group)) - random.random(len(group))) * _GROUP_SPREAD
    return stable_order(np.mod(date[group] + offset, 1.0))


@cache
def _shares(name: str) -> Float64:
    return laws.width_shares(PROFILES[name])


@cache
def _run_time_table(name: str) -> tuple[Float64, Float64]:
    return laws.run_time_table(PROFILES[name])


def _run_times(
    random: np.random.Generator,
    name: str,
    num_groups: int,
    group: Int64,
    width_score: Float64,
) -> Int64:
    """Return whole seconds: the law's own values, handed out in the order of a score."""
    score = (
        _GROUP_SHARE * random.random(num_groups)[group]
        + _WIDTH_SHARE * width_score
        + _OWN_SHARE * random.random(len(group))
    )
    strata = (np.arange(len(group)) + random.random(len(group))) / len(group)
    service_s = np.empty(len(group), dtype=np.int64)
    quantiles = laws.interpolate(*_run_time_table(name), strata)
    service_s[stable_order(score)] = np.rint(quantiles).astype(np.int64)
    return np.maximum(service_s, 1)


def _statuses(uniform: Float64, shares: Mapping[str, float]) -> Labels | None:
    if not shares:
        return None
    return _labels(laws.pick(uniform, [*shares.values(), 0.0]), (*shares, "unknown"))


def _labels(codes: Int32 | Int64, names: tuple[str, ...]) -> Labels:
    return Labels(read_only(codes.astype(np.int32, copy=False)), names)


# Traces of one size have the same names.
@lru_cache(maxsize=8)
def _names(kind: str, count: int) -> tuple[str, ...]:
    digits = len(str(count))
    return tuple(f"{kind}{number:0{digits}d}" for number in range(1, count + 1))


def _check_integer(name: str, value: object, minimum: int, maximum: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: {value!r} must be an integer")
    if value < minimum or (maximum is not None and value > maximum):
        above = f" and at most {maximum:,}" if maximum is not None else ""
        raise ValueError(f"{name}: {value} must be at least {minimum}{above}")
