"""Distances of samples of waits, against SciPy and by hand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.studies.wait_statistics import (
    factor_between,
    ks_distance,
    mean_difference,
    overlap,
    rank_correlation,
)

# Few distinct values: ties are what waits are full of.
WAITS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=40)


@settings(deadline=None)  # the first call loads SciPy
@given(WAITS)
def test_the_distance_of_distributions_is_scipys(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    expected = stats.ks_2samp(one, other[: len(other) // 2 + 1], method="asymp").statistic
    assert ks_distance(one, other[: len(other) // 2 + 1]) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)  # the first call loads SciPy
@given(WAITS)
def test_the_rank_correlation_is_scipys(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's of constant input
        expected = stats.spearmanr(one, other).statistic
    if np.array_equal(one, other):
        expected = 1.0
    assert rank_correlation(one, other) == pytest.approx(np.nan_to_num(expected), abs=1e-9)


def test_who_waits_for_ever_waits_longest() -> None:
    forever = np.array([0.0, 5.0, np.inf])
    assert ks_distance(forever, np.array([0.0, 5.0, 6.0])) == pytest.approx(1 / 3)
    assert rank_correlation(forever, np.array([0.0, 5.0, 6.0])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("one", "other", "factor"),
    [(2, 3, 1.5), (3, 2, 1.5), (0, 0, 1.0), (7, 7, 1.0), (0, 1, math.inf), (1, math.inf, math.inf)],
)
def test_a_factor_is_at_least_1(one: float, other: float, factor: float) -> None:
    assert factor_between(one, other) == factor


def test_the_overlap_is_what_both_have_over_what_either_has() -> None:
    weight = np.array([1.0, 2.0, 4.0])
    one, other = np.array([10.0, 0.0, 5.0]), np.array([5.0, 3.0, np.inf])
    assert overlap(one, other, weight) == pytest.approx(5 / (10 + 6))
    assert overlap(np.zeros(3), np.zeros(3), weight) == 1.0


def test_a_step_function_is_averaged_over_a_window_only() -> None:
    time_us = np.array([30, 0, 10, 20])
    change = np.array([-1.0, 2.0, -5.0, 4.0])
    # 2 until 10, -3 until 20, 1 until 30, then 0.
    assert mean_difference(time_us, change, 0, 40) == pytest.approx((60 / 40, 0.0))
    assert mean_difference(time_us, change, 5, 15) == pytest.approx((2.5, -0.5))
    assert mean_difference(time_us, change, -10, 5) == pytest.approx((10 / 15, 10 / 15))
    assert mean_difference(time_us, change, 5, 5) == (0.0, 0.0)
    assert mean_difference(time_us[:0], change[:0], 0, 5) == (0.0, 0.0)
