"""The jobs of a result as columns."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, read_only
from gpusched.base.libraries import polars
from gpusched.base.replacing import replacing
from gpusched.base.ticks import us_to_seconds
from gpusched.schedules.schedule import (
    FINISHED,
    REJECT_REASONS,
    STATUSES,
    Schedule,
    contention_slowdown,
)
from gpusched.traces.checked_columns import NOT_GIVEN

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace


def write_jobs(
    frame: polars.DataFrame,
    path: str | os.PathLike[str],
    compression: Literal["lz4", "zstd"] = "zstd",
) -> None:
    """Write ``frame`` with its texts as string views, as they are in memory.

    Otherwise Polars first copies a column's texts into one buffer. If all texts are empty there is
    no buffer, and comparing texts at an unmapped address is ten times slower on some processors.
    """
    options: dict[str, Any] = {}
    if "arrow_schema" in inspect.signature(polars.DataFrame.write_parquet).parameters:
        options["arrow_schema"] = frame.schema
    with replacing(path) as partial:
        frame.write_parquet(partial, compression=compression, **options)


COLUMNS: Final = (
    "id", "submit_s", "start_s", "finish_s", "jct_s", "wait_s", "queueing_delay_s", "service_s",
    "held_s", "overhead_s", "slowdown_contention", "gpus", "preemptions", "resizes", "servers",
    "status", "reason",
)  # fmt: skip
OPTIONAL: Final = {"estimate_s": "estimate_us", "deadline_s": "deadline_s", "value": "value"}
"""Columns that a result has if its trace has them, and their names in the trace."""
OF_SCHEDULE: Final = {
    "failures": "failures", "lost_s": "lost_us", "written_s": "written_us",
    "eligible_s": "eligible_us",
}  # fmt: skip
"""Columns that a result has if its schedule has them, and their names there."""


class Jobs:
    """Columns in JobId order, ``jobs.jct_s`` or ``jobs["jct_s"]``; NaN where undefined.

    A job that did not finish has no finish, JCT, wait or overhead; one that never started has no
    start and no queueing delay.

    Attributes
    ----------
    columns
        The names; then ``failures``, ``lost_s`` and ``written_s``, if the run has outages, time
        limits or checkpoints; ``eligible_s``, if jobs can be held or have a cancel time; last
        ``estimate_s``, ``deadline_s`` and ``value``, if the trace has them.
    """

    def __init__(self, trace: Trace, schedule: Schedule) -> None:
        self._trace = trace
        self._schedule = schedule
        known = tuple(name for name, of in OF_SCHEDULE.items() if len(getattr(schedule, of)))
        present = tuple(name for name, of in OPTIONAL.items() if getattr(trace, of) is not None)
        self.columns = COLUMNS + known + present

    def __len__(self) -> int:
        return len(self._trace)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __getitem__(self, column: str) -> AnyArray:
        if column not in self.columns:
            raise KeyError(f"unknown column {column!r}; known: {', '.join(self.columns)}")
        values: AnyArray = getattr(self, column)
        return values

    def __repr__(self) -> str:
        return f"Jobs({len(self):,} jobs: {', '.join(self.columns)})"

    @property
    def id(self) -> AnyArray:
        """ID of the job in the source."""
        return self._trace.id

    @property
    def gpus(self) -> Int32:
        """Number of GPUs."""
        return self._trace.gpus

    @cached_property
    def submit_s(self) -> Float64:
        """Submission, seconds."""
        return read_only(us_to_seconds(self._trace.submit_us))

    @cached_property
    def service_s(self) -> Float64:
        """Run time on an idle cluster, seconds."""
        return read_only(us_to_seconds(self._trace.service_us))

    @cached_property
    def start_s(self) -> Float64:
        """First start, seconds."""
        start_us = self._schedule.start_us
        return _where(start_us >= 0, start_us)

    @cached_property
    def finish_s(self) -> Float64:
        """Completion, seconds."""
        return _where(self.is_finished, self._schedule.finish_us)

    @cached_property
    def jct_s(self) -> Float64:
        """Job completion time: finish - submit, seconds."""
        return _where(self.is_finished, self._schedule.finish_us - self._trace.submit_us)

    @cached_property
    def held_s(self) -> Float64:
        """All time with GPUs, seconds."""
        return read_only(us_to_seconds(self._schedule.held_us))

    @cached_property
    def wait_s(self) -> Float64:
        """All time without GPUs: JCT - held, seconds."""
        flow_us = self._schedule.finish_us - self._trace.submit_us
        return _where(self.is_finished, flow_us - self._schedule.held_us)

    @cached_property
    def queueing_delay_s(self) -> Float64:
        """Time from submit to the first start, seconds."""
        start_us = self._schedule.start_us
        return _where(start_us >= 0, start_us - self._trace.submit_us)

    @cached_property
    def overhead_s(self) -> Float64:
        """Time with GPUs beyond the service, seconds: held - service.

        Caused by restarts, lost work and checkpoints, and by placement and contention if run times
        depend on them.
        """
        return _where(self.is_finished, self._schedule.held_us - self._trace.service_us)

    @cached_property
    def slowdown_contention(self) -> Float64:
        """Run time over the run time on the same GPUs without shared links, at least 1.

        1.0 if run times are fixed or nothing is shared; NaN for jobs that never ran. Excludes
        restart costs.
        """
        return read_only(contention_slowdown(self._schedule))

    @property
    def preemptions(self) -> Int32:
        """Number of times that the policy took the job's GPUs before it finished."""
        return self._schedule.preemptions

    @property
    def resizes(self) -> Int32:
        """Number of times that the job changed its GPUs while running."""
        return self._schedule.resizes

    @property
    def servers(self) -> Int32:
        """Servers of the last allocation; 0 without one, or if the cluster is one pool."""
        return self._schedule.num_servers

    @cached_property
    def is_finished(self) -> Bool:
        """Whether the job finished."""
        finished: Bool = np.asarray(self._schedule.status) == FINISHED
        return read_only(finished)

    @cached_property
    def status(self) -> AnyArray:
        """``finished``, ``rejected``, ``unfinished``, ``cancelled``, ``killed`` or ``failed``."""
        return read_only(np.array(STATUSES)[self._schedule.status])

    @cached_property
    def reason(self) -> AnyArray:
        """Why the job was rejected, else ``""``."""
        return read_only(np.array(REJECT_REASONS)[self._schedule.reason])

    @property
    def failures(self) -> Int32:
        """Number of times that a failing server interrupted the job; empty without failures."""
        return self._schedule.failures

    @cached_property
    def lost_s(self) -> Float64:
        """Time with GPUs whose work was lost, seconds; empty as :attr:`failures`."""
        return read_only(us_to_seconds(self._schedule.lost_us))

    @cached_property
    def written_s(self) -> Float64:
        """Time with GPUs in which checkpoints were written, seconds; empty as :attr:`failures`."""
        return read_only(us_to_seconds(self._schedule.written_us))

    @cached_property
    def eligible_s(self) -> Float64:
        """When the job joined the queue, seconds; NaN if it never did, empty without holds."""
        eligible_us = self._schedule.eligible_us
        return _where(eligible_us >= 0, eligible_us)

    @cached_property
    def estimate_s(self) -> Float64:
        """The users' run-time estimate (time limit), seconds; NaN if missing."""
        estimate_us = self._trace.estimate_us
        if estimate_us is None:
            return read_only(np.full(len(self), np.nan))
        return _where(estimate_us != NOT_GIVEN, estimate_us)

    @cached_property
    def deadline_s(self) -> Float64:
        """The deadline, seconds; NaN without one."""
        deadline_s = self._trace.deadline_s
        return read_only(np.full(len(self), np.nan) if deadline_s is None else deadline_s)

    @cached_property
    def value(self) -> Float64:
        """Value of meeting the deadline; 1 if the trace has no values."""
        return read_only(np.ones(len(self))) if self._trace.value is None else self._trace.value

    def to_polars(self) -> polars.DataFrame:
        """Return all columns as a Polars frame, with user, queue and group if the trace has
        them; undefined values are null.
        """
        return self.frame(trace_series(self._trace))

    def frame(self, of_trace: Mapping[str, polars.Series]) -> polars.DataFrame:
        """Return :meth:`to_polars`, with the columns that :func:`trace_series` made."""
        data = {column: of_trace.get(column) for column in self.columns}
        for column, series in data.items():
            if column == "status":
                data[column] = _decoded(self._schedule.status, STATUSES)
            elif column == "reason":
                data[column] = _decoded(self._schedule.reason, REJECT_REASONS)
            elif series is None:
                data[column] = _series(self[column])
        return polars.DataFrame(data | dict(of_trace))


