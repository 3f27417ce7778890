"""What the comparison found, in a sentence or two: what could be deployed comes first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from gpusched.base.wording import duration
from gpusched.reporting.charts.highlights import best
from gpusched.reporting.notes import policy_name

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

_TRUTH = "which sees the true service times"


def headline(comparison: Comparison) -> list[str]:
    """Return the findings, if there are any."""
    if len(comparison.results) == 1:
        return _single(comparison)
    return _mean_jct(comparison) + _deadlines(comparison)


def _single(comparison: Comparison) -> list[str]:
    ((label, result),) = comparison.results.items()
    row = comparison.summaries[label]
    if not math.isfinite(row["mean_jct_s"]):
        return []
    sentence = f"{policy_name(label, result)}: mean JCT {duration(row['mean_jct_s'])}"
    if math.isfinite(row.get("mean_wait_s", math.nan)):
        sentence += f", mean wait {duration(row['mean_wait_s'])}"
    return [f"{sentence}.{_room(comparison, label)}"]


def _mean_jct(comparison: Comparison) -> list[str]:
    found = _best_two(comparison, "mean_jct_s", "lower")
    if found is None:
        return []
    label, clairvoyant = found
    means = {name: duration(row["mean_jct_s"]) for name, row in comparison.summaries.items()}
    sentence = f"{_lead(comparison, label)} the lowest mean JCT: {means[label]}."
    sentence += _room(comparison, label)
    if clairvoyant is not None:
        sentence += f" {_marked(comparison, clairvoyant)}, {_TRUTH}, has {means[clairvoyant]}."
    return [sentence]


def _deadlines(comparison: Comparison) -> list[str]:
    found = _best_two(comparison, "dsr", "higher")
    if found is None:
        return []
    label, clairvoyant = found
    shares = {
        name: f"{100 * row.get('dsr', math.nan):.1f} %"
        for name, row in comparison.summaries.items()
    }
    sentence = f"{_lead(comparison, label)} the most deadlines met: {shares[label]}."
    bound = comparison.summaries[label].get("dsr_bound", math.nan)
    if math.isfinite(bound):
        sentence += (
            f" No schedule of these jobs meets more than {math.ceil(1_000 * bound) / 10:g} %."
        )
    if clairvoyant is not None:
        sentence += f" {_marked(comparison, clairvoyant)}, {_TRUTH}, meets {shares[clairvoyant]}."
    return [sentence]


def _best_two(
    comparison: Comparison, key: str, better: Literal["lower", "higher"]
) -> tuple[str, str | None] | None:
    """Return the best that could be deployed, and a clairvoyant one that is better still.

    The best of all, if none could be deployed; None if the metric is undefined for all.
    """
    overall = best(comparison, key, better, deployable=False)
    deployable = best(comparison, key, better, deployable=True)
    if overall is None:
        return None
    if deployable is None:
        return overall, None
    rows = comparison.summaries
    is_beaten = rows[overall][key] != rows[deployable][key]
    return deployable, overall if is_beaten else None


def _lead(comparison: Comparison, label: str) -> str:
    """``srtf † has``, with what it was chosen from."""
    results = comparison.results
    deployable = [name for name, result in results.items() if not result.clairvoyant]
    if not deployable:
        return (
            f"None of these policies could be deployed: all see the true service times. "
            f"Of them, {_marked(comparison, label)} has"
        )
    if len(deployable) == len(results):
        return f"{label} has"
    if len(deployable) == 1:
        return f"{label}, the only one of these that could be deployed, has"
    return f"Of the policies that could be deployed, {label} has"


def _marked(comparison: Comparison, label: str) -> str:
    return policy_name(label, comparison.results[label])


def _room(comparison: Comparison, label: str) -> str:
    """How far from the best possible the mean JCT is, at most.

    The gap is relative to the bound, the room for improvement to the mean itself. It is rounded
    up: the sentence must stay true.
    """
    gap = comparison.summaries[label].get("gap", math.nan)
    if not math.isfinite(gap):
        return ""
    room = math.ceil(1_000 * gap / (1 + gap)) / 10
    return f" No schedule of these jobs can lower that by more than {room:g} %."
