"""Predictors without a model: a figure of the jobs of the same kind that finished before."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.ticks import MAX_SERVICE_US, us_to_seconds
from gpusched.prediction.interface import Costs, Predictor
from gpusched.prediction.learner import COUNTS, COUNTS_NOTE, Learner
from gpusched.prediction.registry import register_predictor
from gpusched.specs.case import PredictedBy
from gpusched.traces.workload import Trace


class _AtOnce(Predictor):
    """Has the predictions of all jobs when the run begins."""

    learns = False

    def predict(self, jobs: Int64) -> Float64:
        """Look them up."""
        return us_to_seconds(self._predicted_us[jobs])

    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Compute them."""
        self.costs = Costs()
        self._predicted_us = self._all(trace, seed)

    def _all(self, trace: Trace, seed: int) -> Int64:
        raise NotImplementedError


class _OfTrace(_AtOnce):
    """Has them from a column of the trace."""

    def _all(self, trace: Trace, seed: int) -> Int64:
        values: Int64 = PredictedBy(self.column, self.name).values(trace)
        return values


@register_predictor("oracle")
class Oracle(_OfTrace):
    """The true service."""

    source = "an upper bound of what prediction can give"
    needs_truth = True
    column = "service_us"


@register_predictor("noise")
class Noise(_AtOnce):
    """The true service times exp(N(0, sigma)), drawn per job from the seed of the run."""

    source = "ours, to see what errors of a known size do"
    needs_truth = True
    limits: ClassVar = {"sigma": (0, 20)}
    notes: ClassVar = {"sigma": "standard deviation of the logarithm of the error"}

    def __init__(self, sigma: float = 0.5) -> None:
        self.sigma = sigma

    def _all(self, trace: Trace, seed: int) -> Int64:
        # The n-th draw belongs to job n, however many jobs there are.
        draws = np.random.Generator(np.random.PCG64([seed, 0x6E6F697365])).standard_normal(
            len(trace)
        )
        return _scaled(trace.service_us, np.exp(np.minimum(self.sigma * draws, 700)))


@register_predictor("bias")
class Bias(_AtOnce):
    """The true service times a constant factor."""

    source = "ours, to see what errors of a known size do"
    needs_truth = True
    limits: ClassVar = {"factor": (1e-6, 1e6)}
    notes: ClassVar = {"factor": "2 says twice as long as it takes"}

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def _all(self, trace: Trace, seed: int) -> Int64:
        return _scaled(trace.service_us, self.factor)


@register_predictor("estimate")
class Estimate(_OfTrace):
    """The trace's own estimates, which every job must have."""

    source = "the trace"
    column = "estimate_us"


@register_predictor("column")
class Column(_OfTrace):
    """The trace's own predictions (column predicted_s), which every job must have."""

    source = "the trace"
    column = "predicted_us"


def _scaled(service_us: Int64, factor: Float64 | float) -> Int64:
    scaled: Float64 = np.clip(np.rint(service_us * factor), 1, MAX_SERVICE_US)
    return scaled.astype(np.int64)


_BATCH = (0, 1_000_000)
_BATCH_NOTE = "most jobs predicted together, 0 for 1/500 of those so far (at most 1,000)"


class _OfKinds(Learner):
    """Has a figure of the jobs of the same kind, and else of more and more other jobs."""

    limits: ClassVar = {"batch_jobs": _BATCH}
    choices: ClassVar = {"counts": COUNTS}
    notes: ClassVar = {"batch_jobs": _BATCH_NOTE, "counts": COUNTS_NOTE}

    def __init__(self, batch_jobs: int, counts: str) -> None:
        super().__init__(counts)
        self.batch_jobs = batch_jobs


@register_predictor("group-mean")
class GroupMean(_OfKinds):
    """The mean service of the same user and group, of the group, of the user, else the median."""

    source = "common practice; the order of what is asked is ours"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known = self.log.of["kind"].mean_us(rows)
        for level in ("group", "user"):
            known = np.where(np.isnan(known), self.log.of[level].mean_us(rows), known)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("last-value")
class LastValue(_OfKinds):
    """The service of the job of the same user and group that finished last, else as group-mean."""

    source = "common practice (Tsafrir et al., TPDS 2007, average the last two of a user)"

    def __init__(self, batch_jobs: int = 0, counts: str = "service") -> None:
        super().__init__(batch_jobs, counts)

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known: Float64 = np.full(len(rows), np.nan)
        for level in ("kind", "group", "user"):
            last = self.log.of[level].recent(rows, 1)[:, 0]
            found = np.where(last < 0, np.nan, self.log.service_us[last])
            known = np.where(np.isnan(known), found, known)
        return self._or_all(known, _median(self.log.recent_us()))


@register_predictor("quantile")
class Quantile(_OfKinds):
    """A quantile of the last services of the same user and group, of the group, user, or all."""

    source = "common practice; a high quantile guards against underestimates"
    limits: ClassVar = {"q": (0, 1), "window": (1, 1000), "batch_jobs": _BATCH}
    notes: ClassVar = {
        "q": "0.5 is the median",
        "window": "of the last so many finished jobs",
        "batch_jobs": _BATCH_NOTE,
        "counts": COUNTS_NOTE,
    }

    def __init__(
        self, q: float = 0.5, window: int = 100, batch_jobs: int = 0, counts: str = "service"
    ) -> None:
        super().__init__(batch_jobs, counts)
        self.q = q
        self.window = window

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        known: Float64 = np.full(len(rows), np.nan)
        for level in ("kind", "group", "user"):
            missing = np.flatnonzero(np.isnan(known))
            if len(missing):
                known[missing] = self.log.quantile_us(level, rows[missing], self.q, self.window)
        finished = self.log.recent_us()
        everyone = float(np.quantile(finished, self.q)) if len(finished) else np.nan
        return self._or_all(known, everyone)


def _median(values: Int64) -> float:
    return float(np.median(values)) if len(values) else np.nan
