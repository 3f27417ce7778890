"""Time on an axis: since the first submission, in the unit that reads best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.wording import scale_of
from gpusched.reporting.charts.chart import Axis

if TYPE_CHECKING:
    from gpusched.studies.comparison_result import Comparison

_UNITS: Final = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}


@dataclass(frozen=True)
class TimeAxis:
    """Seconds as places on an axis.

    Attributes
    ----------
    origin_s
        The first submission.
    unit_s, unit
        What 1 on the axis is.
    """

    origin_s: float
    unit_s: float
    unit: str

    @classmethod
    def of(cls, comparison: Comparison, end_s: float) -> TimeAxis:
        """Return the axis on which the time until ``end_s`` reads best."""
        submit_s = comparison.trace.submit_s
        origin_s = float(submit_s[0]) if len(submit_s) else 0.0
        unit_s, unit = scale_of("time", [max(end_s - origin_s, 1.0)])
        return cls(origin_s, unit_s, _UNITS[unit])

    def of_times(self, time_s: Float64) -> Float64:
        """Where these times are on the axis."""
        return (time_s - self.origin_s) / self.unit_s

    def axis(self, begin_s: float, end_s: float) -> Axis:
        """The axis from so many to so many seconds since the origin."""
        end_s = max(end_s, begin_s + 1e-6)
        ends = (begin_s / self.unit_s, end_s / self.unit_s)
        return Axis(f"{self.unit} since the first submission", "linear", ends)


def end_of_most(comparison: Comparison) -> float:
    """When 99 % of the jobs have finished under every policy: a few may run on for months."""
    ends = [float(comparison.trace.submit_s[0])] if len(comparison.trace) else [0.0]
    for result in comparison.results.values():
        finish_s = result.jobs.finish_s[result.jobs.is_finished]
        if len(finish_s):
            ends.append(float(np.quantile(finish_s, 0.99)))
    return max(ends)
