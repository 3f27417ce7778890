"""Ranks, corrections, effect sizes and numbers of seeds: against textbooks and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gpusched.studies import effect_size, holm, nemenyi, ranks, seeds_needed
from tests.each import each

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
@settings(max_examples=50, deadline=None)
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
@settings(max_examples=50, deadline=None)
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
@settings(deadline=None)
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
@settings(deadline=None)
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
@settings(max_examples=50, deadline=None)
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
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
