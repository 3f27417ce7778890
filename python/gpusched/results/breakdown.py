"""Wait, JCT and GPU hours of groups of jobs: what ``Result.by`` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64
from gpusched.base.pairs import sorted_pairs
from gpusched.base.ticks import us_to_seconds
from gpusched.results.gpu_time import US_PER_H, held_gpu_us, sums
from gpusched.results.job_groups import job_groups
from gpusched.schedules.schedule import FINISHED

if TYPE_CHECKING:
    import polars

    from gpusched.results.run_log import RunLog
    from gpusched.results.run_window import RunWindow

PERCENTILES: Final = (50, 90, 95, 99)
_EVERY: Final = slice(None)


def breakdown(result: RunLog, by: str, window: RunWindow | None = None) -> polars.DataFrame:
    """Break the jobs of a result, or of a part of it, down, see :meth:`gpusched.Result.by`."""
    import polars

    groups = job_groups(result, by)
    codes, size = groups.codes, len(groups.names)
    counted = _EVERY if window is None else window.counted(result.trace)
    finished = np.asarray(result.schedule.status) == FINISHED
    if window is not None:
        finished &= counted
    chosen = _EVERY if finished.all() else finished  # views of the columns in place of copies
    gpu_us = held_gpu_us(result.trace, result.schedule, is_fixed=result.is_fixed)
    flow_us = result.schedule.finish_us - result.trace.submit_us
    columns: dict[str, Any] = {
        by: list(groups.names),
        "num_jobs": np.bincount(codes[counted], minlength=size),
        "num_finished": np.bincount(codes[chosen], minlength=size),
        **_times("wait", codes, flow_us - result.schedule.held_us, chosen, size),
        **_times("jct", codes, flow_us, chosen, size),
        "gpu_hours": sums(codes[counted], gpu_us[counted], size) / US_PER_H,
    }
    frame = polars.DataFrame(columns, nan_to_null=True).filter(polars.col("num_jobs") > 0)
    if groups.is_ordered:
        return frame
    return frame.sort("gpu_hours", "num_jobs", by, descending=[True, True, False])


def _times(
    name: str, codes: Int64, ticks: Int64, chosen: Bool | slice, size: int
) -> dict[str, Float64]:
    """Mean and nearest-rank percentiles of each group, seconds; NaN of none."""
    group, time_us = sorted_pairs(codes[chosen], ticks[chosen])
    ordered: AnyArray = us_to_seconds(time_us)
    count = np.bincount(group, minlength=size)
    last = np.cumsum(count)
    with np.errstate(invalid="ignore"):
        mean = sums(group, ordered, size) / count
    columns = {f"mean_{name}_s": mean}
    for percent in PERCENTILES:
        # The nearest rank, as in traces.trace_facts: the least value that so many do not exceed.
        rank = np.maximum(0, -(-percent * count // 100) - 1)
        values = np.full(size, np.nan)
        there = count > 0
        values[there] = ordered[(last - count + rank)[there]]
        columns[f"p{percent}_{name}_s"] = values
    return columns
