"""The reader of the tables of Alibaba PAI."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace

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
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [5_000_000, 10_000_000]
    assert trace.allowed_types == [("T4", "V100"), ("V100",)]
    assert trace.cpu is not None
    assert trace.cpu.tolist() == pytest.approx([42 / 9, 6], abs=1e-3)
    assert trace.memory_gib is not None
    assert trace.memory_gib.tolist() == pytest.approx([48 / 9, 8], abs=1e-3)
    assert trace.user is not None
    assert trace.user[0] == "u1"
    assert "whole ones" not in trace.source


def test_one_instance_may_take_a_share_and_several_take_whole_gpus(tmp_path):
    jobs = [JOB.format(number) for number in (1, 2, 3)]
    trace = read(tmp_path, jobs, [task(1, 1, 25.0), task(2, 2, 50.0), task(3, 1, 150.0)])

    assert trace.gpus.tolist() == [1, 2, 2]
    assert trace.share_milli is not None
    assert trace.share_milli.tolist() == [250, 1000, 1000]
    assert "2 jobs of parts of GPUs take whole ones" in trace.source


@pytest.mark.parametrize(
    ("job", "tasks", "rule"),
    [
        (JOB.format(2), [], "job_name must have tasks in pai_task_table.csv"),
        (JOB.format(2), [task(2, 1, "")], "job_name must have tasks on GPUs"),
        (JOB.format(2), [task(2, 1, 0.0)], "job_name must have tasks on GPUs"),
        (JOB.format(2), [task(2, start="")], "job_name must have a task that started"),
        (
            JOB.format(2),
            [task(2), task(2, 1, "many")],
            "job_name must have tasks that can be read in pai_task_table.csv (line 3 cannot)",
        ),
        ("j2,i,u,Running,1000.0,", [task(2)], "end_time must not be empty"),
        ("j2,i,u,Waiting,,", [task(2)], "start_time must not be empty"),
        (
            "j2,i,u,Failed,1000.0,1010.0",
            [task(2)],
            "end_time - first start of a task must be positive",
        ),
        (
            "j2,i,u,Failed,1011.0,1020.0",
            [task(2)],
            "first start of a task - start_time must not be negative",
        ),
    ],
)
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
    with pytest.raises(ValueError, match=r"needs the table of tasks; there is no .*pai_task_table"):
        read_trace(jobs)
    assert len(read_trace(jobs, tasks=tmp_path / "others.csv")) == 1
    with pytest.raises(TypeError, match=r"tasks: 5 must be a path"):
        read_trace(jobs, tasks=5)
    with pytest.raises(ValueError, match=r"is the table of jobs itself"):
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
