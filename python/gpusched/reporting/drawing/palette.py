"""Colours and dashes: the same in every chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2933")
"""Okabe and Ito (2008): distinguishable with colour blindness. Further policies use dashes."""
DARK_COLOURS: Final = (
    "#4aa3df", "#ff8a3d", "#2fc79a", "#e59ac5", "#f0b93a", "#9fd8ff", "#e6e9ed",
)  # fmt: skip
"""The same hues, bright enough for a dark page."""
JOB_COLOURS: Final = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#997700", "#88aa99",
)  # fmt: skip
"""Colours of neighbouring jobs, after Tol (2021); visible on light and on dark."""
DASHES: Final = ("solid", "dash", "dot", "dashdot")

INK: Final = "#1f2933"
GRID: Final = "#e3e6ea"
LINE: Final = "#9aa3ad"
MUTED: Final = "#5b6773"
FADED: Final = 0.18
"""Opacity of curves that are not highlighted."""

SHARE_COLOURS: Final = ("#f3f6f9", "#9ecae1", "#0b4f8a")
"""From empty to full."""
DARK_SHARE_COLOURS: Final = ("#1c242c", "#2b6a94", "#9fdcff")

RATIO_COLOURS: Final = ("#0072b2", "#f6f7f8", "#d55e00")
"""From lower over "as much as the baseline" to higher."""
DARK_RATIO_COLOURS: Final = ("#4aa3df", "#222a32", "#ff8a3d")


def steps(colours: Sequence[str], count: int = 9) -> tuple[str, ...]:
    """Return so many colours in equal steps from the first of three over the second to the third.

    Scales use stepped colours (``type="quantize"``): in a page colours are CSS variables, which
    Vega cannot interpolate.
    """
    rgb = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]
    places = np.linspace(0, len(rgb) - 1, count)
    mixed = [np.interp(places, range(len(rgb)), channel) for channel in zip(*rgb, strict=True)]
    whole = np.rint(mixed).astype(int).T.tolist()
    return tuple("#{:02x}{:02x}{:02x}".format(*each) for each in whole)


def dash_of(place: int) -> str:
    """Return the name of the dash of the policy at a position."""
    return DASHES[place // len(COLOURS) % len(DASHES)]
