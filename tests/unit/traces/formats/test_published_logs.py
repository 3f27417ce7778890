"""Readers of published logs, against what was counted from them and small files by hand."""

import gzip
import io
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusched.base.source import Source
from gpusched.traces.format_registry import detect
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from tests.each import each
from tests.unit.real_data import DATA, counted, needs_real_data

HEADER = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
)


def test_jobs_without_gpus_are_rejected_and_counted(tmp_path):
    path = tmp_path / "cluster_log.csv"
    path.write_text(
        HEADER
        + "1,u1,vcA,0,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:01,"
        + "2020-04-01 00:00:09,8,1\n"
        + "2,u1,vcA,8,4,1,TIMEOUT,2020-04-01 00:00:05,2020-04-01 00:00:15,"
        + "2020-04-01 00:01:05,50.0,10\n"
        + "3,u2,vcB,1,4,1,NODE_FAIL,2020-04-01 00:00:03,None,None,7,\n"
        + "4,u2,vcB,2,4,1,CANCELLED,2020-04-01 00:00:04,None,None,0,3\n"
    )

    trace = read_trace(path)

    assert trace.id.tolist() == [3, 2]
    assert trace.row.tolist() == [4, 3]
    assert trace.gpus.tolist() == [1, 8]
    assert trace.service_s.tolist() == [7, 50]
    assert trace.epoch == datetime(2020, 4, 1, 0, 0, 3)
    assert trace.source_wait_us.tolist() == [-1, 10_000_000]
    assert trace.status.values().tolist() == ["failed", "killed"]
    assert trace.queue[0] == "vcB"
    assert trace.rejects.counts == {"gpu_num must be positive": 1, "duration must be positive": 1}
    assert trace.rejects.first == {
        "gpu_num must be positive": (2,),
        "duration must be positive": (5,),
    }
    assert trace.rejects.lines() == [
        "duration must be positive: 1 row (line 5)",
        "gpu_num must be positive: 1 row (line 2)",
    ]


def test_deadlines_are_on_the_clock_of_the_submissions(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
        "x,16566,40285,bert,21347,64,4,3890\n"
        "y,16570,1,vgg16,16569,64,1,10\n"
    )

    trace = read_trace(path)

    assert detect(Source(path)).name == "elasticflow"
    assert trace.id.tolist() == ["x"]
    assert trace.gpus.tolist() == [4]
    assert trace.service_s.tolist() == [3890]
    assert trace.deadline_s.tolist() == [21347 - 16566]
    assert trace.group[0] == "bert"
    assert trace.rejects.counts == {"deadline must lie after the submission": 1}


def test_jobs_of_best_effort_have_no_deadline(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort\n"
        "0,0,77215,resnet,4426,256,1,3930,0\n"
        "1,2811,94898,resnet,9179,256,1,4830,1\n"
        "2,2811,94898,resnet,9179,256,1,4830,2\n"
    )

    trace = read_trace(path)

    assert trace.deadline_s[0] == 4426
    assert np.isnan(trace.deadline_s[1])
    assert trace.rejects.counts == {"best_effort must be 0 or 1": 1}


def test_a_column_that_is_missing_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("job_id,submit_time\n1,2\n")
    with pytest.raises(ValueError, match=r"a.csv, line 1: column 'iteration' is missing"):
        read_trace(path, format="elasticflow")


SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
    "queue,gpu_time\n"
)
KALOS = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,"
    "submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"
)


def test_the_run_time_is_that_between_start_and_end(tmp_path):
    path = tmp_path / "trace_seren.csv"
    path.write_text(
        SEREN
        + "7,u1,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
        + "2023-03-01 00:20:51+08:00,999,1,936.0\n"
        + "8,u1,1,0,4,Other,COMPLETED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
        + "2023-03-01 00:20:51+08:00,117,32,0\n"
        + "9,u2,1,1,4,SFT,TIMEOUT,2023-03-01 00:18:23+08:00,,2023-03-01 00:20:51+08:00,1,1,1\n"
        + "10,u2,1,1,4,SFT,TIMEOUT,2023-03-01 00:18:25+08:00,2023-03-01 00:18:26+08:00,"
        + "2023-03-01 00:18:26+08:00,1,1,1\n"
        + "11,u2,1,2,4,SFT,TIMEOUT,2023-02-28 16:18:20+00:00,2023-03-01 00:18:26+08:00,"
        + "2023-03-01 00:18:27+08:00,1,1,1\n"
    )

    trace = read_trace(path)

    assert trace.id.tolist() == [11, 7]
    assert trace.service_s.tolist() == [1, 117]
    assert trace.source_wait_us.tolist() == [6_000_000, 32_000_000]
    assert trace.epoch == datetime(2023, 2, 28, 16, 18, 20, tzinfo=UTC)
    assert trace.cpu.tolist() == [2, 16]
    assert trace.group.values().tolist() == ["SFT", "Other"]
    assert trace.status.values().tolist() == ["killed", "failed"]
    assert trace.rejects.first == {
        "gpu_num must be positive": (3,),
        "start_time must be a time like 2017-10-09 07:01:55": (4,),
        "end_time - start_time must be positive": (5,),
    }


