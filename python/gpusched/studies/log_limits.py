"""Limits of a mean by the logarithms of its values, for those that spread over orders of magnitude.

Of few values of a heavy tail the greatest have mostly not been drawn, and whatever only rearranges
what was drawn misses the truth on that side. On the scale of logarithms such values are nearly
normal, and Cox's interval for the mean of lognormal values, with quantiles of Student's t (Olsson,
*Confidence intervals for the mean of a log-normal distribution*, Journal of Statistics Education
13(1), 2005), knows how far the tail may reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.studies.samples import scipy_special

LEAST_SPREAD: Final = 0.4
"""Standard deviation of the logarithms above which these limits say something. Ours: values with a
spread of a quarter stay below it."""
LEAST_SKEWNESS: Final = -1.0
"""Skewness of the logarithms below which they are no longer nearly normal: values of an exponential
tail and lighter ones, whose small values are spread the most. Ours, chosen by the coverage of
synthetic values (docs/studies/statistics.md)."""


@dataclass(frozen=True)
class LogLimits:
    """The limit that lies away from zero, of each experiment.

    Attributes
    ----------
    applies
        Whether all values have one sign, spread enough, and look like a heavy tail.
    limit
        Above the mean of positive values, below that of negative ones.
    p
        The least level of error, of both sides, at which the limit would leave ``against`` out, if
        that lies farther from zero than the mean; 0 else.
    """

    applies: Bool
    limit: Float64
    p: Float64


def log_limits(rows: Float64, tail: float, against: float) -> LogLimits:
    """Compute Cox's limit of each row of n >= 2 values, for an error of ``tail`` on its side."""
    num = rows.shape[1]
    sign = np.where((rows > 0).all(1), 1.0, np.where((rows < 0).all(1), -1.0, 0.0))
    logs = np.log(np.where(sign[:, None] == 0.0, 1.0, np.abs(rows)))
    middle = logs.mean(1)
    rest = logs - middle[:, None]
    variance = np.square(rest).sum(1) / (num - 1)
    mean = middle + variance / 2
    error = np.sqrt(variance / num + np.square(variance) / (2 * (num - 1)))
    special = scipy_special()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        skewness = (rest**3).mean(1) / np.square(rest).mean(1) ** 1.5
        limit = sign * np.exp(mean + special.stdtrit(num - 1, 1.0 - tail) * error)
        far = (np.log(np.maximum(sign * against, 0.0)) - mean) / error
    is_beyond = sign * against > np.abs(rows.mean(1))
    p = np.where(is_beyond, np.minimum(2.0 * special.stdtr(num - 1, -far), 1.0), 0.0)
    applies = (sign != 0.0) & (np.sqrt(variance) > LEAST_SPREAD) & (skewness > LEAST_SKEWNESS)
    return LogLimits(applies, limit, p)
