"""Distances of samples of waits, by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched.studies.fidelity_grades import (
    factor_between,
    kendall_tau,
    ks_distance,
    mean_difference,
    overlap,
    rank_correlation,
)
from tests.each import each

# Few distinct values: ties are what waits are full of.
WAITS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=40)


def _by_hand_ks(one: list[float], other: list[float]) -> float:
    """The definition: the largest difference of the shares at most a bound."""
    return max(
        abs(sum(v <= x for v in one) / len(one) - sum(v <= x for v in other) / len(other))
        for x in one + other
    )


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


@settings(deadline=None)  # the first call loads SciPy
@given(WAITS)
def test_the_distance_of_distributions_is_its_definition(pairs):
    one, every = (list(map(float, column)) for column in zip(*pairs, strict=True))
    other = every[: len(every) // 2 + 1]
    assert ks_distance(np.array(one), np.array(other)) == pytest.approx(_by_hand_ks(one, other))


@settings(deadline=None)
@given(WAITS)
def test_rank_correlations_are_their_definitions(pairs):
    one, other = (list(map(float, column)) for column in zip(*pairs, strict=True))
    ranks = [[sum(w < v for w in side) + sum(w == v for w in side) / 2 for v in side]
             for side in (one, other)]  # fmt: skip
    centred = [np.array(side) - np.mean(side) for side in ranks]
    signs = [
        np.array([_sign(a - b) for a, b in itertools.combinations(side, 2)])
        for side in (one, other)
    ]
    for found, (first, second) in (
        (rank_correlation, centred),
        (kendall_tau, signs),  # tau-b: concordant less discordant pairs, over those not tied
    ):
        spread = math.sqrt(np.dot(first, first) * np.dot(second, second))
        expected = 1.0 if one == other else np.dot(first, second) / spread if spread else 0.0
        assert found(np.array(one), np.array(other)) == pytest.approx(expected, abs=1e-9)


def test_who_waits_for_ever_waits_longest():
    forever = np.array([0.0, 5.0, np.inf])
    assert ks_distance(forever, np.array([0.0, 5.0, 6.0])) == pytest.approx(1 / 3)
    assert rank_correlation(forever, np.array([0.0, 5.0, 6.0])) == pytest.approx(1.0)
    assert kendall_tau(forever, np.array([0.0, 6.0, 5.0])) == pytest.approx(1 / 3)


@each(
    ("one", "other", "factor"),
    [(2, 3, 1.5), (3, 2, 1.5), (0, 0, 1.0), (7, 7, 1.0), (0, 1, math.inf), (1, math.inf, math.inf)],
)
def test_a_factor_is_at_least_1(one, other, factor):
    assert factor_between(one, other) == factor


def test_the_overlap_is_what_both_have_over_what_either_has():
    weight = np.array([1.0, 2.0, 4.0])
    one, other = np.array([10.0, 0.0, 5.0]), np.array([5.0, 3.0, np.inf])
    assert overlap(one, other, weight) == pytest.approx(5 / (10 + 6))
    assert overlap(np.zeros(3), np.zeros(3), weight) == 1.0


def test_a_step_function_is_averaged_over_a_window_only():
    time_us = np.array([30, 0, 10, 20])
    change = np.array([-1.0, 2.0, -5.0, 4.0])
    # 2 until 10, -3 until 20, 1 until 30, then 0.
    assert mean_difference(time_us, change, 0, 40) == pytest.approx((60 / 40, 0.0))
    assert mean_difference(time_us, change, 5, 15) == pytest.approx((2.5, -0.5))
    assert mean_difference(time_us, change, -10, 5) == pytest.approx((10 / 15, 10 / 15))
    assert mean_difference(time_us, change, 5, 5) == (0.0, 0.0)
    assert mean_difference(time_us[:0], change[:0], 0, 5) == (0.0, 0.0)
