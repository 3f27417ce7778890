"""Weeks drawn again: what is in them stays, their order and number of times do not."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.traces.resampling import num_blocks, resampled

DAY = 86_400_000_000
WEEK = 7 * DAY


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    """Five whole weeks and a half, the submissions from 3 s on; deadlines for some."""
    rng = np.random.default_rng(1)
    submit = np.sort(rng.uniform(3, 5.5 * 7 * 86_400, 400))
    submit[0], submit[-1] = 3, 5.5 * 7 * 86_400
    return gs.Trace.from_columns(
        submit,
        rng.uniform(1, 9_999, 400),
        rng.integers(1, 9, 400),
        user=[f"u{i}" for i in range(400)],
    ).with_deadlines(share=0.5, seed=1)


def test_every_job_is_one_of_its_week_moved_by_whole_weeks(trace):
    drawn = resampled(trace, WEEK, np.random.default_rng(2))
    assert np.all(np.diff(drawn.submit_us) >= 0)
    names = {name: job for job, name in enumerate(trace.user.values())}
    source = [names[name] for name in drawn.user.values()]
    moved = drawn.submit_us - trace.submit_us[source]
    assert np.all(moved % WEEK == 0)
    assert len(set(moved // WEEK)) > 2
    assert np.array_equal(drawn.service_us, trace.service_us[source])
    assert np.array_equal(drawn.gpus, trace.gpus[source])
    given = trace.deadline_us[source] >= 0
    assert np.array_equal(drawn.deadline_us >= 0, given)
    late = (drawn.deadline_us - trace.deadline_us[source])[given]
    assert np.array_equal(late, moved[given])


def test_weeks_come_whole_and_as_many_as_there_are(trace):
    assert num_blocks(trace, WEEK) == 5
    first = int(trace.submit_us[0])
    counts = np.histogram(trace.submit_us, first + WEEK * np.arange(6))[0]
    # The last block of histogram is closed: nothing lies on its end.
    for seed in range(5):
        drawn = resampled(trace, WEEK, np.random.default_rng(seed))
        found = np.histogram(drawn.submit_us, first + WEEK * np.arange(6))[0]
        assert set(found) <= set(counts)
        assert len(drawn) == found.sum()


def test_draws_differ_by_their_seed_and_are_equal_for_one(trace):
    lengths = [len(resampled(trace, WEEK, np.random.default_rng(seed))) for seed in (1, 1, 2, 3)]
    assert lengths[0] == lengths[1]
    assert len(set(lengths)) > 1


def test_every_week_is_drawn_as_often(trace):
    first = int(trace.submit_us[0])
    of_name = dict(zip(trace.user.values(), (trace.submit_us - first) // WEEK, strict=True))
    seen = np.zeros(6)
    for seed in range(200):
        drawn = resampled(trace, WEEK, np.random.default_rng(seed))
        names, times = np.unique(drawn.user.values(), return_counts=True)
        for week in range(5):
            some = next(name for name in of_name if of_name[name] == week)
            seen[week] += times[names == some].sum()
        assert not any(of_name[name] == 5 for name in names), "the half week is in no block"
    assert np.all(np.abs(seen[:5] / 200 - 1) < 0.3)


def test_a_run_of_it_is_lawful(trace):
    drawn = resampled(trace, WEEK, np.random.default_rng(4))
    result = gs.simulate(drawn, gs.Cluster.uniform(1, 8), policy="easy")
    assert result.audit().ok


def test_a_trace_shorter_than_a_block_has_none(trace):
    with pytest.raises(ValueError, match="its submissions fill no block"):
        resampled(trace, 40 * DAY, np.random.default_rng(0))