def test_kalos_tells_the_memory_of_each_pod(tmp_path):
    path = tmp_path / "trace_kalos.csv"
    path.write_text(
        KALOS
        + "dlc1,u1,8,64,960,1000,100.0,Other,CANCELLED,2023-05-17 11:00:58+00:00,"
        + "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,,2023-05-17 11:01:16+00:00,18,10,9\n"
        + "dlc2,u1,1,1,,,,Other,CANCELLED,2023-05-17 11:01:58+00:00,"
        + "2023-05-17 11:02:08+00:00,2023-05-17 11:02:16+00:00,,,18,10,9\n"
    )

    trace = read_trace(path)

    assert trace.gpus.tolist() == [64, 1]
    assert trace.service_s.tolist() == [8, 8]
    assert trace.memory_gib.tolist() == [125, 0]
    assert trace.cpu.tolist() == [15, 0]


@pytest.mark.parametrize(
    "time",
    ["2023-03-01T00:18:22.250+0800", "2023-02-28 16:18:22,25Z", "2023-02-28T16:18:22.250000+00"],
)
def test_offsets_and_fractions_are_read_in_every_way_of_writing_them(tmp_path, time):
    path = tmp_path / "trace.csv"
    rest = "2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,1,1,1\n"
    path.write_text(SEREN + f'7,u1,1,8,128,Other,FAILED,"{time}",{rest}')
    trace = read_trace(path)
    assert trace.epoch == datetime(2023, 2, 28, 16, 18, 22, 250_000, tzinfo=UTC)
    assert trace.source_wait_us.tolist() == [31_750_000]


@pytest.mark.parametrize(
    "time",
    [
        "2023-02-30 00:18:22+08:00", "2023-03-01 24:18:22+08:00", "2023-03-01 00:18:22+25:00",
        "soon", "99999999999999", "-5", "2023-03-01 00:18:22+08:99",
    ],
)  # fmt: skip
def test_what_is_no_time_is_named(tmp_path, time):
    path = tmp_path / "trace.csv"
    rest = "2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,1,1,1\n"
    path.write_text(SEREN + f"7,u1,1,8,128,Other,FAILED,{time},{rest}")
    with pytest.raises(ValueError, match=r"trace.csv, line 2, column 'submit_time': '.*' must be"):
        read_trace(path, on_bad="error")


# Rows, widths, and the mean, 95th percentile and peak of the GPUs in use if every job started when
# it was submitted.
COUNTED = {
    "cluster01": (1_595, {1, 2, 4, 8, 16, 32, 64}, 28, 132, 330),
    "cluster02": (5_778, {1, 2, 4, 8, 16, 32, 64}, 86, 193, 346),
    "cluster03": (3_011, {1, 2, 8, 16, 32, 64}, 139, 352, 1_379),
    "cluster05": (3_629, {1, 2, 4, 8}, 10, 68, 341),
    "cluster06": (2_396, {1, 2, 4, 8, 16, 32, 64}, 86, 248, 516),
    "cluster10": (260, {1, 2, 4, 16}, 5, 26, 52),
}


