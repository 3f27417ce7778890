"""Our figures beside published ones, and one of four words for each by one rule.

A paper gives a figure without an interval, of one run or the mean of some. It is judged against the
95 % prediction interval of the same from our runs: where the mean of so many further runs of ours
would lie. *Reproduced*: it lies inside. *Stronger*, *weaker*: it lies outside, and ours is better,
or worse, for what the claim is about. *Not comparable*: something that decides the figure is not
known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from gpusched.reporting.text_table import Table, figure_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.common.published import Claim
from gpusched_papers.common.seed_means import mean

Verdict = Literal["reproduced", "stronger", "weaker", "not comparable"]

RULE: Final = (
    "Reproduced: the published figure lies in the 95 % prediction interval of ours, where as many "
    "further runs as it is of would lie. Stronger, weaker: it lies outside, and ours is better, or "
    "worse, for what the row is about. Not comparable: what decides the figure is not known, or "
    "not alike."
)


@dataclass(frozen=True)
class Comparison:
    """A claim, and what our runs give.

    Attributes
    ----------
    claim
        What was published.
    what
        Of what ours is, where the claim does not say it; often empty.
    mean
        Of our runs, with the 95 % interval of the mean; None where nothing of ours is beside it.
    predicted
        The 95 % prediction interval of a mean of as many runs as the published value is of.
    verdict
        One of four words.
    """

    claim: Claim
    what: str
    mean: Interval | None
    predicted: tuple[float, float] | None
    verdict: Verdict

    @property
    def why(self) -> str:
        """What is lacking where the two are not comparable."""
        return self.claim.lacks if self.verdict == "not comparable" else ""


def compare(claim: Claim, values: ArrayLike, what: str = "") -> Comparison:
    """Set runs of ours, one value each, beside a claim.

    Raises
    ------
    ValueError
        If there are no values, or it is a setting that says nothing to compare.
    """
    if claim.is_setting:
        raise ValueError(f"claim {claim.key} is a setting: there is nothing to compare")
    ours = mean(values)
    predicted = prediction(values, claim.runs)
    return Comparison(claim, what, ours, predicted, _verdict(claim, ours, predicted))


def beside(claim: Claim, ours: Interval | None = None, what: str = "") -> Comparison:
    """Set a figure of ours, or none, beside a claim with which nothing can be compared.

    Raises
    ------
    ValueError
        If the claim does not say what it lacks.
    """
    if not claim.lacks:
        raise ValueError(f"claim {claim.key} can be compared, and no runs of ours are")
    return Comparison(claim, what, ours, None, "not comparable")


def prediction(values: ArrayLike, runs: int = 1) -> tuple[float, float]:
    """Where 95 % of the means of ``runs`` further runs would lie, by Student's t.

    Wider than the interval of the mean by sqrt(1 + n / runs), with n the number of values. NaN for
    a single value. It takes runs to be independent and nearly normal.
    """
    found = mean(values)
    num = np.size(values)
    half = found.half_width * math.sqrt(1 + num / runs)
    return found.value - half, found.value + half


def _verdict(claim: Claim, ours: Interval, predicted: tuple[float, float]) -> Verdict:
    if claim.lacks or claim.value is None or not claim.better or math.isnan(predicted[0]):
        return "not comparable"
    low, high = predicted
    if low <= claim.value <= high:
        return "reproduced"
    is_higher = ours.value > claim.value
    return "stronger" if is_higher == (claim.better == "higher") else "weaker"


def with_all(found: Iterable[Comparison], claims: Iterable[Claim]) -> list[Comparison]:
    """Return the comparisons in the order of the claims, with one for each that has none.

    Raises
    ------
    ValueError
        If such a claim does not say what it lacks.
    """
    of: dict[str, list[Comparison]] = {}
    for one in found:
        of.setdefault(one.claim.key, []).append(one)
    return [one for claim in claims for one in of.get(claim.key) or [beside(claim)]]


@dataclass(frozen=True)
class Row:
    """A comparison in texts, as tables and pages show it.

    Attributes
    ----------
    claim, published, known
        What is published, with its place; the figure; how it is known.
    ours, predicted
        Our mean with its 95 % interval, and the 95 % prediction interval of one like theirs.
    verdict, why
        One of four words, and what is lacking where it is the last of them.
    """

    claim: str
    published: str
    known: str
    ours: str
    predicted: str
    verdict: str
    why: str


def row_of(one: Comparison) -> Row:
    """Return a comparison in texts."""
    claim = one.claim
    about = f"{claim.says}, {claim.place}" + (f": {one.what}" if one.what else "")
    return Row(about, claim.figure, claim.known, _ours(one), _range(one), one.verdict, one.why)


def verdicts(found: Sequence[Comparison], title: str = "Published, and ours") -> Table:
    """Return the table of what is published, how it is known, what ours is, and the verdict."""
    return table_of([row_of(one) for one in found], title)


def table_of(rows: Sequence[Row], title: str) -> Table:
    """Return the table of :func:`verdicts` of comparisons in texts."""
    lacking = {row.why: None for row in rows if row.why}
    numbers = {why: f" ({number})" for number, why in enumerate(lacking, 1)}
    return table(
        title,
        ("what", "published", "known", "ours", "one like theirs", "verdict"),
        (
            (row.claim, row.published, row.known, row.ours, row.predicted,
             row.verdict + numbers.get(row.why, ""))
            for row in rows
        ),
        (RULE, *(f"{number.strip()} {why}" for why, number in numbers.items())),
    )  # fmt: skip


def _ours(one: Comparison) -> str:
    if one.mean is None:
        return ""
    unit = one.claim.unit
    scale = 100 if unit == "%" else 1
    digits = 1 if unit == "%" else 0 if abs(one.mean.value) >= 10 else 3
    return f"{figure_of(one.mean, digits, scale)} {unit}".rstrip()


def _range(one: Comparison) -> str:
    if one.predicted is None or math.isnan(one.predicted[0]) or one.why:
        return ""
    low, high = one.predicted
    unit = one.claim.unit
    if unit == "%":
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"{low:.0f} to {high:.0f} {unit}".rstrip()
