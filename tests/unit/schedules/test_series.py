"""The cluster over time, against counting by hand and against the log."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched import _core
from gpusched.reference import POLICIES
from gpusched.schedules.series import Series
from tests.each import each
from tests.reference.cases import SECOND, cases
from tests.unit.small_runs import job, simulated


@pytest.fixture(scope="module")
def result():
    """Four GPUs: job 0 runs 0-1 and 3-5, job 1 runs 1-3, job 2 2-3; job 3 is rejected."""
    return simulated([job(0, 3, 3), job(1, 2, 3), job(2, 1, 1), job(2, 1, 9)], [(4, "gpu")], "srtf")


def test_steps_of_a_small_schedule(result):
    series = result.series
    assert len(series) == 5
    assert series.time_s.tolist() == [0, 1, 2, 3, 5]
    assert series.allocated_gpus.tolist() == [3, 3, 4, 3, 0]
    assert series.running_jobs.tolist() == [1, 1, 2, 1, 0]
    assert series.queue_jobs.tolist() == [0, 1, 1, 0, 0]
    assert series.queue_gpus.tolist() == [0, 3, 3, 0, 0]


def test_a_series_is_computed_once(result):
    assert result.series is result.series


def test_a_frame_has_the_steps(result):
    frame = result.series.to_polars()
    assert frame.columns == [
        "time_s", "allocated_gpus", "queue_jobs", "queue_gpus", "running_jobs",
    ]  # fmt: skip
    assert frame["allocated_gpus"].to_list() == [3, 3, 4, 3, 0]


@given(st.sampled_from(POLICIES).flatmap(lambda policy: cases(policy, "first-fit")))
@settings(max_examples=50, deadline=None)
def test_each_step_counts_the_log_at_its_instant(case):
    case = case.at(SECOND)
    result = simulated(
        case.jobs, case.servers, case.policy, "first-fit", policy_params=case.policy_params
    )
    rows, trace, schedule = result.intervals, result.trace, result.schedule
    for i, instant in enumerate(np.rint(result.series.time_s * SECOND).astype(int)):
        held = (rows["start_us"] <= instant) & (instant < rows["end_us"])
        running = set(rows["job"][held].tolist())
        waiting = [
            j
            for j in range(len(trace))
            if schedule.status[j] != 1
            and trace.submit_us[j] <= instant < schedule.finish_us[j]
            and j not in running
        ]
        assert result.series.running_jobs[i] == len(running)
        assert result.series.allocated_gpus[i] == sum(trace.gpus[list(running)])
        assert result.series.queue_jobs[i] == len(waiting)
        assert result.series.queue_gpus[i] == sum(trace.gpus[waiting])


def test_a_short_series_is_not_resampled(result):
    assert result.series.resample(5) is result.series


def test_a_resampled_series_keeps_the_area_and_the_end():
    time_s = np.array([0.0, 1.0, 1.5, 4.0, 10.0])
    values = np.array([4, 0, 8, 2, 1])
    resampled = Series(time_s, values, values * 2, values, values).resample(3)
    assert resampled.time_s.tolist() == [0.0, 5.0, 10.0]
    assert resampled.allocated_gpus == pytest.approx([(4 + 20 + 2) / 5, 2, 1])
    assert resampled.queue_jobs == pytest.approx([2 * (4 + 20 + 2) / 5, 4, 2])


def test_a_series_needs_two_points_at_least(result):
    with pytest.raises(ValueError, match="points must be at least 2, not 1"):
        result.series.resample(1)


def test_a_run_without_a_started_job_has_no_steps():
    assert len(simulated([job(0, 1, 99)]).series) == 0


def test_a_long_log_is_counted_as_a_short_one_is():
    """2,000 intervals and more are sorted by digits; here all hold one GPU for a second."""
    submit_us = np.arange(5_000) * (SECOND // 4)
    job = np.arange(5_000)
    ones = np.ones(5_000, dtype=np.int64)
    time_us, allocated_gpus, queue_jobs, _, running_jobs = _core.cluster_series(
        submit_us=submit_us, gpus=ones.astype(np.int32), finish_us=submit_us + SECOND,
        status=np.zeros(5_000, np.uint8), job=job, start_us=submit_us,
        end_us=submit_us + SECOND, server=ones * 0, mask=ones.astype(np.uint64),
    )  # fmt: skip
    assert np.array_equal(time_us, np.arange(5_004) * (SECOND // 4))
    assert np.array_equal(running_jobs, np.r_[1:4, [4] * 4_997, 3:-1:-1])
    assert np.array_equal(allocated_gpus, running_jobs)
    assert not queue_jobs.any()


@each(
    ("changed", "message"),
    [
        ({"gpus": np.ones(3, np.int32)}, "gpus: must have 2 values, not 3"),
        ({"server": np.zeros(2, np.int64)}, "server: must have 1 values, not 2"),
        ({"submit_us": np.array([1, 0])}, r"submit_us\[1\]: 0 lies before the one in front"),
        ({"job": np.array([2])}, r"job\[0\]: there is no job 2 of 2"),
        ({"job": np.array([-1])}, r"job\[0\]: there is no job -1 of 2"),
    ],
)
def test_columns_that_cannot_be_counted_are_named(changed, message):
    columns = {
        "submit_us": np.array([0, 1]), "gpus": np.ones(2, np.int32),
        "finish_us": np.array([1, 2]), "status": np.zeros(2, np.uint8), "job": np.array([0]),
        "start_us": np.array([0]), "end_us": np.array([1]), "server": np.array([0]),
        "mask": np.array([1], np.uint64),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        _core.cluster_series(**(columns | changed))