def gpus_in_use(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return levels and how long each lasts, every job starting when it is submitted."""
    change = np.concatenate([trace.gpus, -trace.gpus])
    time, place = np.unique(
        np.concatenate([trace.submit_us, trace.submit_us + trace.service_us]), return_inverse=True
    )
    step = np.zeros(len(time), dtype=np.int64)
    np.add.at(step, place, change)
    return np.cumsum(step)[:-1], np.diff(time)


@needs_real_data
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_the_published_files_have_the_counted_jobs_widths_and_concurrency(name):
    rows, widths, mean, p95, peak = COUNTED[name]
    trace = read_trace(DATA / "itp" / f"{name}.csv")

    assert len(trace) == rows
    assert not trace.rejects
    assert set(trace.gpus.tolist()) == widths
    assert trace.service_s.min() >= 600
    level, lasts = gpus_in_use(trace)
    assert np.average(level, weights=lasts) == pytest.approx(mean, abs=0.51)
    order = np.argsort(level)
    reached = np.cumsum(lasts[order]) / lasts.sum()
    assert level[order][np.searchsorted(reached, 0.95)] == p95
    assert level.max() == peak


@each("number", range(len(COUNTED)))
def test_a_file_is_read_row_by_row(number):
    path = DATA / "itp" / f"{sorted(COUNTED)[number]}.csv"
    trace = read_trace(path)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]

    assert len(trace) == len(rows)
    assert not trace.rejects
    assert trace.service_s.min() >= 600
    assert (np.diff(trace.submit_us) >= 0).all()
    for job in range(len(trace)):
        name, submit, duration, gpus = rows[trace.row[job] - 2]
        assert trace.id[job] == name
        assert trace.submit_s[job] + trace.origin_s == float(submit)
        assert (trace.service_s[job], trace.gpus[job]) == (float(duration), int(gpus))


@needs_real_data
def test_the_first_submit_becomes_zero_and_the_common_epoch_is_kept():
    trace = read_trace(DATA / "itp" / "cluster01.csv")
    assert trace.submit_us[0] == 0
    assert trace.origin_s == 1_932_025
    assert trace.epoch is None
    assert trace.id[0] == "965d744f-0445-c1a8-12af-97e4c536c66e"
    assert (trace.row[0], trace.gpus[0], trace.service_s[0]) == (2, 64, 2429)


def test_a_job_knows_the_line_it_stands_in(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("job_id,submission_time,duration,num_gpu\nb,70,1.5,2\na,50,2,1\nc,70,3,4\n")
    trace = read_trace(path)
    assert trace.id.tolist() == ["a", "b", "c"]
    assert trace.row.tolist() == [3, 2, 4]
    assert trace.submit_us.tolist() == [0, 20_000_000, 20_000_000]
    assert trace.service_us.tolist() == [2_000_000, 1_500_000, 3_000_000]
    assert trace.name == "small"
    assert trace.source == str(path)


HEADER_PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n"


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
    assert len(trace.queue.names) == num_queues


def test_gpu_time_of_the_published_csv_is_duration_times_gpus():
    trace = read_trace(DATA / "philly" / "philly.csv")
    lines = (DATA / "philly" / "philly.csv").read_text().splitlines()
    gpu_time = np.array([float(line.split(",")[3]) for line in lines[1:]])
    assert gpu_time[trace.row - 2] == pytest.approx(trace.gpus * trace.service_s)


def test_equal_rows_are_separate_jobs_named_by_their_position(tmp_path):
    path = tmp_path / "philly.csv"
    row = "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    path.write_text(HEADER_PHILLY + row + "2017-10-09 07:01:54,2.0,2,4.0,6214e9\n" + row)
    trace = read_trace(path)
    assert trace.id.tolist() == [1, 0, 2]
    assert trace.submit_us.tolist() == [0, 1_000_000, 1_000_000]
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


JOB = "j{0},i{0},u{0},Terminated,1000.0,2000.0"


def write(folder: Path, jobs: list[str], tasks: list[str]) -> tuple[Path, Path]:
    paths = folder / "pai_job_table.csv", folder / "pai_task_table.csv"
    for path, lines in zip(paths, (jobs, tasks), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths


def read(folder: Path, jobs: list[str], tasks: list[str], **options: Any) -> Trace:
    return read_trace(write(folder, jobs, tasks)[0], **options)


def task(job: int, count: float = 1, gpu: object = 100.0, start: object = 1010.0, **given) -> str:
    values = {"cpu": 600.0, "mem": 8.0, "type": "V100", **given}
    return (
        f"j{job},worker,{count},Terminated,{start},2000.0,{values['cpu']},{values['mem']},{gpu},"
        f"{values['type']}"
    )


def test_the_tasks_of_a_job_make_one_gang(tmp_path):
    tasks = [
        task(1, 4, 200.0, 1020.0), task(2), task(1, 1, "", cpu=1200.0, type=""),
        task(1, 1, 100.0, 1005.0, type="T4"),
    ]  # fmt: skip
    trace = read(tmp_path, [JOB.format(1), JOB.format(2)], tasks)

    assert trace.id.tolist() == ["j1", "j2"]
    assert trace.gpus.tolist() == [9, 1]
    assert trace.submit_s.tolist() == [0, 0]
    assert trace.service_s.tolist() == [995, 990]
    assert trace.source_wait_us.tolist() == [5_000_000, 10_000_000]
    assert trace.allowed_types == [("T4", "V100"), ("V100",)]
    assert trace.cpu.tolist() == pytest.approx([42 / 9, 6], abs=1e-3)
    assert trace.memory_gib.tolist() == pytest.approx([48 / 9, 8], abs=1e-3)
    assert trace.user[0] == "u1"
    assert "whole ones" not in trace.source


def test_one_instance_may_take_a_share_and_several_take_whole_gpus(tmp_path):
    jobs = [JOB.format(number) for number in (1, 2, 3)]
    trace = read(tmp_path, jobs, [task(1, 1, 25.0), task(2, 2, 50.0), task(3, 1, 150.0)])
    assert trace.gpus.tolist() == [1, 2, 2]
    assert trace.share_milli.tolist() == [250, 1000, 1000]
    assert "2 jobs with parts of GPUs take whole ones" in trace.source


@pytest.mark.parametrize(
    ("job", "tasks", "rule"),
    [
        (JOB.format(2), [], "job_name must have tasks in pai_task_table.csv"),
        (JOB.format(2), [task(2, 1, "")], "job_name must have tasks on GPUs"),
        (JOB.format(2), [task(2, 1, 0.0)], "job_name must have tasks on GPUs"),
        (JOB.format(2), [task(2, start="")], "job_name must have a task that started"),
        (JOB.format(2), [task(2), task(2, 1, "many")],
         "job_name must have readable tasks in pai_task_table.csv (not line 3)"),
        ("j2,i,u,Running,1000.0,", [task(2)], "end_time must not be empty"),
        ("j2,i,u,Waiting,,", [task(2)], "start_time must not be empty"),
        ("j2,i,u,Failed,1000.0,1010.0", [task(2)],
         "end_time - first start of a task must be positive"),
        ("j2,i,u,Failed,1011.0,1020.0", [task(2)],
         "first start of a task - start_time must not be negative"),
    ],
)  # fmt: skip
def test_a_job_that_did_not_run_on_gpus_is_counted(tmp_path, job, tasks, rule):
    trace = read(tmp_path, [JOB.format(1), job], [task(1), *tasks])
    assert trace.id.tolist() == ["j1"]
    assert trace.rejects.counts == {rule: 1}
    assert trace.rejects.first == {rule: (2,)}


def test_the_first_task_that_cannot_be_read_is_named(tmp_path):
    message = r"pai_task_table.csv, line 2, column 'plan_gpu': 'many' must be a number"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, [JOB.format(1)], [task(1), task(1, 1, "many")], on_bad="error")


def test_either_table_finds_the_other(tmp_path):
    jobs, tasks = write(tmp_path, [JOB.format(1)], [task(1)])
    assert read_trace(tasks).service_s.tolist() == [990]
    tasks.rename(tmp_path / "others.csv")
    with pytest.raises(
        ValueError, match=r"needs the table of tasks; .*pai_task_table.csv not found"
    ):
        read_trace(jobs)
    assert len(read_trace(jobs, tasks=tmp_path / "others.csv")) == 1
    with pytest.raises(TypeError, match=r"tasks: 5 must be a path"):
        read_trace(jobs, tasks=5)
    with pytest.raises(ValueError, match=r"is already the table of jobs"):
        read_trace(jobs, jobs=jobs)
    with pytest.raises(ValueError, match=r"needs the table of jobs; its name does not say"):
        read_trace(tmp_path / "others.csv")


def test_the_other_table_may_be_packed_as_it_was_published(tmp_path):
    jobs, tasks = write(tmp_path, [JOB.format(1)], [task(1)])
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(tasks, "pai_task_table.csv")
    tasks.unlink()
    (tmp_path / "pai_task_table.tar.gz").write_bytes(gzip.compress(packed.getvalue()))
    assert read_trace(jobs).gpus.tolist() == [1]


def test_the_tables_may_have_headers(tmp_path):
    head = "job_name,inst_id,user,status,start_time,end_time"
    assert read(tmp_path, [head, JOB.format(1)], [task(1)]).row.tolist() == [2]


def test_a_job_of_spot_gpus_has_those_of_all_its_workers(tmp_path):
    path = tmp_path / "job_info_df.csv"
    path.write_text(
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
        "job_type\n1,7,A100,15,1,16,50,3600,HP\n2,3,T4,4,0.5,1,60,60,Spot\n"
        "3,3,T4,4,0.5,2,60,60,Spot\n4,3,T4,4,0,2,60,60,Spot\n5,3,A100,64,8,2,61,60,HP\n"
    )
    trace = read_trace(path)
    assert trace.gpus.tolist() == [16, 1, 2, 16]
    assert trace.gpu_share.tolist() == [1, 0.5, 1, 1]
    assert trace.cpu.tolist() == [15, 4, 4, 8]
    assert trace.qos.values().tolist() == ["HP", "Spot", "Spot", "HP"]
    assert trace.source.endswith("(workers of 1 jobs with parts of GPUs take whole ones)")
    assert trace.rejects.first == {"gpu_request must be positive": (5,)}
