"""Intervals of means, differences and ratios: against SciPy, and by what they must keep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import gpusched as gs
from gpusched.studies import interval, paired_difference, ratio_of_means, relative_change
from tests.each import each

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


def test_student_s_interval_is_that_of_scipy():
    expected = stats.ttest_1samp(SKEWED, 0.0).confidence_interval(0.9)
    found = interval(SKEWED, method="t", level=0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


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
@settings(max_examples=25, deadline=None)
def test_intervals_stretch_with_the_values(method, values, scale):
    plain = interval(values, method=method, num_resamples=199)
    stretched = interval(scale * values, method=method, num_resamples=199)
    for name in ("value", "low", "high"):
        assert getattr(stretched, name) == pytest.approx(scale * getattr(plain, name))


# But for BCa, whose rank among the resamples is a rounded function of the moved values.
@pytest.mark.parametrize("method", [method for method in METHODS if method != "bca"])
@given(columns, st.integers(0, 500))
@settings(max_examples=25, deadline=None)
def test_intervals_of_values_far_from_zero_move_with_them(method, values, shift):
    values = values + 10.0 * values.max()
    plain = interval(values, method=method, num_resamples=199)
    moved = interval(values + shift, method=method, num_resamples=199)
    for name in ("value", "low", "high"):
        assert getattr(moved, name) == pytest.approx(getattr(plain, name) + shift)


@methods
@given(columns, st.sampled_from([0.125, 2.0, 8.0]))
@settings(max_examples=25, deadline=None)
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
@settings(max_examples=25, deadline=None)
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
