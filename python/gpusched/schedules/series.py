"""The cluster over time as step functions: GPUs allocated, jobs running, jobs waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Float64, freeze_columns
from gpusched.base.numbering import numbered
from gpusched.base.pairs import sorted_pairs
from gpusched.base.ticks import us_to_seconds
from gpusched.schedules.schedule import REJECTED, Schedule, whole_intervals, widths_of

if TYPE_CHECKING:
    import polars

    from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Steps:
    """Step functions that share their steps: entry ``i`` holds from ``time_s[i]`` to the next.

    The last entry holds from then on.

    Attributes
    ----------
    time_s
        Seconds, increasing.
    """

    time_s: Float64

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    def __len__(self) -> int:
        return len(self.time_s)

    def __repr__(self) -> str:
        names = ", ".join(f.name for f in fields(self))
        return f"{type(self).__name__}({len(self):,} steps: {names})"

    def resample(self, points: int) -> Self:
        """Return at most ``points`` equal steps, each with the mean over its time, for plots.

        What has no more than ``points`` steps is returned as it is.

        Raises
        ------
        ValueError
            If ``points`` is less than 2.
        """
        if points < 2:
            raise ValueError(f"resample: points must be at least 2, not {points}")
        if len(self) <= points:
            return self
        edges = np.linspace(self.time_s[0], self.time_s[-1], points)
        steps = np.diff(self.time_s)

        def means(values: AnyArray) -> Float64:
            area = np.concatenate(([0.0], np.cumsum(values[:-1] * steps)))
            within = np.diff(np.interp(edges, self.time_s, area)) / np.diff(edges)
            return np.append(within, float(values[-1]))

        return type(self)(edges, *(means(getattr(self, f.name)) for f in fields(self)[1:]))

    def slice(self, begin: int, end: int | None) -> Self:
        """Return the entries from ``begin`` to before ``end`` (None: to the last)."""
        return type(self)(*(getattr(self, f.name)[begin:end] for f in fields(self)))

    def to_polars(self) -> polars.DataFrame:
        """Return the columns as a Polars frame."""
        import polars

        return polars.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})


@dataclass(frozen=True, eq=False, repr=False)
class Series(Steps):
    """The cluster over time.

    A job waits whenever it has been submitted, is not done and holds no GPUs; rejected jobs never
    wait.

    Attributes
    ----------
    allocated_gpus, queue_jobs, queue_gpus, running_jobs
        int64; means over each step, in float64, if resampled.
    """

    allocated_gpus: AnyArray
    queue_jobs: AnyArray
    queue_gpus: AnyArray
    running_jobs: AnyArray


def series_of(trace: Trace, schedule: Schedule, intervals: Mapping[str, AnyArray]) -> Series:
    """Count what happens at each instant, and add up."""
    first, _ = whole_intervals(intervals)
    job = intervals["job"][first]
    end_us = intervals["end_us"][first]
    queued = np.asarray(schedule.status) != REJECTED
    # A job whose interval ends before the job does goes back to the queue, at least for an instant.
    back = end_us != np.asarray(schedule.finish_us)[job]
    asked, asked_number = numbered(trace.gpus)
    held, held_number = numbered(widths_of(intervals, first, trace.gpus))

    # What happens is a kind of change and two widths, all told by one small number.
    def change(kind: AnyArray | int, widths: AnyArray | int, jobs: AnyArray) -> AnyArray:
        return (asked_number[jobs] * max(1, len(held)) + widths) * len(_QUEUED) + kind

    time_us, code = sorted_pairs(
        np.concatenate((trace.submit_us[queued], intervals["start_us"][first], end_us)),
        np.concatenate(
            (
                change(_SUBMIT, 0, queued),
                change(_START, held_number, job),
                change(np.where(back, _PREEMPTED, _FINISH), held_number, job),
            )
        ),
    )
    ones = np.ones((len(asked), max(1, len(held))), dtype=np.int64)
    of_job = ones * asked[:, np.newaxis]

    def by_code(changes: Sequence[int], widths: AnyArray) -> list[int]:
        each: list[int] = np.multiply.outer(widths, np.array(changes)).reshape(-1).tolist()
        return each

    instants_us, (allocated_gpus, queue_jobs, queue_gpus, running_jobs) = _core.running_totals(
        time_us=time_us,
        codes=code,
        changes=[
            by_code(_RUNNING, ones * held if len(held) else ones),
            by_code(_QUEUED, ones),
            by_code(_QUEUED, of_job),
            by_code(_RUNNING, ones),
        ],
    )
    return Series(
        time_s=us_to_seconds(instants_us),
        allocated_gpus=allocated_gpus,
        queue_jobs=queue_jobs,
        queue_gpus=queue_gpus,
        running_jobs=running_jobs,
    )


# What happens to a job, and what that does to the queue and to those that run.
_SUBMIT, _START, _FINISH, _PREEMPTED = range(4)
_QUEUED: Final = (1, -1, 0, 1)
_RUNNING: Final = (0, 1, -1, -1)
