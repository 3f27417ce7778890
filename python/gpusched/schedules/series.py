"""The cluster over time as step functions: GPUs allocated, jobs running, jobs waiting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Float64, freeze_columns
from gpusched.base.ticks import us_to_seconds
from gpusched.schedules.schedule import Schedule

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
    time_us, *columns = _core.cluster_series(
        submit_us=trace.submit_us,
        gpus=trace.gpus,
        finish_us=np.asarray(schedule.finish_us),
        status=np.asarray(schedule.status),
        **intervals,
    )
    return Series(us_to_seconds(time_us), *columns)
