"""A schedule as a log in the Standard Workload Format: waits and run times of the simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from gpusched.base.wording import plural
from gpusched.results.format_registry import Exported, ScheduleFormat, register_schedule_format
from gpusched.schedules.schedule import FAILED, FINISHED, KILLED, REJECTED
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.formats.swf import losses, write_swf

_STATUS: Final = {FINISHED: "1", REJECTED: "5", KILLED: "5", FAILED: "0"}


def write(exported: Exported, path: Path) -> list[str]:
    """Write every job: status 1 if finished, 5 if rejected or killed, 0 if failed, else -1."""
    trace, schedule = exported.trace, exported.schedule
    start_us, over_us = np.asarray(schedule.start_us), exported.over_us
    over = over_us >= 0
    wait_us = np.where(start_us >= 0, start_us - trace.submit_us, NOT_GIVEN)
    run_us = np.where(over, over_us - start_us, NOT_GIVEN)
    status = [_STATUS.get(code, "-1") for code in np.asarray(schedule.status).tolist()]
    stopped = over & (np.asarray(schedule.held_us) != over_us - start_us)
    lost = losses(trace, wait=wait_us, **{"run time": run_us})
    if num_stopped := int(np.count_nonzero(stopped)):
        lost.append(
            f"{plural(num_stopped, 'job')} paused in between: run times are from the first start "
            "to the end"
        )
    if num_left := int(np.count_nonzero(~over & ~exported.is_rejected)):
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
