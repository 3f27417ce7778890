"""Wait, JCT and GPU hours of groups of jobs: what ``Result.by`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.results.gpu_time import US_PER_H, held_gpu_us, sums
from gpusched.results.job_groups import job_groups
from gpusched.schedules.ranked_times import RankedTimes
from gpusched.schedules.schedule import FINISHED

if TYPE_CHECKING:
    import polars

    from gpusched.results.run_log import RunLog
    from gpusched.results.run_window import RunWindow


@dataclass(frozen=True, eq=False)
class JobTimes:
    """What all breakdowns of a run are made of.

    Attributes
    ----------
    finished
        Which jobs ran to their end.
    wait, jct
        Of all jobs, those that did not finish too, whose times say nothing.
    gpu_us
        GPU time that each job held, microseconds.
    """

    finished: Bool
    wait: RankedTimes
    jct: RankedTimes
    gpu_us: Float64

    @classmethod
    def of(cls, result: RunLog) -> Self:
        """Read the columns of a run."""
        trace, schedule = result.trace, result.schedule
        flow_us = schedule.finish_us - trace.submit_us
        return cls(
            finished=np.asarray(schedule.status) == FINISHED,
            wait=RankedTimes.of(flow_us - schedule.held_us),
            jct=RankedTimes.of(flow_us),
            gpu_us=held_gpu_us(trace, schedule, is_fixed=result.is_fixed),
        )


def breakdown(
    result: RunLog, times: JobTimes, by: str, window: RunWindow | None = None
) -> polars.DataFrame:
    """Break the jobs of a result, or of a part of it, down, see :meth:`gpusched.Result.by`."""
    import polars

    groups = job_groups(result, by)
    codes, size = groups.codes, len(groups.names)
    finished, gpu_us = times.finished, times.gpu_us
    if window is not None:
        counted = window.counted(result.trace)
        finished = finished & counted
        codes, gpu_us = codes[counted], gpu_us[counted]
    is_each = bool(finished.all())
    timed = groups.codes if is_each else np.where(finished, groups.codes, np.int32(-1))
    num_finished, waits = times.wait.of_groups("wait", timed, size)
    _, jcts = times.jct.of_groups("jct", timed, size)
    columns: dict[str, Any] = {
        by: list(groups.names),
        "num_jobs": num_finished if is_each else np.bincount(codes, minlength=size),
        "num_finished": num_finished,
        **waits,
        **jcts,
        "gpu_hours": sums(codes, gpu_us, size) / US_PER_H,
    }
    frame = polars.DataFrame(columns, nan_to_null=True).filter(polars.col("num_jobs") > 0)
    if groups.is_ordered:
        return frame
    return frame.sort("gpu_hours", "num_jobs", by, descending=[True, True, False])
