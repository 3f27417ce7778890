"""Predictions during a run: each batch of arrivals from the jobs finished before it."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Float64, Int64
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.base.ticks import (
    MAX_HORIZON_US,
    MAX_SERVICE_US,
    US_PER_S,
    seconds_to_us,
    us_to_seconds,
)
from gpusched.prediction.accuracy import Accuracy, PredictionReport
from gpusched.prediction.choose import predictor as predictor_of
from gpusched.prediction.interface import UNKNOWN_US, Predictor
from gpusched.prediction.registry import PredictorChoice
from gpusched.schedules.schedule import FINISHED, Schedule
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import Trace

MAX_BATCH: Final = 1000
_BATCHES_PER_ARRIVALS: Final = 500
# How often progress is reported.
_TELL_SECONDS: Final = 0.1


class OnlineRun:
    """A run that predicts each job just before it arrives.

    A batch is predicted at the arrival of its first job from the jobs that finished earlier in
    this run. Jobs of one instant are in one batch.

    ``make_run``: makes the run, given the int64 array of predictions (microseconds). The array is
        filled job by job and holds an hour until then; the run must read it in place. The run is
        ``_core.Run``, or has the same ``advance``, ``take_finished`` and ``finish``.
    ``predictor``: is modified: see :meth:`Predictor.clone`.
    ``seed``: seed of the predictor's random choices.
    ``batch_jobs``: overrides :attr:`Predictor.batch_jobs`; None: no override.
    ``estimate_us``: int64 array that the run reads; predictions also replace its entries of -1.
    ``run``: the run, which must not reach ``next_us`` before the batch is predicted.
    ``next_us``: arrival of the next batch, microseconds; None after the last.
    """

    def __init__(
        self,
        make_run: Callable[[Int64], Any],
        trace: Trace,
        predictor: Predictor,
        *,
        seed: int = 0,
        batch_jobs: int | None = None,
        estimate_us: Int64 | None = None,
    ) -> None:
        self._began = time.perf_counter()
        self._trace = trace
        self._predictor = predictor
        self._predicted_us = np.full(len(trace), UNKNOWN_US, np.int64)
        self._estimate_us = estimate_us
        self._has_no_estimate = np.zeros(0, dtype=bool)
        if estimate_us is not None:
            self._has_no_estimate = estimate_us == NOT_GIVEN
            estimate_us[self._has_no_estimate] = UNKNOWN_US
        self.run = make_run(self._predicted_us)
        begin = time.perf_counter()
        self._seen_us = np.full(len(trace), -1, np.int64)
        predictor.begin(trace if predictor.needs_truth else _veiled(trace, self._seen_us), seed)
        self._predict_s = time.perf_counter() - begin
        size = predictor.batch_jobs if batch_jobs is None else batch_jobs
        if not predictor.learns:
            size = -1
        self._batches = batches(trace.submit_us, size, predictor.cut_us)
        self._num_batches = 0
        self._find_next()

    @property
    def predicted_us(self) -> Int64:
        """The predictions that the run sees, microseconds; an hour for jobs not yet predicted."""
        return self._predicted_us

    def _find_next(self) -> None:
        self._next = next(self._batches, None)
        self.next_us = None if self._next is None else int(self._trace.submit_us[self._next[0]])
        if self._next is None:
            self._predictor.poll = None

    def predict_batch(self) -> int:
        """Advance to the next batch, predict its jobs, and return its end."""
        assert self._next is not None
        first, end = self._next
        if first:
            self.run.advance(first)
            self.observe()
            # The run is already there; this only checks for a stop.
            self._predictor.poll = lambda: self.run.advance(first)
        begin = time.perf_counter()
        found = self._predictor.predict(np.arange(first, end, dtype=np.int64))
        self._predict_s += time.perf_counter() - begin
        self._predicted_us[first:end] = _checked_us(self._predictor, found, first, end)
        if self._estimate_us is not None:
            missing = self._has_no_estimate[first:end]
            self._estimate_us[first:end][missing] = self._predicted_us[first:end][missing]
        self._num_batches += 1
        self._find_next()
        return end

    def observe(self) -> None:
        """Pass the newly finished jobs to the predictor."""
        jobs, finish_us = self.run.take_finished()
        if len(jobs) and self._predictor.learns:
            begin = time.perf_counter()
            self._seen_us[jobs] = self._trace.service_us[jobs]
            self._predictor.observe(jobs, us_to_seconds(finish_us))
            self._predict_s += time.perf_counter() - begin

    def finish(self) -> tuple[Schedule, PredictionReport]:
        """Go on to the end."""
        while self.next_us is not None:
            self.predict_batch()
        schedule: Schedule = self.run.finish()
        return schedule, self.report(schedule, time.perf_counter() - self._began)

    def report(self, schedule: Schedule, wall_s: float) -> PredictionReport:
        """Return the accuracy for the finished jobs."""
        predictor = self._predictor
        counts = np.asarray(schedule.status) == FINISHED
        if predictor.cut_us is not None:
            counts &= self._trace.submit_us >= predictor.cut_us
        covered = predictor.covered
        return PredictionReport(
            predictor=predictor.label,
            accuracy=Accuracy.of(
                self._predicted_us[counts],
                self._trace.service_us[counts],
                None if covered is None else covered[counts],
            ),
            num_batches=self._num_batches,
            num_fits=predictor.costs.num_fits,
            fit_s=predictor.costs.fit_s,
            features_s=predictor.costs.features_s,
            predict_s=self._predict_s,
            wall_s=wall_s,
        )


def _checked_us(predictor: Predictor, found: Any, first: int, end: int) -> Int64:
    """Check a predictor's values for the jobs from ``first`` to ``end``; convert to us."""
    if np.ma.is_masked(found):
        raise ValueError(f"predictor {predictor}: the times must not be masked")
    predicted_s = np.asarray(found)
    if predicted_s.dtype.kind not in "iuf":
        raise TypeError(
            f"predictor {predictor}: expected numbers of seconds, not {predicted_s.dtype}"
        )
    if predicted_s.shape != (end - first,):
        raise ValueError(
            f"predictor {predictor}: expected {end - first} times, not shape {predicted_s.shape}"
        )
    missing = np.isnan(predicted_s)
    if missing.any():
        job = first + int(np.argmax(missing))
        raise ValueError(f"predictor {predictor}: the time of job {job} is NaN")
    within_s = np.clip(predicted_s.astype(np.float64), 0, MAX_SERVICE_US / US_PER_S)
    return np.clip(seconds_to_us(within_s), 1, MAX_SERVICE_US)


