"""What an open run looks like between two instants: read-only columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import Float64, Int32, Int64, read_only
from gpusched.base.ticks import US_PER_S


@dataclass(frozen=True, eq=False)
class SimulationState:
    """A run between two instants. Arrays are copies, read-only; jobs are rows of the trace.

    Attributes
    ----------
    now_s
        The time of the run, seconds.
    waiting
        int64: jobs that have arrived and hold no GPUs, by id; rejected ones are not among them.
    running
        int64: jobs that hold GPUs, by id.
    start_s, expected_finish_s, gpus
        float64 seconds, float64 seconds and int32, one per running job: when its present run began,
        when it ends if it keeps its GPUs and its speed (the truth, not a prediction), and its
        width.
    held_job, held_server, held_mask
        int64, int64 and uint64: a row per running job and server, with the GPUs that it holds
        there; bit i is GPU i. Empty under a placement without servers.
    free_gpus
        int32: wholly free GPUs of each server; empty under a placement without servers.
    num_free
        Wholly free GPUs of the cluster.
    num_arrived, num_finished, num_rejected
        Jobs so far.
    """

    now_s: float
    waiting: Int64
    running: Int64
    start_s: Float64
    expected_finish_s: Float64
    gpus: Int32
    held_job: Int64
    held_server: Int64
    held_mask: npt.NDArray[np.uint64]
    free_gpus: Int32
    num_free: int
    num_arrived: int
    num_finished: int
    num_rejected: int

    @property
    def num_waiting(self) -> int:
        """Jobs that wait."""
        return len(self.waiting)

    @property
    def num_running(self) -> int:
        """Jobs that hold GPUs."""
        return len(self.running)


def state_of(columns: dict[str, Any], now_us: int) -> SimulationState:
    """Return what the core says of an open run, times in seconds."""
    seconds = {
        "start_s": columns.pop("start_us") / US_PER_S,
        "expected_finish_s": columns.pop("finish_us") / US_PER_S,
    }
    arrays: dict[str, Any] = {
        name: read_only(value) if isinstance(value, np.ndarray) else value
        for name, value in (columns | seconds).items()
    }
    return SimulationState(now_s=now_us / US_PER_S, **arrays)
