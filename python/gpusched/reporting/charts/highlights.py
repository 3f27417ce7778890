"""Which policies stand out where curves lie over each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from gpusched.reporting.charts.chart import MOST_COLOURED

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison


def best(
    comparison: Comparison, key: str, better: Literal["lower", "higher"], *, deployable: bool
) -> str | None:
    """Return the policy with the best ``key`` of its summary; the first one if several share it.

    Parameters
    ----------
    deployable
        Only among those that do not see the true service times.

    Returns
    -------
    str or None
        None if there is none of them for which it is defined.
    """
    values = {
        label: float(row[key])
        for label, row in comparison.summaries.items()
        if math.isfinite(row.get(key, math.nan))
        and not (deployable and comparison.results[label].clairvoyant)
    }
    if not values:
        return None
    return (min if better == "lower" else max)(values, key=lambda label: values[label])


def chosen(comparison: Comparison) -> str | None:
    """Return the policy that the page is about.

    Of those that could be deployed the one with the lowest mean JCT; of the clairvoyant ones if
    there are no others, and the first if no job finished.
    """
    for deployable in (True, False):
        found = best(comparison, "mean_jct_s", "lower", deployable=deployable)
        if found is not None:
            return found
    return next(iter(comparison.results), None)


def highlighted(comparison: Comparison) -> frozenset[int]:
    """Places of the policies that stand out: none in particular if there are few."""
    labels = list(comparison.results)
    label = chosen(comparison)
    if label is None or len(labels) <= MOST_COLOURED:
        return frozenset()
    return frozenset((labels.index(label),))
