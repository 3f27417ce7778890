"""A run and a predictor side by side: each batch of arrivals by what had finished before it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any, Final, Protocol

import numpy as np

from gpusched.base.arrays import Int64
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S, seconds_to_us, us_to_seconds
from gpusched.prediction.interface import Predictor
from gpusched.traces.workload import Trace

MAX_BATCH: Final = 1000
_BATCHES_PER_ARRIVALS: Final = 500


class Run(Protocol):
    """A simulation that can be halted between arrivals; the core's is ``_core.Run``."""

    def advance(self, num_jobs: int) -> None:
        """Go on until the next arrival is that of job ``num_jobs`` or a later one."""

    def take_finished(self) -> tuple[Int64, Int64]:
        """Return the jobs that have finished since the last call, and when, in that order."""

    def finish(self) -> Any:
        """Go on to the end and return the schedule."""


class Drive:
    """A run and a predictor side by side: what the one has finished, the other may know."""

    def __init__(self, run: Run, trace: Trace, predictor: Predictor, seed: int) -> None:
        self.run = run
        self.trace = trace
        self.predictor = predictor
        begin = time.perf_counter()
        self._seen_us = np.full(len(trace), -1, np.int64)
        predictor.begin(trace if predictor.needs_truth else _veiled(trace, self._seen_us), seed)
        self.predict_s = time.perf_counter() - begin

    def next_batch(self, first: int, end: int) -> Int64:
        """Go on to the arrival of ``first`` and predict the jobs from there to ``end``."""
        if first:
            self.run.advance(first)
            self.observe()
            # The run is there already: this only asks whether it was told to stop.
            self.predictor.poll = lambda: self.run.advance(first)
        begin = time.perf_counter()
        found = self.predictor.predict(np.arange(first, end, dtype=np.int64))
        self.predict_s += time.perf_counter() - begin
        if np.ma.is_masked(found):
            raise ValueError(f"predictor {self.predictor}: the times must not be masked")
        predicted_s = np.asarray(found)
        if predicted_s.dtype.kind not in "iuf":
            raise TypeError(
                f"predictor {self.predictor}: expected numbers of seconds, not {predicted_s.dtype}"
            )
        if predicted_s.shape != (end - first,):
            raise ValueError(
                f"predictor {self.predictor}: expected {end - first} times, not shape "
                f"{predicted_s.shape}"
            )
        missing = np.isnan(predicted_s)
        if missing.any():
            job = first + int(np.argmax(missing))
            raise ValueError(f"predictor {self.predictor}: the time of job {job} is NaN")
        within_s = np.clip(predicted_s.astype(np.float64), 0, MAX_SERVICE_US / US_PER_S)
        return np.clip(seconds_to_us(within_s), 1, MAX_SERVICE_US)

    def observe(self) -> None:
        """Tell the predictor what has finished since the last time."""
        jobs, finish_us = self.run.take_finished()
        if len(jobs) and self.predictor.learns:
            begin = time.perf_counter()
            self._seen_us[jobs] = self.trace.service_us[jobs]
            self.predictor.observe(jobs, us_to_seconds(finish_us))
            self.predict_s += time.perf_counter() - begin


def batches(submit_us: Int64, size: int, cut_us: int | None = None) -> Iterator[tuple[int, int]]:
    """Cut the arrivals into batches ``[first, end)``.

    ``size`` is the number of jobs of a batch, 0 for :attr:`Predictor.batch_jobs`'s rule, which
    does not look ahead, and -1 for one batch. Jobs of one instant stay together, and ``cut_us``
    begins a batch.
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
    """Return the trace with services that appear in ``seen_us`` only, and no outcomes."""
    view = seen_us.view()
    view.flags.writeable = False
    return dataclasses.replace(trace, service_us=view, status=None, source_wait_us=None)
