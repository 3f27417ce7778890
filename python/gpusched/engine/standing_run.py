"""An open run as what another one can begin with: its live jobs, and how far each of them is."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Int64, read_only

if TYPE_CHECKING:
    from gpusched.engine.stepped_run import SteppedRun
    from gpusched.traces.workload import Trace


def standing(run: SteppedRun) -> tuple[Trace, dict[str, Any]]:
    """Return the jobs that wait or run, with what their policy knows of run times, and columns.

    The columns are those of ``_core.Standing`` at the time of the run, and ``jobs``, their rows in
    the run.
    """
    columns: dict[str, Any] = _core.standing_of(run._run)
    rows: Int64 = columns["jobs"]
    start_us, cost_us = columns["start_us"], columns["cost_us"]
    # The core's are of the last instant, and the run may have halted later.
    now_us, last_us = run._clock_us, run._run.now_us
    paid_us = start_us + cost_us
    since_us = np.maximum(now_us, paid_us) - np.maximum(last_us, paid_us)
    columns["attained_us"] = columns["attained_us"] + np.where(start_us >= 0, since_us, 0)
    columns["now_us"] = now_us
    return dataclasses.replace(
        run.trace._take(rows), service_us=read_only(known_us(run)[rows])
    ), columns


def known_us(run: SteppedRun) -> Int64:
    """Return what the policy is told of the service of each job, microseconds."""
    if run._online is not None:
        return run._online.predicted_us
    return run._ready.predicted.values(run.trace)
