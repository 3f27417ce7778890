"""The grade of a base case."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from gpusched.studies.fidelity_grades import (
    LETTERS,
    MEANINGS,
    MEASURES,
    MIN_JOBS,
    MIN_WAITED,
    distance_of,
    grade_of,
)

PERFECT = {
    "ks": 0.0,
    "rank_correlation": 1.0,
    "mean_wait_factor": 1.0,
    "unexplained": 0.0,
    "allocation_error": 0.0,
}
PAGE = Path(__file__).parents[3] / "docs" / "studies" / "fidelity.md"


def graded(jobs: int = 1000, waited: int = 500, **values: float) -> Any:
    return grade_of(PERFECT | values, jobs, waited)


def test_what_is_the_same_gets_the_best_grade():
    assert graded().letter == "A"
    assert distance_of(PERFECT) == 0.0
    assert set(PERFECT) == {measure.key for measure in MEASURES}


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.key)
def test_every_measure_alone_can_bring_every_grade(measure):
    for letter, limit in zip(LETTERS, measure.limits, strict=False):
        assert graded(**{measure.key: limit}).letter == letter
    beyond = measure.limits[-1] + (-1e-9 if measure.grows else 1e-9)
    worst = graded(**{measure.key: beyond})
    assert worst.letter == "E"
    assert measure.label in worst.why
    assert graded(**{measure.key: math.nan}).letter == "E"


def test_the_grade_is_the_worst_and_says_by_what():
    grade = graded(ks=0.08, rank_correlation=0.5, allocation_error=0.15)
    assert grade.letter == "D"
    assert grade.why == "rank correlation 0.50, allocation error 0.15"
    assert grade.letters["ks"] == "B"
    assert str(grade) == f"D ({grade.why}): {MEANINGS['D']}"


@pytest.mark.parametrize(("jobs", "waited"), [(MIN_JOBS - 1, 90), (1000, MIN_WAITED - 1)])
def test_few_jobs_cannot_earn_a_good_grade(jobs, waited):
    assert graded(jobs, waited).letter == "C"
    assert graded(jobs, waited).why == f"only {waited} of {jobs:,} jobs compared waited"
    assert graded(jobs, waited, ks=0.9).letter == "E"
    assert graded(MIN_JOBS, MIN_WAITED).letter == "A"


@pytest.mark.parametrize("key", [key for key in PERFECT if key != "mean_wait_factor"])
def test_the_distance_grows_with_each_part_and_stays_in_0_to_1(key):
    worst = {"rank_correlation": -1.0, "allocation_error": math.inf}.get(key, 1.0)
    assert distance_of(PERFECT | {key: worst}) == pytest.approx(0.25)


def test_the_page_publishes_these_limits():
    text = PAGE.read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*?\|((?: [≤≥] [\d.]+ \|){4})$", text, re.MULTILINE))
    shown = {key: tuple(map(float, re.findall(r"[\d.]+", cells))) for key, cells in rows.items()}
    assert shown == {measure.key: measure.limits for measure in MEASURES}
    for measure in MEASURES:
        assert ("≥" in rows[measure.key]) == measure.grows
    for letter, meaning in MEANINGS.items():
        assert f"| {letter} | {meaning} |" in text
