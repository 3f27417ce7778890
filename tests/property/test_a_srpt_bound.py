"""A-SRPT keeps its competitive bound, and the bound is not so loose that it says nothing."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.a_srpt_bound import check, draw_instance, srpt_completion
from tests.examples import examples

NUM_INSTANCES = 150


@pytest.mark.parametrize("speed", ["fixed", "stages"])
def test_total_completion_time_lies_between_the_lower_bound_and_the_competitive_bound(
    speed: str,
) -> None:
    checks = {seed: check(draw_instance(seed, speed)) for seed in range(NUM_INSTANCES)}
    violated = [seed for seed, found in checks.items() if not found.holds]
    assert not violated
    # Some come close: half of the bound would be violated.
    assert max(found.ratio for found in checks.values()) > 0.5


arrivals = st.lists(
    st.tuples(st.integers(0, 8), st.integers(1, 6).map(float)), min_size=1, max_size=5
)


@examples(60)
@given(arrivals)
def test_no_order_of_priorities_beats_shortest_remaining_first(jobs):
    submit, work = [float(at) for at, _ in jobs], [units for _, units in jobs]
    best = math.inf
    for priority in itertools.permutations(range(len(jobs))):
        left, now, total = list(work), 0.0, 0.0
        while any(left):
            here = [job for job in priority if left[job] and submit[job] <= now]
            if here:
                left[here[0]] -= 1
                total += now + 1 if not left[here[0]] else 0
            now += 1
        best = min(best, total)
    assert srpt_completion(submit, work) <= best
