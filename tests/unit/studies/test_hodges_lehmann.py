"""Estimate, interval and p agree with each other, with SciPy, a textbook and figures by hand."""

import math
from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.interval_coverage import SYNTHETIC, coverage, real_kinds, recommended, table
from gpusched.studies import (
    Estimate,
    difference,
    holm,
    ratio,
    seeds_for,
    seeds_needed,
    signed_rank,
    typical,
)
from gpusched.studies.hodges_lehmann import _below
from gpusched.studies.verdicts import not_beaten
from tests.each import each

SRTF = [5.31, 5.62, 5.10, 6.05, 5.44, 5.90, 5.25, 5.71, 5.50, 5.38]
SKIP = [6.17, 6.71, 146.61, 6.43, 7.99, 8.10, 5.60, 9.01, 7.30, 6.90]  # one seed got stuck
LAS = [6.05, 6.80, 9.61, 6.40, 7.51, 8.30, 5.32, 9.20, 7.10, 7.00]
# Depression scores of nine patients (Hollander, Wolfe, Nonparametric Statistical Methods, 1973).
BEFORE = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30])
AFTER = np.array([0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
MANY = np.exp(np.random.Generator(np.random.PCG64(7)).normal(0.1, 0.3, 60))


@each(
    ("found", "expected"),
    [
        (ratio(SRTF, SKIP), (0.7665, 0.1806, 0.8565, 0.00195, 10, 0.9512)),
        (ratio(LAS, SKIP), (0.9817, 0.2587, 1.0140, 0.2754, 10, 0.9512)),
        (ratio(SRTF, LAS), (0.7716, 0.6642, 0.8743, 0.00195, 10, 0.9512)),
        (typical(SKIP), (7.3000, 6.4300, 30.0763, math.nan, 10, 0.9512)),
        (difference(SRTF, SKIP), (-1.8000, -70.9450, -0.9350, 0.00195, 10, 0.9512)),
        (ratio(SRTF[:2], SKIP[:2]), (0.8490, 0.8376, 0.8606, 0.5, 2, 0.5)),
        (ratio(SRTF[:3], SKIP[:3]), (0.3807, 0.0348, 0.8606, 0.25, 3, 0.75)),
        (ratio(SRTF[:4], SKIP[:4]), (0.8433, 0.0348, 0.9409, 0.125, 4, 0.875)),
        (ratio(SRTF[:5], SKIP[:5]), (0.7655, 0.0348, 0.9409, 0.0625, 5, 0.9375)),
        (ratio(SRTF[:6], SKIP[:6]), (0.7655, 0.0348, 0.9409, 0.03125, 6, 0.9688)),
        (ratio(SRTF[:7], SKIP[:7]), (0.7953, 0.1592, 0.9375, 0.01562, 7, 0.9531)),
        (ratio(SRTF[:8], SKIP[:8]), (0.7681, 0.1592, 0.8999, 0.00781, 8, 0.9609)),
        (signed_rank(range(1, 11)), (5.5, 3.0, 8.0, 0.00195, 10, 0.9512)),
        (signed_rank([-3, -1, 0, 1, 2, 4, 6]), (1.25, -1.5, 4.0, 0.46875, 7, 0.9531)),
        (signed_rank([0.0] * 10), (0.0, 0.0, 0.0, 1.0, 10, 0.9512)),
        (
            difference([-80, -82, -79, -81, -83, -78], [-100, -103, -99, -101, -104, -98]),
            (20.5, 20.0, 21.0, 0.03125, 6, 0.9688),
        ),
        (difference(AFTER, BEFORE), (-0.46, -0.786, -0.01, 0.03906, 9, 0.9609)),
        (ratio(MANY, np.ones(60)), (1.0391, 0.9702, 1.1167, 0.2523, 60, 0.9502)),
        (signed_rank([3.0]), (3.0, math.nan, math.nan, 1.0, 1, 0.0)),
    ],
)
def test_an_estimate_is_that_of_the_cases(found, expected):
    assert astuple(found) == pytest.approx(expected, abs=6e-5, nan_ok=True)


@each("columns", [(SRTF, SKIP), (LAS, SKIP), (SRTF, LAS), (AFTER, BEFORE)])
def test_p_is_that_of_scipy_where_there_are_no_ties(columns):
    from scipy import stats

    logs = np.log(columns[0]) - np.log(columns[1])
    assert ratio(*columns).p == pytest.approx(stats.wilcoxon(logs, method="exact").pvalue)


def test_p_of_many_values_is_that_of_scipy_s_normal_law():
    from scipy import stats

    expected = stats.wilcoxon(np.log(MANY), method="asymptotic", correction=True)
    assert ratio(MANY, np.ones(60)).p == pytest.approx(expected.pvalue)


def test_the_law_of_the_rank_sum_is_that_of_tables():
    assert _below(10)[7:10] == pytest.approx([0.01855, 0.02441, 0.03223], abs=5e-6)


# Few distinct values on purpose: ties and zeros are the interesting cases.
columns = st.lists(st.integers(-4, 6), min_size=1, max_size=14)
positive = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=14)


@given(columns)
def test_p_and_the_interval_never_contradict_each_other(values):
    found = signed_rank(values)
    if len(values) >= 6:
        assert (found.p <= 0.05) == (found.low > 0 or found.high < 0)
        assert found.level >= 0.95
    else:
        assert found.p > 0.05
    if len(values) > 1:
        assert found.low <= found.value <= found.high


@given(positive)
def test_the_ratio_the_other_way_round_is_its_reciprocal(pairs):
    x, y = np.array(pairs, float).T
    one, other = ratio(x, y), ratio(y, x)
    expected = (1 / one.value, 1 / one.high, 1 / one.low, one.p)
    assert (other.value, other.low, other.high, other.p) == pytest.approx(expected)
    assert one.low > 0


@given(positive, st.randoms(use_true_random=False), st.sampled_from([0.25, 8.0]))
def test_the_order_of_the_seeds_and_the_unit_decide_nothing(pairs, random, unit):
    x, y = np.array(pairs, float).T
    order = random.sample(range(len(x)), len(x))
    assert astuple(ratio(unit * x[order], unit * y[order])) == pytest.approx(astuple(ratio(x, y)))


@each("num", range(6, 16))
def test_seeds_that_all_agree_are_as_significant_as_so_many_can_be(num):
    values = np.arange(1.0, num + 1)
    assert signed_rank(values).p == 2 / 2**num
    assert signed_rank(-values).p == 2 / 2**num


def test_p_values_are_adjusted_for_their_number():
    p = [ratio(*pair).p for pair in ((SRTF, SKIP), (LAS, SKIP), (SRTF, LAS))]
    assert holm(p) == pytest.approx([0.0059, 0.2754, 0.0059], abs=5e-5)
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    for wrong in ([0.5, 1.1], [-0.1]):
        with pytest.raises(ValueError, match=r"must lie in 0\.\.1"):
            holm(wrong)


def test_what_is_not_beaten_is_left():
    assert not_beaten({"srtf": SRTF, "skip": SKIP, "las": LAS}) == {"srtf"}
    assert not_beaten({"skip": SKIP, "las": LAS}) == {"skip", "las"}
    assert not_beaten({"srtf": SRTF, "skip": SKIP, "las": LAS}, better="higher") == {"skip", "las"}
    assert not_beaten({"skip": SKIP}) == {"skip"}


@pytest.mark.parametrize("scale", ["ratio", "difference"])
def test_a_gain_below_two_percent_beats_nothing(scale):
    base = np.arange(100.0, 112.0)
    assert not_beaten({"a": 0.985 * base, "b": base}, scale=scale) == {"a", "b"}
    assert not_beaten({"a": 0.975 * base, "b": base}, scale=scale) == {"a"}


def test_so_many_seeds_carry_so_many_comparisons():
    numbers = (1, 3, 4, 9, 10, 15, 25, 45, 190)
    assert [seeds_for(num) for num in numbers] == [6, 7, 8, 9, 9, 10, 10, 11, 13]
    for num in numbers:
        assert num * 2 / 2 ** seeds_for(num) <= 0.05 < num * 2 / 2 ** (seeds_for(num) - 1)


def test_the_seeds_needed_follow_from_the_width_of_a_pilot():
    assert seeds_needed(ratio(SRTF, SKIP), 0.05) == 2545
    assert seeds_needed(ratio(SRTF, SKIP), 0.10) == 667
    assert seeds_needed(typical([7.0] * 8), 0.01) == 6


@each(
    ("call", "message"),
    [
        (lambda: signed_rank([]), "there are no values"),
        (lambda: signed_rank([1.0, math.inf]), r"values\[1\]: inf must be finite"),
        (lambda: signed_rank([[1.0]]), "one column, not 2 dimensions"),
        (lambda: signed_rank(np.ones(4_001)), "4,001 values; at most 4,000"),
        (lambda: signed_rank([1.0], level=1.0), "level: 1.0 must lie between 0 and 1"),
        (lambda: ratio([1.0, 2.0], [1.0]), "1 values for 2"),
        (lambda: ratio([1.0], [0.0]), r"baseline\[0\]: .*0.0.* must be positive"),
        (lambda: typical([1.0, -2.0]), r"values\[1\]: .*-2.0.* must be positive"),
        (lambda: seeds_for(0), "num_comparisons"),
        (lambda: seeds_needed(ratio(SRTF, SKIP), 0.0), "half_width: 0.0 must be finite and pos"),
        (lambda: seeds_needed(Estimate(1.0, -1.0, 2.0, 0.1, 9, 0.95), 0.1), "must be positive"),
        (lambda: seeds_needed(typical([1.0]), 0.1), "pilot: its limits, nan and nan"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_texts_are_no_values():
    with pytest.raises(TypeError, match="the values must be numbers"):
        signed_rank(["a"])


KINDS = {kind.name: kind for kind in (*SYNTHETIC, *real_kinds())}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if at % 3 else ())
        for at, name in enumerate(sorted(KINDS))
    ],
)
def test_intervals_of_twelve_seeds_hold_the_truth_as_often_as_they_say(name):
    found = coverage(KINDS[name], 12, experiments=500, seed=2)
    # Three standard errors of 500 experiments; where many seeds are equal, intervals hold more.
    assert found.held >= 0.95 - 0.03
    if KINDS[name].is_paired:
        assert found.false <= 0.05 + 0.03


def test_a_typical_ratio_of_real_runs_is_held_in_93_to_97_percent():
    found = coverage(
        KINDS["all widths: ratio of mean JCT, srtf to fifo-skip"], 12, experiments=2_000
    )
    assert 0.93 <= found.held <= 0.97


def test_the_table_of_coverage_marks_what_falls_short():
    wrong = replace(KINDS["ratio, lognormal"], truth=0.9)
    for kind, is_marked in ((wrong, True), (KINDS["ratio, lognormal"], False)):
        (row,) = table(200, (kind,), nums=(20,)).rows
        assert row[3].startswith("(") == is_marked


def test_noise_is_seldom_recommended():
    for name, _, best, beaten, gain in recommended(300).rows:
        assert float(best) <= 1.0, name
        assert float(beaten) <= 5.0 + 4.0, name  # three standard errors of 300 experiments
        assert float(gain) <= 2.5 + 2.7, name
