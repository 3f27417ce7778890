"""Figures as a person reads them."""

from __future__ import annotations

import math
from typing import Any

from gpusched.base.wording import duration, plural
from gpusched.results.shown_metrics import Column, all_metrics, columns, main_metrics
from tests.each import each


def column(key: str, *values: Any) -> Column:
    metrics = [metric for metric in all_metrics() if metric.key == key]
    (laid_out,) = columns([{key: value} for value in values], metrics)
    return laid_out


def texts(laid_out: Column) -> list[str]:
    return [cell.text for cell in laid_out.cells]


def best(laid_out: Column) -> list[bool]:
    return [cell.best for cell in laid_out.cells]


@each(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.02, "20.0 ms"),
        (1.0, "1.00 s"),
        (90.0, "1.50 min"),
        (7_560.0, "2.10 h"),
        (111_600.0, "31.0 h"),
        (172_800.0, "2.00 d"),
        (31_536_000.0, "365 d"),
    ],
)
def test_a_duration_is_said_in_the_unit_that_fits(seconds, text):
    assert duration(seconds) == text


def test_counts_agree_with_their_noun():
    assert [plural(1, "job"), plural(0, "job"), plural(2_000, "job")] == [
        "1 job",
        "0 jobs",
        "2,000 jobs",
    ]


def test_all_policies_share_one_unit_and_one_number_of_decimals():
    laid_out = column("mean_jct_s", 3_600.0, 36_000.0, 360_000.0)
    assert laid_out.heading == "mean JCT, h"
    assert texts(laid_out) == ["1.00", "10.00", "100.00"]


def test_the_least_is_the_best_time_and_the_largest_the_best_utilisation():
    assert best(column("mean_jct_s", 30.0, 20.0, 40.0)) == [False, True, False]
    assert best(column("utilisation", 0.3, 0.2, 0.4)) == [False, False, True]


def test_what_reads_the_same_is_marked_the_same():
    laid_out = column("utilisation", 0.71231, 0.71229, 0.5)
    assert texts(laid_out) == ["71.2", "71.2", "50.0"]
    assert best(laid_out) == [True, True, False]


def test_nothing_is_best_where_all_are_equal_or_alone():
    assert best(column("preemptions", 0, 0, 0)) == [False, False, False]
    assert best(column("mean_jct_s", 7.0)) == [False]


def test_undefined_figures_are_dashes_and_never_best():
    laid_out = column("mean_jct_s", math.nan, 20.0, None)
    assert texts(laid_out) == ["-", "20.0", "-"]
    assert best(laid_out) == [False, True, False]


def test_a_metric_that_is_undefined_everywhere_gets_no_column():
    assert columns([{"mean_jct_s": math.nan}, {}], main_metrics()[:1]) == []


def test_small_is_not_shown_as_nothing():
    assert texts(column("mean_wait_s", 36_000.0, 9.0, 0.0)) == ["10.00", "<0.01", "0.00"]


def test_rates_have_three_digits_and_separators():
    assert texts(column("jobs_per_s", 1_234_567.0, 987.6)) == ["1,230,000", "988"]


def test_ratios_are_shown_as_percentages():
    laid_out = column("gap", 0.123, 1.5)
    assert laid_out.heading == "gap to lower bound, %"
    assert texts(laid_out) == ["12.3", "150.0"]
