"""How long things last of which some are not over: :func:`surviving`."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from gpusched.base.arrays import Bool, Float64, Int64

Numbers = TypeVar("Numbers", Int64, Float64)


def surviving(lasted: Numbers, is_over: Bool) -> tuple[Numbers, Float64]:
    """Return those that are over, ascending, and the share of all that last at most so long.

    The estimate of Kaplan and Meier (1958): what is not over lasts longer than it has so far. What
    has lasted the longest of all is taken to be over.
    """
    order = np.lexsort((~is_over, lasted))
    ended = is_over[order]
    ended[-1] = True
    left = np.arange(len(lasted), 0, -1)
    share: Float64 = 1.0 - np.cumprod(np.where(ended, 1.0 - 1.0 / left, 1.0), dtype=np.float64)
    return lasted[order][ended], share[ended]
