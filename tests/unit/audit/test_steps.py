"""What an audit counts over time is what a look at every instant counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusched.audit.log import Moments, Steps

LONG = 2**58  # times by which pairs do not fit into one number

changes = st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3)), max_size=12)


@given(changes, st.integers(0, 3), st.integers(-2, 5), st.sampled_from([1, LONG]))
def test_a_count_is_high_exactly_within_its_spans(drawn, before, least, unit):
    table = np.array(drawn, np.int64).reshape(-1, 2)
    steps = Steps.of(before, table[:, 0] * unit, table[:, 1])
    assert steps.us.tolist() == sorted({int(us) * unit for us, _ in drawn})
    begins, ends = steps.spans(least)
    assert (begins < ends).all()
    assert (ends[:-1] < begins[1:]).all()
    for now in range(-1, 11):
        count = before + sum(change for us, change in drawn if us <= now)
        assert ((begins <= now * unit) & (now * unit < ends)).any() == (count >= least)


intervals = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=9)


@given(intervals, st.lists(st.integers(0, 9), min_size=1, max_size=5))
def test_instants_are_told_apart_and_running_jobs_counted_between_them(runs, submits):
    start, length = np.array(runs, np.int64).T
    is_late = ~np.isin(sorted(submits), start)
    moments = Moments(np.array(sorted(submits)), is_late, start, start + length)
    instants = sorted({*submits, *start.tolist(), *(start + length).tolist()})
    assert moments.us.tolist() == instants
    assert moments.num_instants == len(instants)
    running = [np.count_nonzero((start <= us) & (us < start + length)) for us in instants]
    assert moments.most_running == max(running)
    assert moments.next_us(start).tolist() == [min(i for i in instants if i > s) for s in start]
