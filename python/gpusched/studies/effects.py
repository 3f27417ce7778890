"""How large a difference is beside the spread: without units, to compare across metrics."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.suggest import nearest
from gpusched.studies.samples import pairs_of, values_of

Effect = Literal["hedges", "cohen", "cliff", "superiority"]


def effect_size(values: ArrayLike, baseline: ArrayLike, *, kind: Effect = "hedges") -> float:
    """Size of the difference between values and baseline.

    Parameters
    ----------
    values, baseline
        Columns; for ``"hedges"`` and ``"cohen"`` of equal length, rows belong together.
    kind
        ``"cohen"``: the mean of the paired differences over their standard deviation (Cohen's d
        of pairs, d_z), which common random numbers make larger as they take the spread between
        seeds away. ``"hedges"``: the same without its bias for few pairs (Hedges 1981).
        ``"cliff"``: Cliff's delta (1993), the share of all pairs of a value and a baseline in
        which the value is larger, less the share in which it is smaller. ``"superiority"``: the
        probability that a value is larger than a baseline, half of the ties counted.

    Returns
    -------
    float
        Below zero (``"superiority"``: below 0.5) where the values are smaller. Infinite where all
        differences are equal and not zero; NaN for a single pair.

    Raises
    ------
    ValueError
        If there are no values, one is not finite, pairs are missing or the kind is not known.

    Examples
    --------
    >>> gs.studies.effect_size([1, 2, 3], [2, 3, 5], kind="cliff")
    -0.5555555555555556
    """
    known = get_args(Effect)
    if kind not in known:
        raise ValueError(f"kind: {kind!r} is not known{nearest(kind, known)}")
    if kind in ("cliff", "superiority"):
        delta = _cliff(values, baseline)
        return delta if kind == "cliff" else (delta + 1.0) / 2
    first, second = pairs_of(values, baseline)
    change = first - second
    num = len(change)
    if num < 2:
        return math.nan
    mean, spread = float(change.mean()), float(change.std(ddof=1))
    if spread <= 1e-14 * float(np.abs(first).max()):
        return 0.0 if mean == 0.0 else math.copysign(math.inf, mean)
    size = mean / spread
    return size if kind == "cohen" else size * _unbiased(num - 1)


def _unbiased(degrees: int) -> float:
    """Hedges' factor: what d is too large by, for normal values."""
    halves = math.lgamma(degrees / 2) - math.lgamma((degrees - 1) / 2) if degrees > 1 else math.nan
    # With a single degree of freedom the factor is not defined; the least that is takes its place.
    if math.isnan(halves):
        return _unbiased(2)
    return math.exp(halves) / math.sqrt(degrees / 2)


def _cliff(values: ArrayLike, baseline: ArrayLike) -> float:
    first = values_of("values", values)
    second = np.sort(values_of("baseline", baseline))
    smaller = int(np.searchsorted(second, first, "left").sum())
    not_larger = int(np.searchsorted(second, first, "right").sum())
    larger = len(first) * len(second) - not_larger
    return (smaller - larger) / (len(first) * len(second))
