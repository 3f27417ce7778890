"""The events of a run in the order in which the engine applied them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import AnyArray, Float64, Int64, read_only
from gpusched.base.ticks import us_to_seconds
from gpusched.schedules.schedule import REJECTED, Schedule, whole_intervals

if TYPE_CHECKING:
    import polars

    from gpusched.traces.workload import Trace

KINDS: Final = ("finish", "arrival", "reject", "preempt", "start", "resume", "resize")
_FINISH, _ARRIVAL, _REJECT, _PREEMPT, _START, _RESUME, _RESIZE = range(len(KINDS))


class Events:
    """Columns, one entry per event.

    Sorted by time; within an instant finishes, arrivals, rejects, preemptions, then starts,
    resumes and resizes; within these by job.

    Attributes
    ----------
    time_us
        int64 microseconds.
    kind_code
        int8: index into ``KINDS``.
    job
        int64: JobId.
    """

    def __init__(self, trace: Trace, schedule: Schedule, intervals: Mapping[str, AnyArray]) -> None:
        first, opens = whole_intervals(intervals)
        job, start_us = intervals["job"][first], intervals["start_us"][first]
        end_us = intervals["end_us"][first]
        ends_job = end_us == np.asarray(schedule.finish_us)[job]
        # An interval that begins where the job's last one ended is a resize: it did not stop.
        goes_on = np.zeros(len(job), dtype=np.bool_)
        goes_on[1:] = ~opens[1:] & (start_us[1:] == end_us[:-1])
        stops = ~np.append(goes_on[1:], False)[: len(job)]
        begun = np.where(opens, _START, np.where(goes_on, _RESIZE, _RESUME))
        rejected = np.flatnonzero(np.asarray(schedule.status) == REJECTED)
        parts = (
            (trace.submit_us, np.arange(len(trace)), _ARRIVAL),
            (trace.submit_us[rejected], rejected, _REJECT),
            (start_us, job, begun),
            (end_us[stops], job[stops], np.where(ends_job, _FINISH, _PREEMPT)[stops]),
        )
        time_us = np.concatenate([times for times, _, _ in parts])
        jobs = np.concatenate([of for _, of, _ in parts])
        kind = np.concatenate([np.broadcast_to(code, len(times)) for times, _, code in parts])
        order = np.lexsort((jobs, np.minimum(kind, _START), time_us))
        self.time_us: Int64 = read_only(time_us[order])
        self.kind_code: npt.NDArray[np.int8] = read_only(kind[order].astype(np.int8))
        self.job: Int64 = read_only(jobs[order].astype(np.int64, copy=False))
        self._trace = trace

    def __len__(self) -> int:
        return len(self.time_us)

    def __repr__(self) -> str:
        counts = np.bincount(self.kind_code, minlength=len(KINDS)).tolist()
        shown = ", ".join(f"{n:,} {kind}" for kind, n in zip(KINDS, counts, strict=True) if n)
        return f"Events({shown})"

    @property
    def time_s(self) -> Float64:
        """Time of the event, seconds."""
        return us_to_seconds(self.time_us)

    @cached_property
    def kind(self) -> AnyArray:
        """``finish``, ``arrival``, ``reject``, ``preempt``, ``start``, ``resume`` or ``resize``."""
        return read_only(np.array(KINDS)[self.kind_code])

    def to_polars(self) -> polars.DataFrame:
        """Return ``time_s``, ``kind``, ``job`` (JobId), ``id`` and ``gpus`` as a Polars frame."""
        import polars

        ids = self._trace.id
        names = polars.Series(ids.tolist() if ids.dtype.kind == "U" else ids)
        return polars.DataFrame(
            {
                "time_s": self.time_s,
                "kind": polars.Series(KINDS, dtype=polars.String).gather(self.kind_code),
                "job": self.job,
                "id": names.gather(self.job),
                "gpus": self._trace.gpus[self.job],
            }
        )
