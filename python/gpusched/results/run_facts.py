"""What a metric looks at: a run, and what several metrics need of it, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds.certificates import LowerBounds, lower_bounds
from gpusched.bounds.deadline_bounds import dsr_bound
from gpusched.results.gpu_time import held_gpu_us, row_gpus, sums
from gpusched.results.run_window import RunWindow, clipped
from gpusched.schedules.schedule import FINISHED, Schedule

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.prediction.accuracy import PredictionReport
    from gpusched.schedules.contention import Contention
    from gpusched.traces.workload import Trace


class RunFacts:
    """A run as metrics see it. Arrays are per job, or per finished job where it is said.

    Attributes
    ----------
    trace, cluster, schedule
        What was simulated, and what came of it.
    contention
        The rings on the links; None where run times do not depend on the placement.
    costs
        What jobs can save at other widths than their own, see :func:`gpusched.bounds.lower_bounds`.
    speed
        By which the jobs ran; None: unknown.
    wall_s
        Time that the simulation took; None: unknown.
    prediction
        How good the predictions were; None if there were none.
    window
        The part of the run that is measured; None: all of it. What is said of "the" jobs below is
        then of those that are submitted in it.
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
        window: RunWindow | None = None,
    ) -> None:
        self.trace, self.cluster, self.schedule = trace, cluster, schedule
        self.contention, self.costs, self.speed = contention, costs, speed
        self.wall_s, self.prediction, self.window = wall_s, prediction, window

    def has(self, need: str) -> bool:
        """Whether there is what a metric needs, see :data:`~.metric_registry.NEEDS`."""
        trace = self.trace
        there = {
            "deadlines": lambda: trace.deadline_us is not None,
            "admissions": lambda: trace.deadline_us is not None and len(self.decisions["job"]) > 0,
            "contention": lambda: self.contention is not None,
            "predictions": lambda: self.prediction is not None,
            "clock": lambda: self.wall_s is not None,
            "users": lambda: trace.user is not None,
            "queues": lambda: trace.queue is not None,
            "groups": lambda: trace.group is not None,
            "weights": lambda: trace.weight is not None,
            "values": lambda: trace.value is not None,
            "profiles": lambda: trace.profiles is not None,
            "estimates": lambda: trace.estimate_us is not None,
        }
        return there[need]()

    @cached_property
    def counted(self) -> Bool:
        """Which jobs count: those that are submitted in the window."""
        if self.window is None:
            return np.ones(len(self.trace), dtype=np.bool_)
        return self.window.counted(self.trace)

    @cached_property
    def all_finished(self) -> Bool:
        """Which jobs finished, whether they count or not."""
        finished: Bool = np.asarray(self.schedule.status) == FINISHED
        return finished

    @cached_property
    def finished(self) -> Bool:
        """Which of the jobs that count finished."""
        return self.all_finished & self.counted

    @cached_property
    def flow_us(self) -> Int64:
        """Finish - submit of the finished jobs, microseconds."""
        flow: Int64 = (self.schedule.finish_us - self.trace.submit_us)[self.finished]
        return flow

    @cached_property
    def jct_s(self) -> Float64:
        """Job completion times (JCT) of the finished jobs, seconds."""
        return self.flow_us / US_PER_S

    @cached_property
    def ordered_jct_s(self) -> Float64:
        """The same from the shortest to the longest."""
        return np.sort(self.jct_s)

    @cached_property
    def wait_us(self) -> Int64:
        """All time without GPUs of the finished jobs, microseconds."""
        wait: Int64 = self.flow_us - self.schedule.held_us[self.finished]
        return wait

    @cached_property
    def ordered_wait_s(self) -> Float64:
        """The same in seconds, from the shortest to the longest."""
        return np.sort(self.wait_us) / US_PER_S

    @cached_property
    def held_gpu_us(self) -> float:
        """GPU time that jobs held, microseconds; unfinished ones to the end of the run.

        In a window: what any jobs held in it.
        """
        if self.window is not None:
            return float(np.sum(self.gpu_us_within))
        return float(np.sum(held_gpu_us(self.trace, self.schedule, is_fixed=self.is_fixed)))

    @cached_property
    def gpu_us_within(self) -> Float64:
        """GPU time that each job held between :attr:`ends_us`, microseconds."""
        return _gpu_us(self.trace, clipped(self.schedule.intervals(), *self.ends_us))

    def within(self, per_job: Float64) -> Float64:
        """Return the part of a quantity of each job that falls into the window.

        It is spread evenly over the GPU time that the job held.
        """
        if self.window is None:
            return per_job
        held = _gpu_us(self.trace, self.schedule.intervals())
        return per_job * (self.gpu_us_within / np.where(held > 0, held, 1.0))

    @property
    def is_fixed(self) -> bool:
        """Whether every job ran at its own width, wherever it was."""
        return self.contention is None

    @cached_property
    def service_s(self) -> Float64:
        """Services of the finished jobs, seconds."""
        service: Float64 = self.trace.service_us[self.finished] / US_PER_S
        return service

    @cached_property
    def gpus(self) -> Float64:
        """GPUs of each job; of a job with a share, that share."""
        gpus: Float64 = self.trace.gpus.astype(np.float64)
        if self.trace.share_milli is not None:
            gpus *= self.trace.share_milli / WHOLE_GPU
        return gpus

    @cached_property
    def ends_us(self) -> tuple[int, int]:
        """The ends of the window, microseconds.

        Of a whole run: the first submit and the last finish, of finished jobs; 0 and 0 if there
        is none.
        """
        if not self.all_finished.any():
            return 0, 0
        if self.window is not None:
            begin_us = self.window.begin_us(self.trace)
            return begin_us, self.window.end_us(self.trace, self.schedule)
        first = self.trace.submit_us[np.argmax(self.all_finished)]
        return int(first), int(self.schedule.finish_us.max())

    @property
    def window_us(self) -> int:
        """The time between the two."""
        begin_us, end_us = self.ends_us
        return end_us - begin_us

    @cached_property
    def links(self) -> Contention:
        """The rings on the links in the window; there must be :attr:`contention`."""
        from gpusched.schedules.contention import Contention

        assert self.contention is not None
        if self.window is None:
            return self.contention
        return Contention(self.cluster, clipped(self.schedule.intervals(), *self.ends_us))

    @property
    def gpu_us(self) -> float:
        """GPU time of the cluster over that window, microseconds."""
        return self.cluster.num_gpus * float(self.window_us)

    def of_gpu_time(self, held_us: float) -> float:
        """Return a part of that GPU time; NaN if no job finished."""
        return held_us / self.gpu_us if self.window_us else np.nan

    @cached_property
    def has_deadline(self) -> Bool:
        """Which of the jobs that count have a deadline; the trace must have some."""
        has: Bool = (np.asarray(self.trace.deadline_us) >= 0) & self.counted
        return has

    @cached_property
    def late_us(self) -> Int64:
        """Finish - deadline, microseconds."""
        late: Int64 = np.asarray(self.schedule.finish_us) - np.asarray(self.trace.deadline_us)
        return late

    @cached_property
    def met(self) -> Bool:
        """Which jobs finished by their deadline."""
        return self.has_deadline & self.finished & (self.late_us <= 0)

    @property
    def num_met(self) -> int:
        """How many did."""
        return int(np.count_nonzero(self.met))

    @cached_property
    def dsr_bound(self) -> tuple[float, str]:
        """What no deadline satisfactory ratio exceeds, and the bound's name."""
        if self.speed is None:
            return np.nan, ""
        return dsr_bound(self.trace, self.cluster, speed=self.speed, met=self.num_met)

    @cached_property
    def decisions(self) -> Mapping[str, AnyArray]:
        """What a policy that admits jobs decided."""
        return self.schedule.decisions()

    @cached_property
    def admitted(self) -> Bool:
        """Which of the jobs that count were admitted: the last word counts."""
        admitted = np.zeros(len(self.trace), dtype=np.bool_)
        admitted[self.decisions["job"]] = self.decisions["admitted"] != 0
        return admitted & self.counted

    @cached_property
    def lower(self) -> LowerBounds | None:
        """Lower bounds for the finished jobs; None if there is none."""
        if not self.finished.any():
            return None
        return lower_bounds(self.trace, self.cluster, jobs=self.finished, costs=self.costs)


def _gpu_us(trace: Trace, rows: Mapping[str, AnyArray]) -> Float64:
    """GPU time of each job in an interval log, microseconds."""
    gpu_us = row_gpus(trace, rows) * (rows["end_us"] - rows["start_us"])
    return sums(rows["job"], gpu_us, len(trace))


def exact_sum(values: Int64) -> int:
    """Sum without overflow or rounding."""
    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFFFFFF))


def mean_s(ticks: Int64) -> float:
    """Mean of microseconds, in seconds; NaN of none."""
    return exact_sum(ticks) / len(ticks) / US_PER_S if len(ticks) else np.nan


def mean(values: AnyArray) -> float:
    """Mean; NaN of none."""
    return float(np.mean(values)) if len(values) else np.nan


def weighted_mean(values: Float64, weight: Float64) -> float:
    """Mean weighted by ``weight``; NaN of none."""
    return float(np.dot(values, weight) / np.sum(weight)) if len(values) else np.nan
