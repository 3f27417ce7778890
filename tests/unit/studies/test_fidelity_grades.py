"""What the grade of a base case is made of: capacities, own starts, distances of waits, limits."""

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.studies.fidelity_grades import (
    LETTERS,
    MEANINGS,
    MEASURES,
    MIN_JOBS,
    MIN_WAITED,
    MOST_TIMES,
    PATIENCE,
    distance_of,
    factor_between,
    grade_of,
    has_starts,
    kendall_tau,
    ks_distance,
    mean_difference,
    nearest_capacity,
    overlap,
    own_starts,
    rank_correlation,
    smaller_capacity,
)
from tests.each import each
from tests.unit.studies.site_logs import jobs, logged, with_waits

PERFECT = {
    "ks": 0.0,
    "rank_correlation": 1.0,
    "mean_wait_factor": 1.0,
    "unexplained": 0.0,
    "allocation_error": 0.0,
}
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "fidelity.md"


def graded(jobs: int = 1000, waited: int = 500, **values: float) -> Any:
    return grade_of(PERFECT | values, jobs, waited)


def test_what_is_the_same_gets_the_best_grade():
    assert graded().letter == "A"
    assert distance_of(PERFECT) == 0.0
    assert set(PERFECT) == {measure.key for measure in MEASURES}


@each("measure", MEASURES)
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


@each("key", [key for key in PERFECT if key != "mean_wait_factor"])
def test_the_distance_grows_with_each_part_and_stays_in_0_to_1(key):
    worst = {"rank_correlation": -1.0, "allocation_error": math.inf}.get(key, 1.0)
    assert distance_of(PERFECT | {key: worst}) == pytest.approx(0.25)


def test_the_page_publishes_these_limits():
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| ([\w ]+), at (most|least) \|((?: [\d.]+ \|){4})$", text, re.MULTILINE)
    shown = {
        label.lower(): (way == "least", tuple(map(float, re.findall(r"[\d.]+", cells))))
        for label, way, cells in rows
    }
    assert shown == {
        "ks distance" if measure.key == "ks" else measure.key.replace("_", " "): (
            measure.grows, measure.limits,
        )
        for measure in MEASURES
    }  # fmt: skip
    (rely,) = re.findall(r"^\| \*\*You can rely on\*\* \| (.*) \|$", text, re.MULTILINE)
    for letter, meaning in zip("ABCD", rely.split(" | "), strict=True):
        assert meaning in MEANINGS[letter]


def test_jobs_that_follow_each_other_at_an_instant_do_not_overlap():
    trace = gs.Trace.from_columns(
        [0, 0, 5, 9], [10, 5, 5, 1], [4, 3, 2, 8], source_wait_s=[0, 0, 0, 1]
    )
    # 7 until 5, then 6 until 10, then 8.
    own = own_starts(trace)
    assert own.peak_gpus == 8
    assert own.usage[0].tolist() == [0, 5_000_000, 10_000_000, 11_000_000]
    assert own.usage[1].tolist() == [7, 6, 8, 0]


@each(
    ("columns", "peak", "known"),
    [
        ({"gpus": [1] * 5, "gpu_share": [0.3] * 5, "source_wait_s": [0] * 5}, 2, [True] * 5),
        ({"gpus": [4, 3], "source_wait_s": [0, np.nan]}, 4, [True, False]),
    ],
)
def test_shares_of_gpus_add_up_and_jobs_without_a_start_hold_nothing(columns, peak, known):
    own = own_starts(gs.Trace.from_columns([0] * len(known), [10] * len(known), **columns))
    assert own.peak_gpus == peak
    assert own.is_known.tolist() == known


@pytest.mark.parametrize("wait_s", [None, [np.nan, np.nan]])
def test_a_trace_without_starts_is_refused(wait_s):
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], source_wait_s=wait_s, name="bare")
    assert not has_starts(trace)
    with pytest.raises(ValueError, match=r"bare: no recorded starts .source_wait_s"):
        own_starts(trace)


def test_the_peak_is_no_more_than_the_cluster_had():
    for seed in range(3):
        own = own_starts(logged(jobs(seed), policy="fifo-skip"))
        assert 40 <= own.peak_gpus <= 48


def test_the_window_waits_for_as_many_gpus_as_on_average_and_ends_before_the_tail():
    # A job every 100 s for 2,000 s: 20 at once on average once the cluster has filled.
    submit_s = np.arange(1000) * 100.0
    trace = gs.Trace.from_columns(
        submit_s, [2000.0] * 1000, [1] * 1000, source_wait_s=[300.0] * 950 + [700.0] * 50
    )
    window = own_starts(trace).window()
    assert 300 < window.warm_up_s <= 300 + 20 * 100
    assert window.tail_s == 300
    assert window.compared.sum() == np.count_nonzero(
        (submit_s >= window.warm_up_s) & (submit_s <= submit_s[-1] - 300)
    )


