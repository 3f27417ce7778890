"""The reader of Slurm's accounting as JSON."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.base.source import Source
from gpusched.traces.format_registry import detect

SUBMIT = 1_714_554_000


def tres(gpus: int, *, kind: str = "gpu", cpus: int = 8) -> list[dict[str, Any]]:
    return [
        {"type": "cpu", "name": "", "id": 1, "count": cpus},
        {"type": "mem", "name": "", "id": 2, "count": 65_536},
        {"type": "energy", "name": None, "id": 3, "count": None},
        {"type": "node", "name": "", "id": 4, "count": 1},
        {"type": "billing", "name": "", "id": 5, "count": 8},
        {"type": "gres", "name": kind, "id": 1001, "count": gpus},
    ]


def job(name: int, *, limit: Any = 60, state: Any = "COMPLETED", **given: Any) -> dict[str, Any]:
    times = {"submission": SUBMIT, "eligible": SUBMIT + 5, "start": SUBMIT + 10}
    times |= {"end": SUBMIT + 110, "elapsed": 100, "limit": limit}
    times |= {name: given.pop(name) for name in list(given) if name in times}
    return {
        "account": "vision", "user": "ann", "partition": "gpu", "qos": "high", "name": "train",
        "association": {"account": "vision", "user": "ann", "cluster": "c"}, "cluster": "c",
        "job_id": name, "array": {"job_id": 0, "task": None, "task_id": None},
        "het": {"job_id": 0, "job_offset": None}, "required": {"CPUs": 8, "memory": 65_536},
        "state": {"current": state, "reason": "None"}, "steps": [{"time": {"start": 1}}],
        "time": times, "tres": {"allocated": tres(4), "requested": tres(4)}, **given,
    }  # fmt: skip


def wrapped(number: Any, *, infinite: bool = False, is_set: bool = True) -> dict[str, Any]:
    return {"set": is_set, "infinite": infinite, "number": number}


def read(folder: Path, *jobs: object, **options: Any) -> gs.Trace:
    path = folder / "sacct.json"
    path.write_text(json.dumps({"meta": {}, "jobs": jobs, "warnings": []}, indent=1))
    return gs.read_trace(path, **options)


def test_a_job_is_what_the_text_of_sacct_says_of_it(tmp_path):
    text = tmp_path / "sacct.txt"
    text.write_text(
        "JobID|User|Account|Partition|QOS|Submit|Start|End|TimelimitRaw|State|AllocTRES\n"
        "7|ann|vision|gpu|high|2024-05-01T09:00:00Z|2024-05-01T09:00:10Z|2024-05-01T09:01:50Z|60|"
        "COMPLETED|cpu=8,mem=65536M,node=1,billing=8,gres/gpu=4\n"
    )
    one, other = gs.read_trace(text), read(tmp_path, job(7))
    assert one.to_polars().drop("row").equals(other.to_polars().drop("row"))
    assert other.epoch == one.epoch == datetime(2024, 5, 1, 9, tzinfo=UTC)
    assert other.estimate_us is not None
    assert other.estimate_us.tolist() == [3_600_000_000]
    assert other.status is not None
    assert other.status.names == ("ok",)


def test_it_is_found_beside_the_queue_by_its_contents(tmp_path):
    read(tmp_path, job(7))
    assert detect(Source(tmp_path / "sacct.json")).name == "sacct-json"
    queued = {"job_id": 1, "job_state": "PENDING", "eligible_time": 1, "submit_time": 1}
    (tmp_path / "squeue.json").write_text(json.dumps({"jobs": [queued]}))
    assert detect(Source(tmp_path / "squeue.json")).name == "squeue"


def test_numbers_and_states_may_be_wrapped_as_later_versions_do(tmp_path):
    plain = read(tmp_path, job(7, state="TIMEOUT"))
    later = job(7, state=["TIMEOUT", "REQUEUED"], limit=wrapped(60))
    later["array"] = {"job_id": 0, "task": "", "task_id": wrapped(0, is_set=False)}
    later["het"] = {"job_id": 0, "job_offset": wrapped(0, is_set=False)}
    later["time"]["start"] = wrapped(SUBMIT + 10)
    again = read(tmp_path, later)
    assert again.to_polars().drop("row").equals(plain.to_polars().drop("row"))
    assert again.status is not None
    assert again.status.names == ("killed",)


@pytest.mark.parametrize("limit", [None, wrapped(0, infinite=True), wrapped(0, is_set=False)])
def test_a_limit_that_is_none_is_no_estimate(tmp_path, limit):
    trace = read(tmp_path, job(7, limit=limit), job(8))
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [-1, 3_600_000_000]


def test_tasks_and_parts_have_names_as_in_the_text(tmp_path):
    task = job(21, array={"job_id": 20, "task": "", "task_id": wrapped(4)})
    zeroth = job(20, array={"job_id": 20, "task": None, "task_id": 0})
    part = job(31, het={"job_id": 30, "job_offset": 1})
    waits = job(40, array={"job_id": 40, "task": "1-9%2", "task_id": None}, start=0, end=0)
    trace = read(tmp_path, task, zeroth, part, waits)
    assert trace.id.tolist() == ["20_4", "20_0", "30+1"]
    assert trace.rejects.counts == {"JobID must be one job (tasks of an array that wait)": 1}


def test_jobs_that_have_not_ended_or_have_no_gpus_are_counted(tmp_path):
    none = {"allocated": tres(4)[:-1], "requested": []}
    trace = read(
        tmp_path, job(1), job(2, start=0, end=0), job(3, end=0), job(4, tres=none),
        job(5, submission="soon"), job(6, submission=None),
    )  # fmt: skip
    assert trace.id.tolist() == [1]
    assert trace.rejects.counts == {
        "Start must be known (a job that has not started)": 1,
        "End must be known (a job that still runs)": 1,
        "AllocTRES must name GPUs (a job without)": 1,
        "Submit must be a time like 2017-10-09 07:01:55": 2,
    }
    assert trace.rejects.unit == "line"


def test_types_requeues_and_arrivals_are_options(tmp_path):
    first = job(7, end=SUBMIT + 20, state="PREEMPTED")
    again = job(7, submission=SUBMIT + 30, eligible=SUBMIT + 30, start=SUBMIT + 40, end=SUBMIT + 90)
    again["tres"]["allocated"].append({"type": "gres", "name": "gpu:a100", "count": 4})
    trace = read(tmp_path, first, again)
    assert trace.service_s.tolist() == [60]
    assert trace.allowed_types == [("a100",)]
    assert read(tmp_path, again, gpu_types="requested").allowed_types is None
    assert read(tmp_path, first, again, requeues="separate").id.tolist() == ["7", "7#2"]
    late = read(tmp_path, job(7), arrival="eligible", queue="QOS", group="JobName")
    assert late.epoch == datetime.fromtimestamp(SUBMIT + 5, UTC)
    assert late.queue is not None
    assert late.group is not None
    assert (late.queue.names, late.group.names) == (("high",), ("train",))
    with pytest.raises(ValueError, match=r"sacct.json: no column 'Qos' for the queue"):
        read(tmp_path, job(7), queue="Qos")
    with pytest.raises(TypeError, match="has no option 'delimiter'"):
        read(tmp_path, job(7), delimiter=";")


def test_an_owner_may_stand_in_the_association_alone(tmp_path):
    owned = copy.deepcopy(job(7))
    del owned["user"], owned["account"]
    trace = read(tmp_path, owned)
    assert trace.user is not None
    assert trace.group is not None
    assert (trace.user.names, trace.group.names) == (("ann",), ("vision",))


@pytest.mark.parametrize(
    "broken",
    [
        {"time": None, "submission_is": "eligible"}, {"time": {"submission": [], "eligible": {}}},
        {"tres": {"allocated": [None, {"type": 3}, {"type": "gres", "name": "gpu"}]}},
        {"array": [], "het": 7, "state": [], "association": "x"}, {"job_id": None},
        {"job_id": wrapped(10**30)}, {"state": {"current": []}, "user": 7, "qos": {}},
    ],
)  # fmt: skip
def test_odd_records_are_jobs_or_counted(tmp_path, broken):
    trace = read(tmp_path, job(1), {**job(2), **broken}, format="sacct-json")
    assert len(trace) + trace.rejects.total == 2
