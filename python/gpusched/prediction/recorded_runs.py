"""A predictor that is shown jobs which finished long ago, as if they came now."""

from __future__ import annotations

import threading
import time
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Int64
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.base.ticks import MAX_HORIZON_US, US_PER_S, seconds_to_us
from gpusched.prediction.driving import Drive, batches
from gpusched.prediction.interface import Predictor
from gpusched.traces.workload import Trace

# How often progress is told.
_TELL_SECONDS: Final = 0.1


def replay_history(
    trace: Trace,
    predictor: Predictor,
    finish_us: Int64 | None,
    seed: int = 0,
    stop: threading.Event | None = None,
    progress: OnProgress | None = None,
) -> Int64:
    """Show a predictor a trace whose jobs are known to have finished at ``finish_us``.

    Each job arrives with what had finished by then, as in a run, and at the end the predictor
    knows all jobs that finished. None: each job ended its service after its submission.

    Returns
    -------
    int64[num_jobs]
        What it predicted at the arrivals, microseconds.

    Raises
    ------
    Cancelled
        If ``stop`` was set.
    """
    if finish_us is None:
        finish_us = trace.submit_us + trace.service_us
    run = RecordedRun(trace, finish_us, stop)
    run.advance(0)
    drive = Drive(run, trace, predictor, seed)
    predicted_us = np.empty(len(trace), dtype=np.int64)
    told = time.monotonic()
    for first, end in batches(trace.submit_us, predictor.batch_jobs, predictor.cut_us):
        predicted_us[first:end] = drive.next_batch(first, end)
        if progress is not None and time.monotonic() >= told + _TELL_SECONDS:
            told = time.monotonic()
            progress(Progress(end, len(trace)))
    if progress is not None:
        progress(Progress(len(trace), len(trace)))
    run.finish()
    drive.observe()
    predictor.poll = None
    return predicted_us


def finish_ticks(finish_s: ArrayLike, num_jobs: int) -> Int64:
    """Return when jobs finished in microseconds, -1 for never.

    Raises
    ------
    ValueError
        If they are not ``num_jobs`` numbers, one is masked, or one is neither NaN nor in range.
    """
    if np.ma.is_masked(finish_s):
        raise ValueError("finish_s: must not be masked; NaN stands for never")
    seconds = np.asarray(finish_s)
    if seconds.dtype.kind not in "iuf" or seconds.shape != (num_jobs,):
        raise ValueError(
            f"finish_s: expected {num_jobs} numbers, not {seconds.dtype} of shape {seconds.shape}"
        )
    never = np.isnan(seconds)
    wrong = ~never & ~((seconds >= 0) & (seconds <= MAX_HORIZON_US / US_PER_S))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"finish_s[{row}]: {seconds[row]} must be a time, or NaN for never")
    ticks: Int64 = np.where(never, -1, seconds_to_us(np.where(never, 0, seconds)))
    return ticks


class RecordedRun:
    """A :class:`.driving.Run` that took place already: jobs finish when they did."""

    def __init__(self, trace: Trace, finish_us: Int64, stop: threading.Event | None = None) -> None:
        self._stop = stop
        done = np.flatnonzero(finish_us >= 0)
        self._jobs = done[np.argsort(finish_us[done], kind="stable")]
        self._finish_us = finish_us[self._jobs]
        self._submit_us = trace.submit_us
        self._taken = self._reached = 0

    def advance(self, num_jobs: int) -> None:
        """Go on to the arrival of this job; what finishes at that very instant is not done yet."""
        if is_asked(self._stop):
            raise Cancelled(num_jobs, len(self._submit_us))
        now_us = self._submit_us[num_jobs]
        self._reached = int(np.searchsorted(self._finish_us, now_us, side="left"))

    def take_finished(self) -> tuple[Int64, Int64]:
        """Return what has finished since the last call."""
        new = slice(self._taken, self._reached)
        self._taken = self._reached
        return self._jobs[new], self._finish_us[new]

    def finish(self) -> None:
        """Go on to the end."""
        if is_asked(self._stop):
            raise Cancelled(len(self._submit_us), len(self._submit_us))
        self._reached = len(self._jobs)
