"""Values of runs as the methods take them: checked, one experiment a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Float64


def values_of(name: str, values: ArrayLike, least: int = 1) -> Float64:
    """Return a column of finite numbers.

    Raises
    ------
    TypeError
        If the values are no numbers.
    ValueError
        If there are fewer than ``least``, or one is not finite: the message names it.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" and array.size:
        raise TypeError(f"{name}: the values must be numbers, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name}: the values must be one column, not {array.ndim} dimensions")
    if array.size < least:
        raise ValueError(
            f"{name}: there are no values"
            if array.size == 0
            else f"{name}: {array.size} of at least {least} values"
        )
    wrong = np.flatnonzero(~np.isfinite(array.astype(np.float64)))
    if wrong.size:
        raise ValueError(
            f"{name}[{wrong[0]}]: {float(array[wrong[0]])} must be finite; leave out runs without "
            "a value, or hand them to compare_runs, which says which they are"
        )
    return np.asarray(array, np.float64)


def pairs_of(values: ArrayLike, baseline: ArrayLike) -> tuple[Float64, Float64]:
    """Return two columns whose rows belong together; raise a ValueError where they do not."""
    first, second = values_of("values", values), values_of("baseline", baseline)
    if first.size != second.size:
        raise ValueError(
            f"baseline: {second.size} values for {first.size}: pairs need one for each, of the "
            "same seed"
        )
    return first, second


def scipy_special() -> Any:
    """SciPy's special functions, loaded when they are needed."""
    from scipy import special

    return special
