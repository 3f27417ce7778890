"""A schedule as a log in the Standard Workload Format: waits and run times of the simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpusched.base.wording import plural
from gpusched.results.format_registry import Exported, ScheduleFormat, register_schedule_format
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.formats.swf import losses, write_swf


def write(exported: Exported, path: Path) -> list[str]:
    """Write every job: status 1 if finished, 5 if rejected, -1 if unfinished."""
    trace, schedule = exported.trace, exported.schedule
    start_us, finish_us = np.asarray(schedule.start_us), np.asarray(schedule.finish_us)
    finished, rejected = exported.is_finished, exported.is_rejected
    wait_us = np.where(start_us >= 0, start_us - trace.submit_us, NOT_GIVEN)
    run_us = np.where(finished, finish_us - start_us, NOT_GIVEN)
    status = np.where(finished, "1", np.where(rejected, "5", "-1")).tolist()
    stopped = finished & (np.asarray(schedule.held_us) != finish_us - start_us)
    lost = losses(trace, wait=wait_us, **{"run time": run_us})
    if num_stopped := int(np.count_nonzero(stopped)):
        lost.append(
            f"{plural(num_stopped, 'job')} paused in between: run times are from the first start "
            "to the finish"
        )
    if num_left := int(np.count_nonzero(~finished & ~rejected)):
        lost.append(f"{plural(num_left, 'unfinished job')}: no run time, status -1")
    write_swf(trace, path, wait_us=wait_us, run_us=run_us, status=status, notes=lost)
    return lost


register_schedule_format(
    ScheduleFormat(
        name="swf",
        summary="Standard Workload Format with the waits and run times of the schedule.",
        source="Chapin et al., JSSPP 1999.",
        endings=("swf",),
        write=write,
        options={},
    )
)
