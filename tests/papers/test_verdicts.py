"""What is published beside what ours is: the rule, the words, the table."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gpusched_papers.claims import (
    RULE,
    Claim,
    Credit,
    Published,
    beside,
    compare,
    prediction,
    row_of,
    verdicts,
    with_all,
)
from tests.each import each

CLAIM = Claim("makespan", "makespan", "Figure 1", "text", 535.0, unit="s", better="lower")
OURS = np.array([480.0, 500.0, 520.0, 540.0, 460.0])


def test_an_interval_of_one_run_is_wider_than_that_of_the_mean():
    low, high = prediction(OURS)
    # 2.776 is Student's quantile of 4 degrees, 31.62 the standard deviation.
    assert high - 500 == pytest.approx(2.776 * 31.62 * math.sqrt(1 + 1 / 5), rel=1e-3)
    assert (low + high) / 2 == pytest.approx(500)
    of_many = prediction(OURS, runs=10**9)
    assert of_many[1] - 500 == pytest.approx(2.776 * 31.62 / math.sqrt(5), rel=1e-3)


def test_a_prediction_interval_holds_as_many_further_runs_as_it_says():
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(4000, 8))
    held = [
        low <= further <= high
        for (*ours, further) in drawn
        for low, high in [prediction(ours)]
    ]  # fmt: skip
    assert np.mean(held) == pytest.approx(0.95, abs=0.02)


@each(
    ("value", "better", "verdict"),
    [
        (535.0, "lower", "reproduced"),
        (535.0, "higher", "reproduced"),
        (700.0, "lower", "stronger"),
        (700.0, "higher", "weaker"),
        (300.0, "lower", "weaker"),
        (300.0, "higher", "stronger"),
    ],
)
def test_a_published_figure_gets_one_of_the_words(value, better, verdict):
    claim = replace(CLAIM, value=value, better=better)
    assert compare(claim, OURS).verdict == verdict
    # The direction is that of the claim: mirrored values are judged alike.
    mirrored = {"lower": "higher", "higher": "lower"}[better]
    assert compare(replace(claim, value=-value, better=mirrored), -OURS).verdict == verdict


def test_a_mean_of_many_runs_is_judged_more_strictly_than_one():
    assert compare(replace(CLAIM, value=570.0), OURS).verdict == "reproduced"
    assert compare(replace(CLAIM, value=570.0, runs=10), OURS).verdict == "stronger"


def test_what_lacks_something_is_not_comparable_and_says_why():
    lacking = replace(CLAIM, lacks="Its instances are not known.")
    for one in (compare(lacking, OURS), beside(lacking)):
        assert one.verdict == "not comparable"
        assert row_of(one).why == "Its instances are not known."
        assert row_of(one).predicted == ""
    assert compare(CLAIM, [500.0]).verdict == "not comparable"
    with pytest.raises(ValueError, match="makespan can be compared"):
        beside(CLAIM)
    with pytest.raises(ValueError, match="makespan is a setting"):
        compare(replace(CLAIM, is_setting=True), OURS)


def test_no_claim_is_left_out_of_the_comparisons():
    lacking = replace(CLAIM, key="other", lacks="Unknown.")
    found = with_all([compare(CLAIM, OURS)], [lacking, CLAIM])
    assert [one.claim.key for one in found] == ["other", "makespan"]
    with pytest.raises(ValueError, match="makespan can be compared"):
        with_all([], [CLAIM])


def test_the_table_shows_how_a_figure_is_known_and_the_rule():
    share = Claim("gap", "gap", "abstract", "abstract", 0.02, 0.04, unit="%", lacks="Unknown.")
    shown = verdicts([compare(CLAIM, OURS), beside(share)])
    assert shown.texts[0] == (
        "makespan, Figure 1", "535 s", "text", "500 ± 39 s", "404 to 596 s", "reproduced",
    )  # fmt: skip
    assert shown.texts[1][1:] == ("2 to 4 %", "abstract", "", "", "not comparable (1)")
    assert shown.notes == (RULE, "(1) Unknown.")


@each(
    ("claims", "credits", "message"),
    [
        ((CLAIM, CLAIM), (), "the key is taken"),
        ((replace(CLAIM, known="hearsay"),), (), "unknown known 'hearsay'"),
        ((replace(CLAIM, better=""),), (), "must say which values are better"),
        ((replace(CLAIM, says=" "),), (), "says must not be empty"),
        ((), (Credit("fifo", "", "text"),), "what must not be empty"),
        ((), (Credit("fifo", "all", "rumour"),), "unknown known 'rumour'"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_entry_is_refused(claims, credits, message):
    with pytest.raises(ValueError, match=message):
        Published(claims, credits)
