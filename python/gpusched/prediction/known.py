"""Predictors that do not learn: true run times, with errors, or a column of the trace."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.ticks import MAX_SERVICE_US, us_to_seconds
from gpusched.prediction.interface import Costs, Predictor
from gpusched.prediction.registry import register_predictor
from gpusched.specs.case import PredictedBy, has_all_estimates
from gpusched.traces.workload import Trace


class _AtOnce(Predictor):
    """Predicts all jobs when the run begins."""

    learns = False

    def predict(self, jobs: Int64) -> Float64:
        """Return the stored predictions."""
        return us_to_seconds(self._predicted_us[jobs])

    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Compute all predictions."""
        self.costs = Costs()
        self._predicted_us = self._all(trace, seed)

    def _all(self, trace: Trace, seed: int) -> Int64:
        raise NotImplementedError


class _OfTrace(_AtOnce):
    """Reads predictions from a column of the trace."""

    def _all(self, trace: Trace, seed: int) -> Int64:
        values: Int64 = PredictedBy(self.column, self.name).values(trace)
        return values


@register_predictor("oracle")
class Oracle(_OfTrace):
    """The true run time."""

    source = "an upper bound on the benefit of prediction"
    needs_truth = True
    column = "service_us"


@register_predictor("auto")
class Auto(_AtOnce):
    """The trace's estimates if every job has one, else true run times."""

    source = "ours: what a site knows, as far as its trace shows"
    needs_truth = True

    def _all(self, trace: Trace, seed: int) -> Int64:
        values: Int64 = PredictedBy(
            "estimate_us" if has_all_estimates(trace) else "service_us", self.name
        ).values(trace)
        return values


@register_predictor("noise")
class Noise(_AtOnce):
    """The true run time times exp(N(0, sigma)), drawn per job from the run's seed."""

    source = "ours, to see what errors of a known size do"
    needs_truth = True
    limits: ClassVar = {"sigma": (0, 20)}
    notes: ClassVar = {"sigma": "standard deviation of the logarithm of the error"}

    def __init__(self, sigma: float = 0.5) -> None:
        self.sigma = sigma

    def _all(self, trace: Trace, seed: int) -> Int64:
        # Draw n belongs to job n, for any number of jobs.
        draws = np.random.Generator(np.random.PCG64([seed, 0x6E6F697365])).standard_normal(
            len(trace)
        )
        return _scaled(trace.service_us, np.exp(np.minimum(self.sigma * draws, 700)))


@register_predictor("bias")
class Bias(_AtOnce):
    """The true run time times a constant factor."""

    source = "ours, to see what errors of a known size do"
    needs_truth = True
    limits: ClassVar = {"factor": (1e-6, 1e6)}
    notes: ClassVar = {"factor": "factor on true run times; 2 predicts twice the run time"}

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def _all(self, trace: Trace, seed: int) -> Int64:
        return _scaled(trace.service_us, self.factor)


@register_predictor("estimate")
class Estimate(_OfTrace):
    """The trace's run-time estimates, which every job must have."""

    source = "the trace"
    column = "estimate_us"


@register_predictor("column")
class Column(_OfTrace):
    """The trace's predictions (column predicted_s), which every job must have."""

    source = "the trace"
    column = "predicted_us"


def _scaled(service_us: Int64, factor: Float64 | float) -> Int64:
    scaled: Float64 = np.clip(np.rint(service_us * factor), 1, MAX_SERVICE_US)
    return scaled.astype(np.int64)
