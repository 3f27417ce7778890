"""What a trace says of its own schedule."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.studies.fidelity_grades import has_starts, own_starts
from tests.unit.studies.site_logs import jobs, logged, with_waits


def test_jobs_that_follow_each_other_at_an_instant_do_not_overlap():
    trace = gs.Trace.from_columns(
        [0, 0, 5, 9], [10, 5, 5, 1], [4, 3, 2, 8], source_wait_s=[0, 0, 0, 1]
    )
    # 7 until 5, then 6 until 10, then 8.
    own = own_starts(trace)
    assert own.peak_gpus == 8
    assert own.usage[0].tolist() == [0, 5_000_000, 10_000_000, 11_000_000]
    assert own.usage[1].tolist() == [7, 6, 8, 0]


def test_shares_of_gpus_add_up():
    trace = gs.Trace.from_columns(
        [0] * 5, [10] * 5, [1] * 5, gpu_share=[0.3] * 5, source_wait_s=[0] * 5
    )
    assert own_starts(trace).peak_gpus == 2


def test_jobs_without_a_start_hold_nothing():
    trace = gs.Trace.from_columns([0, 0], [10, 10], [4, 3], source_wait_s=[0, np.nan])
    assert own_starts(trace).peak_gpus == 4
    assert own_starts(trace).is_known.tolist() == [True, False]


@pytest.mark.parametrize("wait_s", [None, [np.nan, np.nan]])
def test_a_trace_without_starts_is_refused(wait_s):
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], source_wait_s=wait_s, name="bare")
    assert not has_starts(trace)
    with pytest.raises(ValueError, match=r"bare: the jobs have no starts.*source_wait_s"):
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


def test_too_small_a_window_and_odd_lengths_are_refused():
    own = own_starts(logged(jobs(0), policy="fifo"))
    with pytest.raises(ValueError, match=r"site: 0 jobs with starts .* at least 10 are needed"):
        own.window(1e9, 0)
    with pytest.raises(ValueError, match="warm_up_s: -1 must lie in 0"):
        own.window(-1)
    with pytest.raises(ValueError, match="tail_s: nan must lie in 0"):
        own.window(0, float("nan"))
    with pytest.raises(TypeError, match="tail_s: 'long' must be a number"):
        own.window(0, "long")


def test_waits_that_are_not_given_do_not_count_in_the_tail():
    trace = logged(jobs(1), policy="fifo")
    wait_us = np.asarray(trace.source_wait_us).copy()
    wait_us[::2] = -1
    own = own_starts(with_waits(trace, wait_us))
    assert own.is_known.sum() == len(trace) // 2
    assert not own.window().compared[::2].any()
