"""Colours, dashes and ticks: the same in every figure."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched.reporting.charts.chart import HeatMap

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2933")
"""Okabe and Ito (2008): told apart by colour-blind readers as well. Dashes take over from there."""
DARK_COLOURS: Final = (
    "#4aa3df", "#ff8a3d", "#2fc79a", "#e59ac5", "#f0b93a", "#9fd8ff", "#e6e9ed",
)  # fmt: skip
"""The same hues, bright enough for a dark page."""
JOB_COLOURS: Final = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#997700", "#88aa99",
)  # fmt: skip
"""Of neighbouring jobs; after Tol (2021). They stand on light and on dark."""
DASHES: Final = ("solid", "dash", "dot", "dashdot")

INK: Final = "#1f2933"
GRID: Final = "#e3e6ea"
LINE: Final = "#9aa3ad"
MUTED: Final = "#5b6773"
FADED: Final = 0.18
"""Opacity of curves where others are highlighted."""

SHARE_COLOURS: Final = ("#f3f6f9", "#9ecae1", "#0b4f8a")
"""From empty to full."""
DARK_SHARE_COLOURS: Final = ("#1c242c", "#2b6a94", "#9fdcff")

RATIO_COLOURS: Final = ("#0072b2", "#f6f7f8", "#d55e00")
"""From less to more, over "as much as the baseline"."""
DARK_RATIO_COLOURS: Final = ("#4aa3df", "#222a32", "#ff8a3d")


def colour_of(place: int) -> str:
    """Return the colour of the policy at a place."""
    return COLOURS[place % len(COLOURS)]


def dash_of(place: int) -> str:
    """Return the dash of the policy at a place, by its name in Plotly."""
    return DASHES[place // len(COLOURS) % len(DASHES)]


def opacity_of(place: int, highlighted: frozenset[int]) -> float:
    """Return how opaque a policy is drawn where some are highlighted."""
    return 1.0 if not highlighted or place in highlighted else FADED


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
    below, _, above = RATIO_COLOURS
    parts = [(low, min(high, base), below), (max(low, base), high, above)]
    return [(begin, end, colour) for begin, end, colour in parts if end > begin]
