"""The evidence of an audit: the log by rows and by intervals, and what was found so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpusched.audit.declarations import Flags
from gpusched.audit.jobs_alike import JobsAlike
from gpusched.audit.log_format import (
    FINISHED,
    JOB_COLUMNS,
    LOG_COLUMNS,
    REJECT_REASONS,
    REJECTED,
)
from gpusched.audit.moments import Moments
from gpusched.audit.type_speeds import Measured
from gpusched.base.arrays import AnyArray, Bool, Float64, Int64

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.schedules.schedule import Schedule
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


def malformed(trace: Trace, schedule: Schedule, log: Mapping[str, AnyArray]) -> list[str]:
    """Return what makes the columns unreadable: lengths, job ids, codes."""
    problems = []
    num_jobs, num_rows = len(trace), len(log["job"])
    for name in LOG_COLUMNS:
        if np.shape(log[name]) != (num_rows,):
            problems.append(f"malformed log: {name} has shape {np.shape(log[name])}")
    for name in JOB_COLUMNS:
        if np.shape(getattr(schedule, name)) != (num_jobs,):
            problems.append(f"malformed columns: {name} is not one value per job")
    job = np.asarray(log["job"])
    if num_rows and not 0 <= job.min() <= job.max() < num_jobs:
        problems.append(f"malformed log: it names a job beyond the {num_jobs:,} of the trace")
    if not problems and np.max(schedule.reason) >= len(REJECT_REASONS):
        problems.append(f"malformed columns: reason {np.max(schedule.reason)} is not known")
    return problems


@dataclass
class Case:
    """One schedule under examination.

    An *interval* is a stretch of time in which a job holds a set of GPUs; it has one row per
    server in the log. ``flags`` are what the registry declares; ``measured`` is what is known of a
    speed by figures per GPU type, None of all others.
    """

    trace: Trace
    cluster: Cluster
    spec: RunSpec
    schedule: Schedule
    log: Mapping[str, AnyArray]
    flags: Flags
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    measured: Measured | None = None

    def report(self, rule: str, broken: Bool, describe: Callable[[int], str]) -> None:
        """Note the first index at which the ``rule`` is ``broken``, and count the others."""
        if np.count_nonzero(broken):
            cases = np.flatnonzero(broken)
            others = f" (and {len(cases) - 1:,} more)" if len(cases) > 1 else ""
            self.problems.append(f"{rule}: {describe(int(cases[0]))}{others}")

    @cached_property
    def server_gpus(self) -> Int64:
        """GPUs of each server."""
        return self.cluster.server_gpus.astype(np.int64)

    @cached_property
    def server_type(self) -> Int64:
        """Index of each server's GPU type among the cluster's."""
        return self.cluster.server_type.astype(np.int64)

    @property
    def pooled(self) -> bool:
        """Whether the cluster is one pool of GPUs without servers."""
        return self.flags.is_pooled

    @cached_property
    def order(self) -> Int64:
        """Rows by (job, start, server)."""
        if self.is_in_order:
            return np.arange(len(self.log["job"]))
        order: Int64 = np.lexsort((self.log["server"], self.log["start_us"], self.log["job"]))
        return order

    @cached_property
    def is_in_order(self) -> bool:
        """Whether the log stands in that order, as it should."""
        is_after = np.zeros(max(0, len(self.log["job"]) - 1), dtype=np.bool_)
        is_equal = ~is_after
        for name in ("job", "start_us", "server"):
            column = np.asarray(self.log[name])
            before, after = column[:-1], column[1:]
            is_after |= is_equal & (before > after)
            is_equal &= before == after
        return not is_after.any()

    @cached_property
    def rows(self) -> dict[str, AnyArray]:
        """The log, in order."""
        log = {name: np.asarray(self.log[name]) for name in LOG_COLUMNS}
        if self.is_in_order:
            return log
        return {name: column[self.order] for name, column in log.items()}

    @cached_property
    def first(self) -> Int64:
        """The first row of each interval."""
        begins = np.diff(self.rows["job"], prepend=-1) != 0
        begins[1:] |= np.diff(self.rows["start_us"]) != 0
        return np.flatnonzero(begins).astype(np.int64, copy=False)

    @cached_property
    def job(self) -> Int64:
        """The job of each interval."""
        return self.rows["job"][self.first]

    @cached_property
    def start_us(self) -> Int64:
        """The start of each interval."""
        return self.rows["start_us"][self.first]

    @cached_property
    def end_us(self) -> Int64:
        """The end of each interval."""
        return self.rows["end_us"][self.first]

    @cached_property
    def opens(self) -> Int64:
        """The first interval of each job that has one."""
        return np.flatnonzero(np.diff(self.job, prepend=-1)).astype(np.int64, copy=False)

    @cached_property
    def closes(self) -> Int64:
        """The last interval of each job that has one."""
        return np.append(self.opens, len(self.job))[1:] - 1

    @cached_property
    def ran(self) -> Int64:
        """The jobs that have an interval."""
        return self.job[self.opens]

    @cached_property
    def width(self) -> Int64:
        """The GPUs held in each interval; the job's own number in a pool."""
        if self.pooled or not len(self.first):
            return self.trace.gpus[self.job].astype(np.int64)
        held = np.bitwise_count(self.rows["mask"]).astype(np.int64)
        width: Int64 = np.add.reduceat(held, self.first)
        return width

    @cached_property
    def is_resize(self) -> Bool:
        """Whether each interval begins where the one before of the same job ends.

        A job that was preempted waits for a microsecond at least.
        """
        follows = np.zeros(len(self.job), dtype=np.bool_)
        same = self.job[1:] == self.job[:-1]
        follows[1:] = same & (self.start_us[1:] == self.end_us[:-1])
        return follows

    @cached_property
    def num_resizes(self) -> Int64:
        """Resizes of each job of the trace."""
        return self.per_job(self.is_resize.astype(np.int64))

    @cached_property
    def resumed(self) -> Bool:
        """Whether each interval begins with a restart: all but the first of a job."""
        resumed = np.ones(len(self.job), dtype=np.bool_)
        resumed[self.opens] = False
        return resumed

    @cached_property
    def share(self) -> Float64:
        """The part of a GPU that each worker of each job of the trace holds."""
        milli = self.trace.share_milli
        return np.ones(len(self.trace)) if milli is None else milli / 1000.0

    @cached_property
    def num_intervals(self) -> Int64:
        """Intervals of each job of the trace."""
        return np.bincount(self.job, minlength=len(self.trace)).astype(np.int64, copy=False)

    @cached_property
    def held_us(self) -> Int64:
        """Time with GPUs of each job of the trace."""
        return self.per_job(self.end_us - self.start_us)

    @cached_property
    def finished(self) -> Bool:
        """The jobs of the trace that are said to be finished."""
        finished: Bool = np.asarray(self.schedule.status) == FINISHED
        return finished

    @cached_property
    def interval_of_row(self) -> Int64:
        """The interval of each row of the log."""
        begins = np.zeros(len(self.rows["job"]), np.int64)
        begins[self.first] = 1
        return np.cumsum(begins) - 1

    @cached_property
    def alike(self) -> JobsAlike:
        """The jobs by what they ask for."""
        return JobsAlike.of(self.trace, self.cluster, self.measured)

    @cached_property
    def moments(self) -> Moments:
        """The instants of the log."""
        return Moments(
            self.trace.submit_us,
            self.start_us,
            self.end_us,
            self.rows,
            self.interval_of_row,
            self.server_gpus,
        )

    @cached_property
    def rejected(self) -> Bool:
        """The jobs of the trace that are said to be rejected."""
        rejected: Bool = np.asarray(self.schedule.status) == REJECTED
        return rejected

    @property
    def interacts(self) -> bool:
        """Whether rates depend on who else is on a link."""
        return self.flags.interacts

    @cached_property
    def predicted_us(self) -> Int64 | None:
        """What policies take for the services, at least a microsecond; None if it is not known."""
        column = getattr(self.trace, self.flags.predicted) if self.flags.predicted else None
        return None if column is None else np.maximum(column, 1)

    def before(self, values: Int64) -> Int64:
        """Add up a value of each interval over those of the same job before it."""
        total = np.cumsum(values) - values
        sizes = np.diff(np.append(self.opens, len(values)))
        before: Int64 = total - np.repeat(total[self.opens], sizes)
        return before

    def per_job(self, values: Int64) -> Int64:
        """Add up a value of each interval for each job of the trace."""
        sums = np.zeros(len(self.trace), dtype=np.int64)
        if len(self.opens):
            sums[self.ran] = np.add.reduceat(values, self.opens)
        return sums
