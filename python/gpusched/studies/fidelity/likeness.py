"""How like a simulated schedule is to the one that the trace has of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64
from gpusched.base.ticks import US_PER_S
from gpusched.schedules.schedule import whole_intervals, widths_of
from gpusched.studies.fidelity.grades import MEASURES, Grade, distance_of, grade_of
from gpusched.studies.fidelity.own_starts import OwnStarts, Window
from gpusched.studies.fidelity.wait_statistics import (
    factor_between,
    kendall_tau,
    ks_distance,
    mean_difference,
    overlap,
    rank_correlation,
)
from gpusched.traces.trace_facts import nearest_rank

if TYPE_CHECKING:
    from gpusched.results.result import Result

PERCENTS: Final = (50, 75, 90, 95, 99, 100)


@dataclass(frozen=True)
class Likeness:
    """Simulated waits and GPUs in use beside the trace's own, for the jobs that are compared.

    A wait is the time from submit to the first start. Waits below the resolution count as none.

    Attributes
    ----------
    num_compared, num_waited, num_never_started
        Jobs that were compared; those of them that waited in the trace; those that the simulation
        never started: they count as waiting for ever, but not in means.
    ks
        Kolmogorov-Smirnov distance of the waits, 0 to 1.
    rank_correlation, kendall_tau
        Spearman's, and Kendall's tau-b, of the waits job by job. The second is not graded.
    mean_wait_s, own_mean_wait_s
        Simulated and of the trace.
    mean_wait_factor
        The larger of the two over the smaller, at least 1.
    wait_quantiles_s, own_wait_quantiles_s
        The percentiles 50, 75, 90, 95, 99 and 100, nearest rank.
    allocation_error
        Mean absolute difference of the GPUs in use over time, over their mean in the trace.
    mean_gpus_in_use, own_mean_gpus_in_use
        Over time.
    unexplained
        The share of the GPU time spent waiting that the two do not have in common: 1 - the sum of
        gpus x the lesser wait over that of gpus x the greater one.
    """

    num_compared: int
    num_waited: int
    num_never_started: int
    ks: float
    rank_correlation: float
    kendall_tau: float
    mean_wait_s: float
    own_mean_wait_s: float
    mean_wait_factor: float
    wait_quantiles_s: tuple[float, ...]
    own_wait_quantiles_s: tuple[float, ...]
    allocation_error: float
    mean_gpus_in_use: float
    own_mean_gpus_in_use: float
    unexplained: float

    @property
    def graded(self) -> Mapping[str, float]:
        """The measures that the grade looks at, by key."""
        return {measure.key: float(getattr(self, measure.key)) for measure in MEASURES}

    @property
    def grade(self) -> Grade:
        """The grade, see :func:`~gpusched.studies.fidelity.grades.grade_of`."""
        return grade_of(self.graded, self.num_compared, self.num_waited)

    @property
    def distance(self) -> float:
        """What candidates are ordered by: :func:`~gpusched.studies.fidelity.grades.distance_of`."""
        return distance_of(self.graded)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; what is infinite or undefined is None."""
        plain: dict[str, Any] = {}
        for column in fields(self):
            value = getattr(self, column.name)
            is_row = isinstance(value, tuple)
            known = [_plain(entry) for entry in (value if is_row else (value,))]
            plain[column.name] = known if is_row else known[0]
        return plain | {"distance": self.distance}


def likeness(result: Result, own: OwnStarts, window: Window, resolution_s: float) -> Likeness:
    """Compare a simulated schedule with the trace's own.

    Parameters
    ----------
    own, window
        The trace's starts, and the jobs to compare.
    resolution_s
        Waits below this count as none.
    """
    compared = window.compared
    started = np.asarray(result.schedule.start_us)[compared] >= 0
    mine = settled(own.wait_us[compared], resolution_s)
    simulated = simulated_waits(result, compared, resolution_s)
    mean_s = float(np.mean(simulated[started])) if started.any() else np.inf
    own_mean_s = float(np.mean(mine))
    error, in_use, own_in_use = _allocation(result, own, window)
    return Likeness(
        num_compared=len(mine),
        num_waited=int(np.count_nonzero(mine)),
        num_never_started=int(np.count_nonzero(~started)),
        ks=ks_distance(simulated, mine),
        rank_correlation=rank_correlation(simulated, mine),
        kendall_tau=kendall_tau(simulated, mine),
        mean_wait_s=mean_s,
        own_mean_wait_s=own_mean_s,
        mean_wait_factor=factor_between(mean_s, own_mean_s),
        wait_quantiles_s=_quantiles(simulated),
        own_wait_quantiles_s=_quantiles(mine),
        allocation_error=error,
        mean_gpus_in_use=in_use,
        own_mean_gpus_in_use=own_in_use,
        unexplained=1 - overlap(simulated, mine, own.gpus[compared]),
    )


def settled(wait_us: Int64, resolution_s: float) -> Float64:
    """Return waits in seconds, with 0 for those below the resolution."""
    wait_s = wait_us / US_PER_S
    return np.where(wait_s < resolution_s, 0.0, wait_s)


def simulated_waits(result: Result, compared: Bool, resolution_s: float) -> Float64:
    """Return the waits until the first start of some jobs; infinity for those without a start."""
    start_us = np.asarray(result.schedule.start_us)[compared]
    wait_s = settled(start_us - result.trace.submit_us[compared], resolution_s)
    return np.where(start_us >= 0, wait_s, np.inf)


def simulated_changes(result: Result, own: OwnStarts) -> tuple[Int64, Float64]:
    """Return when the jobs that have starts of their own took and gave back GPUs, and how many."""
    rows = result.intervals
    first, _ = whole_intervals(rows)
    job = rows["job"][first]
    share = (own.gpus / result.trace.gpus)[job]
    held = widths_of(rows, first, result.trace.gpus) * share
    known = own.is_known[job]
    time_us = np.concatenate((rows["end_us"][first][known], rows["start_us"][first][known]))
    return time_us, np.concatenate((-held[known], held[known]))


def _allocation(result: Result, own: OwnStarts, window: Window) -> tuple[float, float, float]:
    """Return the error, and the mean GPUs in use of the simulation and of the trace."""
    begin_us, end_us = window.begin_us, window.end_us
    (time_us, change), (own_time_us, own_change) = simulated_changes(result, own), own.changes
    both = np.concatenate((time_us, own_time_us)), np.concatenate((change, -own_change))
    difference, surplus = mean_difference(*both, begin_us, end_us)
    _, in_use = mean_difference(own_time_us, own_change, begin_us, end_us)
    if difference < 1e-9 * max(1.0, in_use):  # what sums of shares of GPUs round to
        difference = 0.0
    error = difference / in_use if in_use > 0 else (0.0 if difference == 0 else np.inf)
    return error, in_use + surplus, in_use


def _quantiles(waits: Float64) -> tuple[float, ...]:
    ordered = np.sort(waits)
    return tuple(nearest_rank(ordered, percent) for percent in PERCENTS)


def _plain(value: float) -> float | int | None:
    return value if np.isfinite(value) else None
