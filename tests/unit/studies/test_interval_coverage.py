"""How often intervals hold a truth that is known: the campaign of bench/, in small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.interval_coverage import HIGH, KINDS, LOW, coverage, table
from gpusched.studies.limits import mean_limits, ratio_limits
from gpusched.studies.log_limits import log_limits

BY_NAME = {kind.name: kind for kind in KINDS}
# What nothing follows with few values, as docs/studies/statistics.md says.
HEAVY = "mean, lognormal 1.5"
MISSED = {HEAVY, "mean, Pareto 3", "mean, one in ten an outlier"}


@pytest.mark.parametrize("num", [5, 10, 20])
@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - MISSED))
def test_the_default_holds_the_truth_as_often_as_it_says(name, num):
    found = coverage(
        BY_NAME[name], num, "bootstrap-t", experiments=1_000, num_resamples=499, seed=2
    )
    # Three standard errors of a thousand experiments beyond what ten thousand keep to.
    assert LOW - 0.02 <= found.held <= HIGH + 0.02


def test_what_the_study_says_to_miss_does():
    few = coverage(BY_NAME["mean, lognormal 0.5"], 5, "bca", experiments=1_000, num_resamples=499)
    heavy = coverage(BY_NAME[HEAVY], 10, "t", experiments=1_000)
    default = coverage(BY_NAME[HEAVY], 10, "bootstrap-t", experiments=1_000, num_resamples=499)
    assert few.held < 0.85
    assert heavy.held < 0.88 < default.held
    assert default.too_low > default.too_high


def rows_of(random: np.random.Generator, sigma: float, num: int = 8) -> np.ndarray:
    return random.lognormal(0.3, sigma, (200, num))


def test_limits_by_logarithms_are_those_of_the_formula():
    rows = rows_of(np.random.default_rng(1), 1.0)
    found = log_limits(rows, 0.025, against=4.0)
    for row, limit in zip(rows, found.limit, strict=True):
        logs = np.log(row)
        square = logs.var(ddof=1)
        error = np.sqrt(square / 8 + square**2 / 14)
        expected = np.exp(logs.mean() + square / 2 + stats.t.ppf(0.975, 7) * error)
        assert limit == pytest.approx(expected)


def test_a_heavy_tail_moves_the_limit_away_from_zero_and_no_other():
    rows = rows_of(np.random.default_rng(2), 1.2)
    plain = ratio_limits(rows, np.ones_like(rows), "bootstrap-t", 0.95, 499, 1)
    wide = mean_limits(rows, "bootstrap-t", 0.95, 499, 1)
    applies = log_limits(rows, 0.025, 0.0).applies
    assert 0.5 < applies.mean() < 1.0
    assert (wide.low == plain.low).all()
    assert (wide.high >= plain.high).all()
    assert (wide.high[applies] > plain.high[applies]).mean() > 0.3
    assert (wide.high[~applies] == plain.high[~applies]).all()
    assert np.allclose(log_limits(-rows, 0.025, 0.0).limit, -log_limits(rows, 0.025, 0.0).limit)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_p_and_the_limits_agree_on_what_is_left_out(level):
    rows = rows_of(np.random.default_rng(3), 1.2)
    for against in (0.2, 2.0, 5.0, 9.0):
        found = mean_limits(rows, "bootstrap-t", level, 1_999, 1, against)
        left_out = (against < found.low) | (against > found.high)
        # Resamples tell levels in steps.
        clear = np.abs(found.p - (1 - level)) > 0.01
        assert ((found.p < 1 - level) == left_out)[clear].all()


def test_narrow_values_those_of_both_signs_and_those_near_zero_keep_their_limits():
    random = np.random.default_rng(4)
    near_zero = np.exp(-random.exponential(1.0, (200, 30)))  # as if logarithms had a long left tail
    for rows in (random.normal(1.0, 0.2, (200, 8)), random.normal(0.0, 1.0, (200, 8))):
        assert not log_limits(rows, 0.025, 0.0).applies.any()
    assert log_limits(near_zero, 0.025, 0.0).applies.mean() < 0.3
    assert not log_limits(np.ones((3, 8)), 0.025, 0.0).applies.any()


def test_student_s_interval_of_normal_values_is_exact():
    found = coverage(BY_NAME["mean, normal"], 5, "t", experiments=10_000)
    assert found.held == pytest.approx(0.95, abs=0.007)
    assert found.held == pytest.approx(1.0 - found.too_low - found.too_high)


def test_the_table_marks_what_is_outside_of_the_band():
    made = table(500, kinds=(BY_NAME["mean, normal"],), nums=(5,))
    (row,) = made.rows
    columns = dict(zip(made.columns, row, strict=True))
    assert columns["bca"].startswith("(")
    assert not columns["t"].startswith("(")
    assert columns["default"] == columns["bootstrap-t"]
