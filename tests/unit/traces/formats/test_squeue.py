"""The reader of Slurm's queue."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace

NOW = 1_700_001_000


def job(name: int, **given: Any) -> dict[str, Any]:
    return {
        "job_id": name, "job_state": "PENDING", "user_name": "ann", "partition": "gpu",
        "account": "vision", "submit_time": 1_700_000_000 + name, "start_time": 0, "end_time": 0,
        "time_limit": 60, "state_reason": "Resources",
        "tres_req_str": "cpu=4,mem=32G,node=1,gres/gpu=2", "tres_alloc_str": "", **given,
    }  # fmt: skip


def running(name: int, **given: Any) -> dict[str, Any]:
    tres = "cpu=4,mem=32G,node=1,gres/gpu=4,gres/gpu:a100=4"
    start = 1_700_000_400
    return job(name, job_state="RUNNING", start_time=start, tres_alloc_str=tres, **given)


def wrapped(number: Any, *, infinite: bool = False, is_set: bool = True) -> dict[str, Any]:
    return {"set": is_set, "infinite": infinite, "number": number}


def read(folder: Path, *jobs: object, last_update: Any = NOW, **options: Any) -> Trace:
    path = folder / "squeue.json"
    path.write_text(json.dumps({"meta": {}, "jobs": jobs, "last_update": last_update}, indent=1))
    return read_trace(path, **options)


def test_running_jobs_come_first_with_what_is_left_of_their_limits(tmp_path):
    trace = read(tmp_path, job(9), job(3), running(7))

    assert trace.id.tolist() == [7, 3, 9]
    assert trace.submit_s.tolist() == [0, 0, 0]
    assert trace.service_s.tolist() == [3000, 3600, 3600]
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == trace.service_us.tolist()
    assert trace.gpus.tolist() == [4, 2, 2]
    assert trace.allowed_types == [("a100",), (), ()]
    assert trace.cpu is not None
    assert trace.cpu.tolist() == [1, 2, 2]
    assert trace.memory_gib is not None
    assert trace.memory_gib.tolist() == [8, 16, 16]
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [393_000_000, -1, -1]
    assert trace.epoch == datetime.fromtimestamp(NOW, UTC)
    assert trace.row.tolist() == sorted(trace.row.tolist())[::-1]


def test_the_whole_limits_begin_at_the_submissions(tmp_path):
    trace = read(tmp_path, job(9), job(3), running(7), service="whole")

    assert trace.id.tolist() == [3, 7, 9]
    assert trace.submit_s.tolist() == [0, 4, 6]
    assert trace.service_s.tolist() == [3600, 3600, 3600]


def test_later_versions_wrap_numbers_and_list_states(tmp_path):
    wrap = ("submit_time", "start_time", "end_time", "time_limit")
    plain = (running(7), job(9))
    later = [
        {**one, **{name: wrapped(one[name]) for name in wrap}, "job_state": [one["job_state"]]}
        for one in plain
    ]

    trace = read(tmp_path, *later, last_update=wrapped(NOW))
    again = read(tmp_path, *plain)

    assert trace.service_s.tolist() == again.service_s.tolist() == [3000, 3600]
    assert trace.epoch == again.epoch


def test_the_expected_end_counts_where_a_job_was_suspended(tmp_path):
    trace = read(tmp_path, running(7, end_time=NOW + 5000))

    assert trace.service_s.tolist() == [5000]


def test_without_a_time_of_writing_the_last_time_in_the_file_is_now(tmp_path):
    trace = read(tmp_path, running(7, last_sched_evaluation=NOW - 100), last_update=None)
    assert trace.service_s.tolist() == [3100]
    trace = read(tmp_path, running(7), last_update=None, now=NOW + 1)
    assert trace.service_s.tolist() == [2999]


def test_tasks_of_an_array_that_wait_are_jobs(tmp_path):
    trace = read(tmp_path, job(9, array_job_id=wrapped(9), array_task_string="1-3,7-11:2%2"))
    assert trace.id.tolist() == ["9_1", "9_2", "9_3", "9_7", "9_9", "9_11"]
    given = {"array_job_id": wrapped(9), "array_task_id": wrapped(4), "array_task_string": ""}
    assert read(tmp_path, running(12, **given)).id.tolist() == ["9_4"]


@pytest.mark.parametrize("tasks", ["1-", "a-b", "1-10,...", "5-1", "1-9:0", "0-99999999"])
def test_tasks_that_cannot_be_read_are_counted(tmp_path, tasks):
    trace = read(tmp_path, job(1), job(9, array_task_string=tasks))

    assert trace.id.tolist() == [1]
    assert list(trace.rejects.counts) == [
        "job_id, array_task_string must name a job, or at most 1,000,000 tasks like 1-10,12"
    ]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"job_state": "COMPLETED"}, "job_state must be RUNNING or PENDING"),
        ({"job_state": 3}, "job_state must be RUNNING or PENDING"),
        (
            {"state_reason": "Dependency"},
            "state_reason must be to wait for GPUs (held, or for another job or a time)",
        ),
        ({"tres_req_str": "cpu=1"}, "tres_req_str must name GPUs (a job without)"),
        ({"tres_req_str": None}, "tres_req_str must name GPUs (a job without)"),
        ({"time_limit": None}, "time_limit must be set (or name unlimited_s)"),
        ({"time_limit": wrapped(0, infinite=True)}, "time_limit must be set (or name unlimited_s)"),
        ({"time_limit": wrapped(0, is_set=False)}, "time_limit must be set (or name unlimited_s)"),
        ({"time_limit": "1:00"}, "time_limit must be a number"),
        ({"time_limit": wrapped([1])}, "time_limit must be a number"),
        ({"submit_time": 0}, "submit_time must be known"),
        ({"submit_time": {}}, "submit_time must be a number"),
        ({"job_state": "RUNNING"}, "start_time must be known (a job that runs)"),
        (
            {"job_state": "RUNNING", "start_time": NOW - 9999, "submit_time": 5},
            "what is left of time_limit must be positive",
        ),
    ],
)
def test_what_does_not_wait_for_gpus_is_counted(tmp_path, given, rule):
    trace = read(tmp_path, job(1), job(2, **given))

    assert trace.id.tolist() == [1]
    assert trace.rejects.counts == {rule: 1}


def test_jobs_without_a_limit_may_be_given_one(tmp_path):
    trace = read(tmp_path, job(1, time_limit=None), running(2, time_limit=0), unlimited_s=1200)

    assert trace.service_s.tolist() == [600, 1200]


def test_gpus_for_each_node_are_counted_where_the_total_is_not_told(tmp_path):
    given = {"tres_req_str": "cpu=1", "node_count": wrapped(3)}
    trace = read(tmp_path, job(1, tres_per_node="gres:gpu:v100:2", **given))

    assert trace.gpus.tolist() == [6]
    assert trace.allowed_types == [("v100",)]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"service": "some"}, ValueError, "service: 'some' must be one of left, whole"),
        ({"now": "today"}, TypeError, "now: 'today' must be an integer"),
        ({"now": 0}, ValueError, "now: 0 must be positive"),
        ({"unlimited_s": -1}, ValueError, "unlimited_s: -1 must be positive"),
        ({"now": 10**15}, ValueError, "lie before the year 10000"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        read(tmp_path, job(1), **options)
