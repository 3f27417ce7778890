"""Probabilities of errors where many comparisons are made at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Float64
from gpusched.studies.samples import values_of


def holm(p_values: ArrayLike) -> Float64:
    """Adjust the p values of a family of tests (Holm 1979).

    A test whose adjusted value is below 5 % may be called significant; the probability that any of
    the family is called so wrongly is then at most 5 %, whatever their dependence.

    Parameters
    ----------
    p_values
        One of each test.

    Returns
    -------
    ndarray
        As many, in the same order, none below its own p nor above one.

    Raises
    ------
    ValueError
        If there are none, or one is not in 0..1.

    Examples
    --------
    >>> gs.studies.holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = values_of("p_values", p_values)
    wrong = np.flatnonzero((given < 0.0) | (given > 1.0))
    if wrong.size:
        raise ValueError(f"p_values[{wrong[0]}]: {given[wrong[0]]!r} must lie in 0..1")
    order = np.argsort(given, kind="stable")
    left = np.arange(len(given), 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * left), 1.0)
    return adjusted
