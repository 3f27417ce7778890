"""Numbers in ascending order, sorted by their digits."""

from __future__ import annotations

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Float64, UInt32


def stable_order(values: Float64) -> UInt32:
    """Return what ``np.argsort(values, kind="stable")`` does, a third as fast as it.

    Parameters
    ----------
    values
        Numbers of 0 or more: their bits, read as integers, ascend as they do.

    Examples
    --------
    >>> stable_order(np.array([0.5, 0.25, 0.5])).tolist()
    [1, 0, 2]
    """
    return _core.time_order((values + 0.0).view(np.int64))  # of -0.0, too
