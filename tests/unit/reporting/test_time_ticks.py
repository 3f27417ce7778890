"""An axis of times can be read, however short or long it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reporting.drawing.time_ticks import COARSE, time_ticks

SCALES = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}


@given(st.floats(-3, 7.5), st.floats(0.005, 4))
def test_three_ticks_are_there_and_say_where_they_stand(begin, length):
    low, high = 10**begin, 10 ** (begin + length)
    ticks = time_ticks(low, high)
    assert 3 <= len(ticks) <= len(COARSE)
    assert list(ticks) == sorted(ticks)
    assert len(set(ticks.values())) == len(ticks)
    for at, name in ticks.items():
        assert low * (1 - 1e-6) <= at <= high * (1 + 1e-6)
        number, unit = name.replace(",", "").split()
        assert float(number) * SCALES[unit] == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize(
    ("ends", "names"),
    [
        ((1, 1e6), ["1 s", "10 s", "1 min", "10 min", "1 h", "6 h", "1 d", "10 d"]),
        ((7_000, 40_000), ["2 h", "3 h", "6 h"]),
        ((25_200, 26_640), ["7 h", "7.1 h", "7.2 h", "7.3 h", "7.4 h"]),
    ],
)
def test_ticks_are_times_that_people_use(ends, names):
    assert list(time_ticks(*ends).values()) == names
