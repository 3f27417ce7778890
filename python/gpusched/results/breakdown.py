"""Wait, JCT and GPU hours of groups of jobs: what ``Result.by`` returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, UInt32
from gpusched.base.libraries import polars
from gpusched.base.memo import Memo
from gpusched.base.suggest import nearest
from gpusched.base.ticks import us_to_seconds
from gpusched.base.units import WHOLE_GPU
from gpusched.results.cost import US_PER_H, Holdings, held_gpu_us, sums
from gpusched.schedules.schedule import FINISHED

if TYPE_CHECKING:
    from gpusched.results.cost import RunLog
    from gpusched.results.run_window import RunWindow
    from gpusched.traces.workload import Trace


NOT_GIVEN: Final = "(not given)"
"""Group of jobs without a user, queue or group in the trace."""
NEVER_RAN: Final = "(never ran)"
MONTH_DAYS: Final = 30
"""Days of a month if the trace has no dates."""
_WIDTHS: Final = ("below 1", "1", "2-8", "9+")


@dataclass(frozen=True, eq=False)
class JobGroups:
    """Each job in one group.

    ``codes``: int32, one per job: index into ``names``.
    ``names``: the groups, in their natural order if ``is_ordered``.
    """

    codes: Int32
    names: tuple[str, ...]
    is_ordered: bool


def job_groups(result: RunLog, by: str) -> JobGroups:
    """Group the jobs of ``result``."""
    if not isinstance(by, str):
        raise TypeError(f"by: expected text, not {by!r}")
    if by not in GROUPINGS:
        raise ValueError(f"by: unknown {by!r}{nearest(by, list(GROUPINGS))}")
    groups = GROUPINGS[by]
    if by in _OF_RUNS:
        return groups(result)
    return _known.of(result.trace, by, lambda: groups(result))


def _by_gpus(result: RunLog) -> JobGroups:
    gpus = result.trace.gpus
    codes = np.searchsorted([1, 2, 9], gpus, side="right").astype(np.int32)
    if result.trace.share_milli is not None:
        codes[(gpus == 1) & (result.trace.share_milli < WHOLE_GPU)] = 0
    return JobGroups(codes, _WIDTHS, is_ordered=True)


def _by_label(column: str) -> Callable[[RunLog], JobGroups]:
    def groups(result: RunLog) -> JobGroups:
        labels = getattr(result.trace, column)
        if labels is None:
            raise ValueError(f"by: the trace {result.trace.name} has no column {column}")
        names = tuple(name or NOT_GIVEN for name in labels.names)
        return JobGroups(labels.codes, names, is_ordered=False)

    return groups


def _by_type(result: RunLog) -> JobGroups:
    """Group by the GPU types that a job ever held: one, or several as ``A100 + V100``."""
    held = Holdings.of(result.trace, result.cluster, result.intervals)
    num_kinds = len(held.kinds)
    has: AnyArray = np.zeros((len(result.trace), num_kinds), dtype=np.bool_)
    has[held.job, held.kind] = True
    sets, codes = np.unique(has, axis=0, return_inverse=True)
    names = tuple(
        " + ".join(held.kinds[kind] for kind in np.flatnonzero(row)) or NEVER_RAN for row in sets
    )
    return JobGroups(codes.reshape(-1).astype(np.int32), names, is_ordered=False)


def _by_month(result: RunLog) -> JobGroups:
    """Group by the month of submission, or without dates by 30 days from second 0.

    Months begin at midnight in the trace's time zone.
    """
    trace = result.trace
    if trace.epoch is None:
        index, names = _thirty_days(trace)
    else:
        first = np.datetime64(trace.epoch.replace(tzinfo=None), "us")
        day = first + trace.submit_us.astype("timedelta64[us]")
        months, index = _runs_of(day.astype("datetime64[M]"))
        names = tuple(str(month) for month in months)
    return JobGroups(index, names, is_ordered=True)


def _thirty_days(trace: Trace) -> tuple[Int32, tuple[str, ...]]:
    length = timedelta(days=MONTH_DAYS) // timedelta(microseconds=1)
    numbers, index = _runs_of(trace.submit_us // length)
    begins = [int(number) * MONTH_DAYS for number in numbers]
    return index, tuple(f"days {begin}-{begin + MONTH_DAYS - 1}" for begin in begins)


def _runs_of(ascending: AnyArray) -> tuple[AnyArray, Int32]:
    """Return the distinct values, and the index of each value among them."""
    if not len(ascending):
        return ascending, np.empty(0, dtype=np.int32)
    begins = np.append(True, ascending[1:] != ascending[:-1])
    return ascending[begins], np.cumsum(begins, dtype=np.int32) - np.int32(1)


GROUPINGS: Final[dict[str, Callable[[RunLog], JobGroups]]] = {
    "gpus": _by_gpus,
    "user": _by_label("user"),
    "queue": _by_label("queue"),
    "group": _by_label("group"),
    "type": _by_type,
    "month": _by_month,
}
"""The groupings of jobs."""

_OF_RUNS: Final = {"type"}
"""Groupings that depend on the run; the others are the same for all runs of a trace."""
_known: Memo[Trace, JobGroups] = Memo(len(GROUPINGS))


PERCENTILES: Final = (50, 90, 95, 99)


class JobTimes:
    """The times of a run's jobs, sorted once for all its breakdowns.

    ``finished``: which jobs finished.
    ``gpu_us``: GPU time that each job held, microseconds.
    """

    def __init__(self, result: RunLog) -> None:
        trace, schedule = result.trace, result.schedule
        flow_us = schedule.finish_us - trace.submit_us
        self.finished: Bool = np.asarray(schedule.status) == FINISHED
        self.gpu_us = held_gpu_us(trace, schedule, is_fixed=result.is_fixed)
        # Includes unfinished jobs, whose times are meaningless.
        self._ordered: dict[str, tuple[UInt32, Int64]] = {}
        for name, time_us in (("wait", flow_us - schedule.held_us), ("jct", flow_us)):
            order = _core.time_order(time_us)
            self._ordered[name] = order, time_us[order]

    def of_groups(self, name: str, group: Int32, size: int) -> tuple[Int64, dict[str, Float64]]:
        """Count each group's jobs; return their mean and nearest-rank percentiles.

        Values are in seconds, NaN for an empty group.

        ``name``: ``wait`` or ``jct``.
        ``group``: the group of each job, int32; -1 for jobs that do not count.
        """
        order, time_us = self._ordered[name]
        count, mean_us, percentiles_us = _core.group_times(
            order=order, time_us=time_us, group=group, num_groups=size, percents=PERCENTILES
        )
        columns = {f"mean_{name}_s": us_to_seconds(mean_us)}
        for percent, values_us in zip(PERCENTILES, percentiles_us, strict=True):
            values_s = us_to_seconds(values_us)
            values_s[values_us < 0] = np.nan
            columns[f"p{percent}_{name}_s"] = values_s
        return count, columns


def breakdown(
    result: RunLog, times: JobTimes, by: str, window: RunWindow | None = None
) -> polars.DataFrame:
    """Break down the jobs of a result, or of a part of it; see :meth:`gpusched.Result.by`."""
    groups = job_groups(result, by)
    codes, size = groups.codes, len(groups.names)
    finished, gpu_us = times.finished, times.gpu_us
    if window is not None:
        counted = window.counted(result.trace)
        finished = finished & counted
        codes, gpu_us = codes[counted], gpu_us[counted]
    is_each = bool(finished.all())
    timed = groups.codes if is_each else np.where(finished, groups.codes, np.int32(-1))
    num_finished, waits = times.of_groups("wait", timed, size)
    _, jcts = times.of_groups("jct", timed, size)
    columns: dict[str, Any] = {
        by: list(groups.names),
        "num_jobs": num_finished if is_each else np.bincount(codes, minlength=size),
        "num_finished": num_finished,
        **waits,
        **jcts,
        "gpu_hours": sums(codes, gpu_us, size) / US_PER_H,
    }
    if len(failures := result.schedule.failures):
        some = slice(None) if window is None else counted
        num_failures = sums(codes, failures[some], size)
        held_s = us_to_seconds(sums(codes, result.schedule.held_us[some], size))
        columns["num_failures"] = num_failures.astype(np.int64)
        columns["mttf_s"] = held_s / np.where(num_failures > 0, num_failures, np.nan)
    frame = polars.DataFrame(columns, nan_to_null=True).filter(polars.col("num_jobs") > 0)
    if groups.is_ordered:
        return frame
    return frame.sort("gpu_hours", "num_jobs", by, descending=[True, True, False])
