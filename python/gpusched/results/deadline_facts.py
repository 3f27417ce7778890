"""What a run did with the deadlines of its jobs, and what was decided about them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.memo import kept
from gpusched.bounds.deadline_bounds import dsr_bound
from gpusched.results.measured_run import MeasuredRun


class DeadlineFacts(MeasuredRun):
    """The part of :class:`~gpusched.results.run_facts.RunFacts` that tells of deadlines."""

    @kept
    def has_deadline(self) -> Bool:
        """Which of the jobs that count have a deadline; the trace must have some."""
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
        """How many did."""
        return int(np.count_nonzero(self.met))

    @kept
    def dsr_bound(self) -> tuple[float, str]:
        """What no deadline satisfactory ratio exceeds, and the bound's name."""
        if self.speed is None:
            return np.nan, ""
        return dsr_bound(self.trace, self.cluster, speed=self.speed, met=self.num_met)

    @kept
    def decisions(self) -> Mapping[str, AnyArray]:
        """What a policy that admits jobs decided."""
        return self.schedule.decisions()

    @property
    def admissions(self) -> Mapping[str, AnyArray] | None:
        """The same of jobs with deadlines; None if nothing was decided."""
        if self.trace.deadline_us is None or not len(self.decisions["job"]):
            return None
        return self.decisions

    @kept
    def admitted(self) -> Bool:
        """Which of the jobs that count were admitted: the last word counts."""
        admitted = np.zeros(len(self.trace), dtype=np.bool_)
        admitted[self.decisions["job"]] = self.decisions["admitted"] != 0
        return admitted & self.counted
