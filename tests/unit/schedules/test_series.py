"""The cluster over time, against counting by hand and against the log."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusched import _core
from gpusched.readable import POLICIES
from gpusched.schedules.series import Series
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


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=20))
@settings(max_examples=100, deadline=None)
def test_totals_are_sums_of_what_happened_until_then(events):
    events.sort(key=lambda event: event[0])
    time_us, codes = np.array(events, dtype=np.int64).reshape(-1, 2).T.copy()
    changes = [[1, -1, 0], [3, 0, -7]]
    instants_us, totals = _core.running_totals(time_us=time_us, codes=codes, changes=changes)
    assert instants_us.tolist() == sorted({time for time, _ in events})
    for row, total in zip(changes, totals, strict=True):
        assert total.tolist() == [
            sum(row[code] for time, code in events if time <= instant) for instant in instants_us
        ]


@pytest.mark.parametrize(
    ("time_us", "codes", "changes", "message"),
    [
        ([1, 0], [0, 0], [[1]], r"time_us\[1\]: 0 lies before the one in front of it, 1"),
        ([0, 1], [0, 1], [[1]], r"codes\[1\]: 1 is none of the 1 with"),
        ([0], [-1], [[1]], r"codes\[0\]: -1 is none of the 1 with"),
        ([0], [0, 0], [[1]], "codes: must have a value per time, 1, not 2"),
        ([0], [0], [[1], [1, 2]], r"changes\[1\]: has 2 codes, others 1"),
    ],
)
def test_events_that_cannot_be_added_up_are_named(time_us, codes, changes, message):
    with pytest.raises(ValueError, match=message):
        _core.running_totals(time_us=np.array(time_us), codes=np.array(codes), changes=changes)
