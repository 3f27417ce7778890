"""The columns of a workload, and the workloads that are parts or other paces of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int32, Int64, freeze_columns, read_only
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.rejects import Rejects
from gpusched.base.ticks import MAX_SUBMIT_US, seconds_to_us, us_to_seconds
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU
from gpusched.model.job_graphs import JobGraph
from gpusched.model.profiles import JobProfile
from gpusched.traces.assembly import check_horizon
from gpusched.traces.job_columns import NOT_GIVEN, moved


@dataclass(frozen=True, eq=False, repr=False)
class TraceColumns:
    """Jobs as read-only columns, see :class:`~gpusched.traces.workload.Trace`."""

    submit_us: Int64
    service_us: Int64
    gpus: Int32
    row: Int64
    id: AnyArray
    estimate_us: Int64 | None = None
    predicted_us: Int64 | None = None
    weight: Float64 | None = None
    checkpoint_us: Int64 | None = None
    restart_us: Int64 | None = None
    source_wait_us: Int64 | None = None
    share_milli: Int32 | None = None
    cpu_milli: Int64 | None = None
    memory_mib: Int64 | None = None
    deadline_us: Int64 | None = None
    value: Float64 | None = None
    min_gpus: Int32 | None = None
    max_gpus: Int32 | None = None
    time_limit_us: Int64 | None = None
    eligible_us: Int64 | None = None
    priority: Float64 | None = None
    gpus_per_node: Int32 | None = None
    user: Labels | None = None
    queue: Labels | None = None
    group: Labels | None = None
    status: Labels | None = None
    partition: Labels | None = None
    account: Labels | None = None
    qos: Labels | None = None
    dependency: Labels | None = None
    type_sets: tuple[tuple[str, ...], ...] = ()
    type_set: Int32 | None = None
    profiles: tuple[JobProfile, ...] = ()
    profile: Int32 | None = None
    graphs: tuple[JobGraph, ...] = ()
    graph: Int32 | None = None
    name: str = "trace"
    source: str = "columns"
    epoch: datetime | None = None
    origin_s: float = 0.0
    rejects: Rejects = field(default_factory=Rejects)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_columns(self)
        wrong = set(() if self.status is None else self.status.names) - set(STATUSES)
        if wrong:
            raise ValueError(f"status: {min(wrong)!r} must be one of {', '.join(STATUSES)}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # NumPy forgets the read-only flag in a pickle

    def __len__(self) -> int:
        return len(self.submit_us)

    @property
    def submit_s(self) -> Float64:
        """Submit times in seconds."""
        return us_to_seconds(self.submit_us)

    @property
    def service_s(self) -> Float64:
        """Service times in seconds."""
        return us_to_seconds(self.service_us)

    @property
    def gpu_share(self) -> Float64 | None:
        """The part of a GPU that each worker takes, 1 for a whole one; None if all take those."""
        return None if self.share_milli is None else self.share_milli / WHOLE_GPU

    @property
    def cpu(self) -> Float64 | None:
        """CPU cores that each worker asks for, or None if no job asks for any."""
        return None if self.cpu_milli is None else self.cpu_milli / MILLI_PER_CORE

    @property
    def memory_gib(self) -> Float64 | None:
        """Memory that each worker asks for, GiB, or None if no job asks for any."""
        return None if self.memory_mib is None else self.memory_mib / MIB_PER_GIB

    @property
    def deadline_s(self) -> Float64 | None:
        """Deadlines in seconds, NaN where a job has none, or None if no job has one."""
        if self.deadline_us is None:
            return None
        seconds = us_to_seconds(self.deadline_us)
        return np.where(self.deadline_us == NOT_GIVEN, np.nan, seconds)

    @property
    def gpu_seconds(self) -> float:
        """Work of all jobs: the sum of gpus x service, in GPU-seconds; a share counts as one."""
        gpus = self.gpus if self.share_milli is None else self.gpus * (self.share_milli / WHOLE_GPU)
        return float(np.sum(gpus * self.service_s))

    @property
    def span_us(self) -> int:
        """Time from the first to the last submission, in microseconds."""
        return int(self.submit_us[-1] - self.submit_us[0])

    @property
    def allowed_types(self) -> list[tuple[str, ...]] | None:
        """Allowed GPU types of each job (``()`` = any), or None if no job is restricted."""
        if self.type_set is None:
            return None
        return [self.type_sets[index] for index in self.type_set.tolist()]

    def offered_load(self, gpus: int) -> float:
        """Return the sum of gpus x service over (``gpus`` x arrival span).

        Infinite where all jobs arrive at one instant.

        Returns
        -------
        float
            0.9 where the jobs hold nine tenths of the GPUs on average.

        Raises
        ------
        ValueError
            If there is not one GPU.

        Examples
        --------
        >>> gs.Trace.from_columns([0, 100], [50, 50], [4, 4]).offered_load(8)
        0.5
        """
        if gpus < 1:
            raise ValueError(f"gpus: {gpus!r} must be at least 1")
        span_s = us_to_seconds(self.span_us)
        return self.gpu_seconds / (gpus * span_s) if span_s else float("inf")

    def head(self, num_jobs: int) -> Self:
        """Return the first ``num_jobs`` jobs (all, if there are fewer).

        Returns
        -------
        Trace
            Those jobs.

        Raises
        ------
        ValueError
            If that is none.

        Examples
        --------
        >>> len(gs.generate("philly", 100, seed=1).head(10))
        10
        """
        if num_jobs < 1:
            raise ValueError(f"head: {num_jobs!r} must be at least 1")
        return self._take(slice(0, num_jobs))

    def rebased(self) -> Self:
        """Return the same jobs with the first submit at 0; ``epoch`` and ``origin_s`` follow.

        Returns
        -------
        Trace
            The same jobs.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([5, 9], [60, 60], [1, 1])
        >>> trace.rebased().submit_s.tolist(), trace.rebased().origin_s
        ([0.0, 4.0], 5.0)
        """
        first = int(self.submit_us[0])
        if not first:
            return self
        return dataclasses.replace(
            self,
            submit_us=read_only(self.submit_us - first),
            **moved(self, -first),
            epoch=None if self.epoch is None else self.epoch + timedelta(microseconds=first),
            origin_s=self.origin_s + us_to_seconds(first),
        )

    def scale_load(self, factor: float) -> Self:
        """Return the same jobs with all gaps between arrivals divided by ``factor``.

        A deadline stays as long after its submission as it was.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        ValueError
            If the factor is not finite and positive, or arrivals would lie too far apart.

        Examples
        --------
        >>> gs.Trace.from_columns([0, 100], [50, 50], [4, 4]).scale_load(2).submit_s.tolist()
        [0.0, 50.0]
        """
        if not (np.isfinite(factor) and factor > 0):
            raise ValueError(f"scale_load: {factor!r} must be finite and positive")
        first = self.submit_us[0]
        gaps_s = us_to_seconds(self.submit_us - first) / factor
        if us_to_seconds(int(first)) + gaps_s[-1] > us_to_seconds(MAX_SUBMIT_US):
            raise ValueError(f"scale_load: {factor!r} stretches the arrivals beyond 2^61 us")
        submit_us = first + seconds_to_us(gaps_s)
        check_horizon("scale_load", submit_us, self.service_us)
        later = moved(self, submit_us - self.submit_us)
        return dataclasses.replace(self, submit_us=submit_us, **later)

    def with_load(self, load: float, gpus: int) -> Self:
        """Return the same jobs with arrivals rescaled so that ``offered_load(gpus)`` is ``load``.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        ValueError
            If the load is not finite and positive, or all jobs arrive at one instant.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 100], [50, 50], [4, 4])
        >>> trace.with_load(1.0, gpus=8).submit_s.tolist()
        [0.0, 50.0]
        """
        if not (np.isfinite(load) and load > 0):
            raise ValueError(f"with_load: {load!r} must be finite and positive")
        present = self.offered_load(gpus)
        if not np.isfinite(present):
            raise ValueError(f"{self.name}: all jobs arrive at one instant; no load can be set")
        return self.scale_load(load / present)

    def _take(self, jobs: AnyArray | slice) -> Self:
        changes: dict[str, Any] = {}
        for column in dataclasses.fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                changes[column.name] = read_only(value[jobs])
            elif isinstance(value, Labels):
                changes[column.name] = value.take(jobs)
        return dataclasses.replace(self, **changes)
