"""The evidence of an audit: declarations, the log, and the findings so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from gpusched.audit.declarations import Flags, RestartRule
from gpusched.audit.downtimes import Downtimes
from gpusched.audit.holds import Holds
from gpusched.audit.log import (
    FAULT_COLUMNS,
    HOLD_COLUMNS,
    JOB_COLUMNS,
    LoggedRun,
    Occupancy,
)
from gpusched.base.arrays import AnyArray, Bool, FrozenColumns, Int64, numbered
from gpusched.base.memo import Memo, kept
from gpusched.model.outages import FAIL, HITTING
from gpusched.reference.model import CANCELLED, FAILED, FINISHED, KILLED, REJECTED
from gpusched.traces.dependencies import holds_of

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.schedules.schedule import Schedule
    from gpusched.specs.run_spec import RunSpec
    from gpusched.traces.workload import Trace


class Measured(Protocol):
    """Classes of jobs under a speed with figures per GPU type.

    ``of_job``: the class of each job.
    ``allowed``: bool[classes, GPU types].
    ``can_run``: whether each class can run at its own number of GPUs.
    """

    of_job: Int64
    allowed: Bool
    can_run: Bool


# As arrays, which are several times as fast to add as numbers.
_ONE, _ONE_GPU = np.array(1), np.array(1, np.uint64)

UInt64 = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Servers(FrozenColumns):
    """Read-only columns with one value per server.

    ``gpus``: number of GPUs.
    ``type``: index of the GPU type among the cluster's.
    ``all_gpus``: mask of all GPUs, with a 0 before the first server and after the last one.
    """

    gpus: Int64
    type: Int64
    all_gpus: UInt64

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, cluster: Cluster) -> Servers:
        """Derive them from the description of the cluster."""
        gpus = cluster.server_gpus.astype(np.int64)
        masks = [0, *((1 << size) - 1 for size in gpus.tolist()), 0]
        return cls(gpus, cluster.server_type.astype(np.int64), np.array(masks, np.uint64))

    def lack(self, server: Int64, mask: AnyArray) -> Bool:
        """Return for each mask whether it is empty or has GPUs that the server lacks."""
        all_gpus = self.all_gpus.take(server + _ONE, mode="clip")
        # The GPUs of a server are the lowest bits; 0 - 1 wraps to more than any mask.
        lack: Bool = mask - _ONE_GPU >= all_gpus
        return lack


def allowed_by_set(trace: Trace, cluster: Cluster) -> Bool:
    """Return bool[type sets, GPU types]: the allowed types; one set if there is no restriction."""
    sets = ((),) if trace.type_set is None else trace.type_sets
    return np.array([[not names or t in names for t in cluster.gpu_types] for names in sets])


@dataclass(frozen=True)
class JobsAlike:
    """The jobs of a trace by their requests.

    ``kinds``: one row per class (row of ``allowed``, GPUs, thousandths of a GPU, thousandths of CPU
        cores, MiB, GPUs per server).
    ``of_job``: the class of each job.
    ``allowed``: bool[sets, GPU types].
    """

    kinds: list[list[int]]
    of_job: Int64
    allowed: Bool

    @classmethod
    def of(cls, trace: Trace, cluster: Cluster, measured: Measured | None) -> JobsAlike:
        """Classify the jobs, also by figures per GPU type if the speed has any."""
        if measured is None:
            allowed = allowed_by_set(trace, cluster)
            of_job = np.zeros(len(trace), np.int64) if trace.type_set is None else trace.type_set
        else:
            allowed, of_job = measured.allowed, measured.of_job
        asked = (trace.share_milli, trace.cpu_milli, trace.memory_mib, trace.gpus_per_node)
        kinds, kind_of_job = kinds_of([of_job, trace.gpus, *asked], [0, 1, 1000, 0, 0, 0])
        return cls(kinds, kind_of_job, allowed)

    @classmethod
    def known(cls, trace: Trace, cluster: Cluster, measured: Measured | None) -> JobsAlike:
        """Return the same, cached per trace."""
        key = (cluster, measured)
        return _known.of(trace, key, lambda: cls.of(trace, cluster, measured))

    @property
    def has_demands(self) -> bool:
        """Whether any job requests more than GPUs; else placements ignore the rest."""
        return any(kind[2] < 1000 or kind[3] > 0 or kind[4] > 0 for kind in self.kinds)


_known: Memo[Trace, JobsAlike] = Memo(2)


def kinds_of(
    columns: Sequence[AnyArray | None], missing: Sequence[int]
) -> tuple[list[list[int]], Int64]:
    """Classify rows of integers.

    The distinct rows, in no order, and the index of each job's row.

    ``columns``: each int64[num_jobs] or narrower; None means that all rows have the value
        ``missing``.
    """
    there = [column for column in columns if column is not None]
    kind_of_job = np.zeros(len(there[0]), dtype=np.int64)
    for column in there:
        known, number = numbered(column)
        if len(known) > 1:
            # Both factors are at most the number of rows: their product does not overflow.
            _, kind_of_job = numbered(kind_of_job * len(known) + number)
    one_of = np.zeros(int(kind_of_job.max()) + 1, dtype=np.int64)
    one_of[kind_of_job] = np.arange(len(kind_of_job))
    parts = [
        [absent] * len(one_of) if column is None else column[one_of].tolist()
        for column, absent in zip(columns, missing, strict=True)
    ]
    return [list(row) for row in zip(*parts, strict=True)], kind_of_job


_of_jobs = attrgetter(*JOB_COLUMNS)


@dataclass
class Case(LoggedRun):
    """A schedule under audit.

    ``flags`` are the registered ones; ``policies`` are the policies of the run in order, each with
    its flags; ``measured`` are the classes under a speed by figures per GPU type, else None;
    ``holds`` has when jobs were held or cancelled, None if none may be; ``cancelled`` when those
    were that warnings name. ``claimed`` are the
    columns of the schedule, with one value per job of the trace; those on failures are there if
    ``has_faults``, those on holds if ``has_holds``. ``finished`` marks the jobs claimed to be
    finished, ``num_finished`` their number.
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
    outages: Outages | None = None
    holds: Holds | None = None
    cancelled: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.policies: tuple[tuple[str, Flags], ...] = ((self.spec.policy, self.flags),)
        self.claimed = dict(zip(JOB_COLUMNS, map(np.asarray, _of_jobs(self.schedule)), strict=True))
        more = FAULT_COLUMNS * self.has_faults + HOLD_COLUMNS * self.has_holds
        self.claimed |= {name: np.asarray(getattr(self.schedule, name)) for name in more}
        self.finished: Bool = self.claimed["status"] == FINISHED
        self.num_finished = int(np.count_nonzero(self.finished))

    def report(self, rule: str, broken: Bool, describe: Callable[[int], str]) -> bool:
        """Report the first index at which the ``rule`` is ``broken``, and count the others.

        Return whether there is one.
        """
        cases = broken.nonzero()[0]
        if not len(cases):
            return False
        others = f" (and {len(cases) - 1:,} more)" if len(cases) > 1 else ""
        self.problems.append(f"{rule}: {describe(int(cases[0]))}{others}")
        return True

    @kept
    def servers(self) -> Servers:
        """The servers of the cluster."""
        return Servers.of(self.cluster)

    @kept
    def has_faults(self) -> bool:
        """Whether servers may fail, or jobs have limits or checkpoints."""
        columns = (self.trace.time_limit_us, self.trace.checkpoint_every_us)
        return self.has_outages or any(c is not None and (c > 0).any() for c in columns)

    @kept
    def hold_columns(self) -> Mapping[str, AnyArray]:
        """What holds or cancels the jobs; empty if nothing does."""
        return holds_of(self.trace).columns

    @property
    def has_holds(self) -> bool:
        """Whether jobs may be held or cancelled."""
        return bool(self.hold_columns)

    @property
    def queued_us(self) -> Int64:
        """When each job of the trace joined the queue; ``NEVER_US``: not by the end."""
        return self.trace.submit_us if self.holds is None else self.holds.queued_us

    @property
    def others_us(self) -> Int64:
        """Instants at which a job may have joined or left the queue, besides those of the log."""
        return super().others_us if self.holds is None else self.holds.instants_us

    @property
    def has_outages(self) -> bool:
        """Whether any server fails, is drained or maintained."""
        return self.outages is not None and len(self.outages.server) > 0

    @kept
    def fails(self) -> Downtimes:
        """Times in which servers have failed or are maintained, which both interrupt jobs."""
        return Downtimes.of(self.cluster, self.outages, HITTING)

    @kept
    def closed(self) -> Downtimes:
        """Times in which servers take nothing new: there is an outage."""
        return Downtimes.of(self.cluster, self.outages)

    @kept
    def is_finish(self) -> Bool:
        """Whether each interval is the last one of a job claimed to be finished."""
        return self._closes_as(FINISHED)

    @kept
    def is_killed(self) -> Bool:
        """Whether each interval is the last one of a job claimed to be killed."""
        return self._closes_as(KILLED)

    def _closes_as(self, *statuses: int) -> Bool:
        closes = np.zeros(len(self.job), np.bool_)
        closes[self.closes] = np.isin(self.claimed["status"][self.job[self.closes]], statuses)
        return closes

    @kept
    def is_hit(self) -> Bool:
        """Whether the failure or the maintenance of a server ended each interval.

        At one instant jobs finish, are killed and are cancelled before outages begin.
        """
        if not self.has_outages:
            return np.zeros(len(self.job), np.bool_)
        spared = self._closes_as(FINISHED, KILLED)
        gone_us = np.full(self.num_jobs, -1) if self.holds is None else self.holds.gone_us.copy()
        for job, us in self.cancelled.items():
            gone_us[job : job + 1] = us
        spared |= self._closes_as(CANCELLED) & (gone_us[self.job] == self.end_us)
        return self.meets_failure & ~spared

    @kept
    def length_us(self) -> Int64:
        """How long a run of each job may take: its limit, else its estimate.

        0 without both, and for all where no maintenance is known ahead.
        """
        length_us = np.zeros(self.num_jobs, np.int64)
        if self.outages is None or not self.outages.is_known_ahead:
            return length_us
        for column in (self.trace.estimate_us, self.trace.time_limit_us):
            if column is not None:
                length_us = np.where(column >= 0, column, length_us)
        return length_us

    @kept
    def is_failure(self) -> Bool:
        """Whether a failure is among what ended each interval."""
        if not self.is_hit.any():
            return self.is_hit
        fails = Downtimes.of(self.cluster, self.outages, (FAIL,))
        next_us = fails.next_us(self.rows["server"], self.rows["start_us"])
        fails_now = np.logical_or.reduceat(next_us == self.rows["end_us"], self.first)
        is_failure: Bool = self.is_hit & fails_now
        return is_failure

    @kept
    def failures(self) -> Int64:
        """Failures that hit each job of the trace."""
        return self.per_job(self.is_failure.astype(np.int64))

    @kept
    def hits(self) -> Int64:
        """How often failures and maintenance hit each job of the trace."""
        return self.per_job(self.is_hit.astype(np.int64))

    def queue_us(self, job: Int64, at_us: Int64) -> Int64:
        """Return the queue times of jobs at some instants of the log.

        That is the submission or, with ``requeue_back``, the last hit by then.
        """
        queued_us, back = self.trace.submit_us[job], self.trace.requeue_back
        if back is None or not self.is_hit.any():
            return queued_us
        hit = np.flatnonzero(self.is_hit & (back > 0)[self.job])
        if not len(hit):
            return queued_us
        size = len(self.moments.us)
        hits, end_us = self.job[hit], self.end_us[hit]
        order = hits * size + self.moments.before(end_us)
        last = np.searchsorted(order, job * size + self.moments.before(at_us), side="right") - 1
        return np.where((last >= 0) & (hits[last] == job), end_us[last], queued_us)

    @kept
    def progress(self) -> Progress:
        """The work of each interval at a fixed speed."""
        return Progress.of(self)

    @kept
    def over(self) -> Bool:
        """The jobs of the trace claimed to be killed or to have failed."""
        return np.isin(self.claimed["status"], (KILLED, FAILED))

    @kept
    def names_servers(self) -> bool:
        """Whether all rows are on existing servers."""
        server = self.rows["server"]
        return not len(server) or bool(server.min() >= 0 and server.max() < len(self.servers.gpus))

    @property
    def pooled(self) -> bool:
        """Whether the cluster is a single pool of GPUs without servers."""
        return self.flags.is_pooled

    @kept
    def width(self) -> Int64:
        """The GPUs held in each interval; in a pool the job's own number."""
        if self.pooled or not len(self.job):
            return self.trace.gpus[self.job].astype(np.int64)
        held = np.bitwise_count(self.rows["mask"]).astype(np.int64)
        if self.has_one_row_each:
            return held
        width: Int64 = np.add.reduceat(held, self.first)
        return width

    @property
    def last_servers(self) -> Int64:
        """The servers of the last interval of each job that has one; none in a pool."""
        return np.zeros(len(self.ran), np.int64) if self.pooled else self.last_rows

    @kept
    def rule(self) -> RestartRule:
        """The restart cost of the policy, the last one if there are several."""
        return self.rules[-1]

    @kept
    def rules(self) -> list[RestartRule]:
        """The restart cost of each policy."""
        return [RestartRule.of(policy, flags.alias_of) for policy, flags in self.policies]

    def era(self, times_us: Int64) -> Int64:
        """Return the index of the policy in force at each time."""
        return np.searchsorted(self.handed_over_us, times_us, side="right").astype(np.int64)

    @kept
    def overrun_us(self) -> Int64 | int:
        """Extra work of each job, by the policy at its arrival."""
        if len(self.rules) == 1:
            return self.rule.overrun_us
        overrun_us: Int64 = np.array([rule.overrun_us for rule in self.rules], np.int64)
        return overrun_us[self.era(self.trace.submit_us)]

    @kept
    def restart_us(self) -> Int64:
        """The time without progress at the start of each interval."""
        return self._costs(self.resumed, on_time=True)

    @kept
    def paid_us(self) -> Int64:
        """The part of that time within the interval."""
        due_us = self.restart_us if len(self.resumed) else 0
        paid_us: Int64 = np.minimum(self.lasts_us, due_us)
        return paid_us

    @kept
    def added_us(self) -> Int64:
        """The work that an interval adds if it is cut off."""
        return self._costs(self.resumed - 1, on_time=False)

    def _costs(self, intervals: Int64, *, on_time: bool) -> Int64:
        costs = np.zeros(len(self.job), np.int64)
        for era, rule in enumerate(self.rules):
            if rule.on_time is not on_time or not len(intervals):
                continue
            mine = intervals
            if len(self.rules) > 1:
                mine = intervals[self.era(self.start_us[intervals]) == era]
            costs[mine] = rule.cost_us(self.trace, self.job[mine], self.width[mine])
        return costs

    @kept
    def rejected(self) -> Bool:
        """The jobs of the trace claimed to be rejected."""
        rejected: Bool = self.claimed["status"] == REJECTED
        return rejected

    @kept
    def num_rejected(self) -> int:
        """Number of rejected jobs."""
        return 0 if self.all_finished else int(np.count_nonzero(self.rejected))

    @kept
    def all_finished(self) -> bool:
        """Whether every job of the trace ran and is claimed to be finished."""
        return len(self.ran) == self.num_finished == self.num_jobs

    @kept
    def alike(self) -> JobsAlike:
        """The jobs by their requests."""
        return JobsAlike.known(self.trace, self.cluster, self.measured)

    @kept
    def occupancy(self) -> Occupancy:
        """GPUs held on each server over time, for a log with existing servers only."""
        return Occupancy(self.rows, self.servers.gpus)

    @kept
    def precedence(self) -> Int64 | None:
        """The rank of each job of the trace by its priority, 0 first; None: all are equal."""
        points = np.zeros(self.num_jobs)
        for sign, column in ((1, self.trace.priority), (-1, self.trace.nice)):
            points = points if column is None else points + sign * column
        late: AnyArray = -points
        if age_s := self.spec.priority_age_s:
            values, index = np.unique(points, return_inverse=True)
            ahead_us = [round(Fraction(v) * Fraction(age_s) * 1_000_000) for v in values.tolist()]
            late = self.trace.submit_us.astype(object) - np.array(ahead_us, object)[index]
        values, place = np.unique(late, return_inverse=True)
        return place.astype(np.int64) if len(values) > 1 else None

    @kept
    def predicted_us(self) -> Int64 | None:
        """The run times that policies see, at least a microsecond; None if unknown."""
        column = getattr(self.trace, self.flags.predicted) if self.flags.predicted else None
        return None if column is None else np.maximum(column, 1)


