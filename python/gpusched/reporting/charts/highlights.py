"""The policies of a chart, and which of them are highlighted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

from gpusched.reporting.notes import policy_name
from gpusched.results.result import Result

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

MOST_COLOURED: Final = 6
"""Overlapping curves that can be distinguished; with more, one is highlighted."""


def comparison_of(source: Result | Comparison) -> Comparison:
    """Return a comparison; wrap a single result in one."""
    from gpusched.studies.comparison import Comparison

    if isinstance(source, Comparison):
        return source
    if isinstance(source, Result):
        return Comparison(source.trace, source.cluster, {source.spec.policy: source})
    raise TypeError(f"expected a Result or a Comparison, not {type(source).__name__}")


def marked(comparison: Comparison) -> dict[str, Result]:
    """Return the results by the name of their policy with its marks, as shown in charts."""
    return {policy_name(label, result): result for label, result in comparison.results.items()}


def best(
    comparison: Comparison, key: str, better: Literal["lower", "higher"], *, deployable: bool
) -> str | None:
    """Return the policy with the best ``key`` in its summary; the first one on ties.

    None if it is undefined for all of them.

    ``deployable``: only among those that do not use true run times.
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
    """Return the policy in the focus of the page.

    Of the deployable ones that with the lowest mean JCT; of the clairvoyant ones if there are no
    others; the first if no job finished.
    """
    for deployable in (True, False):
        found = best(comparison, "mean_jct_s", "lower", deployable=deployable)
        if found is not None:
            return found
    return next(iter(comparison.results), None)


def highlighted(comparison: Comparison) -> list[str]:
    """Return the marked names to highlight: none if there are few."""
    label = chosen(comparison)
    if label is None or len(comparison.results) <= MOST_COLOURED:
        return []
    return [policy_name(label, comparison.results[label])]
