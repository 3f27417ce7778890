"""Quantiles of forecasts, corrected by how earlier ones came true."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.deciding.survival import surviving

LEAST_QUESTIONS: Final = 8
"""By fewer earlier forecasts nothing is corrected."""
_FLOOR_S: Final = 600.0
"""Waits are compared with this much added to both, so that errors of minutes count little."""

_LEAST_SCORE: Final = 1e-9  # that of a job that was not to start at all


def stretch_factors(
    quantiles: tuple[float, ...], wait_s: Float64, is_over: Bool, forecast_s: Float64
) -> Float64:
    """Return by what each quantile of a wait is multiplied so that it would have been right.

    Split conformal prediction (Vovk, Gammerman and Shafer, 2005, section 2.2), a side at a time:
    the score of an earlier forecast is the true wait over the quantile q of it, and the factor of
    that quantile is the quantile q of the scores and of one more that is worse than all. Waits that
    are not over are longer than they are so far, and count as such (Kaplan and Meier).
    Exact where the new question is exchangeable with the earlier ones; those of a queue are alike,
    and drift.

    Parameters
    ----------
    wait_s, is_over
        float64 seconds and bool, one per question: how long the job waited, so far if not over.
    forecast_s
        float64[questions, quantiles]: the waits that were forecast.
    """
    count = len(wait_s)
    if count < LEAST_QUESTIONS:
        return np.ones(len(quantiles))
    factors = np.empty(len(quantiles))
    for place, part in enumerate(quantiles):
        scores = (wait_s + _FLOOR_S) / (forecast_s[:, place] + _FLOOR_S)
        scores = np.maximum(scores, _LEAST_SCORE)
        rank = part * (count + 1) / count
        outward = np.floor(rank * count) if part < 0.5 else np.ceil(rank * count)
        values, share = surviving(scores, is_over)
        at = int(np.searchsorted(share, min(1.0, outward / count) - 1e-9))
        factors[place] = values[min(at, len(values) - 1)]
    return factors


def stretched(wait_s: Float64, factors: Float64) -> Float64:
    """Return waits by quantile, one row per forecast or one forecast, corrected and ascending."""
    made = np.maximum(0.0, (wait_s + _FLOOR_S) * factors - _FLOOR_S)
    found: Float64 = np.maximum.accumulate(made, axis=-1)
    return found
