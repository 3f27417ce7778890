"""The cluster over time: a strip per policy, with one axis of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.wording import duration
from gpusched.reporting.charts.chart import Axis, Curve, Curves, policies_of
from gpusched.reporting.charts.thinning import STEPS_RULE, kept_steps
from gpusched.reporting.charts.time_axis import TimeAxis, end_of_most
from gpusched.results.result import Result
from gpusched.schedules.series import Steps

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

_RULE: Final = (
    f"{STEPS_RULE}; the axis ends where 99 % of the jobs are done, the rest is a zoom away."
)
POINTS: Final = 1_200
"""The most points of a curve."""


@dataclass(frozen=True)
class Strip:
    """A chart of one column of steps, with a strip per policy.

    Attributes
    ----------
    column
        Of the steps.
    name, title, caption
        Of the chart.
    what, unit
        The quantity on the axis, and what a value counts.
    top
        The axis reaches at least so far.
    is_log
        Whether the axis is logarithmic; it begins at 1 then, and smaller values are drawn there.
    limit
        A line across every strip, and its name.
    """

    column: str
    name: str
    title: str
    what: str
    unit: str
    caption: str
    top: float = 1.0
    is_log: bool = False
    limit: tuple[float, str] | None = None


def strips(
    comparison: Comparison,
    steps_of: Callable[[Result], Steps],
    points: int,
    charts: Sequence[Strip],
) -> list[Curves]:
    """Draw charts of the same steps; those of a result are asked for once, and not kept.

    Parameters
    ----------
    points
        The most points of a curve.
    """
    end_s = end_of_most(comparison)
    axis = TimeAxis.of(comparison, end_s)
    curves: list[list[Curve]] = [[] for _ in charts]
    tops = [chart.top for chart in charts]
    for place, label, result in policies_of(comparison):
        steps = steps_of(result)
        if not len(steps):
            continue
        for index, chart in enumerate(charts):
            values = getattr(steps, chart.column)
            peak = int(values.argmax())
            tops[index] = max(tops[index], float(values[peak]))
            at = duration(float(steps.time_s[peak]) - axis.origin_s)
            finding = f"{label}: at most {values[peak]:,.0f} {chart.unit}, first after {at}"
            kept = kept_steps(steps.time_s, values, end_s, points)
            x, y = axis.of_times(steps.time_s[kept]), values[kept].astype(np.float64)
            if chart.is_log:
                y = np.maximum(y, 1.0)
            curves[index].append(Curve(place, label, x, y, finding))
    horizontal = axis.axis(0.0, 1.01 * (end_s - axis.origin_s))
    return [
        Curves(
            chart.name, chart.title, f"{chart.caption} {_RULE}", horizontal,
            _vertical(chart, top), tuple(drawn),
            in_strips=True, hover=(",.0f", chart.unit), limit=chart.limit,
        )
        for chart, drawn, top in zip(charts, curves, tops, strict=True)
    ]  # fmt: skip


def _vertical(chart: Strip, top: float) -> Axis:
    if chart.is_log:
        return Axis(chart.what, "log", (0.9, 1.3 * max(top, 2.0)))
    return Axis(chart.what, "linear", (0.0, 1.08 * top))
