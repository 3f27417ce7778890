"""Held and cancelled jobs in the events and the series of a run, by hand."""

import pytest

import gpusched as gs
from gpusched.schedules.schedule import cancelled_us
from tests.unit.held_runs import a_chain_of_cancellations, each_hold, held


def rows(result):
    """Time, kind and id of each event after the arrivals at 0."""
    frame = result.events
    return [
        (at, kind, str(result.trace.id[job]))
        for at, kind, job in zip(frame.time_s, frame.kind, frame.job, strict=True)
        if kind != "arrival"
    ]


def test_the_events_of_each_hold():
    assert rows(each_hold()) == [
        (0, "start", "a"), (0, "start", "e"), (0, "start", "h"), (2, "cancel", "k"),
        (3, "cancel", "h"), (4, "finish", "e"), (4, "release", "f"), (4, "start", "f"),
        (5, "release", "d"), (5, "start", "d"), (6, "finish", "f"), (7, "cancel", "g"),
        (8, "finish", "d"), (10, "finish", "a"), (10, "release", "c"), (10, "start", "c"),
        (20, "finish", "c"), (70, "release", "j"), (70, "start", "j"), (71, "finish", "j"),
    ]  # fmt: skip
    assert "2 release" not in repr(each_hold().events)
    assert "4 release" in repr(each_hold().events)


def test_the_events_of_a_chain_of_cancellations():
    assert rows(a_chain_of_cancellations())[1:8] == [
        (10, "finish", "a"), (10, "cancel", "b"), (10, "release", "c"), (10, "cancel", "d"),
        (10, "cancel", "e"), (10, "release", "f"), (10, "cancel", "g"),
    ]  # fmt: skip


def test_held_jobs_do_not_wait_in_the_queue():
    frame = each_hold().series.to_polars()
    assert frame["time_s"].to_list() == [0, 3, 4, 5, 6, 7, 8, 10, 20, 70, 71]
    assert frame["queue_jobs"].to_list() == [1] * 5 + [0] * 6  # job g alone waits, until 7
    assert frame["queue_gpus"].to_list() == [4] * 5 + [0] * 6
    assert frame["running_jobs"].to_list() == [3, 2, 2, 3, 2, 2, 1, 1, 0, 1, 0]
    assert frame["allocated_gpus"].to_list() == frame["running_jobs"].to_list()


def test_a_released_job_waits_from_then_on():
    trace = gs.Trace.from_columns([0, 0, 1], [9, 3, 3], [4, 2, 1], eligible_s=[float("nan"), 6, 2])
    runs = [[(0, 9, {0: 15})], [(9, 12, {0: 3})], [(9, 12, {0: 4})]]
    series = held(trace, runs, [0, 6, 2], [0, 0, 0]).series
    assert series.time_s.tolist() == [0, 2, 6, 9, 12]
    assert series.queue_jobs.tolist() == [0, 1, 2, 0, 0]
    assert series.queue_gpus.tolist() == [0, 1, 3, 0, 0]
    assert series.allocated_gpus.tolist() == [4, 4, 4, 3, 0]


def test_a_job_that_is_cancelled_between_two_runs_leaves_the_queue():
    trace = gs.Trace.from_columns([0], [9], [4], cancel_at_s=[8])
    series = held(trace, [[(0, 2, {0: 15}), (3, 5, {0: 15})]], [0], [3]).series
    assert series.time_s.tolist() == [0, 2, 3, 5, 8]
    assert series.queue_jobs.tolist() == [0, 1, 0, 1, 0]
    assert series.running_jobs.tolist() == [1, 0, 1, 0, 0]


@pytest.mark.parametrize(("runs", "kinds"), [([], ["cancel"]), ([(0, 6.5, {0: 15})], ["cancel"])])
def test_a_job_that_an_open_run_cancels_is_gone_from_then_on(runs, kinds):
    trace = gs.Trace.from_columns([0], [9], [4], cancel_at_s=[8])
    said = ["job 0 was cancelled at 6.5 s", "job 7 was cancelled at 1 s"]
    result = held(trace, [runs], [0], [3], warnings=said)
    assert cancelled_us(trace, result.schedule).tolist() == [6_500_000]
    assert result.events.kind.tolist()[-1:] == kinds
    assert result.events.time_s[-1] == 6.5
    assert result.series.time_s.tolist() == [0, 6.5]
    assert result.series.queue_jobs.tolist()[-1] == 0
    finished = held(trace, [[(0, 9, {0: 15})]], [0], [0])
    assert cancelled_us(trace, finished.schedule).tolist() == [-1]
