"""How often intervals hold a truth that is known: the campaign of bench/, in small."""

from __future__ import annotations

import pytest

from bench.interval_coverage import HIGH, KINDS, LOW, coverage, table

BY_NAME = {kind.name: kind for kind in KINDS}
# What bootstrap-t cannot follow with few values, as docs/studies/statistics.md says.
HEAVY = "mean, lognormal 1"


@pytest.mark.parametrize("num", [5, 10, 20])
@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - {HEAVY}))
def test_the_default_holds_the_truth_as_often_as_it_says(name: str, num: int) -> None:
    found = coverage(
        BY_NAME[name], num, "bootstrap-t", experiments=1_000, num_resamples=499, seed=2
    )
    # Three standard errors of a thousand experiments beyond what ten thousand keep to.
    assert LOW - 0.02 <= found.held <= HIGH + 0.02


def test_what_the_study_says_to_miss_does() -> None:
    few = coverage(BY_NAME["mean, lognormal 0.5"], 5, "bca", experiments=1_000, num_resamples=499)
    heavy = coverage(BY_NAME[HEAVY], 10, "t", experiments=1_000)
    default = coverage(BY_NAME[HEAVY], 10, "bootstrap-t", experiments=1_000, num_resamples=499)
    assert few.held < 0.85
    assert heavy.held < 0.88 < default.held
    assert default.too_low > default.too_high


def test_student_s_interval_of_normal_values_is_exact() -> None:
    found = coverage(BY_NAME["mean, normal"], 5, "t", experiments=10_000)
    assert found.held == pytest.approx(0.95, abs=0.007)
    assert found.held == pytest.approx(1.0 - found.too_low - found.too_high)


def test_the_table_marks_what_is_outside_of_the_band() -> None:
    made = table(500, kinds=(BY_NAME["mean, normal"],), nums=(5,))
    (row,) = made.rows
    columns = dict(zip(made.columns, row, strict=True))
    assert columns["bca"].startswith("(")
    assert not columns["t"].startswith("(")
    assert columns["default"] == columns["bootstrap-t"]
