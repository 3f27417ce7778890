"""How many seeds an interval of a given width takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.field_checks import check_positive
from gpusched.studies.intervals import check_level
from gpusched.studies.samples import scipy_special, values_of

_MOST = 10_000_000


def seeds_needed(
    values: ArrayLike, half_width: float, *, level: float = 0.95, relative: bool = False
) -> int:
    """Seeds after which the interval of the mean is as narrow as asked for.

    The least n at which Student's quantile of n - 1 degrees of freedom times the spread of the
    pilot over the root of n is no more than ``half_width``. The spread of a pilot is itself
    uncertain: that of five seeds is wrong by a third easily.

    Parameters
    ----------
    values
        Of a pilot: a value of each of at least two seeds; paired differences for the seeds that a
        comparison takes.
    half_width
        Half of the width to reach, in the unit of the values.
    level
        Of the interval.
    relative
        ``half_width`` is a share of the absolute mean: 0.05 for 5 %.

    Returns
    -------
    int
        At least 2. Those of the pilot count.

    Raises
    ------
    ValueError
        If there are fewer than two values, one is not finite, the mean is zero and the width
        relative, the width is not positive, or it takes more than ten million seeds.

    Examples
    --------
    >>> gs.studies.seeds_needed([100.0, 120.0, 90.0, 110.0, 105.0], half_width=5.0)
    22
    """
    pilot = values_of("values", values, least=2)
    check_level(level)
    wanted = check_positive("half_width", half_width)
    if relative:
        mean = abs(float(pilot.mean()))
        if mean == 0.0:
            raise ValueError("half_width: the mean is zero, so no share of it can be asked for")
        wanted *= mean
    spread = float(pilot.std(ddof=1))
    quantile = scipy_special().stdtrit

    def is_enough(num: int) -> bool:
        return bool(quantile(num - 1, (1.0 + level) / 2) * spread <= wanted * np.sqrt(num))

    if not is_enough(_MOST):
        raise ValueError(
            f"half_width: {half_width!r} takes more than {_MOST:,} seeds at this spread"
        )
    low, high = 1, 2
    while not is_enough(high):
        low, high = high, min(2 * high, _MOST)
    while high - low > 1:  # enough at high, not at low: the quantile and 1 / sqrt(n) both fall
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
