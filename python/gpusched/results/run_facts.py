"""The inputs of metrics: a run, and quantities that several metrics share, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, exact_dot
from gpusched.base.memo import kept
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds.certificates import LowerBounds, certificate
from gpusched.bounds.deadline_bounds import dsr_bound
from gpusched.model.outages import FAIL
from gpusched.results.cost import held_gpu_us, logged_gpu_us
from gpusched.results.run_window import RunWindow, clipped
from gpusched.schedules.down_times import struck
from gpusched.schedules.schedule import (
    FINISHED,
    KILLED,
    REJECTED,
    SCHEDULE_COLUMNS,
    Schedule,
    cancelled_us,
    contention_slowdown,
    whole_intervals,
    widths_of,
)
from gpusched.schedules.series import INTERRUPT, intervals_ended

if TYPE_CHECKING:
    from gpusched.base.labels import Labels
    from gpusched.model.cluster import Cluster
    from gpusched.model.outages import Outages
    from gpusched.prediction.accuracy import PredictionReport
    from gpusched.results.capacity import Capacity
    from gpusched.schedules.series import Contention
    from gpusched.traces.workload import Trace


def excess(value: int, bound: Fraction) -> float:
    """Return how far a value lies above a bound: ``value / bound - 1``.

    Integers divide to the nearest double, as fractions do.
    """
    return (value * bound.denominator - bound.numerator) / bound.numerator


def exact_sum(values: Int64) -> int:
    """Sum without overflow or rounding."""
    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFFFFFF))


def mean(values: AnyArray) -> float:
    """Return the mean, NaN without values."""
    return float(np.mean(values)) if len(values) else np.nan


SHORT_SERVICE_US: Final = 10 * US_PER_S
"""The shortest run time that the bounded slowdown uses."""


class RunFacts:
    """A run or a part of it. Arrays are per job, or per finished job where documented.

    Attributes
    ----------
    trace, cluster, schedule
        The inputs and the schedule of the run.
    contention
        The rings on the links; None if run times do not depend on the placement.
    costs
        Savings of jobs at other numbers of GPUs, see :func:`gpusched.bounds.lower_bounds`.
    speed
        The performance model of the run; None: unknown.
    wall_s
        Wall time of the simulation; None: unknown.
    prediction
        Accuracy of the predictions; None if there were none.
    outages
        The outages of servers; None without any.
    window
        The measured part of the run; None: all of it. "The jobs" below are those submitted in it.
    jobs
        Which of these jobs count; None: all.
    """

    def __init__(
        self,
        trace: Trace,
        cluster: Cluster,
        schedule: Schedule,
        *,
        contention: Contention | None = None,
        costs: Mapping[str, Float64] | None = None,
        speed: str | None = None,
        wall_s: float | None = None,
        prediction: PredictionReport | None = None,
        outages: Outages | None = None,
        window: RunWindow | None = None,
        jobs: Bool | None = None,
    ) -> None:
        self.trace, self.cluster, self.schedule = trace, cluster, schedule
        self.contention, self.costs, self.speed = contention, costs, speed
        self.wall_s, self.prediction, self.window = wall_s, prediction, window
        self.outages, self.jobs = outages, jobs

    @kept
    def measures(self) -> _core.RunMeasures:
        """Sums, counts and percentiles of the jobs, by one native pass over the columns."""
        trace, schedule = self.trace, self.schedule
        jobs: dict[str, Any] = {
            "submit_us": trace.submit_us, "service_us": trace.service_us, "gpus": trace.gpus,
            "share_milli": trace.share_milli, "weight": trace.weight,
        }  # fmt: skip
        sizes: dict[str, Any] = {"short_service_us": SHORT_SERVICE_US}
        if (tenants := self.tenants) is not None:
            jobs["tenant"], sizes["num_tenants"] = tenants.codes, len(tenants.names)
        if self.counts_all and isinstance(schedule, _core.Schedule):
            return _core.schedule_measures(schedule, **sizes, **jobs)
        columns = jobs | {
            name: np.ascontiguousarray(getattr(schedule, name), dtype)
            for name, dtype in SCHEDULE_COLUMNS.items()
            if name not in _NO_FIGURES
        }
        if not self.counts_all:
            columns = {
                name: None if column is None else column[self.counted]
                for name, column in columns.items()
            }
        return _core.run_measures(**sizes, **columns)

    @kept
    def num_finished(self) -> int:
        """The number of counted jobs that finished."""
        return self.measures.num_finished

    @kept
    def tenants(self) -> Labels | None:
        """The user of each job, or its queue if the trace has no users."""
        return self.trace.queue if self.trace.user is None else self.trace.user

    @property
    def counts_all(self) -> bool:
        """Whether every job counts."""
        return self.window is None and self.jobs is None

    @kept
    def counted(self) -> Bool:
        """Which jobs count: submitted in the window, and part of ``jobs``."""
        some = np.ones(len(self.trace), dtype=np.bool_) if self.jobs is None else self.jobs
        return some if self.window is None else some & self.window.counted(self.trace)

    @kept
    def all_finished(self) -> Bool:
        """Which jobs finished, counted or not."""
        finished: Bool = np.asarray(self.schedule.status) == FINISHED
        return finished

    @kept
    def finished(self) -> Bool:
        """Which counted jobs finished."""
        return self.all_finished if self.counts_all else self.all_finished & self.counted

    @kept
    def intervals(self) -> Mapping[str, AnyArray]:
        """The interval log, see :attr:`gpusched.Result.intervals`."""
        return self.schedule.intervals()

    @kept
    def held_gpu_us(self) -> float:
        """GPU time that jobs held, microseconds; unfinished ones to the end of the run.

        In a window: GPU time of all jobs in it.
        """
        if self.window is not None:
            return float(np.sum(self.gpu_us_within))
        if self.is_fixed and not self.measures.num_unfinished:
            return self.measures.held_gpu_milli_us / WHOLE_GPU
        return float(np.sum(held_gpu_us(self.trace, self.schedule, is_fixed=self.is_fixed)))

    @kept
    def gpu_us_within(self) -> Float64:
        """GPU time that each job held between :attr:`ends_us`, microseconds."""
        return logged_gpu_us(self.trace, clipped(self.intervals, *self.ends_us))

    def within(self, per_job: Float64) -> Float64:
        """Return the part of each job's quantity that falls into the window.

        The quantity is spread evenly over the job's GPU time.
        """
        if self.window is None:
            return per_job
        held = logged_gpu_us(self.trace, self.intervals)
        return per_job * (self.gpu_us_within / np.where(held > 0, held, 1.0))

    @property
    def is_fixed(self) -> bool:
        """Whether every job ran on its requested number of GPUs."""
        return self.contention is None

    @kept
    def ends_us(self) -> tuple[int, int]:
        """The ends of the window, microseconds.

        For a whole run: the first submit and the last finish of finished jobs; 0 and 0 without.
        """
        if self.window is None:
            return self.measures.first_submit_us, self.measures.last_finish_us
        begin_us = self.window.begin_us(self.trace)
        return begin_us, self.window.end_us(self.trace, self.schedule)

    @kept
    def held_ends_us(self) -> tuple[int, int]:
        """As :attr:`ends_us`, but for a whole run with the jobs that did not finish.

        The first submit that was not rejected, and the last release; 0 and 0 if no job ran.
        """
        released_us = self.intervals["end_us"]
        if self.window is not None or not len(released_us):
            return self.ends_us
        first = np.argmax(np.asarray(self.schedule.status) != REJECTED)
        return int(self.trace.submit_us[first]), int(released_us.max())

    @kept
    def window_us(self) -> int:
        """Length of the window, microseconds."""
        begin_us, end_us = self.ends_us
        return end_us - begin_us

    @kept
    def links(self) -> Contention:
        """The rings on the links in the window; requires :attr:`contention`."""
        from gpusched.schedules.series import Contention

        assert self.contention is not None
        if self.window is None:
            return self.contention
        return Contention(self.cluster, clipped(self.intervals, *self.ends_us))

    @kept
    def gpu_us(self) -> float:
        """GPU time of the cluster over that window, microseconds."""
        return self.cluster.num_gpus * float(self.window_us)

    def of_gpu_time(self, held_us: float) -> float:
        """Return ``held_us`` as a share of :attr:`gpu_us`; NaN if no job finished."""
        return held_us / self.gpu_us if self.window_us else np.nan

    def has(self, need: str) -> bool:
        """Return whether the run has ``need``, see :data:`~.metric_registry.NEEDS`."""
        return attrgetter(_WHERE[need])(self) is not None

    @kept
    def there(self) -> frozenset[str]:
        """The needs of metrics that the run meets."""
        found = zip(_WHERE, _all_of(self), strict=True)
        return frozenset([need for need, value in found if value is not None])

    @kept
    def flow_us(self) -> Int64:
        """Finish - submit of the finished jobs, microseconds."""
        flow: Int64 = (self.schedule.finish_us - self.trace.submit_us)[self.finished]
        return flow

    @kept
    def jct_s(self) -> Float64:
        """Job completion times (JCT) of the finished jobs, seconds."""
        return self.flow_us / US_PER_S

    @kept
    def ordered_jct_s(self) -> Float64:
        """:attr:`jct_s` in ascending order."""
        return np.sort(self.jct_s)

    @kept
    def wait_us(self) -> Int64:
        """All time without GPUs of the finished jobs, microseconds."""
        wait: Int64 = self.flow_us - self.schedule.held_us[self.finished]
        return wait

    @kept
    def ordered_wait_s(self) -> Float64:
        """:attr:`wait_us` in seconds, ascending."""
        return np.sort(self.wait_us) / US_PER_S

    @kept
    def mean_widths(self) -> Float64:
        """Mean GPUs of each job while running; the requested number if it never ran."""
        rows = self.intervals
        first, _ = whole_intervals(rows)
        job = rows["job"][first]
        length = (rows["end_us"][first] - rows["start_us"][first]).astype(np.float64)
        held = np.bincount(job, length, minlength=len(self.trace))
        widths = widths_of(rows, first, self.trace.gpus)
        area = np.bincount(job, length * widths, minlength=len(self.trace))
        return np.where(held > 0, area / np.where(held > 0, held, 1.0), self.trace.gpus)

    @kept
    def ordered_contention_slowdown(self) -> Float64:
        """Slowdowns of the finished jobs by shared links, ascending."""
        return np.sort(contention_slowdown(self.schedule)[self.finished])

    @kept
    def service_s(self) -> Float64:
        """Run times (service) of the finished jobs, seconds."""
        service: Float64 = self.trace.service_us[self.finished] / US_PER_S
        return service

    @kept
    def gpus(self) -> Float64:
        """GPUs of each job; a GPU share counts as a fraction."""
        gpus: Float64 = self.trace.gpus.astype(np.float64)
        if self.trace.share_milli is not None:
            gpus *= self.trace.share_milli / WHOLE_GPU
        return gpus

    @kept
    def milli(self) -> Int64:
        """GPUs of each job in thousandths, which GPU shares are whole numbers of."""
        share = WHOLE_GPU if self.trace.share_milli is None else self.trace.share_milli
        return self.trace.gpus.astype(np.int64) * share

    @property
    def failures(self) -> Int32 | None:
        """The interruptions of each job by failing servers.

        None if the run has no outages, time limits or checkpoints.
        """
        return self.schedule.failures if len(self.schedule.failures) else None

    @property
    def holds(self) -> Int64 | None:
        """When each job joined the queue, see :class:`~.schedule.Schedule`.

        None if no job can be held or has a cancel time.
        """
        return self.schedule.eligible_us if len(self.schedule.eligible_us) else None

    @kept
    def capacity(self) -> Capacity:
        """Where the GPU time went."""
        from gpusched.results.capacity import Capacity

        parts = {name: self._gpu_milli_us(part_us) for name, part_us in self._parts_us.items()}
        inputs = (self.trace, self.cluster, self.intervals, self.outages)
        return Capacity.of(*inputs, self.held_ends_us, parts)

    @property
    def _parts_us(self) -> dict[str, Int64]:
        """The parts of each job's time with GPUs, see :class:`~.capacity.Capacity`."""
        schedule, none = self.schedule, np.zeros(len(self.trace), np.int64)
        done, is_killed = self.all_finished, np.asarray(schedule.status) == KILLED
        paid_us: AnyArray = np.asarray(schedule.paid_us)
        lost_us, written_us = (
            none if self.failures is None else np.asarray(column)
            for column in (schedule.lost_us, schedule.written_us)
        )
        kept_us = np.asarray(schedule.held_us) - paid_us - lost_us - written_us
        return {
            "useful": np.where(done, self.trace.service_us, 0),
            "lost_to_failures": np.where(is_killed, 0, lost_us),
            "lost_to_limits": np.where(is_killed, lost_us, 0),
            "checkpoint_writes": written_us,
            "restarts": paid_us,
            "unfinished": np.where(done, 0, kept_us),
        }

    def _gpu_milli_us(self, part_us: Int64) -> int:
        """Sum a part of the jobs' times over their GPUs in thousandths, exactly if they are fixed.

        Of a window: spread as by :meth:`within`.
        """
        if self.is_fixed and self.window is None:
            return exact_dot(self.milli, part_us)
        milli = self.milli * (self.mean_widths / self.trace.gpus)
        return round(float(np.dot(self.within(milli), part_us)))

    @kept
    def recoveries_us(self) -> Int64:
        """Time from each interruption of a counted job to its next start, microseconds."""
        rows = self.intervals
        first, opens, ends = self._ended
        hit = np.flatnonzero(ends[:-1] == INTERRUPT)
        hit = hit[~opens[hit + 1] & self.counted[rows["job"][first[hit]]]]
        waited_us: Int64 = rows["start_us"][first[hit + 1]] - rows["end_us"][first[hit]]
        return waited_us

    @property
    def _ended(self) -> tuple[Int64, Bool, AnyArray]:
        return intervals_ended(self.schedule, self.intervals, self.cluster, self.outages)

    @kept
    def num_maintained(self) -> int:
        """Interruptions of counted jobs by maintenance, at which no server of theirs failed."""
        if self.outages is None or self.outages.known_us is None:
            return 0
        first, _, ends = self._ended
        job, end_us = self.intervals["job"][first], self.intervals["end_us"][first]
        is_hit = (ends == INTERRUPT) & (cancelled_us(self.trace, self.schedule)[job] != end_us)
        if is_hit.any():
            failed = struck(self.intervals, self.cluster, self.outages, (FAIL,))
            is_hit &= ~np.logical_or.reduceat(failed, first)
        return int(np.count_nonzero(is_hit & self.counted[job]))

    @kept
    def lower(self) -> LowerBounds | None:
        """Lower bounds for the finished jobs; None if there is none."""
        return self._bounds(thorough=False)

    @kept
    def thorough(self) -> LowerBounds | None:
        """As :attr:`lower`, including the slow bounds."""
        return self._bounds(thorough=True)

    def _bounds(self, *, thorough: bool) -> LowerBounds | None:
        if not self.num_finished:
            return None
        is_all = self.num_finished == len(self.trace)
        jobs = None if is_all else self.finished
        return certificate(self.trace, self.cluster, jobs=jobs, costs=self.costs, thorough=thorough)

    def mean(self, total: float) -> float:
        """Return a sum over the finished jobs per job; NaN without finished jobs."""
        return total / self.num_finished if self.num_finished else np.nan

    def mean_s(self, total_us: int) -> float:
        """Return a sum of microseconds over the finished jobs, in seconds per job."""
        return total_us / self.num_finished / US_PER_S if self.num_finished else np.nan

    def percentile_s(self, value_us: int) -> float:
        """Return a percentile of the finished jobs in seconds; NaN if there are none."""
        return float(value_us) / US_PER_S if self.num_finished else np.nan

    @kept
    def has_deadline(self) -> Bool:
        """Which counted jobs have a deadline; requires a trace with deadlines."""
        has: Bool = (np.asarray(self.trace.deadline_us) >= 0) & self.counted
        return has

    @kept
    def late_us(self) -> Int64:
        """Finish - deadline, microseconds."""
        late: Int64 = np.asarray(self.schedule.finish_us) - np.asarray(self.trace.deadline_us)
        return late

    @kept
    def met(self) -> Bool:
        """Which jobs finished by their deadline."""
        return self.has_deadline & self.finished & (self.late_us <= 0)

    @property
    def num_met(self) -> int:
        """The number of jobs that met their deadline."""
        return int(np.count_nonzero(self.met))

    @kept
    def dsr_bound(self) -> tuple[float, str]:
        """An upper bound on the deadline satisfactory ratio, and its name."""
        if self.speed is None:
            return np.nan, ""
        return dsr_bound(self.trace, self.cluster, speed=self.speed, met=self.num_met)

    @kept
    def decisions(self) -> Mapping[str, AnyArray]:
        """The decisions of a policy that admits jobs."""
        return self.schedule.decisions()

    @property
    def admissions(self) -> Mapping[str, AnyArray] | None:
        """The decisions on jobs with deadlines; None if there are none."""
        if self.trace.deadline_us is None or not len(self.decisions["job"]):
            return None
        return self.decisions

    @kept
    def admitted(self) -> Bool:
        """Which counted jobs were admitted, by their last decision."""
        admitted = np.zeros(len(self.trace), dtype=np.bool_)
        admitted[self.decisions["job"]] = self.decisions["admitted"] != 0
        return admitted & self.counted


# Columns of a schedule that no metric uses.
_NO_FIGURES: Final = frozenset({"paid_us", "reason"})


# The needs that a run meets do not depend on its schedule, except for admissions, failures and
# holds.
_WHERE: Final[Mapping[str, str]] = {
    "deadlines": "trace.deadline_us",
    "admissions": "admissions",
    "contention": "contention",
    "predictions": "prediction",
    "clock": "wall_s",
    "users": "trace.user",
    "tenants": "tenants",
    "queues": "trace.queue",
    "groups": "trace.group",
    "weights": "trace.weight",
    "values": "trace.value",
    "profiles": "trace.profiles",
    "estimates": "trace.estimate_us",
    "failures": "failures",
    "holds": "holds",
}
_all_of: Final = attrgetter(*_WHERE.values())
