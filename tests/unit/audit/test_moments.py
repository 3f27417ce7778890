"""The instants of a log are numbered as a plain list of them is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusched.audit.log import Moments

# When a job comes, how long it waits, and how long it runs: tiny, so that instants coincide.
JOBS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=6
)


@given(JOBS)
def test_instants_are_counted_found_and_followed_as_in_a_plain_list(drawn):
    submit_us, wait_us, run_us = np.array(drawn, dtype=np.int64).T
    start_us = submit_us + wait_us
    end_us = start_us + run_us
    moments = Moments(submit_us, wait_us > 0, start_us, end_us)
    instants = sorted({*submit_us.tolist(), *start_us.tolist(), *end_us.tolist()})
    assert moments.us.tolist() == instants
    assert moments.num_instants == len(instants)
    assert moments.submits.tolist() == [instants.index(us) for us in submit_us]
    assert moments.ends.tolist() == [instants.index(us) for us in end_us]
    assert moments.most_running == max(
        np.count_nonzero((start_us <= us) & (us < end_us)) for us in instants
    )
    times = np.arange(instants[0], instants[-1])
    assert moments.before(times).tolist() == [
        max(place for place, us in enumerate(instants) if us <= time) for time in times
    ]
    assert moments.before(np.array([instants[-1] + 9])).tolist() == [len(instants) - 1]
    assert moments.next_us(times).tolist() == [
        min(us for us in instants if us > time) for time in times
    ]
