"""Intervals of means, ranks, corrections and effect sizes: against SciPy, textbooks and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import gpusched as gs
from bench.interval_coverage import HIGH, KINDS, LOW, coverage, table
from gpusched.studies import (
    effect_size,
    holm,
    interval,
    nemenyi,
    paired_difference,
    ranks,
    ratio_of_means,
    relative_change,
    seeds_needed,
)
from gpusched.studies.limits import mean_limits, ratio_limits
from gpusched.studies.log_limits import log_limits
from tests.each import each
from tests.examples import examples

METHODS = ("bootstrap-t", "t", "bca", "percentile")
BOOTSTRAPS = ("bootstrap-t", "bca", "percentile")
methods = pytest.mark.parametrize("method", METHODS)

RANDOM = np.random.default_rng(7)
SKEWED = RANDOM.lognormal(0.0, 0.5, 40)
BASE = 0.8 * SKEWED + RANDOM.lognormal(0.0, 0.3, 40)

# Few decimals: sums of them are the same in any order to the digits that are compared. Scales are
# powers of two, as BCa counts the resamples below the mean: none may change sides by rounding.
columns = st.lists(st.integers(1, 1_000), min_size=30, max_size=36).map(
    lambda values: np.array(values, float)
)


def test_an_interval_is_scaled_by_what_is_positive():
    hours = interval(SKEWED, method="t")
    seconds = hours.scaled(3600)
    assert (seconds.low, seconds.high) == (hours.low * 3600, hours.high * 3600)
    for by in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match=r"^by: .* must be positive$"):
            hours.scaled(by)


def test_the_interval_of_student_is_that_of_a_textbook():
    # Student's own data (1908): hours of sleep gained by ten patients on the second drug.
    gained = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    other = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    found = paired_difference(gained, other, method="t")
    assert found.value == pytest.approx(1.58)
    assert (found.low, found.high) == pytest.approx((0.7001142, 2.4598858), abs=1e-6)
    assert found.num == 10


@pytest.mark.parametrize(("method", "name"), [("bca", "BCa"), ("percentile", "percentile")])
def test_bootstraps_are_those_of_scipy_to_their_noise(method, name):
    def ratio(first, second, axis=-1):
        return first.mean(axis) / second.mean(axis)

    for found, data, statistic in (
        (interval(SKEWED, method=method), (SKEWED,), np.mean),
        (ratio_of_means(SKEWED, BASE, method=method), (SKEWED, BASE), ratio),
    ):
        expected = stats.bootstrap(
            data, statistic, paired=True, method=name, rng=np.random.default_rng(1)
        ).confidence_interval
        noise = 0.05 * (expected.high - expected.low)
        assert found.low == pytest.approx(expected.low, abs=noise)
        assert found.high == pytest.approx(expected.high, abs=noise)


def test_bca_of_symmetric_values_is_near_student_s():
    symmetric = stats.norm.ppf((np.arange(60) + 0.5) / 60)
    corrected, student = interval(symmetric, method="bca"), interval(symmetric, method="t")
    assert corrected.low == pytest.approx(student.low, abs=0.06 * student.half_width)
    assert corrected.high == pytest.approx(student.high, abs=0.06 * student.half_width)
    assert corrected.low == pytest.approx(-corrected.high, abs=0.06 * student.half_width)


def test_bootstrap_t_leans_to_the_side_of_the_tail():
    found = interval(SKEWED)
    assert found.high - found.value > 1.1 * (found.value - found.low)


def test_fieller_s_limits_are_where_the_difference_stops_being_significant():
    found = ratio_of_means(SKEWED, BASE, method="t")
    for limit in (found.low, found.high):
        assert stats.ttest_rel(SKEWED, limit * BASE).pvalue == pytest.approx(0.05)


def test_a_ratio_to_what_may_be_zero_has_no_limits():
    found = ratio_of_means([1, 2, 3, 1, 2], [1.0, -1.0, 0.5, 0.3, -0.2], method="t")
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert not found.is_known
    with pytest.raises(ValueError, match="its mean is zero"):
        ratio_of_means([1.0, 2.0], [1.0, -1.0])


@methods
@given(columns, st.sampled_from([0.5, 4.0, 2.0**20]))
@examples(25)
def test_intervals_stretch_with_the_values(method, values, scale):
    plain = interval(values, method=method, num_resamples=199)
    stretched = interval(scale * values, method=method, num_resamples=199)
    for name in ("value", "low", "high"):
        assert getattr(stretched, name) == pytest.approx(scale * getattr(plain, name))


# But for BCa, whose rank among the resamples is a rounded function of the moved values.
@pytest.mark.parametrize("method", [method for method in METHODS if method != "bca"])
@given(columns, st.integers(0, 500))
@examples(25)
def test_intervals_of_values_far_from_zero_move_with_them(method, values, shift):
    values = values + 10.0 * values.max()
    plain = interval(values, method=method, num_resamples=199)
    moved = interval(values + shift, method=method, num_resamples=199)
    for name in ("value", "low", "high"):
        assert getattr(moved, name) == pytest.approx(getattr(plain, name) + shift)


@methods
@given(columns, st.sampled_from([0.125, 2.0, 8.0]))
@examples(25)
def test_a_ratio_follows_the_unit_of_either_side(method, values, scale):
    base = 500.0 + np.sqrt(values)
    plain = ratio_of_means(values, base, method=method, num_resamples=199)
    other = ratio_of_means(scale * values, base, method=method, num_resamples=199)
    below = ratio_of_means(values, scale * base, method=method, num_resamples=199)
    for name in ("value", "low", "high"):
        assert getattr(other, name) == pytest.approx(scale * getattr(plain, name))
        assert getattr(below, name) == pytest.approx(getattr(plain, name) / scale)


@methods
@given(columns, st.randoms(use_true_random=False))
@examples(25)
def test_the_order_of_the_seeds_decides_nothing(method, values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    many, base = np.tile(values, 5), np.tile(np.sqrt(values), 5)
    orders = np.concatenate([np.array(order) + len(values) * part for part in range(5)])
    assert interval(many[orders], method=method, num_resamples=199) == interval(
        many, method=method, num_resamples=199
    )
    assert ratio_of_means(
        many[orders], base[orders], method=method, num_resamples=199
    ) == ratio_of_means(many, base, method=method, num_resamples=199)


@methods
def test_swapping_the_sides_turns_a_difference_over(method):
    there = paired_difference(SKEWED, BASE, method=method)
    back = paired_difference(BASE, SKEWED, method=method)
    noise = 0.1 * there.half_width
    assert there.value == pytest.approx(-back.value)
    assert there.low == pytest.approx(-back.high, abs=noise)
    assert there.high == pytest.approx(-back.low, abs=noise)


@methods
def test_equal_values_have_an_interval_of_no_width(method):
    found = interval([0.1] * 40, method=method)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1), abs=1e-12)
    assert paired_difference(SKEWED, SKEWED, method=method).half_width == 0.0


def test_a_relative_change_is_the_ratio_less_one():
    ratio, change = ratio_of_means(SKEWED, BASE), relative_change(SKEWED, BASE)
    assert change.value == ratio.value - 1.0
    assert change.low == ratio.low - 1.0


def test_a_wider_level_has_a_wider_interval():
    for method in METHODS:
        widths = [
            interval(SKEWED, method=method, level=level).half_width for level in (0.8, 0.95, 0.99)
        ]
        assert widths == sorted(set(widths))


def test_equal_input_gives_equal_limits_and_another_seed_others():
    assert interval(SKEWED) == interval(SKEWED)
    assert interval(SKEWED) != interval(SKEWED, seed=1)


def test_few_values_get_the_method_that_they_allow():
    used = {num: interval(SKEWED[:num]).method for num in (2, 4, 5, 29, 30)}
    assert used == {2: "t", 4: "t", 5: "bootstrap-t", 29: "bootstrap-t", 30: "bootstrap-t"}
    single = interval([3.0])
    assert single.value == 3.0
    assert math.isnan(single.low)
    assert math.isnan(single.high)


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_a_method_that_was_asked_for_is_refused_and_not_replaced_where_values_are_too_few(method):
    assert interval(SKEWED[:30], method=method).method == method
    with pytest.raises(ValueError, match=f"{method} needs 30 values, and there are 29"):
        interval(SKEWED[:29], method=method)


def test_values_that_are_nearly_all_equal_get_student_s_interval():
    found = interval([1.0] * 7 + [2.0])
    assert found.method == "t"
    assert found == interval([1.0] * 7 + [2.0], method="t")


@each(
    ("call", "message"),
    [
        (lambda: interval([]), "there are no values"),
        (lambda: interval([1.0, math.nan]), r"values\[1\]: nan must be finite"),
        (lambda: interval([[1.0], [2.0]]), "one column, not 2 dimensions"),
        (lambda: interval([1.0, 2.0], level=95), "level: 95 must lie between 0 and 1"),
        (lambda: interval([1.0, 2.0], method="bac"), "did you mean 'bca'"),
        (lambda: paired_difference([1.0], [1.0, 2.0]), "2 values for 1"),
        (lambda: interval([1.0, 2.0], num_resamples=9), "num_resamples: 9 must lie in"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_text_is_no_value():
    with pytest.raises(TypeError, match="must be numbers"):
        gs.studies.interval(["1", "2"])


tables = st.integers(3, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=3, max_size=8)
)


# AUC of four decision trees on 14 data sets: Demsar, JMLR 7 (2006), table 6. Its printed mean ranks
# follow if the third .975 of the last row but one was the larger one before it was rounded.
DEMSAR = np.array([
    [.763, .768, .771, .798], [.599, .591, .590, .569], [.954, .971, .968, .967],
    [.628, .661, .654, .657], [.882, .888, .886, .898], [.936, .931, .916, .931],
    [.661, .668, .609, .685], [.583, .583, .563, .625], [.775, .838, .866, .875],
    [1.00, 1.00, 1.00, 1.00], [.940, .962, .965, .962], [.619, .666, .614, .669],
    [.972, .981, .9751, .975], [.957, .978, .946, .970],
])  # fmt: skip
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")


def test_mean_ranks_and_the_critical_difference_are_those_of_demsar():
    found = nemenyi(DEMSAR, NAMES, better="higher")
    assert [round(rank, 3) for rank in found.mean_ranks] == [3.143, 2.0, 2.893, 1.964]
    assert nemenyi(DEMSAR, NAMES, better="higher", level=0.9).critical_difference == (
        pytest.approx(1.12, abs=0.005)
    )
    assert found.critical_difference == pytest.approx(1.25, abs=0.005)
    at_ten = nemenyi(DEMSAR, NAMES, better="higher", level=0.9)
    for better in ("C4.5+m", "C4.5+m+cf"):
        assert at_ten.differ("C4.5", better)
        assert not found.differ("C4.5", better)


def test_the_groups_are_the_bars_of_the_diagram():
    found = nemenyi(DEMSAR, NAMES, better="higher", level=0.9)
    assert found.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


@given(tables)
@examples(50)
def test_friedman_s_test_is_that_of_scipy(rows):
    table = np.array(rows, float)
    found = nemenyi(table)
    if np.ptp(table, axis=1).max() == 0.0:
        assert math.isnan(found.p)
        return
    expected = stats.friedmanchisquare(*table.T)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.pvalue, abs=1e-9)


@given(tables)
@examples(50)
def test_ranks_share_ties_and_turn_over(rows):
    table = np.array(rows, float)
    assert ranks(table) == pytest.approx(stats.rankdata(table, axis=1))
    assert ranks(table, better="higher") == pytest.approx(table.shape[1] + 1 - ranks(table))


def test_holm_s_values_are_those_of_his_procedure():
    # Wright, Biometrics 48 (1992): 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, and never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match=r"p_values\[1\]: .* must lie in 0..1"):
        holm([0.5, 1.5])


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8))
def test_holm_lies_between_p_and_bonferroni_and_keeps_the_order(p):
    adjusted, given_p = holm(p), np.array(p)
    assert (adjusted >= given_p).all()
    assert (adjusted <= np.minimum(1.0, len(p) * given_p)).all()
    order = np.argsort(given_p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_effect_sizes_are_those_of_their_definitions():
    values, base = [3.0, 5.0, 4.0, 8.0], [4.0, 7.0, 7.0, 9.0]
    change = np.subtract(values, base)
    cohen = change.mean() / change.std(ddof=1)
    assert effect_size(values, base, kind="cohen") == pytest.approx(cohen)
    # Hedges (1981), table 1: the factor of 3 degrees of freedom is 0.7236.
    assert effect_size(values, base) / cohen == pytest.approx(0.7236, abs=5e-5)
    # By hand: 4 of the 16 pairs are larger, 11 smaller, one equal.
    assert effect_size(values, base, kind="cliff") == -7 / 16
    assert effect_size(values, base, kind="superiority") == 4.5 / 16


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.lists(st.integers(0, 9), min_size=1))
def test_superiority_is_the_statistic_of_mann_and_whitney(values, base):
    u = stats.mannwhitneyu(values, base, method="asymptotic").statistic if len(values) > 1 else None
    found = effect_size(values, base, kind="superiority")
    if u is not None:
        assert found == pytest.approx(u / (len(values) * len(base)))
    assert effect_size(base, values, kind="superiority") == pytest.approx(1.0 - found)


def test_an_effect_without_spread_is_none_or_without_bound():
    assert effect_size([1.0, 2.0], [1.0, 2.0]) == 0.0
    assert effect_size([1.0, 2.0], [2.0, 3.0]) == -math.inf
    assert math.isnan(effect_size([1.0], [2.0]))
    with pytest.raises(ValueError, match="did you mean 'hedges'"):
        effect_size([1.0], [2.0], kind="hedge")


@given(
    st.lists(st.integers(1, 1_000), min_size=2, max_size=9).filter(lambda v: len(set(v)) > 1),
    st.integers(2, 400),
)
@examples(50)
def test_the_seeds_needed_are_enough_and_one_fewer_is_not(values, width):
    found = seeds_needed(values, float(width))

    def half(num: int) -> float:
        return stats.t.ppf(0.975, num - 1) * np.std(values, ddof=1) / math.sqrt(num)

    assert half(found) <= width * (1 + 1e-12)
    assert found == 2 or half(found - 1) > width * (1 - 1e-12)


def test_a_share_of_the_mean_asks_for_as_many_seeds_as_its_width():
    pilot = [100.0, 120.0, 90.0, 110.0, 105.0]
    assert seeds_needed(pilot, 0.05, relative=True) == seeds_needed(pilot, 0.05 * 105.0)
    assert seeds_needed([7.0, 7.0], 0.1) == 2
    for call, message in (
        (lambda: seeds_needed([1.0], 1.0), "1 of at least 2 values"),
        (lambda: seeds_needed(pilot, 0.0), "half_width: 0.0 must be finite and positive"),
        (lambda: seeds_needed([1.0, -1.0], 0.1, relative=True), "the mean is zero"),
        (lambda: seeds_needed(pilot, 1e-9), "more than 10,000,000 seeds"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@each(
    ("call", "message"),
    [
        (lambda: ranks([1.0, 2.0]), "must be a table"),
        (lambda: ranks([[1.0, math.nan]]), r"values\[0, 1\]: nan must be finite"),
        (lambda: ranks([[1.0]], better="less"), "must be 'lower' or 'higher'"),
        (lambda: nemenyi([[1.0, 2.0]]), "1 x 2"),
        (lambda: nemenyi([[1.0, 2.0]] * 2, ["a"]), "1 for 2 columns"),
        (lambda: nemenyi([[1.0, 2.0]] * 2, ["a", "a"]), "names"),
    ],
)
def test_mistakes_of_tables_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
