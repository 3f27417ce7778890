"""The grade of a simulated base case: how far what follows from it can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

LETTERS: Final = "ABCDE"

MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "A": "the base case is what happened: even differences of single jobs can be read",
        "B": "means and distributions can be read, single jobs cannot",
        "C": "large differences of means can be read, small ones and tails cannot",
        "D": "at most the direction of large changes can be read",
        "E": "what happened is not what was simulated: this tells of the simulated cluster alone",
    }
)
"""What each grade lets one read from a what-if."""


@dataclass(frozen=True)
class Measure:
    """A measure that is graded, and its limits.

    Attributes
    ----------
    key, label
        Its attribute of :class:`~gpusched.studies.fidelity.likeness.Likeness`, and how texts call
        it.
    limits
        The worst values that are still A, B, C and D.
    grows
        Whether a larger value is a better one.
    """

    key: str
    label: str
    limits: tuple[float, float, float, float]
    grows: bool = False

    def letter(self, value: float) -> str:
        """Return the grade of a value; E if it is not a number."""
        for letter, limit in zip(LETTERS, self.limits, strict=False):
            if (value >= limit) if self.grows else (value <= limit):
                return letter
        return LETTERS[-1]

    def text(self, value: float) -> str:
        """Return the value as texts show it."""
        return f"{self.label} {value:.2f}"


MEASURES: Final = (
    Measure("ks", "KS distance", (0.05, 0.10, 0.20, 0.35)),
    Measure("rank_correlation", "rank correlation", (0.95, 0.80, 0.60, 0.40), grows=True),
    Measure("mean_wait_factor", "mean wait off by a factor of", (1.05, 1.2, 1.5, 2.0)),
    Measure("unexplained", "waiting time unexplained", (0.10, 0.25, 0.40, 0.60)),
    Measure("allocation_error", "allocation error", (0.02, 0.05, 0.10, 0.20)),
)
"""What is graded; docs/studies/fidelity.md argues for the limits."""

MIN_JOBS: Final = 100
MIN_WAITED: Final = 30
"""With fewer jobs compared, or fewer of them that waited, no grade is better than C."""


@dataclass(frozen=True)
class Grade:
    """How near a simulated base case comes to what happened.

    Attributes
    ----------
    letter
        ``"A"`` to ``"E"``: the worst of ``letters``.
    letters
        The grade of each measure, by its key; ``"sample"`` is there if the jobs were few.
    why
        What it is due to, in words.
    """

    letter: str
    letters: Mapping[str, str]
    why: str

    @property
    def meaning(self) -> str:
        """What the grade lets one read from a what-if."""
        return MEANINGS[self.letter]

    def __str__(self) -> str:
        return f"{self.letter} ({self.why}): {self.meaning}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "letter": self.letter,
            "letters": dict(self.letters),
            "why": self.why,
            "meaning": self.meaning,
        }


def grade_of(values: Mapping[str, float], num_jobs: int, num_waited: int) -> Grade:
    """Return the grade of a base case: the worst of the grades of its measures.

    Parameters
    ----------
    values
        The value of each of :data:`MEASURES`, by its key.
    num_jobs, num_waited
        How many jobs were compared, and how many of them waited in the trace.
    """
    letters = {measure.key: measure.letter(values[measure.key]) for measure in MEASURES}
    texts = {measure.key: measure.text(values[measure.key]) for measure in MEASURES}
    if num_jobs < MIN_JOBS or num_waited < MIN_WAITED:
        letters["sample"] = "C"
        texts["sample"] = f"only {num_waited:,} of {num_jobs:,} jobs compared waited"
    worst = max(letters.values())
    blamed = [texts[key] for key, letter in letters.items() if letter == worst]
    return Grade(worst, letters, "all measures" if worst == "A" else ", ".join(blamed))


def distance_of(values: Mapping[str, float]) -> float:
    """Return how far a base case is from what happened, 0 to 1: what candidates are ordered by.

    The mean of four parts, each 0 to 1: the KS distance, 1 - rank correlation (1 if that is
    negative), the share of the waiting time that is unexplained, and the allocation error (at
    most 1).
    """
    parts = (
        values["ks"],
        1 - max(0.0, values["rank_correlation"]),
        values["unexplained"],
        min(1.0, values["allocation_error"]),
    )
    return math.fsum(parts) / len(parts)
