"""How values become colours, and bars their two halves: the same in every library."""

from __future__ import annotations

import numpy as np

from gpusched.reporting.charts.study_charts import HeatMap
from gpusched.reporting.drawing import palette


def ends_of(chart: HeatMap) -> tuple[float, float]:
    """Return the ends of the scale of colours; a middle lies half-way between them."""
    finite = chart.values[np.isfinite(chart.values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if chart.middle is not None:
        reach = max(abs(low - chart.middle), abs(high - chart.middle), 1e-9)
        return chart.middle - reach, chart.middle + reach
    return low, high if high > low else low + 1.0


def halves(base: float, low: float, high: float) -> list[tuple[float, float, str]]:
    """Return the parts of a bar below and above the base, each with its colour."""
    below, _, above = palette.RATIO_COLOURS
    parts = [(low, min(high, base), below), (max(low, base), high, above)]
    return [(begin, end, colour) for begin, end, colour in parts if end > begin]
