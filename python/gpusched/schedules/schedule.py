"""The schedule of a run: its columns, codes and digest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, freeze_columns, read_only
from gpusched.base.ticks import US_PER_S

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

FINISHED: Final = 0
REJECTED: Final = 1
UNFINISHED: Final = 2
CANCELLED: Final = 3
KILLED: Final = 4
FAILED: Final = 5
STATUSES: Final = ("finished", "rejected", "unfinished", "cancelled", "killed", "failed")
"""Final status of a job. An unfinished one was waiting or running at the end, a killed one reached
its time limit, and a failed one was interrupted more often than it may be requeued."""

NOT_QUEUED: Final = -1
NEVER: Final = -2
"""In ``eligible_us``: the job did not join the queue, and its dependencies can never be met."""

UNKNOWN_TO_SPEED: Final = "the speed knows no configuration for it"
REJECT_REASONS: Final = (
    "",
    "no server has an allowed GPU type",
    "needs more GPUs than the cluster has",
    "the placement refuses it on an empty cluster",
    UNKNOWN_TO_SPEED,
    "needs more servers with gpus_per_node GPUs than the cluster has",
)

INTERVAL_COLUMNS: Final[dict[str, type[np.generic]]] = {
    "job": np.int64,
    "start_us": np.int64,
    "end_us": np.int64,
    "server": np.int64,
    "mask": np.uint64,
}

UInt8 = npt.NDArray[np.uint8]


class Schedule(Protocol):
    """The outcome of one run as columns in JobId order, times in integer microseconds.

    -1 is an event that did not happen. ``paid_us`` is the part of ``held_us`` (time with GPUs)
    spent on restart costs; ``num_servers`` counts the servers of the last allocation, 0 without one
    or if the cluster is one pool.

    ``uncontended_us`` (float64) is the time of a job's runs on the same allocations without shared
    links and restart costs: the sum over its runs of the work done over the speed without
    contention. It is empty if run times are fixed, when it equals ``held_us - paid_us -
    written_us``.

    ``resizes`` counts the changes of a running job's GPUs without a stop.

    ``failures`` counts the times that a failing server interrupted a job, ``lost_us`` is the part
    of ``held_us`` whose work was lost, and ``written_us`` that in which checkpoints were written.
    They are empty if the run has no outages, time limits or checkpoints.

    ``eligible_us`` is when the job joined the queue: its submission, unless it was held. It is
    ``NOT_QUEUED`` if the job was rejected or still held at the end, and ``NEVER`` if its
    dependencies can never be met; empty if no job of the run can be held or has a cancel time.
    """

    @property
    def start_us(self) -> Int64: ...
    @property
    def finish_us(self) -> Int64: ...
    @property
    def held_us(self) -> Int64: ...
    @property
    def paid_us(self) -> Int64: ...
    @property
    def preemptions(self) -> Int32: ...
    @property
    def resizes(self) -> Int32: ...
    @property
    def num_servers(self) -> Int32: ...
    @property
    def status(self) -> UInt8: ...
    @property
    def reason(self) -> UInt8: ...
    @property
    def uncontended_us(self) -> Float64: ...
    @property
    def failures(self) -> Int32: ...
    @property
    def lost_us(self) -> Int64: ...
    @property
    def written_us(self) -> Int64: ...
    @property
    def eligible_us(self) -> Int64: ...
    @property
    def digest(self) -> str: ...
    @property
    def counters(self) -> Mapping[str, int]: ...
    @property
    def warnings(self) -> Sequence[str]: ...

    def intervals(self) -> Mapping[str, AnyArray]:
        """Return one row per server and interval in which a job holds GPUs there.

        The columns are read-only and those of ``INTERVAL_COLUMNS``, sorted by (job, start,
        server); server -1 and mask 0 if the cluster is one pool.
        """
        ...

    def decisions(self) -> Mapping[str, Any]:
        """Return one row per admission decision, in order.

        The columns are those of ``DECISION_COLUMNS``, empty for policies without admission.
        ``type`` is the scarcest GPU type from ``from_us`` to ``until_us``, -1 for none.
        """
        ...


SCHEDULE_COLUMNS: Final[dict[str, type[np.generic]]] = {
    "start_us": np.int64,
    "finish_us": np.int64,
    "held_us": np.int64,
    "paid_us": np.int64,
    "preemptions": np.int32,
    "resizes": np.int32,
    "num_servers": np.int32,
    "status": np.uint8,
    "reason": np.uint8,
}
FAILURE_COLUMNS: Final[dict[str, type[np.generic]]] = {
    "failures": np.int32,
    "lost_us": np.int64,
    "written_us": np.int64,
}
# Empty in many runs, see Schedule.
OPTIONAL_COLUMNS: Final[dict[str, type[np.generic]]] = {
    "uncontended_us": np.float64,
    **FAILURE_COLUMNS,
    "eligible_us": np.int64,
}
DECISION_COLUMNS: Final[dict[str, type[np.generic]]] = {
    "job": np.int64,
    "time_us": np.int64,
    "admitted": np.uint8,
    "cost": np.float64,
    "value": np.float64,
    "payoff": np.float64,
    "reason": np.str_,
    "type": np.int32,
    "from_us": np.int64,
    "until_us": np.int64,
}


@dataclass(frozen=True, eq=False)
class StoredSchedule:
    """A :class:`Schedule` of arrays, e.g. read from a file."""

    start_us: Int64
    finish_us: Int64
    held_us: Int64
    paid_us: Int64
    preemptions: Int32
    resizes: Int32
    num_servers: Int32
    status: UInt8
    reason: UInt8
    rows: Mapping[str, AnyArray]
    digest: str
    counters: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    uncontended_us: Float64 = field(default_factory=lambda: np.empty(0))
    failures: Int32 = field(default_factory=lambda: np.empty(0, np.int32))
    lost_us: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    written_us: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    eligible_us: Int64 = field(default_factory=lambda: np.empty(0, np.int64))
    decision_rows: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, schedule: Schedule) -> StoredSchedule:
        """Copy the arrays of any schedule."""
        columns = {name: getattr(schedule, name) for name in (*SCHEDULE_COLUMNS, *OPTIONAL_COLUMNS)}
        return cls(
            **columns,
            rows=dict(schedule.intervals()),
            digest=schedule.digest,
            counters=dict(schedule.counters),
            warnings=tuple(schedule.warnings),
            decision_rows=dict(schedule.decisions()),
        )

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)
        for name in ("rows", "decision_rows"):
            table = {column: _frozen(values) for column, values in getattr(self, name).items()}
            object.__setattr__(self, name, table)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"eligible_us": np.empty(0, np.int64)} | state)  # old ones lack it
        self.__post_init__()  # a pickle loses NumPy's read-only flag

    def decisions(self) -> Mapping[str, Any]:
        """Return the decision rows."""
        empty = {name: np.empty(0, dtype) for name, dtype in DECISION_COLUMNS.items()}
        return {**empty, **self.decision_rows}

    def intervals(self) -> Mapping[str, AnyArray]:
        """Return the interval rows."""
        return dict(self.rows)


def contention_excess_us(schedule: Schedule) -> Float64:
    """Return the time that each job lost to shared links, microseconds.

    ``held - paid - uncontended``; 0 under fixed run times. An excess of at most a microsecond
    counts as 0, as the finish is rounded up.
    """
    if not len(schedule.uncontended_us):
        return np.zeros(len(schedule.held_us))
    excess: Float64 = (schedule.held_us - schedule.paid_us) - schedule.uncontended_us
    return np.where(excess > 1.0, excess, 0.0)


def contention_slowdown(schedule: Schedule) -> Float64:
    """Return each job's slowdown from shared links.

    ``(held - paid) / uncontended``, and 1 without excess, as for every job under fixed run times.
    NaN for a job that never ran, or only paid restart costs.
    """
    slowdown = np.where(schedule.start_us >= 0, 1.0, np.nan)
    if len(schedule.uncontended_us):
        alone_us = np.where(schedule.uncontended_us > 0, schedule.uncontended_us, np.nan)
        slowdown += contention_excess_us(schedule) / alone_us
    return slowdown


def digest_of(rows: Mapping[str, AnyArray], status: AnyArray, reason: AnyArray) -> str:
    """Return the SHA-256 of the interval rows and the rejects' (job, reason), as hexadecimal text.

    All numbers are little-endian 64-bit integers; the rows keep their order.
    """
    sha = hashlib.sha256()
    rejects = np.flatnonzero(np.asarray(status) == REJECTED)
    _feed(sha, [rows[name] for name in INTERVAL_COLUMNS])
    _feed(sha, [rejects, np.asarray(reason)[rejects]])
    return sha.hexdigest()


def _frozen(values: Any) -> Any:
    return read_only(values) if isinstance(values, np.ndarray) else values


def _feed(sha: Any, columns: Sequence[AnyArray]) -> None:
    step = 1 << 18  # rows at a time: the table is never built as a whole
    for begin in range(0, len(columns[0]), step):
        part = [column[begin : begin + step] for column in columns]
        table = np.empty((len(part[0]), len(part)), "<i8")
        for place, column in enumerate(part):
            table[:, place] = column.astype("<i8", copy=False)
        sha.update(table)


def widths_of(rows: Mapping[str, AnyArray], first: Int64, gpus: Int32) -> Int64:
    """Return the GPUs of each interval that begins at a row of ``first``; in a pool, the job's.

    ``gpus``: GPUs of each job, int32[num_jobs].
    """
    if len(first) == 0:
        return np.empty(0, dtype=np.int64)
    held = np.bitwise_count(rows["mask"]).astype(np.int64)
    pooled = rows["server"] < 0
    if pooled.any():
        held = np.where(pooled, gpus[rows["job"]], held)
    widths: Int64 = np.add.reduceat(held, first)
    return widths


def whole_intervals(rows: Mapping[str, AnyArray]) -> tuple[Int64, Bool]:
    """Find the rows that begin an interval; a multi-server job has one row per server.

    Index of the first row of each interval, and whether that interval is its job's first.
    """
    job: Any = rows["job"]
    if len(job) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    other_job = np.concatenate(([True], job[1:] != job[:-1]))
    begins = other_job.copy()
    begins[1:] |= np.diff(rows["start_us"]) != 0
    first = np.flatnonzero(begins).astype(np.int64, copy=False)
    return first, other_job[first]


def over_us(schedule: Schedule, rows: Mapping[str, AnyArray]) -> Int64:
    """Return when each job finished, was killed or failed; -1 for others.

    ``rows``: the interval log.
    """
    ends_us: Int64 = np.array(schedule.finish_us)
    job = rows["job"]
    last = np.append(job[1:] != job[:-1], True)[: len(job)]
    ended = last & np.isin(np.asarray(schedule.status)[job], (KILLED, FAILED))
    ends_us[job[ended]] = rows["end_us"][ended]
    return ends_us


_CANCELLED: Final = re.compile(r"job (\d+) was cancelled at (\d+(?:\.\d+)?) s")


def cancelled_us(trace: Trace, schedule: Schedule) -> Int64:
    """Return when its user cancelled each job that has the status; -1 for others.

    The time is that of the trace's ``cancel_at_s``, or of a warning of an open run.
    """
    is_cancelled = np.asarray(schedule.status) == CANCELLED
    found = np.full(len(trace), -1, np.int64)
    if trace.cancel_at_us is not None:
        found[is_cancelled] = trace.cancel_at_us[is_cancelled]
    for said in filter(None, map(_CANCELLED.fullmatch, schedule.warnings)):
        if int(said[1]) < len(trace) and is_cancelled[int(said[1])]:
            found[int(said[1])] = int(Decimal(said[2]) * US_PER_S)
    return found
