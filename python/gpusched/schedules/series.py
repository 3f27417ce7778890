"""The cluster over time as step functions: GPUs allocated, jobs running, jobs waiting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import (
    AnyArray,
    Bool,
    Float64,
    FrozenColumns,
    Int32,
    Int64,
    accumulate,
    read_only,
)
from gpusched.base.libraries import polars
from gpusched.base.ticks import us_to_seconds
from gpusched.base.units import WHOLE_GPU
from gpusched.schedules.down_times import down_rows, struck
from gpusched.schedules.schedule import (
    CANCELLED,
    FAILED,
    KILLED,
    NEVER,
    REJECTED,
    Schedule,
    cancelled_us,
    over_us,
    whole_intervals,
)

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Steps(FrozenColumns):
    """Step functions that share their steps: entry ``i`` holds from ``time_s[i]`` to the next.

    The last entry holds from then on.

    Attributes
    ----------
    time_s
        Seconds, increasing.
    """

    time_s: Float64

    def __len__(self) -> int:
        return len(self.time_s)

    def __repr__(self) -> str:
        names = ", ".join(f.name for f in fields(self))
        return f"{type(self).__name__}({len(self):,} steps: {names})"

    def resample(self, points: int) -> Self:
        """Return at most ``points`` equal steps, each with the mean over its time, for plots.

        A series of at most ``points`` steps is returned unchanged.
        """
        if points < 2:
            raise ValueError(f"resample: points must be at least 2, not {points}")
        if len(self) <= points:
            return self
        edges = np.linspace(self.time_s[0], self.time_s[-1], points)
        steps = np.diff(self.time_s)

        def means(values: AnyArray) -> Float64:
            area = np.concatenate(([0.0], np.cumsum(values[:-1] * steps)))
            within = np.diff(np.interp(edges, self.time_s, area)) / np.diff(edges)
            return np.append(within, float(values[-1]))

        return type(self)(edges, *(means(getattr(self, f.name)) for f in fields(self)[1:]))

    def slice(self, begin: int, end: int | None) -> Self:
        """Return the entries from ``begin`` to before ``end`` (None: to the last)."""
        return type(self)(*(getattr(self, f.name)[begin:end] for f in fields(self)))

    def to_polars(self) -> polars.DataFrame:
        """Return the columns as a Polars frame."""
        return polars.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, eq=False, repr=False)
class Series(Steps):
    """The cluster over time.

    A job waits while it is in the queue and without GPUs: from its submission, or the end of its
    hold, until it is over. Rejected jobs never wait.

    ``allocated_gpus``, ``queue_jobs``, ``queue_gpus``, ``running_jobs``: int64; means over each
        step, in float64, if resampled.
    ``down_gpus``: the same: GPUs of servers with an outage that no job holds.
    """

    allocated_gpus: AnyArray
    queue_jobs: AnyArray
    queue_gpus: AnyArray
    running_jobs: AnyArray
    down_gpus: AnyArray


def series_of(
    trace: Trace,
    schedule: Schedule,
    intervals: Mapping[str, AnyArray],
    cluster: Cluster,
    outages: Outages | None = None,
) -> Series:
    """Sum the changes at each instant."""
    time_us, *columns = _core.cluster_series(**_queued(trace, schedule, intervals))
    if outages is None or not len(time_us):
        return Series(us_to_seconds(time_us), *columns, *np.zeros((1, len(time_us)), np.int64))
    down = down_rows(trace, cluster, intervals, outages)
    none = np.zeros(2 * len(down["milli"]), np.int64)
    milli = np.concatenate((down["milli"], -down["milli"]))
    when_us = np.maximum(np.concatenate((down["start_us"], down["end_us"])), time_us[0])
    _, when_us, milli = accumulate(none, when_us, milli)
    every_us = np.sort(np.concatenate((time_us, when_us[when_us < time_us[-1]])))
    every_us = every_us[np.diff(every_us, prepend=-1) > 0]
    at = np.searchsorted(time_us, every_us, "right") - 1
    down_gpus = np.append(0, milli)[np.searchsorted(when_us, every_us, "right")] // WHOLE_GPU
    return Series(us_to_seconds(every_us), *(values[at] for values in columns), *[down_gpus])


def _queued(trace: Trace, schedule: Schedule, rows: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the columns of jobs and log, in the order in which the jobs joined the queue."""
    status = np.asarray(schedule.status)
    jobs: dict[str, AnyArray] = {
        "submit_us": trace.submit_us, "gpus": trace.gpus, "status": status,
        "finish_us": over_us(schedule, rows),
    }  # fmt: skip
    if not (len(schedule.eligible_us) or (status == CANCELLED).any()):
        return jobs | dict(rows)
    if len(schedule.eligible_us):
        jobs["submit_us"] = np.maximum(schedule.eligible_us, trace.submit_us)
        jobs["status"] = np.where(schedule.eligible_us < 0, np.uint8(REJECTED), status)
    gone_us = np.where(jobs["status"] == REJECTED, -1, cancelled_us(trace, schedule))
    jobs["finish_us"] = np.maximum(jobs["finish_us"], gone_us)
    gone_us[rows["job"][rows["end_us"] == gone_us[rows["job"]]]] = -1  # it ran until then
    gone = np.flatnonzero(gone_us >= 0)
    # A waiting job leaves the queue as if it ran for no time on no GPUs.
    none = dict.fromkeys(rows, np.zeros(len(gone), np.int64))
    own = none | {"job": gone, "start_us": gone_us[gone], "end_us": gone_us[gone]}
    log = {name: np.append(of, own[name].astype(of.dtype)) for name, of in rows.items()}
    order = np.argsort(jobs["submit_us"], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return {name: of[order] for name, of in jobs.items()} | log | {"job": place[log["job"]]}


KINDS: Final = (
    "finish", "kill", "interrupt", "fail", "arrival", "reject", "preempt", "start", "resume",
    "resize", "cancel", "release",
)  # fmt: skip
(
    FINISH, KILL, INTERRUPT, FAIL, _ARRIVAL, _REJECT, PREEMPT, _START, _RESUME, RESIZE, _CANCEL,
    _RELEASE,
) = range(len(KINDS))  # fmt: skip
# The kinds of one number are in the order of jobs.
_ORDER: Final = np.array([0, 1, 3, 3, 4, 5, 7, 8, 8, 8, 2, 6])


def intervals_ended(
    schedule: Schedule,
    intervals: Mapping[str, AnyArray],
    cluster: Cluster,
    outages: Outages | None,
) -> tuple[Int64, Bool, AnyArray]:
    """Find the intervals of a log, and how each ends.

    As :func:`whole_intervals`, and the kind of each end, an index into ``KINDS``: ``RESIZE`` if the
    job goes on at once, unless its server failed.
    """
    first, opens = whole_intervals(intervals)
    job, start_us = intervals["job"][first], intervals["start_us"][first]
    end_us = intervals["end_us"][first]
    last = np.append(opens[1:], True)[: len(job)]
    goes_on = ~last
    goes_on[:-1] &= start_us[1:] == end_us[:-1]
    status = np.asarray(schedule.status)[job]
    kinds = np.where(goes_on, RESIZE, PREEMPT)
    if outages is not None and len(first):
        kinds[np.logical_or.reduceat(struck(intervals, cluster, outages), first)] = INTERRUPT
    kinds[last & (status == KILLED)] = KILL
    kinds[last & (status == FAILED)] = FAIL
    kinds[end_us == np.asarray(schedule.finish_us)[job]] = FINISH
    return first, opens, kinds


class Events:
    """Columns, one entry per event.

    Sorted by time; within an instant finishes, kills (at the time limit), cancellations,
    interruptions and final failures (by failing servers), arrivals, rejects, releases (of held
    jobs, or cancellations of those that can never be released), preemptions, then starts, resumes
    and resizes; within these by job.

    Attributes
    ----------
    time_us
        int64 microseconds.
    kind_code
        int8: index into ``KINDS``.
    job
        int64: JobId.
    """

    def __init__(
        self,
        trace: Trace,
        schedule: Schedule,
        intervals: Mapping[str, AnyArray],
        cluster: Cluster,
        outages: Outages | None = None,
        gone_us: Int64 | None = None,
    ) -> None:
        gone_us = cancelled_us(trace, schedule) if gone_us is None else gone_us
        first, opens, ends = intervals_ended(schedule, intervals, cluster, outages)
        job, start_us = intervals["job"][first], intervals["start_us"][first]
        end_us = intervals["end_us"][first]
        ends[end_us == gone_us[job]] = _CANCEL
        stops = ends != RESIZE
        goes_on = ~np.append(True, stops)[: len(job)]
        begun = np.where(opens, _START, np.where(goes_on, RESIZE, _RESUME))
        rejected = np.flatnonzero(np.asarray(schedule.status) == REJECTED)
        eligible_us: Int64 = schedule.eligible_us
        held = np.flatnonzero(eligible_us > trace.submit_us[: len(eligible_us)])
        waited = gone_us >= 0
        waited[job[ends == _CANCEL]] = False
        parts = (
            (trace.submit_us, np.arange(len(trace)), _ARRIVAL),
            (trace.submit_us[rejected], rejected, _REJECT),
            (start_us, job, begun),
            (end_us[stops], job[stops], ends[stops]),
            (eligible_us[held], held, _RELEASE),
            (gone_us[waited], np.flatnonzero(waited), _CANCEL),
        )
        time_us = np.concatenate([times for times, _, _ in parts])
        jobs = np.concatenate([of for _, of, _ in parts])
        kind = np.concatenate([np.broadcast_to(code, len(times)) for times, _, code in parts])
        rank = _ORDER[kind]
        if len(eligible_us):
            rank[(kind == _CANCEL) & (eligible_us[jobs] == NEVER)] = _ORDER[_RELEASE]
        order = np.lexsort((jobs, rank, time_us))
        self.time_us: Int64 = read_only(time_us[order])
        self.kind_code: npt.NDArray[np.int8] = read_only(kind[order].astype(np.int8))
        self.job: Int64 = read_only(jobs[order].astype(np.int64, copy=False))
        self._trace = trace

    def __len__(self) -> int:
        return len(self.time_us)

    def __repr__(self) -> str:
        counts = np.bincount(self.kind_code, minlength=len(KINDS)).tolist()
        shown = ", ".join(f"{n:,} {kind}" for kind, n in zip(KINDS, counts, strict=True) if n)
        return f"Events({shown})"

    @property
    def time_s(self) -> Float64:
        """Time of the event, seconds."""
        return us_to_seconds(self.time_us)

    @cached_property
    def kind(self) -> AnyArray:
        """``finish``, ``kill``, ``cancel``, ``interrupt``, ``fail``, ``arrival``, ``reject``,
        ``release``, ``preempt``, ``start``, ``resume`` or ``resize``.
        """
        return read_only(np.array(KINDS)[self.kind_code])

    def to_polars(self) -> polars.DataFrame:
        """Return ``time_s``, ``kind``, ``job`` (JobId), ``id`` and ``gpus`` as a Polars frame."""
        ids = self._trace.id
        names = polars.Series(ids.tolist() if ids.dtype.kind == "U" else ids)
        return polars.DataFrame(
            {
                "time_s": self.time_s,
                "kind": polars.Series(KINDS, dtype=polars.String).gather(self.kind_code),
                "job": self.job,
                "id": names.gather(self.job),
                "gpus": self._trace.gpus[self.job],
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class Level(Steps):
    """Rings on a link, or on the busiest link, over time; 0 before the first step.

    Attributes
    ----------
    rings
        int64; means over each step, in float64, if resampled.
    """

    rings: AnyArray


@dataclass(frozen=True, eq=False)
class LinkUse(FrozenColumns):
    """The links ever used, one entry each, by number.

    ``link``: int64: number of the link, see :class:`Contention`.
    ``max_rings``: int64: most rings at a time.
    ``mean_rings``: time-weighted mean number of rings while in use.
    ``used_s``, ``contended_s``: seconds with at least one ring, and with two or more.
    """

    link: Int64
    max_rings: Int64
    mean_rings: Float64
    used_s: Float64
    contended_s: Float64

    def __len__(self) -> int:
        return len(self.link)


class Contention:
    """The contention levels of all links.

    Link ``s`` is the NIC of server ``s``; link ``num_servers + d`` is the uplink of domain ``d``
    (the root has none). A million jobs take a few seconds. A cluster that is one pool has no links.

    Parameters
    ----------
    cluster
        Its domains, if any, add the uplinks.
    rows
        The interval log, :attr:`Result.intervals <gpusched.Result.intervals>`.
    """

    def __init__(self, cluster: Cluster, rows: Mapping[str, AnyArray]) -> None:
        self._cluster = cluster
        job, start_us, end_us, ring, link = _rings(cluster, rows)
        self.num_rings = len(start_us)
        """Intervals in which a job spanned two or more servers."""
        self.jobs: Int64 = np.unique(job)
        """JobIds of the jobs that ever were a ring, ascending."""
        self._link, self._time_us, self._rings = _levels(start_us[ring], end_us[ring], link)
        begins = np.flatnonzero(np.diff(self._link, prepend=-1))
        self._begins: Int64 = np.append(begins, len(self._link)).astype(np.int64)

    def __repr__(self) -> str:
        return (
            f"Contention({self.num_rings:,} rings on {len(self.links):,} links, "
            f"{self.num_contended:,} of them shared, at most {self.max_level} on one)"
        )

    def name(self, link: int) -> str:
        """Return ``server 3`` or ``uplink of rack 1``."""
        num_servers, domains = self._cluster.num_servers, self._cluster.domains
        if not 0 <= link < num_servers + len(domains):
            raise IndexError(f"link {link}: must lie in 0..{num_servers + len(domains) - 1}")
        if link < num_servers:
            return f"server {link}"
        return f"uplink of {domains[link - num_servers].name}"

    def level(self, link: int) -> Level:
        """Return the number of rings on ``link`` over time; no steps if it was never used."""
        self.name(link)
        begin, end = np.searchsorted(self._link, (link, link + 1))
        return Level(us_to_seconds(self._time_us[begin:end]), read_only(self._rings[begin:end]))

    @cached_property
    def busiest(self) -> Level:
        """The most rings on any one link over time."""
        # N links have at least k rings; the maximum is the number of k with positive N.
        before = np.concatenate(([0], self._rings[:-1]))
        before[self._begins[:-1]] = 0
        change = self._rings - before
        height = np.abs(change)
        offset = np.arange(height.sum()) - np.repeat(np.cumsum(height) - height, height)
        k = np.repeat(np.minimum(before, self._rings), height) + offset
        sign = np.repeat(np.sign(change), height)
        _, time_us, num_links = accumulate(k, np.repeat(self._time_us, height), sign)
        is_positive = (num_links > 0).astype(np.int64)
        switch = np.diff(is_positive, prepend=0)  # for every k, the last is 0
        _, time_us, rings = accumulate(np.zeros_like(time_us), time_us, switch)
        return Level(us_to_seconds(time_us), read_only(rings))

    @cached_property
    def links(self) -> LinkUse:
        """The use and sharing of each link."""
        begins, used = self._begins[:-1], self._rings > 0
        if not len(begins):
            none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
            return LinkUse(none, none, nothing, nothing, nothing)
        # The last step of a link has no rings, so the time after it does not count.
        length_us = np.diff(self._time_us, append=0)
        used_us = np.add.reduceat(np.where(used, length_us, 0), begins)
        shared_us = np.add.reduceat(np.where(self._rings > 1, length_us, 0), begins)
        ring_us = np.add.reduceat(
            np.where(used, length_us.astype(np.float64), 0) * self._rings, begins
        )
        return LinkUse(
            link=self._link[begins],
            max_rings=np.maximum.reduceat(self._rings, begins),
            mean_rings=ring_us / used_us,
            used_s=us_to_seconds(used_us),
            contended_s=us_to_seconds(shared_us),
        )

    @property
    def num_contended(self) -> int:
        """Number of links ever used by two or more rings at a time."""
        return int(np.count_nonzero(self.links.max_rings > 1))

    @property
    def max_level(self) -> int:
        """Most rings on any link at a time."""
        return int(self.links.max_rings.max(initial=0))

    @property
    def mean_level(self) -> float:
        """Mean number of rings over all links, each while in use; NaN if no link was used."""
        used_s = self.links.used_s
        total_s = float(np.sum(used_s))
        return float(np.dot(self.links.mean_rings, used_s)) / total_s if total_s else np.nan

    def to_polars(self) -> polars.DataFrame:
        """Return :attr:`links` as a Polars frame, with their names."""
        columns: dict[str, Any] = {"link": self.links.link}
        columns["name"] = [self.name(link) for link in self.links.link.tolist()]
        for column in ("max_rings", "mean_rings", "used_s", "contended_s"):
            columns[column] = getattr(self.links, column)
        return polars.DataFrame(columns)


def _rings(
    cluster: Cluster, rows: Mapping[str, AnyArray]
) -> tuple[Int64, Int64, Int64, Int64, Int64]:
    """Return job, start and end of each ring, and pairs (ring, link) of the links it uses."""
    first, _ = whole_intervals(rows)
    span = np.diff(first, append=len(rows["job"]))
    spread = span > 1
    job, start_us, end_us = (
        rows[column][first[spread]] for column in ("job", "start_us", "end_us")
    )
    ring = np.repeat(np.arange(len(start_us)), span[spread])
    row = np.repeat(spread, span)
    server = rows["server"][row]
    of_server, parent = cluster.server_domain, cluster.domain_parent
    if of_server is None or parent is None:
        return job, start_us, end_us, ring, server
    gpus = np.bitwise_count(rows["mask"][row]).astype(np.int64)
    crossing, domain = _crossings(ring, of_server[server], gpus, parent)
    return (
        job,
        start_us,
        end_us,
        np.concatenate((ring, crossing)),
        np.concatenate((server, cluster.num_servers + domain)),
    )


def _crossings(ring: Int64, domain: Int32, gpus: Int64, parent: Int32) -> tuple[Int64, Int64]:
    """Return pairs (ring, domain) in which the domain holds some, but not all, of its GPUs.

    ``ring``, ``domain``, ``gpus``: for each ring and server: the ring, the domain of the server,
        and the ring's GPUs there.
    ``parent``: the domain above each domain, -1 above the root.
    """
    width = np.bincount(ring, gpus)
    rings, domains, inside = [], [], []
    above, left = domain.astype(np.int64), np.arange(len(ring))
    while len(left):
        rings.append(ring[left])
        domains.append(above)
        inside.append(gpus[left])
        above = parent[above].astype(np.int64)
        left, above = left[above >= 0], above[above >= 0]
    if not rings:
        return ring, ring
    key = np.concatenate(rings) * len(parent) + np.concatenate(domains)
    key, where = np.unique(key, return_inverse=True)
    held = np.bincount(where, np.concatenate(inside))
    crosses = held < width[key // len(parent)]
    return key[crosses] // len(parent), key[crosses] % len(parent)


def _levels(start_us: Int64, end_us: Int64, link: Int64) -> tuple[Int64, Int64, Int64]:
    """Return the steps (link, time, rings) of each link, sorted by link and time."""
    ones = np.ones(len(link), dtype=np.int64)
    return accumulate(
        np.concatenate((link, link)),
        np.concatenate((start_us, end_us)),
        np.concatenate((ones, -ones)),
    )
