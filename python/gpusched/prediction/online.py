"""Predictions in the course of a run: each batch of arrivals by what had finished before it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpusched.base.arrays import Int64
from gpusched.prediction.accuracy import Accuracy, PredictionReport
from gpusched.prediction.driving import Drive, batches
from gpusched.prediction.interface import UNKNOWN_US, Predictor
from gpusched.schedules.schedule import FINISHED, Schedule
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import Trace


class OnlineRun:
    """A run that predicts each job just before it arrives.

    A batch is predicted at the arrival of its first job by what had finished before that instant
    in this very run. Jobs of one instant are never in two batches.

    Parameters
    ----------
    make_run
        Makes the run, given the int64 array of predictions (microseconds). The array is filled
        job by job; until then it says an hour. The run must read it where it is.
    predictor
        Is changed: see :meth:`Predictor.clone`.
    seed
        Of what the predictor draws.
    batch_jobs
        See :attr:`Predictor.batch_jobs`, which None stands for.
    estimate_us
        int64 array that the run reads; where it holds -1 the prediction is written into it, too.

    Attributes
    ----------
    run
        The run, which is not to be brought to ``next_us`` before the batch is predicted.
    next_us
        When the next batch arrives, microseconds; None if there is no other.

    Raises
    ------
    ValueError, TypeError
        If the predictor refuses the trace, or does not return one time per job.
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
        self._drive = Drive(self.run, trace, predictor, seed)
        size = predictor.batch_jobs if batch_jobs is None else batch_jobs
        if not predictor.learns:
            size = -1
        self._batches = batches(trace.submit_us, size, predictor.cut_us)
        self._num_batches = 0
        self._find_next()

    @property
    def predicted_us(self) -> Int64:
        """What the run is told, microseconds; of jobs that are still to be predicted an hour."""
        return self._predicted_us

    def _find_next(self) -> None:
        self._next = next(self._batches, None)
        self.next_us = None if self._next is None else int(self._trace.submit_us[self._next[0]])
        if self._next is None:
            self._predictor.poll = None

    def predict_batch(self) -> None:
        """Go on to the arrival of the next batch, and predict its jobs."""
        assert self._next is not None
        first, end = self._next
        self._predicted_us[first:end] = self._drive.next_batch(first, end)
        if self._estimate_us is not None:
            missing = self._has_no_estimate[first:end]
            self._estimate_us[first:end][missing] = self._predicted_us[first:end][missing]
        self._num_batches += 1
        self._find_next()

    def finish(self) -> tuple[Schedule, PredictionReport]:
        """Go on to the end."""
        while self.next_us is not None:
            self.predict_batch()
        schedule: Schedule = self.run.finish()
        return schedule, self.report(schedule, time.perf_counter() - self._began)

    def report(self, schedule: Schedule, wall_s: float) -> PredictionReport:
        """Return how good the predictions were for the jobs that have finished."""
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
            predict_s=self._drive.predict_s,
            wall_s=wall_s,
        )