def batches(submit_us: Int64, size: int, cut_us: int | None = None) -> Iterator[tuple[int, int]]:
    """Cut the arrivals into batches ``[first, end)``.

    ``size`` is the number of jobs per batch, 0 for the rule of :attr:`Predictor.batch_jobs`, which
    is causal, and -1 for one batch. Jobs of one instant stay together; ``cut_us`` begins a batch.
    """
    num_jobs = len(submit_us)
    cut = num_jobs if cut_us is None else int(np.searchsorted(submit_us, cut_us, side="left"))
    first = 0
    while first < num_jobs:
        step = size or min(max(first // _BATCHES_PER_ARRIVALS, 1), MAX_BATCH)
        end = num_jobs if size < 0 else min(first + step, num_jobs)
        if first < cut < end:
            end = cut
        end = int(np.searchsorted(submit_us, submit_us[end - 1], side="right"))
        yield first, end
        first = end


def _veiled(trace: Trace, seen_us: Int64) -> Trace:
    """Return the trace without outcomes, with the run times of ``seen_us`` only."""
    view = seen_us.view()
    view.flags.writeable = False
    return dataclasses.replace(
        trace,
        service_us=view,
        status=None,
        source_wait_us=None,
        eligible_us=None,
        cancel_at_us=None,
    )


def replay_history(
    trace: Trace,
    predictor: Predictor,
    finish_us: Int64 | None,
    seed: int = 0,
    stop: threading.Event | None = None,
    progress: OnProgress | None = None,
) -> Int64:
    """Replay a trace whose jobs finished at ``finish_us`` to a predictor.

    Each job is predicted from the jobs finished by then, as in a run; at the end the predictor
    knows all finished jobs. None: each job finished its run time after submission.

    Predictions at the arrivals, microseconds.
    """
    if finish_us is None:
        finish_us = trace.submit_us + trace.service_us
    run = RecordedRun(trace, finish_us, stop)
    run.advance(0)
    online = OnlineRun(lambda _: run, trace, predictor, seed=seed)
    told = time.monotonic()
    while online.next_us is not None:
        num_done = online.predict_batch()
        if progress is not None and time.monotonic() >= told + _TELL_SECONDS:
            told = time.monotonic()
            progress(Progress(num_done, len(trace)))
    if progress is not None:
        progress(Progress(len(trace), len(trace)))
    run.finish()
    online.observe()
    return online.predicted_us


def finish_ticks(finish_s: ArrayLike, num_jobs: int) -> Int64:
    """Convert finish times to microseconds, -1 for never."""
    if np.ma.is_masked(finish_s):
        raise ValueError("finish_s: must not be masked; use NaN for never")
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
    """A run of an :class:`OnlineRun` with given finish times."""

    def __init__(self, trace: Trace, finish_us: Int64, stop: threading.Event | None = None) -> None:
        self._stop = stop
        done = np.flatnonzero(finish_us >= 0)
        self._jobs = done[np.argsort(finish_us[done], kind="stable")]
        self._finish_us = finish_us[self._jobs]
        self._submit_us = trace.submit_us
        self._taken = self._reached = 0

    def advance(self, num_jobs: int) -> None:
        """Advance to the arrival of this job, before finishes at that instant."""
        if is_asked(self._stop):
            raise Cancelled(num_jobs, len(self._submit_us))
        now_us = self._submit_us[num_jobs]
        self._reached = int(np.searchsorted(self._finish_us, now_us, side="left"))

    def take_finished(self) -> tuple[Int64, Int64]:
        """Return the jobs finished since the last call."""
        new = slice(self._taken, self._reached)
        self._taken = self._reached
        return self._jobs[new], self._finish_us[new]

    def finish(self) -> None:
        """Go on to the end."""
        if is_asked(self._stop):
            raise Cancelled(len(self._submit_us), len(self._submit_us))
        self._reached = len(self._jobs)


def predict(
    trace: Trace,
    predictor: str | PredictorChoice | Predictor = "forest",
    *,
    finish_s: ArrayLike | None = None,
    seed: int = 0,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> tuple[Float64, Accuracy]:
    """Predict the jobs of ``trace`` in order of arrival, without a cluster.

    Each job is predicted from the jobs that finished before it arrived, as in a simulation.

    Parameters
    ----------
    predictor
        As for :func:`gpusched.simulate`; an object is copied.
    finish_s
        float64[num_jobs]: finish times, NaN for never, as in ``Result.jobs``. None: each job
        finished its run time after submission.
    seed
        Seed of the predictor's random choices.
    progress
        As for :func:`gpusched.simulate`.
    stop
        Event that ends the call, as for :func:`gpusched.simulate`.

    Returns
    -------
    tuple
        Predicted run times, float64[num_jobs] seconds, and their accuracy for finished jobs
        (after the training part, if there was one).

    Raises
    ------
    ValueError, TypeError
        As :func:`gpusched.prediction.predictor`; or if ``finish_s`` is not one time per job, or
        the trace lacks what the predictor needs.
    Cancelled
        If ``stop`` was set; it holds the number of predicted jobs.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> predicted_s, accuracy = gs.prediction.predict(trace, "last-value")
    >>> predicted_s.shape
    (100,)
    """
    made = predictor.clone() if isinstance(predictor, Predictor) else predictor_of(predictor)
    finish_us = None if finish_s is None else finish_ticks(finish_s, len(trace))
    predicted_us = replay_history(trace, made, finish_us, seed, stop, progress)
    counts = np.ones(len(trace), dtype=np.bool_) if finish_us is None else finish_us >= 0
    if made.cut_us is not None:
        counts &= trace.submit_us >= made.cut_us
    covered = None if made.covered is None else made.covered[counts]
    accuracy = Accuracy.of(predicted_us[counts], trace.service_us[counts], covered)
    return us_to_seconds(predicted_us), accuracy
