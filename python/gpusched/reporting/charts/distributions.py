"""How a quantity is distributed over the jobs: one curve per policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.charts.chart import Curve, policies_of
from gpusched.reporting.charts.thinning import QUANTILES_RULE, thin_distribution
from gpusched.results.result import Result

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

HOVER: Final = (".1%", "of the jobs")
RULE: Final = f"{QUANTILES_RULE}."
POINTS: Final = 1_000
"""The most points of a curve."""


def curves_of(
    comparison: Comparison,
    values_of: Callable[[Result], Float64],
    points: int,
    least: float,
    text: Callable[[float], str],
) -> tuple[tuple[Curve, ...], float, float]:
    """Return the curves and the ends of the axis.

    The axis begins where one job in a thousand does; outliers are a zoom away.

    Parameters
    ----------
    values_of
        One value for each of some jobs of a result; NaN is left out.
    least
        The least value that the axis can show; smaller ones are counted there.
    text
        How a value is written.
    """
    curves = []
    left, right = np.inf, least
    for place, label, result in policies_of(comparison):
        values = values_of(result)
        values = values[np.isfinite(values)]
        if len(values):
            x, y = thin_distribution(np.maximum(values, least), points)
            left, right = min(left, x[np.searchsorted(y, 1e-3)]), max(right, x[-1])
            half, most = (text(float(x[np.searchsorted(y, share)])) for share in (0.5, 0.95))
            finding = f"{label}: half of the jobs at most {half}, 95 % at most {most}"
            curves.append(Curve(place, label, x, y, finding))
    return tuple(curves), float(min(left, right)), float(right)
