"""Ranks within each seed, ties shared, and which mean ranks differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.arrays import Float64
from gpusched.base.field_checks import check_distinct
from gpusched.studies.intervals import check_level
from gpusched.studies.samples import scipy_special

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class RankTest:
    """Friedman's test of mean ranks, and Nemenyi's critical difference between any two.

    Attributes
    ----------
    names
        What was ranked.
    mean_ranks
        Of each name, over the blocks; 1 is best.
    num_blocks
        Rows in which all were ranked: seeds.
    statistic, p
        Friedman's chi-squared, ties corrected, and the probability of one as large if all were
        alike. NaN where all values of each block are equal.
    critical_difference
        Two mean ranks that are further apart differ at ``level`` (Nemenyi 1963).
    level
        1 less the probability that any two are called different wrongly.
    """

    names: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    num_blocks: int
    statistic: float
    p: float
    critical_difference: float
    level: float

    def differ(self, first: str, second: str) -> bool:
        """Whether the mean ranks of two names differ by more than the critical difference.

        Returns
        -------
        bool
            In either direction.

        Raises
        ------
        KeyError
            If one of them was not ranked.

        Examples
        --------
        >>> test = gs.studies.nemenyi([[1, 2, 3], [1, 3, 2], [1, 2, 3]], ["srtf", "sjf", "fifo"])
        >>> test.differ("srtf", "fifo")
        False
        """
        ranks = dict(zip(self.names, self.mean_ranks, strict=True))
        return abs(ranks[first] - ranks[second]) > self.critical_difference

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Largest sets of names that cannot be told apart, from the best: the bars of a diagram."""
        order = sorted(zip(self.mean_ranks, self.names, strict=True))
        found: list[tuple[int, int]] = []
        for start, (rank, _) in enumerate(order):
            end = max(
                place
                for place, (other, _) in enumerate(order)
                if other - rank <= self.critical_difference
            )
            if not found or end > found[-1][1]:
                found.append((start, end))
        return tuple(tuple(name for _, name in order[a : b + 1]) for a, b in found)


def ranks(values: ArrayLike, *, better: Better = "lower") -> Float64:
    """Rank each row; equal values share the mean of their ranks.

    Parameters
    ----------
    values
        Of shape (blocks, names): a row per seed, a column per policy.
    better
        Whether rank 1 is the ``"lower"`` or the ``"higher"`` value.

    Returns
    -------
    ndarray
        Of the same shape; each row sums to k (k + 1) / 2.

    Raises
    ------
    ValueError
        If the values are no table, or one is not finite.

    Examples
    --------
    >>> gs.studies.ranks([[3.0, 1.0, 1.0]]).tolist()
    [[3.0, 1.5, 1.5]]
    """
    table = _table(values)
    if better not in ("lower", "higher"):
        raise ValueError(f"better: {better!r} must be 'lower' or 'higher'")
    signed = table if better == "lower" else -table
    below = (signed[:, :, None] > signed[:, None, :]).sum(2)
    equal = (signed[:, :, None] == signed[:, None, :]).sum(2)
    return np.asarray(below + (equal + 1.0) / 2, np.float64)


def nemenyi(
    values: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    level: float = 0.95,
    better: Better = "lower",
) -> RankTest:
    """Compare mean ranks of all with all: Friedman's test, then Nemenyi's critical difference.

    As recommended by Demsar (2006). It needs no assumption on the spread of the values, and more
    blocks than an interval does to find the same difference.

    Parameters
    ----------
    values
        Of shape (blocks, names): a row per seed, a column per policy.
    names
        Of the columns; their places as text if not given.
    level, better
        See :class:`RankTest` and :func:`ranks`.

    Returns
    -------
    RankTest

    Raises
    ------
    ValueError
        If there are fewer than two rows or two columns, a value is not finite, or the names are not
        as many as columns or not distinct.

    Examples
    --------
    >>> test = gs.studies.nemenyi([[1, 2, 3], [1, 3, 2], [1, 2, 3]], ["srtf", "sjf", "fifo"])
    >>> test.mean_ranks[0], round(test.critical_difference, 2)
    (1.0, 1.91)
    """
    ranked = ranks(values, better=better)
    num_blocks, num_names = ranked.shape
    if num_blocks < 2 or num_names < 2:
        raise ValueError(
            f"values: {num_blocks} x {num_names}; ranks are compared over at least two rows of at "
            "least two columns"
        )
    labels = [str(place) for place in range(num_names)] if names is None else list(names)
    if len(labels) != num_names:
        raise ValueError(f"names: {len(labels)} for {num_names} columns")
    check_distinct("names", labels)
    check_level(level)
    means = ranked.mean(0)
    middle = (num_names + 1) / 2
    spread = float(np.square(ranked - middle).sum())
    between = num_blocks**2 * float(np.square(means - middle).sum())
    statistic = (num_names - 1) * between / spread if spread else math.nan
    p = float(scipy_special().chdtrc(num_names - 1, statistic)) if spread else math.nan
    return RankTest(
        names=tuple(labels),
        mean_ranks=tuple(means.tolist()),
        num_blocks=num_blocks,
        statistic=statistic,
        p=p,
        critical_difference=_critical_difference(num_names, num_blocks, level),
        level=level,
    )


def _critical_difference(num_names: int, num_blocks: int, level: float) -> float:
    from scipy.stats import studentized_range

    quantile = float(studentized_range.ppf(level, num_names, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(num_names * (num_names + 1) / (6.0 * num_blocks))


def _table(values: ArrayLike) -> Float64:
    table = np.asarray(values)
    if table.dtype.kind not in "iufb":
        raise TypeError(f"values: they must be numbers, not {table.dtype}")
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError("values: they must be a table, a row per block and a column per name")
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(f"values[{row}, {column}]: {table[row, column]} must be finite")
    return np.asarray(table, np.float64)
