"""The two Philly readers: the reduced CSV and the original JSON."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusched.traces.reading import read_trace
from tests.unit.real_data import DATA, counted

HEADER = "timestamp,duration,num_gpus,gpu_time,cluster\n"


def test_the_published_csv_has_all_jobs_in_order_of_submission():
    trace = read_trace(DATA / "philly" / "philly.csv")

    num_jobs, num_queues = counted(real=(74_276, 14), excerpt=(300, 3))
    assert len(trace) == num_jobs
    assert not trace.rejects
    assert trace.gpus.max() == 128
    assert trace.epoch == datetime(2017, 10, 4, 0, 33, 41)
    assert (np.diff(trace.submit_us) >= 0).all()
    ties = np.diff(trace.submit_us) == 0
    assert ties.any()
    assert (np.diff(trace.row)[ties] > 0).all()
    assert sorted(trace.row.tolist()) == list(range(2, num_jobs + 2))
    assert trace.queue is not None
    assert len(trace.queue.names) == num_queues


def test_gpu_time_of_the_published_csv_is_duration_times_gpus():
    trace = read_trace(DATA / "philly" / "philly.csv")
    lines = (DATA / "philly" / "philly.csv").read_text().splitlines()
    gpu_time = np.array([float(line.split(",")[3]) for line in lines[1:]])

    assert gpu_time[trace.row - 2] == pytest.approx(trace.gpus * trace.service_s)


def test_equal_rows_are_separate_jobs_named_by_their_position(tmp_path):
    path = tmp_path / "philly.csv"
    row = "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    path.write_text(HEADER + row + "2017-10-09 07:01:54,2.0,2,4.0,6214e9\n" + row)

    trace = read_trace(path)

    assert trace.id.tolist() == [1, 0, 2]
    assert trace.submit_us.tolist() == [0, 1_000_000, 1_000_000]
    assert trace.queue is not None
    assert trace.queue.values().tolist() == ["6214e9", "11cb48", "11cb48"]


def attempt(start: str | None, end: str | None, *gpus: int) -> dict[str, Any]:
    detail = [{"ip": f"m{i}", "gpus": [f"gpu{k}" for k in range(n)]} for i, n in enumerate(gpus)]
    return {"start_time": start, "end_time": end, "detail": detail}


def job(name: str, *attempts: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "status": "Pass",
        "vc": "11cb48",
        "jobid": name,
        "attempts": list(attempts),
        "submitted_time": "2017-10-09 07:00:00",
        "user": "8e4ad0",
        **changes,
    }


def written(tmp_path: Path, *jobs: dict[str, Any]) -> Path:
    """Write one job per line, the first in line 2."""
    path = tmp_path / "cluster_job_log"
    path.write_text("[\n" + ",\n".join(map(json.dumps, jobs)) + "\n]\n")
    return path


def test_the_service_of_the_original_log_is_the_sum_of_all_attempts(tmp_path):
    first = attempt("2017-10-09 07:01:00", "2017-10-09 07:01:30", 8, 4)
    second = attempt("2017-10-09 09:00:00", "2017-10-09 09:00:05", 2)
    path = written(tmp_path, job("late", first, second, status="Killed"), job("b", first))

    trace = read_trace(path)

    assert trace.service_s.tolist() == [35, 30]
    assert trace.gpus.tolist() == [12, 12]
    assert trace.row.tolist() == [2, 3]
    assert trace.epoch == datetime(2017, 10, 9, 7)
    assert trace.status is not None
    assert trace.status.values().tolist() == ["killed", "ok"]


@pytest.mark.parametrize("missing", ["None", None])
def test_an_attempt_that_never_started_adds_nothing(tmp_path, missing):
    ran = attempt("2017-10-09 07:01:00", "2017-10-09 07:01:30", 1)
    path = written(tmp_path, job("a", ran, attempt(missing, missing, 1)))

    assert read_trace(path).service_s.tolist() == [30]


def test_jobs_of_the_original_log_that_did_not_run_are_counted_by_reason(tmp_path):
    ran = attempt("2017-10-09 07:01:00", "2017-10-09 07:01:30", 1)
    path = written(
        tmp_path,
        job("never"),
        job("fine", ran),
        job("unfinished", ran, attempt("2017-10-09 07:02:00", "None", 1)),
        job("idle", attempt("2017-10-09 07:01:00", "2017-10-09 07:01:30")),
        job("unknown", ran, submitted_time=None),
        job("instant", attempt("2017-10-09 07:01:00", "2017-10-09 07:01:00", 1)),
        job("garbled", attempt("2017-10-09 07:01", "2017-10-09 07:01:30", 1)),
    )

    trace = read_trace(path)

    assert trace.id.tolist() == ["fine"]
    assert trace.rejects.first == {
        "submitted_time must be a time like 2017-10-09 07:01:55": (6,),
        "attempts must not be empty": (2,),
        "attempts must have readable times": (8,),
        "attempts must have an end time for each start time": (4,),
        "attempts[0].detail must be positive": (5,),
        "attempts (sum of run times) must be positive": (7,),
    }