def trace_series(trace: Trace) -> dict[str, polars.Series]:
    """Return the columns that all results of a trace share, by name."""
    known: dict[str, AnyArray] = {
        "id": trace.id, "submit_s": trace.submit_s, "service_s": trace.service_s,
        "gpus": trace.gpus,
    }  # fmt: skip
    found = {column: _series(values) for column, values in known.items()}
    for column in ("user", "queue", "group"):
        labels = getattr(trace, column)
        if labels is not None:
            found[column] = _decoded(labels.codes, labels.names)
    return found


def _where(defined: Bool, ticks: Int64) -> Float64:
    seconds = us_to_seconds(ticks)
    if not defined.all():
        seconds[~defined] = np.nan
    return read_only(seconds)


def _series(values: AnyArray) -> polars.Series:
    if values.dtype.kind == "U":
        return polars.Series(values.tolist())
    # Without undefined values the series shares the memory of the column.
    has_nan = values.dtype.kind == "f" and bool(np.isnan(values).any())
    return polars.Series(values, nan_to_null=has_nan)


def _decoded(codes: AnyArray, names: tuple[str, ...]) -> polars.Series:
    if len(codes) and (codes == codes[0]).all():
        return polars.repeat(names[codes[0]], len(codes), dtype=polars.String, eager=True)
    return polars.Series(names, dtype=polars.String).gather(codes)
