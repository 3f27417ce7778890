"""The set of jobs without promises of the policy ``dancer``, next to a set of Python."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusched import _core

PART = 64**3  # jobs of one bitmap
NO_JOB = 2**32 - 1
EDGES = (0, 1, 63, 64, PART - 1, PART, PART + 1, 2 * PART - 1, 2 * PART, 3 * PART + 7)
jobs = st.sampled_from(EDGES) | st.integers(0, 3 * PART + 7)


@given(st.lists(st.tuples(st.booleans(), jobs), max_size=60), st.lists(jobs, max_size=10))
def test_the_set_finds_its_jobs_in_order_over_all_bitmaps(changes, asked):
    native = _core._testing.JobSet(3 * PART + 8)
    twin: set[int] = set()
    for is_new, job in changes:
        if not is_new:
            assert native.erase(job) == (job in twin)
            twin.discard(job)
        elif job not in twin:
            native.insert(job)
            twin.add(job)
    assert native.is_empty() == (not twin)
    walked = []
    job = native.at_or_after(0)
    while job != NO_JOB:
        walked.append(job)
        job = native.at_or_after(job + 1)
    assert walked == sorted(twin)
    for job in asked:
        assert native.at_or_after(job) == min((one for one in twin if one >= job), default=NO_JOB)


def test_a_set_of_no_jobs_has_none():
    native = _core._testing.JobSet(0)
    assert native.is_empty()
    assert native.at_or_after(0) == NO_JOB
