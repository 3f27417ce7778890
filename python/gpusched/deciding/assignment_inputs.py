"""What an assignment problem is given: matrices and counts, checked."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import Float64, Int32
from gpusched.base.field_checks import unmasked

_MOST_UNITS: Final = 2**31 - 1
_MOST: Final = 1e300  # sums of costs are numbers


def matrix_of(values: npt.ArrayLike, name: str) -> Float64:
    """The values as a C-contiguous matrix with an entry at least."""
    try:
        matrix = unmasked(name, values)
    except OverflowError:
        raise ValueError(f"{name}: an integer is beyond 1e300") from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"{name}: must be a matrix with an entry, has shape {matrix.shape}")
    return matrix


def check_costs(costs: Float64, forbidden: float) -> None:
    """Raise ValueError that names row, column and rule; ``-forbidden`` stands for no pair."""
    is_bad = ~((np.abs(costs) <= _MOST) | (costs == -forbidden))
    if is_bad.any():
        row, column = np.unravel_index(int(np.argmax(is_bad)), costs.shape)
        cost = costs[row, column]
        rule = "beyond 1e300" if np.isfinite(cost) else f"neither a number nor {-forbidden}"
        raise ValueError(f"cost of row {row}, column {column}: {cost} is {rule}")


def counts_of(values: npt.ArrayLike, name: str, size: int) -> Int32:
    """Return ``size`` whole numbers; raise ValueError that names the first that is none."""
    counts = unmasked(name, values)
    if counts.shape != (size,):
        raise ValueError(f"{name}: must have shape ({size},), has {counts.shape}")
    is_bad = ~((counts >= 0) & (counts <= _MOST_UNITS) & (counts == np.floor(counts)))
    if is_bad.any():
        first = int(np.argmax(is_bad))
        raise ValueError(
            f"{name}[{first}]: must be a whole number from 0 to {_MOST_UNITS}, is {counts[first]}"
        )
    return np.ascontiguousarray(counts, dtype=np.int32)
