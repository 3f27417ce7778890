"""What a metric looks at: a run, and what several metrics need of it, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.memo import kept
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds.certificates import LowerBounds, certificate
from gpusched.results.deadline_facts import DeadlineFacts
from gpusched.schedules.schedule import contention_slowdown, whole_intervals, widths_of


class RunFacts(DeadlineFacts):
    """A run as metrics see it; attributes are those of :class:`~.measured_run.MeasuredRun`."""

    def has(self, need: str) -> bool:
        """Whether there is what a metric needs, see :data:`~.metric_registry.NEEDS`."""
        return attrgetter(_WHERE[need])(self) is not None

    @kept
    def there(self) -> frozenset[str]:
        """All that there is of what metrics may need."""
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
        """The same from the shortest to the longest."""
        return np.sort(self.jct_s)

    @kept
    def wait_us(self) -> Int64:
        """All time without GPUs of the finished jobs, microseconds."""
        wait: Int64 = self.flow_us - self.schedule.held_us[self.finished]
        return wait

    @kept
    def ordered_wait_s(self) -> Float64:
        """The same in seconds, from the shortest to the longest."""
        return np.sort(self.wait_us) / US_PER_S

    @kept
    def mean_widths(self) -> Float64:
        """GPUs of each job while it held some, on average; its own where it never did."""
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
        """Slowdowns by shared links of the finished jobs, from the least to the greatest."""
        return np.sort(contention_slowdown(self.schedule)[self.finished])

    @kept
    def service_s(self) -> Float64:
        """Services of the finished jobs, seconds."""
        service: Float64 = self.trace.service_us[self.finished] / US_PER_S
        return service

    @kept
    def gpus(self) -> Float64:
        """GPUs of each job; of a job with a share, that share."""
        gpus: Float64 = self.trace.gpus.astype(np.float64)
        if self.trace.share_milli is not None:
            gpus *= self.trace.share_milli / WHOLE_GPU
        return gpus

    @kept
    def lower(self) -> LowerBounds | None:
        """Lower bounds for the finished jobs; None if there is none."""
        return self._bounds(thorough=False)

    @kept
    def thorough(self) -> LowerBounds | None:
        """The same and those that take long."""
        return self._bounds(thorough=True)

    def _bounds(self, *, thorough: bool) -> LowerBounds | None:
        if not self.num_finished:
            return None
        is_all = self.num_finished == len(self.trace)
        jobs = None if is_all else self.finished
        return certificate(self.trace, self.cluster, jobs=jobs, costs=self.costs, thorough=thorough)

    def mean(self, total: float) -> float:
        """Return a sum over the finished jobs, per job; NaN if there are none."""
        return total / self.num_finished if self.num_finished else np.nan

    def mean_s(self, total_us: int) -> float:
        """Return a sum of microseconds over the finished jobs, in seconds per job."""
        return total_us / self.num_finished / US_PER_S if self.num_finished else np.nan

    def percentile_s(self, value_us: int) -> float:
        """Return a percentile of the finished jobs in seconds; NaN if there are none."""
        return float(value_us) / US_PER_S if self.num_finished else np.nan


# What is there of a run is known without its schedule, but for the last word on admission.
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
}
_all_of: Final = attrgetter(*_WHERE.values())
