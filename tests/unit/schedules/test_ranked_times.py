"""Times in order, and those of each group, against NumPy and against counting by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched import _core
from tests.each import each

MOST = 2**63 - 1
PERCENTS = [50, 90, 99, 100]


def random_times(span: int, size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-span // 2, span - span // 2, size)


# 2,000 and more are sorted by digits: of a part of 24 bits, of two and of three.
@each("size", [0, 1, 1_999, 2_000, 5_000])
@each("span", [1, 7, 2**12, 2**24, 2**25, 2**45, 2**63])
def test_times_are_ordered_as_a_stable_sort_orders_them(size, span):
    time_us = random_times(span, size, seed=size)
    expected = np.argsort(time_us, kind="stable")
    assert np.array_equal(_core.time_order(time_us), expected)


def test_the_longest_span_that_there_is_can_be_ordered():
    time_us = np.tile([MOST, -MOST - 1, 0, -1], 1_000)
    assert np.array_equal(_core.time_order(time_us), np.argsort(time_us, kind="stable"))


def of_groups(times: list[int], groups: list[int], num_groups: int) -> Any:
    time_us = np.array(times, dtype=np.int64)
    order = _core.time_order(time_us)
    return _core.group_times(
        order=order, time_us=time_us[order], group=np.array(groups, dtype=np.int32),
        num_groups=num_groups, percents=PERCENTS,
    )  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 2)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_each_group_has_the_mean_and_the_nearest_ranks_of_its_times(jobs):
    count, mean_us, percentiles_us = of_groups([t for t, _ in jobs], [g for _, g in jobs], 3)
    for group in range(3):
        times = sorted(time for time, of in jobs if of == group)
        assert count[group] == len(times)
        if not times:
            assert math.isnan(mean_us[group])
            assert [row[group] for row in percentiles_us] == [-1] * len(PERCENTS)
            continue
        assert mean_us[group] == float(Fraction(sum(times), len(times)))
        for percent, row in zip(PERCENTS, percentiles_us, strict=True):
            assert row[group] == times[math.ceil(percent * len(times) / 100) - 1]


def test_a_mean_is_that_of_the_exact_sum():
    times = [2**62, 1, 2**62, 3]
    _, mean_us, _ = of_groups(times, [0, 0, 0, 0], 1)
    assert mean_us[0] == float(sum(times)) / 4


@each(
    ("changed", "message"),
    [
        ({"time_us": np.array([1])}, "time_us: must have a value per place of the order, 2, not 1"),
        ({"group": np.zeros(3, np.int32)}, "group: must have a value per place of the order, 2"),
        ({"group": np.array([0, 4], np.int32)}, r"group\[1\]: 4 is none of the 1"),
        ({"order": np.array([0, 2], np.uint32)}, r"order\[1\]: there is no job 2 of 2"),
        ({"percents": [50, 50]}, r"percents: must ascend within 1..100, not 50 after 50"),
        ({"percents": [0]}, r"percents: must ascend within 1..100, not 0 after 0"),
        ({"percents": [101]}, r"percents: must ascend within 1..100, not 101 after 0"),
    ],
)
def test_columns_that_do_not_fit_are_named(changed, message):
    given_columns: dict[str, object] = {
        "order": np.array([0, 1], np.uint32), "time_us": np.array([1, 2]),
        "group": np.zeros(2, np.int32), "num_groups": 1, "percents": [50],
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.group_times(**(given_columns | changed))