@dataclass(frozen=True)
class Progress:
    """What becomes of the work of each interval at a fixed speed, microseconds.

    ``due_us``: time without restarts after which the work left, and its checkpoints, would be done.
    ``ran_us``: time without restarts.
    ``lost_us``, ``written_us``: parts of it: work to be done again, and writes of checkpoints.
    """

    due_us: Int64
    ran_us: Int64
    lost_us: Int64
    written_us: Int64

    @classmethod
    def of(cls, case: Case) -> Progress:
        """Derive it from the intervals and from what ended them."""
        trace, job = case.trace, case.job
        every_us = _of(trace.checkpoint_every_us, job)
        write_us = _of(trace.checkpoint_write_us, job)
        ran_us = np.maximum(case.lasts_us - case.restart_us, 0)
        period_us = np.maximum(every_us + write_us, 1)
        # A run that is not done ends before the write after its last full period.
        periods = np.where(every_us > 0, ran_us // period_us, 0)
        written_us = periods * write_us
        written_us += np.clip(ran_us - periods * period_us - every_us, 0, write_us)
        saved_us = np.where(case.is_hit | case.is_killed, periods * every_us, ran_us - written_us)
        work_us = np.broadcast_to(trace.service_us + case.overrun_us, case.num_jobs)[job]
        left_us = work_us + case.before(case.added_us - saved_us)
        # There is no write after the last work.
        num_writes = np.where(every_us > 0, (left_us - 1) // np.maximum(every_us, 1), 0)
        due_us = left_us + np.maximum(num_writes, 0) * write_us
        written_us = np.where(case.is_finish, due_us - left_us, written_us)
        lost_us = np.where(case.is_finish, 0, ran_us - written_us - saved_us)
        return cls(due_us, ran_us, lost_us, written_us)


def _of(column: AnyArray | None, job: Int64) -> Int64:
    """Return a value of each interval's job, 0 without the column."""
    return np.zeros(len(job), np.int64) if column is None else column[job].astype(np.int64)
