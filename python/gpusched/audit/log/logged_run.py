"""The log of a run by rows, by intervals and by jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.log.log_format import LOG_COLUMNS
from gpusched.audit.log.moments import Moments
from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace


class LoggedRun:
    """What follows from the log and the jobs alone.

    An *interval* is a stretch of time in which a job holds a set of GPUs; it has one row per
    server in the log.

    Attributes
    ----------
    num_jobs
        Jobs of the trace.
    columns
        The log as it stands.
    has_one_row_each
        Whether each row is of a later job than the one before: then all are in order.
    handed_over_us
        When other policies took over, see :meth:`hand_over`.
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
        """Have other policies take over at these times, ascending, each at its instant.

        All that runs is preempted there. A job that goes on with its GPUs has one row in the log
        for what are two intervals, and has two from here on.
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
        """The least and the greatest job of a log that has any."""
        job = self.columns["job"]
        if self.has_one_row_each:
            return job.item(0), job.item(-1)
        return int(job.min()), int(job.max())

    @kept
    def is_in_order(self) -> bool:
        """Whether the log stands in that order, as it should."""
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
        """The log, in order."""
        if self.is_in_order:
            return self.columns
        return {name: column[self.order] for name, column in self.columns.items()}

    @kept
    def continues(self) -> Bool:
        """Whether each row but the first is of the same interval as the one before."""
        job, start_us = self.rows["job"], self.rows["start_us"]
        continues: Bool = (job[1:] == job[:-1]) & (start_us[1:] == start_us[:-1])
        return continues

    @kept
    def first(self) -> Int64:
        """The first row of each interval."""
        if self.has_one_row_each:
            return np.arange(len(self.rows["job"]))
        return _first(self.continues, len(self.rows["job"]))

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
        """How long each interval lasts."""
        lasts_us: Int64 = self.end_us - self.start_us
        return lasts_us

    def _of_intervals(self, name: str) -> Int64:
        column = self.rows[name]
        return column if self.has_one_row_each else column[self.first]

    @kept
    def resumes(self) -> Bool:
        """Whether each interval but the first is of the same job as the one before."""
        resumes: Bool = self.job[1:] == self.job[:-1]
        return resumes

    @kept
    def opens(self) -> Int64:
        """The first interval of each job that has one."""
        if self.has_one_row_each:
            return self.first
        return _first(self.resumes, len(self.job))

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
        """The jobs that have an interval."""
        return self.job[self.opens] if len(self.resumed) else self.job

    @kept
    def has_run(self) -> Bool:
        """Which jobs of the trace have one."""
        return self.of_jobs(np.ones(len(self.opens), np.bool_), False)

    @kept
    def first_start_us(self) -> Int64:
        """When each job of the trace starts for the first time; -1: never."""
        first = self.start_us[self.opens] if len(self.resumed) else self.start_us
        return self.of_jobs(first, -1)

    @kept
    def last_end_us(self) -> Int64:
        """When each job of the trace holds GPUs for the last time; -1: never."""
        last = self.end_us[self.closes] if len(self.resumed) else self.end_us
        return self.of_jobs(last, -1)

    @kept
    def is_resize(self) -> Bool:
        """Whether each interval begins where the one before of the same job ends.

        A job that was preempted waits for a microsecond at least, but where another policy takes
        over: all are preempted there, and may start anew at once.
        """
        follows = np.zeros(len(self.job), dtype=np.bool_)
        if len(self.resumed):
            follows[1:] = self.resumes & (self.start_us[1:] == self.end_us[:-1])
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
        """The intervals that begin with a restart: all but the first of a job."""
        if self.has_one_row_each:
            return np.empty(0, np.int64)
        return self.resumes.nonzero()[0] + 1

    @kept
    def since_us(self) -> Int64:
        """Since when each interval's job could have had it: its submit, or the next instant.

        Who is preempted does not start again at the same instant; who is resized does.
        """
        since_us = self.trace.submit_us[self.job]
        if len(self.resumed):
            since_us[self.resumed] = self.moments.next_us(self.end_us[self.resumed - 1])
        return since_us

    @kept
    def waits(self) -> Bool:
        """Whether each interval's job waited for it."""
        waits: Bool = self.since_us < self.start_us
        return waits

    @kept
    def any_waits(self) -> bool:
        """Whether any did."""
        return bool(np.count_nonzero(self.waits))

    @kept
    def num_intervals(self) -> Int64:
        """Intervals of each job of the trace."""
        return self.of_jobs(self.closes - self.opens + 1)

    @kept
    def num_breaks(self) -> Int64:
        """How often each job of the trace went on after a time without GPUs; -1: it never ran."""
        if not len(self.resumed):
            return self.of_jobs(np.zeros(len(self.ran), np.int64), -1)
        breaks: Int64 = self.num_intervals - self.num_resizes - 1
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
        return Moments(submit_us, self.first_start_us != submit_us, self.start_us, self.end_us)

    def before(self, values: Int64) -> Int64:
        """Add up a value of each interval over those of the same job before it."""
        total = np.cumsum(values) - values
        sizes = np.diff(np.append(self.opens, len(values)))
        before: Int64 = total - np.repeat(total[self.opens], sizes)
        return before

    def per_job(self, values: Int64) -> Int64:
        """Add up a value of each interval for each job of the trace."""
        if len(self.resumed):
            values = np.add.reduceat(values, self.opens)
        return self.of_jobs(values)

    def of_jobs(self, values: AnyArray, fill: int = 0) -> AnyArray:
        """Spread a value of each job that ran over the jobs of the trace."""
        if len(values) == self.num_jobs:
            return values
        spread = np.full(self.num_jobs, fill, values.dtype)
        spread[self.ran] = values
        return spread


def _first(continues: Bool, size: int) -> Int64:
    """Return where something begins that does not continue."""
    begins = np.empty(size, np.bool_)
    begins[:1] = True
    np.logical_not(continues, out=begins[1:])
    return begins.nonzero()[0]
