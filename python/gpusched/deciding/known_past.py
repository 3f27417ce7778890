"""What is known of jobs that came before: those that finished, and how far the others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from gpusched.base.arrays import Bool, Int32, Int64
from gpusched.base.ticks import seconds_to_us
from gpusched.engine.standing_run import known_us

if TYPE_CHECKING:
    from gpusched.deciding.cluster_state import ClusterState
    from gpusched.engine.open_run import Simulation
    from gpusched.traces.workload import Trace

LEAST: Final = 20
"""With fewer finished jobs nothing is drawn from them, but from a wider kind."""
_FINISHED: Final = 0


@dataclass(frozen=True, eq=False)
class KnownPast:
    """Jobs that were submitted before now, in the order of their submission.

    Attributes
    ----------
    jobs
        What was submitted.
    gpus, service_us, is_finished
        int32, int64 microseconds and bool, one per job: its width, how long it took, or has had so
        far if it is not done, and whether it is. Longer than ``jobs`` where jobs run besides.
    told_us
        int64, one per job: what was said of its run time before it ran; None: nothing.
    """

    jobs: Trace
    gpus: Int32
    service_us: Int64
    is_finished: Bool
    told_us: Int64 | None

    @classmethod
    def of_log(cls, finished: Trace, live: ClusterState) -> Self:
        """Return what a log tells, whose ``predicted_s``, if it has these, is what was said."""
        runs, told_us, predicted_us = live.is_running, None, finished.predicted_us
        if predicted_us is not None and (predicted_us > 0).all():
            told_us = np.concatenate([predicted_us, live.jobs.service_us[runs]])
        return cls(
            finished,
            np.concatenate([finished.gpus, live.jobs.gpus[runs]]),
            np.concatenate([finished.service_us, _had_us(live)[runs]]),
            np.concatenate([np.ones(len(finished), np.bool_), np.zeros(runs.sum(), np.bool_)]),
            told_us,
        )

    @classmethod
    def of_run(cls, run: Simulation, live: ClusterState, rows: Int64) -> Self | None:
        """Return what an open run tells; None while too few of its jobs have finished.

        Parameters
        ----------
        live, rows
            Its present state, and the rows in the run of the jobs of that.
        """
        is_finished = np.asarray(run.result().schedule.status) == _FINISHED
        if int(is_finished.sum()) < LEAST:
            return None
        service_us = run.trace.service_us.copy()
        service_us[rows] = _had_us(live)
        kept = is_finished.copy()
        kept[rows] = True
        jobs = run.trace._take(kept)
        return cls(jobs, jobs.gpus, service_us[kept], is_finished[kept], known_us(run)[kept])


def _had_us(live: ClusterState) -> Int64:
    return np.maximum(1, seconds_to_us(live.attained_s))