def test_a_tenth_at_each_end_is_the_most_that_is_left_out_unasked():
    submit_s = np.arange(200) * 10.0
    trace = gs.Trace.from_columns(submit_s, [5.0] * 200, [1] * 200, source_wait_s=[1e6] * 200)
    window = own_starts(trace).window()
    assert window.warm_up_s <= 199
    assert window.tail_s == 199
    asked = own_starts(trace).window(500, 600)
    assert (asked.warm_up_s, asked.tail_s) == (500, 600)
    assert asked.compared.sum() == np.count_nonzero((submit_s >= 500) & (submit_s <= 1390))


def test_jobs_that_arrive_at_one_instant_are_all_compared():
    trace = gs.Trace.from_columns([0] * 20, [5] * 20, [1] * 20, source_wait_s=[3] * 20)
    assert own_starts(trace).window().compared.all()


@each(
    ("lengths", "error", "message"),
    [
        ((1e9, 0), ValueError, r"site: 0 jobs with recorded starts .* at least 10 are needed"),
        ((-1,), ValueError, "warm_up_s: -1 must lie in 0"),
        ((0, float("nan")), ValueError, "tail_s: nan must lie in 0"),
        ((0, "long"), TypeError, "tail_s: 'long' must be a number"),
    ],
)
def test_too_small_a_window_and_odd_lengths_are_refused(lengths, error, message):
    own = own_starts(logged(jobs(0, 20), policy="fifo"))
    with pytest.raises(error, match=message):
        own.window(*lengths)


def test_waits_that_are_not_given_do_not_count_in_the_tail():
    trace = logged(jobs(1), policy="fifo")
    wait_us = np.asarray(trace.source_wait_us).copy()
    wait_us[::2] = -1
    own = own_starts(with_waits(trace, wait_us))
    assert own.is_known.sum() == len(trace) // 2
    assert not own.window().compared[::2].any()


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


@given(WAITS)
def test_the_distance_of_distributions_is_its_definition(pairs):
    one, every = (list(map(float, column)) for column in zip(*pairs, strict=True))
    other = every[: len(every) // 2 + 1]
    assert ks_distance(np.array(one), np.array(other)) == pytest.approx(_by_hand_ks(one, other))


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


class Site:
    """Mean waits that fall with the servers, counted as they are asked for."""

    def __init__(self, scale: float = 1e6) -> None:
        self.scale = scale
        self.asked: list[int] = []

    def __call__(self, servers: int) -> float:
        self.asked.append(servers)
        return self.scale / servers**2


@each(
    ("least", "true"),
    [
        (10, 10),
        (10, 11),
        (10, 17),
        (10, 40),
        (1000, 1000),
        (1000, 1234),
        (1000, 2345),
        (1000, 3999),
    ],
)
def test_the_true_number_is_found_by_few_runs(least, true):
    site = Site()
    assert nearest_capacity(site, least, 1e6 / true**2) == true
    assert len(set(site.asked)) == len(site.asked) <= 20


def test_the_nearer_of_two_numbers_is_taken():
    site = Site()
    assert nearest_capacity(site, 10, (site(20) * 0.9 + site(21) * 0.1)) == 20
    assert nearest_capacity(site, 10, (site(20) * 0.1 + site(21) * 0.9)) == 21


def test_no_number_below_the_least_and_none_beyond_the_most_is_tried():
    low, high = Site(), Site()
    assert nearest_capacity(low, 10, 1e9) == 10
    assert low.asked == [10]
    assert nearest_capacity(high, 10, 0.0) == 10 * MOST_TIMES
    assert max(high.asked) == 10 * MOST_TIMES


def test_waits_that_do_not_change_give_the_fewest_servers():
    assert nearest_capacity(lambda servers: 5.0, 10, 4.0) == 10
    assert nearest_capacity(lambda servers: 5.0, 1, 4.0) == 1


@each(("nearest", "found"), [(100, 100), (90, 90), (71, 70), (0, 50)])
def test_fewer_servers_are_tried_while_that_comes_nearer(nearest, found):
    asked: list[int] = []

    def distance(servers: int) -> float:
        asked.append(servers)
        return abs(servers - nearest)

    assert smaller_capacity(distance, 100, 50) == found
    assert min(asked) >= 50
    assert len(asked) <= 1 + PATIENCE + (100 - found) // 5


def test_a_bump_on_the_way_down_is_passed_and_a_plain_is_not():
    bumpy = {100: 5.0, 95: 6.0, 90: 5.5, 85: 3.0, 80: 4.0, 75: 4.0, 70: 4.0, 65: 1.0}
    assert smaller_capacity(bumpy.__getitem__, 100, 65) == 85


def test_one_server_is_the_least():
    assert smaller_capacity(lambda servers: 1.0, 1, 1) == 1
    assert smaller_capacity(lambda servers: servers, 3, 2) == 2
