"""The jobs of a setting, and predictions that several runs share."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64
from gpusched.base.real_data import find_data, need_data
from gpusched.generator.graph_zoo import assign_graphs
from gpusched.generator.synthetic_traces import generate
from gpusched.prediction import Predictor, predictor
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from gpusched_papers.a_srpt.settings import MAX_GPUS, REAL, Place


@lru_cache(maxsize=4)
def workload(place: Place, load: float | None, heavy_share: float | None, seed: int) -> Trace:
    """Return jobs with graphs of the zoo; of a real trace the seed draws the graphs alone.

    Generated jobs of more than ``MAX_GPUS`` are left out.
    """
    cluster = place.cluster()
    if place.trace:
        trace = read_trace(need_data(place.trace, "a-srpt"))
        if place.jobs:
            trace = trace.head(place.jobs)
    else:
        drawn = generate(place.profile, place.jobs, cluster=cluster, seed=seed)
        trace = drawn.filter(drawn.gpus <= MAX_GPUS)
    if load is not None:
        trace = trace.with_load(load, cluster.num_gpus)
    return assign_graphs(trace, cluster, heavy_share=heavy_share, seed=seed)


def real_places() -> tuple[Place, ...]:
    """Return the real traces that are there."""
    return tuple(place for place in REAL if find_data(place.trace) is not None)


def missing_places() -> tuple[Place, ...]:
    """Return the real traces that are not there."""
    there = real_places()
    return tuple(place for place in REAL if place not in there)


class Recorder(Predictor):
    """Passes everything on to a predictor and keeps what it predicts."""

    def __init__(self, text: str) -> None:
        self._inner = predictor(text)
        self.learns = self._inner.learns  # type: ignore[misc]
        self.counts_iterations = self._inner.counts_iterations
        self.batch_jobs = self._inner.batch_jobs

    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Begin with nothing predicted."""
        self.predicted_s = np.zeros(len(trace))
        self._inner.iteration_s = self.iteration_s
        self._inner.begin(trace, seed)
        self.costs = self._inner.costs

    def observe(self, jobs: Int64, finish_s: Float64) -> None:
        """Pass it on."""
        self._inner.observe(jobs, finish_s)

    def predict(self, jobs: Int64) -> Float64:
        """Pass it on, and keep the answer."""
        self.predicted_s[jobs] = self._inner.predict(jobs)
        found: Float64 = self.predicted_s[jobs]
        return found

    @property
    def covered(self) -> Bool | None:
        """As the predictor says."""
        return self._inner.covered

    def clone(self) -> Recorder:
        """The object itself: who made it reads it after the run."""
        return self


class Recorded(Predictor):
    """Predicts what was recorded in another run of the same trace."""

    learns = False

    def __init__(self, predicted_s: Float64) -> None:
        self._predicted_s = predicted_s

    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Nothing to prepare."""

    def predict(self, jobs: Int64) -> Float64:
        """Look them up."""
        found: Float64 = self._predicted_s[jobs]
        return found
