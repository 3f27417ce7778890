"""The cluster over time as step functions: GPUs allocated, jobs running, jobs waiting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64, freeze_columns
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
    gpus = trace.gpus.astype(np.int32, copy=False)
    queued = np.asarray(schedule.status) != REJECTED
    held = widths_of(intervals, first, trace.gpus).astype(np.int32)
    # A job whose interval ends before the job does goes back to the queue, at least for an instant.
    back = (end_us != np.asarray(schedule.finish_us)[job]).astype(np.int8)
    # Changes are gathered in the order of time: the fewer bytes, the more of them are at hand.
    ones = np.ones(len(job), dtype=np.int8)
    submits = np.ones(int(queued.sum()), dtype=np.int8)

    time_us = np.concatenate((trace.submit_us[queued], intervals["start_us"][first], end_us))
    waiting = np.concatenate((submits, -ones, back))
    running = np.concatenate((np.zeros_like(submits), ones, -ones))
    asked = np.concatenate((gpus[queued], gpus[job], gpus[job]))
    width = np.concatenate((gpus[queued], held, held))

    order = np.argsort(time_us, kind="stable")
    time_us = time_us[order]
    last = np.flatnonzero(np.append(time_us[1:] != time_us[:-1], True)[: len(time_us)])

    def running_sum(changes: AnyArray) -> Int64:
        total: Int64 = np.cumsum(changes[order], dtype=np.int64)[last]
        return total

    return Series(
        time_s=us_to_seconds(time_us[last]),
        allocated_gpus=running_sum(running * width),
        queue_jobs=running_sum(waiting),
        queue_gpus=running_sum(waiting * asked),
        running_jobs=running_sum(running),
    )
