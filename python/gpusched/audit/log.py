"""The log of a run for an audit: rows, intervals, jobs, instants, and GPUs held over time.

Columns and digest are written independently from the documentation, sharing nothing with code
that makes schedules.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.audit.downtimes import Downtimes
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept
from gpusched.reference.model import REJECTED

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace


LOG_COLUMNS: Final = ("job", "start_us", "end_us", "server", "mask")
"""In the order of the digest."""

JOB_COLUMNS: Final = (
    "start_us", "finish_us", "held_us", "paid_us", "preemptions", "resizes", "num_servers",
    "status", "reason",
)  # fmt: skip
"""One value per job."""

FAULT_COLUMNS: Final = ("failures", "lost_us", "written_us")
"""The same for runs with outages, limits or checkpoints; else they are empty."""

HOLD_COLUMNS: Final = ("eligible_us",)
"""The same for runs in which jobs may be held or cancelled."""

DECISION_COLUMNS: Final = frozenset((
    "job", "time_us", "admitted", "cost", "value", "payoff", "reason", "type", "from_us",
    "until_us",
))  # fmt: skip
"""One value per job with an admission decision."""

_ROWS_AT_A_TIME: Final = 2**18


def log_digest(log: Mapping[str, AnyArray], status: AnyArray, reason: AnyArray) -> str:
    """Return the SHA-256 of the rows of the log, then of (job, reason) of each reject.

    All as little-endian 64-bit integers, row by row in the given order.
    """
    sha = hashlib.sha256()
    for begin in range(0, len(log["job"]), _ROWS_AT_A_TIME):
        rows = slice(begin, begin + _ROWS_AT_A_TIME)
        _feed(sha, [log[name][rows] for name in LOG_COLUMNS])
    rejects = (np.asarray(status) == REJECTED).nonzero()[0]
    if len(rejects):
        _feed(sha, [rejects, np.asarray(reason)[rejects]])
    return sha.hexdigest()


def _feed(sha: Any, columns: Sequence[AnyArray]) -> None:
    words = np.empty((len(columns[0]), len(columns)), "<i8")
    words.T[...] = columns
    sha.update(words.data)


FEW: Final = 100
"""Up to so many pairs are sorted directly: packing would take longer."""
_BITS: Final = 63


def sorted_pairs(first: AnyArray, second: AnyArray) -> tuple[Int64, Int64]:
    """Sort pairs by their first number, equal ones by their second.

    Both columns in that order, int64.

    ``first``, ``second``: signed integers of at most 64 bits, equally many.
    """
    if len(first) <= FEW:
        order = np.lexsort((second, first))
        return first[order].astype(np.int64, copy=False), second[order].astype(np.int64)
    low, low_second = int(first.min()), int(second.min())
    bits = (int(second.max()) - low_second).bit_length()
    if (int(first.max()) - low).bit_length() + bits > _BITS:
        return _sorted_apart(first.astype(np.int64), second.astype(np.int64))
    packed = first.astype(np.int64)
    packed -= low
    packed <<= bits
    packed += second
    packed -= low_second
    packed.sort()
    low_bits = packed & ((1 << bits) - 1)
    low_bits += low_second
    packed >>= bits
    packed += low
    return packed, low_bits


def _sorted_apart(first: Int64, second: Int64) -> tuple[Int64, Int64]:
    """Sort pairs that do not fit into one number: by the first, then within ties by the second."""
    order = np.argsort(first)
    first, second = first[order], second[order]
    is_same = first[1:] == first[:-1]
    tied = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
    second[tied] = second[tied][np.lexsort((second[tied], first[tied]))]
    return first, second


# Before and after all instants.
_LIMITS: Final = np.iinfo(np.int64)
_BEFORE, _AFTER = np.array([_LIMITS.min]), np.array([_LIMITS.max])


@dataclass(frozen=True)
class Steps:
    """A step function: its value after each instant at which it changes.

    ``before``: value before the first instant.
    ``us``: the instants in microseconds, ascending.
    ``value``: value after each of them.
    """

    before: int
    us: Int64
    value: Int64

    @classmethod
    def of(cls, before: int, us: AnyArray, change: AnyArray) -> Steps:
        """Accumulate changes, given in any order."""
        us, change = sorted_pairs(us, change)
        value = np.cumsum(change)
        value += before
        is_last = np.ones(len(us), np.bool_)  # of its instant
        np.not_equal(us[1:], us[:-1], out=is_last[:-1])
        return cls(before, us[is_last], value[is_last])

    def spans(self, least: int) -> tuple[Int64, Int64]:
        """Return starts and ends of the times in which the value is ``least`` or more."""
        has = np.concatenate(([self.before >= least], self.value >= least))
        at = self.us[has[1:] != has[:-1]]
        at = np.concatenate((_BEFORE[: int(has[0])], at, _AFTER[: int(has[-1])]))
        bounds = at.reshape(-1, 2)
        return bounds[:, 0], bounds[:, 1]


@dataclass
class Moments:
    """The instants at which a job arrived, joined the queue, or got or released GPUs.

    ``submit_us``, ``is_late``: submit time of each job, and whether it starts at a later instant.
    ``start_us``, ``end_us``: of each interval.
    ``others_us``: other instants, in any order.
    """

    submit_us: Int64
    is_late: Bool
    start_us: Int64
    end_us: Int64
    others_us: Int64

    @kept
    def _changes(self) -> tuple[Int64, Int64]:
        """Times of events, ascending, and the change in the number of running jobs; ends first."""
        came_us = np.append(self.submit_us[self.is_late], self.others_us)
        num_late, num_intervals = len(came_us), len(self.start_us)
        more = np.zeros(num_late + 2 * num_intervals, np.int8)
        more[num_late:] = 1
        more[num_late + num_intervals :] = -1
        return sorted_pairs(np.concatenate((came_us, self.start_us, self.end_us)), more)

    @kept
    def _is_new(self) -> Bool:
        us, _ = self._changes
        is_new = np.ones(len(us), np.bool_)
        np.not_equal(us[1:], us[:-1], out=is_new[1:])
        return is_new

    @property
    def num_instants(self) -> int:
        """Number of instants."""
        us, _ = self._changes
        return min(len(us), 1) + int(np.count_nonzero(us[1:] != us[:-1]))

    @property
    def most_running(self) -> int:
        """Maximum number of running jobs between two instants."""
        _, more = self._changes
        return int(np.add.accumulate(more).max())

    @kept
    def us(self) -> Int64:
        """The instants in microseconds, ascending."""
        us, _ = self._changes
        return us[self._is_new]

    def of(self, times: AnyArray) -> Int64:
        """Return the indices of the instants."""
        return np.searchsorted(self.us, times).astype(np.int64, copy=False)

    def before(self, times: Int64) -> Int64:
        """Return the indices of the instants at, or last before, times from the first one on."""
        return np.searchsorted(self.us, times, side="right").astype(np.int64, copy=False) - 1

    def next_us(self, times: Int64) -> Int64:
        """Return the instants without waits before them, except the last."""
        return self.us[np.searchsorted(self.us, times, side="right")]

    @kept
    def ends(self) -> Int64:
        """The instant at which each interval ends."""
        return self.of(self.end_us)

    @kept
    def submits(self) -> Int64:
        """The instant at which each job of the trace arrives."""
        return self.of(self.submit_us)


class Occupancy:
    """An entry for each server and instant at which its allocation changes, in that order.

    ``rows``: rows of a log.
    ``server_gpus``: number of GPUs of each server.
    """

    def __init__(self, rows: Mapping[str, AnyArray], server_gpus: Int64) -> None:
        self._rows, self._server_gpus = rows, server_gpus

    @property
    def any_shared(self) -> bool:
        """Whether any GPU has two holders between two instants."""
        _, _, _, is_shared = self._changes
        # Usually none does after any change, and there is no need to find the last changes.
        return bool(np.count_nonzero(is_shared) and np.count_nonzero(is_shared & self._is_last))

    @kept
    def server(self) -> Int64:
        """Where."""
        server, _, _, _ = self._changes
        return server[self._is_last]

    @kept
    def us(self) -> Int64:
        """When."""
        _, us, _, _ = self._changes
        return us[self._is_last]

    @kept
    def free(self) -> Int64:
        """GPUs held after the instant; less if any has two holders."""
        _, _, held, _ = self._changes
        free: Int64 = self._server_gpus[self.server] - held[self._is_last]
        return free

    @kept
    def first(self) -> Int64:
        """The first entry of each server."""
        return np.flatnonzero(np.diff(self.server, prepend=-1))

    @kept
    def _changes(self) -> tuple[Int64, Int64, Int64, Bool]:
        """Where and when allocations change, the GPUs held afterwards, and whether any twice.

        By server and time, releases first. Masks are summed as numbers with a bit per GPU: the
        popcount of the sum equals the sum of popcounts if and only if no bit is set twice, as
        otherwise a carry occurs.
        """
        server, us, gpus, mask = _sorted_changes(self._rows)
        # All GPUs of a server are released in the end: 0 between servers.
        held = np.add.accumulate(gpus, dtype=np.int64)
        return server, us, held, np.bitwise_count(np.add.accumulate(mask)) != held

    @kept
    def _is_last(self) -> Bool:
        """Which changes are the last of a server and an instant."""
        server, us, _, _ = self._changes
        is_last = np.ones(len(us), np.bool_)
        np.not_equal(us[1:], us[:-1], out=is_last[:-1])
        is_last[:-1] |= server[1:] != server[:-1]
        return is_last


def _sorted_changes(rows: Mapping[str, AnyArray]) -> tuple[Int64, Int64, AnyArray, AnyArray]:
    """Return servers, times, GPUs and their masks in order of changes, negative if released."""
    server = np.concatenate((rows["server"], rows["server"])).astype(np.int64, copy=False)
    us = np.concatenate((rows["end_us"], rows["start_us"])).astype(np.int64, copy=False)
    if len(us) <= FEW:
        return _changes_apart(server, us, rows["mask"])
    low = int(us.min())
    bits = (int(us.max()) - low).bit_length()
    if int(server.max()).bit_length() + bits > 62:
        return _changes_apart(server, us, rows["mask"])
    key = ((server << bits) + (us - low)) << 1  # numbers sort many times as fast
    key[len(rows["mask"]) :] += 1
    mask = np.concatenate((rows["mask"], rows["mask"]))
    key, mask = sorted_pairs(key, mask.view(np.int64))
    is_release, mask = (key & 1) == 0, mask.view(np.uint64)
    gpus = np.bitwise_count(mask).astype(np.int8)
    np.negative(gpus, out=gpus, where=is_release)
    np.negative(mask, out=mask, where=is_release)
    key >>= 1
    return key >> bits, (key & ((1 << bits) - 1)) + low, gpus, mask


def _changes_apart(
    server: Int64, us: Int64, mask: AnyArray
) -> tuple[Int64, Int64, AnyArray, AnyArray]:
    order = np.lexsort((us, server))  # stable: releases stay first
    gpus = np.bitwise_count(mask).astype(np.int64)
    gpus = np.concatenate((-gpus, gpus))[order]
    return server[order], us[order], gpus, np.concatenate((np.negative(mask), mask))[order]


class LoggedRun:
    """Data derived from the log and the jobs alone.

    An *interval* is a stretch of time in which a job holds a set of GPUs; it has one row per
    server in the log.

    ``num_jobs``: jobs of the trace.
    ``columns``: the log in its given order.
    ``has_one_row_each``: whether each row has a later job than the one before: then it is sorted.
    ``handed_over_us``: times of changes of policy, see :meth:`hand_over`.
    """

    trace: Trace
    log: Mapping[str, AnyArray]
    handed_over_us: Int64

    def __post_init__(self) -> None:
        self.num_jobs = len(self.trace)
        self.handed_over_us = np.empty(0, np.int64)
        self.columns = {name: np.asarray(self.log[name]) for name in LOG_COLUMNS}
        job = self.columns["job"]
        self.has_one_row_each = not np.count_nonzero(job[1:] <= job[:-1])

    @kept
    def order(self) -> Int64:
        """Rows by (job, start, server)."""
        columns = self.columns
        if self.is_in_order:
            return np.arange(len(columns["job"]))
        order: Int64 = np.lexsort((columns["server"], columns["start_us"], columns["job"]))
        return order

    def hand_over(self, at_us: Sequence[int]) -> None:
        """Let other policies take over at these times, ascending, each at its instant.

        All running jobs are preempted then. A job that continues with its GPUs has one row in the
        log for two intervals, and gets two rows here.
        """
        self.handed_over_us = np.array(at_us, np.int64)
        is_in_order, rows = self.is_in_order, self.rows
        for us in sorted(set(at_us)):
            spans = (rows["start_us"] < us) & (us < rows["end_us"])
            tails = {name: column[spans] for name, column in rows.items()}
            tails["start_us"] = np.full_like(tails["start_us"], us)
            heads = rows | {"end_us": np.where(spans, us, rows["end_us"])}
            rows = {name: np.concatenate((heads[name], tails[name])) for name in rows}
        order = np.lexsort((rows["server"], rows["start_us"], rows["job"]))
        self.is_in_order, self.rows = is_in_order, {name: rows[name][order] for name in rows}
        job = self.rows["job"]
        self.has_one_row_each = not np.count_nonzero(job[1:] <= job[:-1])

    @property
    def job_range(self) -> tuple[int, int]:
        """The smallest and the largest job of a log that is not empty."""
        job = self.columns["job"]
        if self.has_one_row_each:
            return job.item(0), job.item(-1)
        return int(job.min()), int(job.max())

    @kept
    def is_in_order(self) -> bool:
        """Whether the log is sorted, as it should be."""
        if self.has_one_row_each:
            return True
        is_equal = np.ones(len(self.columns["job"]) - 1, np.bool_)
        is_after = ~is_equal
        for name in ("job", "start_us", "server"):
            column = self.columns[name]
            before, after = column[:-1], column[1:]
            is_after = is_after | is_equal & (before > after)
            is_equal = is_equal & (before == after)
        return not np.count_nonzero(is_after)

    @kept
    def rows(self) -> dict[str, AnyArray]:
        """The log, sorted."""
        if self.is_in_order:
            return self.columns
        return {name: column[self.order] for name, column in self.columns.items()}

    @kept
    def continues(self) -> Bool:
        """Whether each row except the first belongs to the same interval as the one before."""
        job, start_us = self.rows["job"], self.rows["start_us"]
        continues: Bool = (job[1:] == job[:-1]) & (start_us[1:] == start_us[:-1])
        return continues

    @kept
    def first(self) -> Int64:
        """The first row of each interval."""
        if self.has_one_row_each:
            return np.arange(len(self.rows["job"]))
        return _begins(self.continues, len(self.rows["job"]))

    @kept
    def job(self) -> Int64:
        """The job of each interval."""
        return self._of_intervals("job")

    @kept
    def start_us(self) -> Int64:
        """The start of each interval."""
        return self._of_intervals("start_us")

    @kept
    def end_us(self) -> Int64:
        """The end of each interval."""
        return self._of_intervals("end_us")

    @kept
    def lasts_us(self) -> Int64:
        """Length of each interval."""
        lasts_us: Int64 = self.end_us - self.start_us
        return lasts_us

    def _of_intervals(self, name: str) -> Int64:
        column = self.rows[name]
        return column if self.has_one_row_each else column[self.first]

    @kept
    def resumes(self) -> Bool:
        """Whether each interval except the first is of the same job as the one before."""
        resumes: Bool = self.job[1:] == self.job[:-1]
        return resumes

    @kept
    def opens(self) -> Int64:
        """The first interval of each job that has one."""
        if self.has_one_row_each:
            return self.first
        return _begins(self.resumes, len(self.job))

    @kept
    def closes(self) -> Int64:
        """The last interval of each job that has one."""
        if not len(self.resumed):
            return self.opens
        closes = np.empty_like(self.opens)
        closes[:-1] = self.opens[1:] - 1
        closes[-1:] = len(self.job) - 1
        return closes

    @kept
    def ran(self) -> Int64:
        """The jobs with an interval."""
        return self.job[self.opens] if len(self.resumed) else self.job

    @kept
    def has_run(self) -> Bool:
        """Which jobs of the trace have an interval."""
        return self.of_jobs(np.ones(len(self.opens), np.bool_), False)

    @kept
    def first_start_us(self) -> Int64:
        """First start of each job of the trace; -1: never."""
        first = self.start_us[self.opens] if len(self.resumed) else self.start_us
        return self.of_jobs(first, -1)

    @kept
    def last_end_us(self) -> Int64:
        """Last end of each job of the trace; -1: never."""
        last = self.end_us[self.closes] if len(self.resumed) else self.end_us
        return self.of_jobs(last, -1)

    @kept
    def fails(self) -> Downtimes:
        """Times in which servers have failed or are maintained."""
        return Downtimes(*np.empty((3, 0), np.int64))

    @property
    def queued_us(self) -> Int64:
        """When each job of the trace joined the queue."""
        return self.trace.submit_us

    @property
    def others_us(self) -> Int64:
        """Instants at which a job may have joined or left the queue, besides those of the log."""
        return np.empty(0, np.int64)

    @kept
    def meets_failure(self) -> Bool:
        """Whether an outage that interrupts jobs begins at its end on a server, and none before."""
        if not len(self.fails.server) or not len(self.job):
            return np.zeros(len(self.job), np.bool_)
        rows = self.rows
        next_us = self.fails.next_us(rows["server"], rows["start_us"])
        meets: Bool = np.logical_or.reduceat(next_us == rows["end_us"], self.first)
        return meets

    @kept
    def is_resize(self) -> Bool:
        """Whether each interval begins when the one before of the same job ends.

        A preempted job waits for at least a microsecond, except when another policy takes over: all
        jobs are preempted then, and may restart at once. So may a job whose server fails.
        """
        follows = np.zeros(len(self.job), dtype=np.bool_)
        if len(self.resumed):
            follows[1:] = self.resumes & (self.start_us[1:] == self.end_us[:-1])
            follows[1:] &= ~self.meets_failure[:-1]
        if len(self.handed_over_us):
            follows &= ~np.isin(self.start_us, self.handed_over_us)
        return follows

    @kept
    def num_resizes(self) -> Int64:
        """Resizes of each job of the trace."""
        if not len(self.resumed):
            return np.zeros(self.num_jobs, np.int64)
        return self.per_job(self.is_resize.astype(np.int64))

    @kept
    def resumed(self) -> Int64:
        """The intervals that begin with a restart: all except the first of a job."""
        if self.has_one_row_each:
            return np.empty(0, np.int64)
        return self.resumes.nonzero()[0] + 1

    @kept
    def since_us(self) -> Int64:
        """Earliest possible start of each interval: when the job is queued, or the next instant.

        A preempted job does not restart at the same instant; a resized one does, and one whose
        server failed may.
        """
        since_us = self.queued_us[self.job]
        if len(self.resumed):
            ends_us = self.end_us[self.resumed - 1]
            next_us = self.moments.next_us(ends_us)
            since_us[self.resumed] = np.where(
                self.meets_failure[self.resumed - 1], ends_us, next_us
            )
        return since_us

    @kept
    def waits(self) -> Bool:
        """Whether the job of each interval waited for it."""
        waits: Bool = self.since_us < self.start_us
        return waits

    @kept
    def any_waits(self) -> bool:
        """Whether any job waited."""
        return bool(np.count_nonzero(self.waits))

    @kept
    def num_intervals(self) -> Int64:
        """Number of intervals of each job of the trace."""
        return self.of_jobs(self.closes - self.opens + 1)

    @kept
    def num_breaks(self) -> Int64:
        """Resumes of each job of the trace after a preemption; -1: it never ran."""
        if not len(self.resumed):
            return self.of_jobs(np.zeros(len(self.ran), np.int64), -1)
        resumes = np.zeros(len(self.job), np.int64)
        resumes[self.resumed] = ~self.meets_failure[self.resumed - 1]
        breaks: Int64 = self.per_job(resumes) - self.num_resizes
        breaks[~self.has_run] = -1
        return breaks

    @property
    def last_rows(self) -> Int64:
        """The rows of the last interval of each job that has one."""
        if self.has_one_row_each:
            return np.ones(len(self.job), np.int64)
        ends = np.empty_like(self.closes)
        ends[:-1] = self.first[self.closes[:-1] + 1]
        ends[-1:] = len(self.rows["job"])
        return ends - self.first[self.closes]

    @kept
    def held_us(self) -> Int64:
        """Time with GPUs of each job of the trace."""
        return self.per_job(self.lasts_us)

    @kept
    def moments(self) -> Moments:
        """The instants of the log."""
        submit_us = self.trace.submit_us
        is_late = self.first_start_us != submit_us
        return Moments(submit_us, is_late, self.start_us, self.end_us, self.others_us)

    def before(self, values: AnyArray) -> AnyArray:
        """Sum a value over the earlier intervals of the same job, for each interval."""
        total = np.cumsum(values) - values
        sizes = np.diff(np.append(self.opens, len(values)))
        before: AnyArray = total - np.repeat(total[self.opens], sizes)
        return before

    def per_job(self, values: Int64) -> Int64:
        """Sum a value of each interval per job of the trace."""
        if len(self.resumed):
            values = np.add.reduceat(values, self.opens)
        return self.of_jobs(values)

    def of_jobs(self, values: AnyArray, fill: int = 0) -> AnyArray:
        """Extend a value of each job that ran to all jobs of the trace."""
        if len(values) == self.num_jobs:
            return values
        spread = np.full(self.num_jobs, fill, values.dtype)
        spread[self.ran] = values
        return spread


def _begins(continues: Bool, size: int) -> Int64:
    """Return the starts of what does not continue."""
    begins = np.empty(size, np.bool_)
    begins[:1] = True
    np.logical_not(continues, out=begins[1:])
    return begins.nonzero()[0]
