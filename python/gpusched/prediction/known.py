"""Predictors that learn nothing: the truth, the truth with an error, a column of the trace."""

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


@register_predictor("auto")
class Auto(_AtOnce):
    """The trace's own estimates where every job has one, else the true service."""

    source = "ours: what a site knows, as far as its trace tells"
    needs_truth = True

    def _all(self, trace: Trace, seed: int) -> Int64:
        values: Int64 = PredictedBy(
            "estimate_us" if has_all_estimates(trace) else "service_us", self.name
        ).values(trace)
        return values


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
