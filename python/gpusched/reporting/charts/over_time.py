"""The cluster over time: a strip per policy, with one axis of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.wording import duration
from gpusched.reporting.charts.chart import Axis, Curve, Curves, policies_of
from gpusched.reporting.charts.thinning import STEPS_RULE, kept_steps
from gpusched.reporting.charts.time_axis import TimeAxis, end_of_most
from gpusched.results.result import Result
from gpusched.schedules.series import Steps

if TYPE_CHECKING:
    from gpusched.studies.comparison_result import Comparison

_RULE: Final = (
    f"{STEPS_RULE}; the axis ends where 99 % of the jobs are done, the rest is a zoom away."
)
POINTS: Final = 1_200
"""The most points of a curve."""


def strips(
    comparison: Comparison,
    steps_of: Callable[[Result], Steps],
    column: str,
    points: int,
    *,
    name: str,
    title: str,
    what: str,
    unit: str,
    caption: str,
    top: float = 1.0,
    is_log: bool = False,
    limit: tuple[float, str] | None = None,
) -> Curves:
    """Draw one column of the steps of each result, a strip per policy.

    Parameters
    ----------
    points
        The most points of a curve.
    what, unit
        The quantity on the axis, and what a value counts.
    top
        The axis reaches at least so far.
    is_log
        Whether the axis is logarithmic; it begins at 1 then, and smaller values are drawn there.
    limit
        A line across every strip, and its name.
    """
    end_s = end_of_most(comparison)
    axis = TimeAxis.of(comparison, end_s)
    curves = []
    for place, label, result in policies_of(comparison):
        steps = steps_of(result)
        if not len(steps):
            continue
        values = getattr(steps, column)
        kept = kept_steps(steps.time_s, values, end_s, points)
        peak = int(values.argmax())
        top = max(top, float(values[peak]))
        at = duration(float(steps.time_s[peak]) - axis.origin_s)
        finding = f"{label}: at most {values[peak]:,.0f} {unit}, first after {at}"
        y = values[kept].astype(np.float64)
        if is_log:
            y = np.maximum(y, 1.0)
        curves.append(Curve(place, label, axis.of_times(steps.time_s[kept]), y, finding))
    ends = (0.9, 1.3 * max(top, 2.0)) if is_log else (0.0, 1.08 * top)
    return Curves(
        name, title, f"{caption} {_RULE}", axis.axis(0.0, 1.01 * (end_s - axis.origin_s)),
        Axis(what, "log" if is_log else "linear", ends), tuple(curves),
        in_strips=True, hover=(",.0f", unit), limit=limit,
    )  # fmt: skip
