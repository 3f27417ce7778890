"""What a bound looks at: some jobs, as any schedule of them has to serve them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.bounds.deadline_program import Windows


class Jobs(Protocol):
    """What a bound needs to know: a :class:`~gpusched.Trace` has it, sorted by submit."""

    @property
    def submit_us(self) -> Int64: ...
    @property
    def service_us(self) -> Int64: ...
    @property
    def gpus(self) -> Int32: ...


class JobColumns(NamedTuple):
    """The columns of some of a trace's jobs, in the trace's order."""

    submit_us: Int64
    service_us: Int64
    gpus: Int32


@dataclass(frozen=True)
class BoundedJobs:
    """Some jobs on ``num_gpus`` GPUs (thousandths of them where jobs hold shares).

    Attributes
    ----------
    pieces
        The jobs as GPU time that may be cut: each takes at least ``gpus * service_us`` of it.
    shortest
        The jobs as gangs: each runs for at least ``service_us`` on at least ``gpus``.
    is_elastic
        Whether some job may change its width. Otherwise both are the jobs as they are.
    """

    pieces: JobColumns
    shortest: JobColumns
    num_gpus: int
    is_elastic: bool = False

    @classmethod
    def gangs(cls, jobs: Jobs, num_gpus: int) -> BoundedJobs:
        """Jobs that keep their widths."""
        columns = JobColumns(jobs.submit_us, jobs.service_us, jobs.gpus)
        return cls(columns, columns, num_gpus)

    @classmethod
    def elastic(
        cls, columns: JobColumns, num_gpus: int, least: Mapping[str, Float64]
    ) -> BoundedJobs:
        """Jobs that may run at any of their widths; ``least`` as ``costs`` of the bounds."""
        below = 1.0 - 2.0**-40  # more than the rounding of the parts can amount to
        time_us = np.floor(columns.service_us * (least["time"] * below)).astype(np.int64)
        area = columns.service_us * columns.gpus.astype(np.float64) * (least["gpu_time"] * below)
        work = np.maximum(1, np.floor(area)).astype(np.int64)
        pieces = JobColumns(columns.submit_us, work, np.ones(len(area), dtype=np.int32))
        narrowest = least["narrowest"].astype(np.int32)
        shortest = JobColumns(columns.submit_us, np.maximum(1, time_us), narrowest)
        return cls(pieces, shortest, num_gpus, is_elastic=True)


@dataclass(frozen=True)
class DeadlineJobs:
    """The jobs that could meet their deadlines were they alone.

    Attributes
    ----------
    windows
        Submit, deadline, work and value of each, and the rates at which it can run.
    has_values
        Whether the value of the deadlines is bounded, and not their number.
    is_brief
        Whether it is for a summary, which can afford about a second.
    """

    windows: Windows
    has_values: bool
    is_brief: bool

    def safe(self, bound: float) -> float:
        """Return a bound that no rounding has made too low; deadlines are whole."""
        raised = bound * (1 + 1e-9) + 1e-9
        return raised if self.has_values else float(np.floor(raised))
