"""What Slurm prints: accounting as text and JSON, queues, servers, and the values in them."""

import copy
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.traces import slurm_values as slurm
from gpusched.traces.auditing.trace_audit import audit_trace
from gpusched.traces.inventories import read_cluster
from gpusched.traces.reading import read_trace
from gpusched.traces.slurm_values import Resources, duration_s, memory_mib, of_gres, of_tres
from gpusched.traces.workload import Trace
from tests.each import each
from tests.unit.real_data import DATA, needs_real_data

HEAD = ("JobID", "JobName", "User", "Partition", "Submit", "Start", "End", "State", "AllocTRES")
DAY = "2024-05-01T"


def row(job: str, submit: str, start: str, end: str, **given: str) -> dict[str, str]:
    times = (time if time in ("Unknown", "None") else DAY + time for time in (submit, start, end))
    values = {"JobID": job, "User": "ann", "Partition": "gpu", "State": "COMPLETED"}
    values |= dict(zip(("Submit", "Start", "End"), times, strict=True))
    return {**values, "AllocTRES": "cpu=8,gres/gpu=2,mem=64G,node=1", **given}


def write(folder: Path, rows: list[dict[str, str]], delimiter: str = "|", head=HEAD) -> Path:
    lines = [head, *([values.get(name, "") for name in head] for values in rows)]
    path = folder / "jobs.txt"
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
    return path


def read(folder: Path, *rows: dict[str, str], head=HEAD, **options: object) -> Trace:
    return gs.read_trace(write(folder, list(rows), head=head), **options)


ONE = row("1", "09:00:00", "09:00:10", "10:00:10")
ALSO = row("2", "09:00:05", "09:00:10", "09:01:10")


def test_a_job_runs_from_start_to_end_and_waited_since_its_submission(tmp_path):
    trace = read(tmp_path, ALSO, ONE)

    assert trace.id.tolist() == [1, 2]
    assert trace.row.tolist() == [3, 2]
    assert trace.submit_s.tolist() == [0, 5]
    assert trace.service_s.tolist() == [3600, 60]
    assert trace.source_wait_us.tolist() == [10_000_000, 5_000_000]
    assert trace.gpus.tolist() == [2, 2]
    assert trace.epoch == datetime(2024, 5, 1, 9)
    assert trace.cpu.tolist() == [4, 4]
    assert trace.memory_gib.tolist() == [32, 32]
    assert trace.queue[0] == "gpu"


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"JobID": "9.batch"}, "JobID must be a job (this is a job step)"),
        ({"JobID": "9.0"}, "JobID must be a job (this is a job step)"),
        ({"JobID": "9_2.extern"}, "JobID must be a job (this is a job step)"),
        ({"JobID": "9_[1-9%2]"}, "JobID must be one job (these are waiting tasks of an array)"),
        ({"JobID": "x"}, "JobID must be like 123, 123_4 or 123+1"),
        ({"Start": "Unknown"}, "Start must be known (the job has not started)"),
        ({"Start": "None"}, "Start must be known (the job has not started)"),
        ({"End": "Unknown"}, "End must be known (the job is still running)"),
        ({"End": DAY + "09:00:10"}, "End - Start must be positive"),
        ({"End": DAY + "08:00:10"}, "End - Start must be positive"),
        ({"AllocTRES": "cpu=8,mem=64G"}, "AllocTRES must name GPUs (a job without GPUs)"),
        (
            {"AllocTRES": "gres/gpumem=8G,gres/gpuutil=5"},
            "AllocTRES must name GPUs (a job without GPUs)",
        ),
        ({"AllocTRES": "gres/gpu=two"}, "AllocTRES must give the number of GPUs"),
    ],
)
def test_what_is_no_finished_job_on_gpus_is_counted(tmp_path, given, rule):
    trace = read(tmp_path, ONE, {**row("9", "09:00:00", "09:00:10", "10:00:10"), **given})
    assert trace.id.tolist() == [1]
    assert trace.rejects.counts == {rule: 1}
    assert trace.rejects.first == {rule: (3,)}


def test_a_time_that_is_none_is_counted_and_named(tmp_path):
    broken = {**ALSO, "Submit": "yesterday"}
    assert read(tmp_path, ONE, broken).rejects.total == 1
    with pytest.raises(ValueError, match=r"jobs.txt, line 3, column 'Submit': 'yesterday' must be"):
        read(tmp_path, ONE, broken, on_bad="error")


def test_array_tasks_and_parts_of_heterogeneous_jobs_are_jobs(tmp_path):
    times = ("09:00:00", "09:00:10", "10:00:10")
    trace = read(tmp_path, row("7_1", *times), row("7_2", *times), row("8+0", *times))
    assert trace.id.tolist() == ["7_1", "7_2", "8+0"]
    assert trace["array"].to_list() == ["7", "7", ""]
    assert read(tmp_path, ONE).array is None


@pytest.mark.parametrize(
    ("tres", "gpus", "types"),
    [
        ("cpu=8,gres/gpu=4,gres/gpu:a100=4", 4, ("a100",)),
        ("gres/gpu:a100=4,cpu=8", 4, ("a100",)),
        ("gres/gpu:a100=2,gres/gpu:v100=1", 3, ("a100", "v100")),
        ("gres/gpu=3", 3, ()),
    ],
)
def test_gpus_are_counted_once_and_their_types_allowed(tmp_path, tres, gpus, types):
    trace = read(tmp_path, {**ONE, "AllocTRES": tres})
    assert trace.gpus.tolist() == [gpus]
    assert (trace.allowed_types or [()]) == [types]
    assert read(tmp_path, {**ONE, "AllocTRES": tres}, gpu_types="any").allowed_types is None


def test_what_was_asked_for_tells_types_and_gpus_where_it_is_named_or_alone(tmp_path):
    head = (*HEAD[:-1], "ReqTRES", "AllocTRES")
    job = {**ONE, "AllocTRES": "gres/gpu=1,gres/gpu:a100=1", "ReqTRES": "gres/gpu=1"}
    assert read(tmp_path, job, head=head).allowed_types == [("a100",)]
    assert read(tmp_path, job, head=head, gpu_types="requested").allowed_types is None
    asked = {**ONE, "AllocTRES": "", "ReqTRES": "cpu=4,gres/gpu=4"}
    assert read(tmp_path, asked, ALSO, head=head).gpus.tolist() == [4, 2]


def test_the_older_columns_count_gpus_for_each_node(tmp_path):
    head = (*HEAD[:-1], "AllocGRES", "NNodes", "ReqMem", "NCPUS")
    job = {**ONE, "AllocGRES": "gpu:tesla:2(S:0)", "NNodes": "3", "ReqMem": "4Gn", "NCPUS": "12"}
    trace = read(tmp_path, job, {**ALSO, **job, "JobID": "2", "ReqMem": "2Gc"}, head=head)
    assert trace.gpus.tolist() == [6, 6]
    assert trace.allowed_types == [("tesla",), ("tesla",)]
    assert trace.cpu.tolist() == [2, 2]
    assert trace.memory_gib.tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"AllocGRES counts GPUs per node, but .* missing"):
        read(tmp_path, job, head=(*HEAD[:-1], "AllocGRES"))


@pytest.mark.parametrize(
    ("limit", "estimate_s"),
    [
        ("1-12:00:00", 129_600),
        ("02:00:01", 7201),
        ("10:30", 630),
        ("10:30.5", 630.5),
        ("2-00", 172_800),
        ("UNLIMITED", None),
        ("Partition_Limit", None),
        ("", None),
    ],
)
def test_the_time_limit_is_the_estimate(tmp_path, limit, estimate_s):
    given = {**ONE, "Timelimit": limit}
    trace = read(tmp_path, given, {**ALSO, "Timelimit": "5"}, head=(*HEAD, "Timelimit"))
    expected = -1 if estimate_s is None else round(estimate_s * 1e6)
    assert trace.estimate_us.tolist() == [expected, 300_000_000]
    ran_us = trace.service_us.tolist()  # what Slurm let run is within the limit
    expected = -1 if expected < 0 else max(expected, ran_us[0])
    assert trace.time_limit_us.tolist() == [expected, max(300_000_000, ran_us[1])]
    assert ran_us[0] > 630_500_000


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("COMPLETED", "ok"), ("FAILED", "failed"), ("CANCELLED by 1000", "killed"),
        ("CANCELLED+", "killed"), ("TIMEOUT", "killed"), ("NODE_FAIL", "failed"),
        ("OUT_OF_MEMORY", "failed"), ("PREEMPTED", "killed"), ("REQUEUED", "unknown"),
        ("RUNNING", "unknown"),
    ],
)  # fmt: skip
def test_states_become_ours(tmp_path, state, status):
    trace = read(tmp_path, {**ONE, "State": state})
    assert trace.status[0] == status


REQUEUED = (
    row("5", "09:00:00", "09:00:30", "09:01:00", State="PREEMPTED"),
    row("5", "09:01:00", "09:02:00", "09:02:05"),
)
JOINED = "JobID must be the last attempt (earlier attempts of a requeued job are merged into it)"


def test_attempts_of_one_job_are_joined(tmp_path):
    trace = read(tmp_path, *REQUEUED, ALSO)
    assert trace.id.tolist() == [5, 2]
    assert trace.submit_s.tolist() == [0, 5]
    assert trace.service_s.tolist() == [35, 60]
    assert trace.source_wait_us[0] == 30_000_000
    assert trace.status[0] == "ok"
    assert trace.rejects.counts == {JOINED: 1}


@each("end", ["Unknown", "soon"])
def test_attempts_may_be_jobs_each_and_one_without_an_end_is_none(tmp_path, end):
    trace = read(tmp_path, *REQUEUED, requeues="separate")
    assert trace.id.tolist() == ["5", "5#2"]
    assert trace.service_s.tolist() == [30, 5]
    assert not trace.rejects
    trace = read(tmp_path, {**REQUEUED[0], "End": end}, REQUEUED[1], ALSO)
    assert trace.id.tolist() == [2]
    assert trace.rejects.total == 2


def test_a_job_may_arrive_when_it_is_eligible(tmp_path):
    head = (*HEAD, "Eligible")
    jobs = ({**ONE, "Eligible": DAY + "09:00:04"}, {**ALSO, "Eligible": "Unknown"})
    trace = read(tmp_path, *jobs, head=head)
    assert trace.submit_s.tolist() == [0, 1]
    assert trace.source_wait_us.tolist() == [6_000_000, 5_000_000]
    assert "1 row eligible after the submission" in " ".join(trace.notes)
    assert read(tmp_path, *jobs, head=head, arrival="eligible").submit_s.tolist() == [0, 1]
    submitted = read(tmp_path, *jobs, head=head, arrival="submit")
    assert submitted.submit_s.tolist() == [0, 5]
    assert submitted["eligible_s"].to_list() == [4, None]
    assert submitted.source_wait_us.tolist() == [10_000_000, 5_000_000]
    first, last = ({**one, "Eligible": DAY + "09:00:20"} for one in REQUEUED)
    again = read(tmp_path, first, last, ALSO, head=head, arrival="submit")
    assert again["eligible_s"].to_list() == [20, None]


def test_jobs_without_gpus_may_be_whole_nodes_or_shards(tmp_path):
    head = (*HEAD, "NNodes")
    nodes = {**ONE, "AllocTRES": "cpu=8,node=2", "NNodes": "2"}
    shards = {**ALSO, "AllocTRES": "cpu=1,node=1,gres/shard=2", "NNodes": "1"}
    trace = read(tmp_path, nodes, shards, head=head, gpus_per_node=4, shards_per_gpu=8)
    assert trace.gpus.tolist() == [8, 1]
    assert trace.gpu_share.tolist() == [1, 0.25]
    rejects = read(tmp_path, nodes, shards, ONE | {"JobID": "9", "NNodes": "1"}, head=head).rejects
    assert [line.partition(":")[0] for line in rejects.lines()] == [
        "AllocTRES must name GPUs (a job without GPUs)",
        "AllocTRES must name GPUs, not shards (or set shards_per_gpu)",
    ]


def test_what_slurm_says_of_a_job_beside_its_size_is_kept(tmp_path):
    head = (*HEAD, "Cluster", "Account", "QOS", "Priority")
    told = {"Cluster": "a", "Partition": "gpu", "Account": "vision", "QOS": "high"}
    jobs = ({**ONE, **told, "Priority": "17"}, {**ONE, **told, "Cluster": "b", "Priority": ""})
    trace = read(tmp_path, *jobs, head=head)
    assert trace.id.tolist() == [str(ONE["JobID"]), f"{ONE['JobID']}#2"]
    assert trace.priority.tolist() == [17, 0]
    assert (trace.partition[0], trace.account[0], trace.qos[0]) == ("gpu", "vision", "high")


def test_queue_and_group_are_the_columns_that_are_named(tmp_path):
    head = (*HEAD, "QOS", "Account")
    job = {**ONE, "QOS": "high", "Account": "vision"}
    trace = read(tmp_path, job, head=head, queue="QOS")
    assert trace.queue[0] == "high"
    assert trace.group[0] == "vision"
    with pytest.raises(ValueError, match=r"line 1: no column 'QoS' for the group; did you mean"):
        read(tmp_path, job, head=head, group="QoS")


@pytest.mark.parametrize("delimiter", ["|", ",", ";", "\t", "^", "@@", " | ", "~|~"])
def test_any_delimiter_is_found_in_the_header(tmp_path, delimiter):
    path = write(tmp_path, [{**ONE, "AllocTRES": "gres/gpu=2"}], delimiter)
    assert len(gs.read_trace(path)) == 1
    assert len(gs.read_trace(path, format="sacct", delimiter=delimiter)) == 1


def test_every_line_may_end_in_a_delimiter_and_a_name_may_hold_one(tmp_path):
    path = write(tmp_path, [{**ONE, "JobName": 'a|b|"c'}, ALSO])
    for text in (path.read_text(), path.read_text().replace("\n", "|\n")):
        path.write_text(text)
        assert gs.read_trace(path).service_s.tolist() == [3600, 60]


def test_a_comma_is_not_taken_for_part_of_a_name(tmp_path):
    # It is as likely to stand between the resources: then other columns would be read for these.
    path = write(tmp_path, [{**ONE, "JobName": "train"}], ",")
    with pytest.raises(
        ValueError, match="contains the delimiter: run sacct with another --delimiter"
    ):
        gs.read_trace(path)


def test_a_row_that_is_cut_is_an_error(tmp_path):
    path = write(tmp_path, [ONE, ALSO])
    path.write_text(path.read_text()[:-60])
    with pytest.raises(ValueError, match=r"jobs.txt, line 3: \d fields, but a row must have 9"):
        gs.read_trace(path, format="sacct")


def test_times_may_have_an_offset_or_count_seconds(tmp_path):
    times = {name: f"{ONE[name]}+0200" for name in ("Submit", "Start", "End")}
    trace = read(tmp_path, {**ONE, **times})
    assert trace.epoch == datetime(2024, 5, 1, 7, tzinfo=UTC)
    with pytest.raises(ValueError, match=r"column 'Submit': times with a zone \(line 2\) and with"):
        read(tmp_path, {**ONE, **times}, ALSO)
    seconds = {"Submit": "1714550400", "Start": "1714550410", "End": "1714550420"}
    trace = read(tmp_path, {**ONE, **seconds})
    assert trace.service_s.tolist() == [10]
    assert trace.epoch == datetime(2024, 5, 1, 8, tzinfo=UTC)


def test_a_column_that_is_missing_is_named_with_the_option_that_prints_it(tmp_path):
    path = tmp_path / "jobs.txt"
    path.write_text("JobID|Submit|Start\n1|a|b\n")
    with pytest.raises(ValueError, match=r"line 1: column 'End' is missing; .*--format=End"):
        gs.read_trace(path, format="sacct")


@each(
    ("option", "value", "message"),
    [
        ("arrival", "start", "arrival: 'start' must be one of submit, eligible"),
        ("requeues", "no", "requeues: 'no' must be one of join, separate"),
        ("gpu_types", "a100", "gpu_types: 'a100' must be one of allocated, requested, any"),
        ("delimiter", "", "delimiter: '' must be a text"),
        ("group", 5, "group: 5 must be a text"),
        ("arrival", "eligible", "line 1: arrival: 'eligible' needs the column 'Eligible'"),
        ("gpu_types", "requested", "line 1: gpu_types: 'requested' needs the column 'ReqTRES'"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path, option, value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read(tmp_path, ONE, **{option: value})


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
    times |= {"end": SUBMIT + 110, "elapsed": None, "limit": limit}
    times |= {name: given.pop(name) for name in list(given) if name in times}
    if isinstance(times["end"], int) and isinstance(times["start"], int):
        times["elapsed"] = times["elapsed"] or times["end"] - times["start"]
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


def read_json(folder: Path, *jobs: object, **options: Any) -> gs.Trace:
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
    one, other = gs.read_trace(text), read_json(tmp_path, job(7), arrival="submit")
    assert one.to_polars().drop("row").equals(other.to_polars().drop("row", "eligible_s"))
    assert other.epoch == one.epoch == datetime(2024, 5, 1, 9, tzinfo=UTC)
    assert other.estimate_us.tolist() == [3_600_000_000]
    assert other.status.names == ("ok",)


def test_numbers_and_states_may_be_wrapped_as_later_versions_do(tmp_path):
    plain = read_json(tmp_path, job(7, state="TIMEOUT"))
    later = job(7, state=["TIMEOUT", "REQUEUED"], limit=wrapped(60))
    later["array"] = {"job_id": 0, "task": "", "task_id": wrapped(0, is_set=False)}
    later["het"] = {"job_id": 0, "job_offset": wrapped(0, is_set=False)}
    later["time"]["start"] = wrapped(SUBMIT + 10)
    again = read_json(tmp_path, later)
    assert again.to_polars().drop("row").equals(plain.to_polars().drop("row"))
    assert again.status.names == ("killed",)


@pytest.mark.parametrize("limit", [None, wrapped(0, infinite=True), wrapped(0, is_set=False)])
def test_a_limit_that_is_none_is_no_estimate(tmp_path, limit):
    trace = read_json(tmp_path, job(7, limit=limit), job(8))
    assert trace.estimate_us.tolist() == [-1, 3_600_000_000]


def test_tasks_and_parts_have_names_as_in_the_text(tmp_path):
    task = job(21, array={"job_id": 20, "task": "", "task_id": wrapped(4)})
    zeroth = job(20, array={"job_id": 20, "task": None, "task_id": 0})
    part = job(31, het={"job_id": 30, "job_offset": 1})
    waits = job(40, array={"job_id": 40, "task": "1-9%2", "task_id": None}, start=0, end=0)
    trace = read_json(tmp_path, task, zeroth, part, waits)
    assert trace.id.tolist() == ["20_4", "20_0", "30+1"]
    assert trace.rejects.counts == {
        "JobID must be one job (these are waiting tasks of an array)": 1
    }


def test_jobs_that_have_not_ended_or_have_no_gpus_are_counted(tmp_path):
    none = {"allocated": tres(4)[:-1], "requested": []}
    trace = read_json(
        tmp_path, job(1), job(2, start=0, end=0), job(3, end=0), job(4, tres=none),
        job(5, submission="soon"), job(6, submission=None),
    )  # fmt: skip
    assert trace.id.tolist() == [1]
    assert trace.rejects.counts == {
        "Start must be known (the job has not started)": 1,
        "End must be known (the job is still running)": 1,
        "AllocTRES must name GPUs (a job without GPUs)": 1,
        "Submit must be a time like 2017-10-09 07:01:55": 2,
    }
    assert trace.rejects.unit == "line"


def test_types_requeues_and_arrivals_are_options(tmp_path):
    first = job(7, end=SUBMIT + 20, state="PREEMPTED")
    again = job(7, submission=SUBMIT + 30, eligible=SUBMIT + 30, start=SUBMIT + 40, end=SUBMIT + 90)
    again["tres"]["allocated"].append({"type": "gres", "name": "gpu:a100", "count": 4})
    trace = read_json(tmp_path, first, again)
    assert trace.service_s.tolist() == [60]
    assert trace.allowed_types == [("a100",)]
    assert read_json(tmp_path, again, gpu_types="requested").allowed_types is None
    assert read_json(tmp_path, first, again, requeues="separate").id.tolist() == ["7", "7#2"]
    late = read_json(tmp_path, job(7), arrival="eligible", queue="QOS", group="JobName")
    assert late.epoch == datetime.fromtimestamp(SUBMIT + 5, UTC)
    assert (late.queue.names, late.group.names) == (("high",), ("train",))
    with pytest.raises(ValueError, match=r"sacct.json: no column 'Qos' for the queue"):
        read_json(tmp_path, job(7), queue="Qos")
    with pytest.raises(TypeError, match="has no option 'delimiter'"):
        read_json(tmp_path, job(7), delimiter=";")


def test_an_owner_may_stand_in_the_association_alone(tmp_path):
    owned = copy.deepcopy(job(7))
    del owned["user"], owned["account"]
    trace = read_json(tmp_path, owned)
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
    trace = read_json(tmp_path, job(1), {**job(2), **broken}, format="sacct-json")
    assert len(trace) + trace.rejects.total == 2


NOW = 1_700_001_000


def queued(name: int, **given: Any) -> dict[str, Any]:
    return {
        "job_id": name, "job_state": "PENDING", "user_name": "ann", "partition": "gpu",
        "account": "vision", "submit_time": 1_700_000_000 + name, "start_time": 0, "end_time": 0,
        "time_limit": 60, "state_reason": "Resources",
        "tres_req_str": "cpu=4,mem=32G,node=1,gres/gpu=2", "tres_alloc_str": "", **given,
    }  # fmt: skip


def running(name: int, **given: Any) -> dict[str, Any]:
    tres = "cpu=4,mem=32G,node=1,gres/gpu=4,gres/gpu:a100=4"
    start = 1_700_000_400
    return queued(name, job_state="RUNNING", start_time=start, tres_alloc_str=tres, **given)


def read_queue(folder: Path, *jobs: object, last_update: Any = NOW, **options: Any) -> Trace:
    path = folder / "squeue.json"
    path.write_text(json.dumps({"meta": {}, "jobs": jobs, "last_update": last_update}, indent=1))
    return read_trace(path, **options)


def test_running_jobs_come_first_with_what_is_left_of_their_limits(tmp_path):
    trace = read_queue(tmp_path, queued(9), queued(3), running(7))

    assert trace.id.tolist() == [7, 3, 9]
    assert trace.submit_s.tolist() == [0, 0, 0]
    assert trace.service_s.tolist() == [3000, 3600, 3600]
    assert trace.estimate_us.tolist() == trace.service_us.tolist()
    assert trace.gpus.tolist() == [4, 2, 2]
    assert trace.allowed_types == [("a100",), (), ()]
    assert trace.cpu.tolist() == [1, 2, 2]
    assert trace.memory_gib.tolist() == [8, 16, 16]
    assert trace.source_wait_us.tolist() == [393_000_000, -1, -1]
    assert trace.epoch == datetime.fromtimestamp(NOW, UTC)
    assert trace.row.tolist() == sorted(trace.row.tolist())[::-1]


def test_the_whole_limits_begin_at_the_submissions(tmp_path):
    trace = read_queue(tmp_path, queued(9), queued(3), running(7), service="whole")
    assert trace.id.tolist() == [3, 7, 9]
    assert trace.submit_s.tolist() == [0, 4, 6]
    assert trace.service_s.tolist() == [3600, 3600, 3600]


def test_later_versions_wrap_numbers_and_list_states(tmp_path):
    wrap = ("submit_time", "start_time", "end_time", "time_limit")
    plain = (running(7), queued(9))
    later = [
        {**one, **{name: wrapped(one[name]) for name in wrap}, "job_state": [one["job_state"]]}
        for one in plain
    ]
    trace = read_queue(tmp_path, *later, last_update=wrapped(NOW))
    again = read_queue(tmp_path, *plain)
    assert trace.service_s.tolist() == again.service_s.tolist() == [3000, 3600]
    assert trace.epoch == again.epoch


@each(
    ("given", "written", "left_s"),
    [
        ({"end_time": NOW + 5000}, {}, 5000),  # it was suspended
        ({"last_sched_evaluation": NOW - 100}, {"last_update": None}, 3100),  # the last time in it
        ({}, {"last_update": None, "now": NOW + 1}, 2999),
    ],
)
def test_what_is_left_is_counted_from_the_time_of_writing_to_the_expected_end(
    tmp_path, given, written, left_s
):
    trace = read_queue(tmp_path, running(7, **given), **written)
    assert trace.service_s.tolist() == [left_s]


def test_tasks_of_an_array_that_wait_are_jobs(tmp_path):
    trace = read_queue(
        tmp_path, queued(9, array_job_id=wrapped(9), array_task_string="1-3,7-11:2%2")
    )
    assert trace.id.tolist() == ["9_1", "9_2", "9_3", "9_7", "9_9", "9_11"]
    assert (trace["array"].to_list(), trace["array_limit"].to_list()) == (["9"] * 6, [2] * 6)
    given = {"array_job_id": wrapped(9), "array_task_id": wrapped(4), "array_task_string": ""}
    assert read_queue(tmp_path, running(12, **given)).id.tolist() == ["9_4"]
    waiting = queued(9, array_job_id=wrapped(9), array_task_string="5-6", array_max_tasks=3)
    both = read_queue(tmp_path, running(12, **given), waiting, running(7))
    assert sorted(zip(both.id.tolist(), both["array"], both["array_limit"], strict=True)) == [
        ("7", "", None), ("9_4", "9", 3), ("9_5", "9", 3), ("9_6", "9", 3),
    ]  # fmt: skip


@pytest.mark.parametrize("tasks", ["1-", "a-b", "1-10,...", "5-1", "1-9:0", "0-99999999"])
def test_tasks_that_cannot_be_read_are_counted(tmp_path, tasks):
    trace = read_queue(tmp_path, queued(1), queued(9, array_task_string=tasks))
    assert trace.id.tolist() == [1]
    assert list(trace.rejects.counts) == [
        "job_id, array_task_string must name a job, or at most 1,000,000 tasks like 1-10,12"
    ]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"job_state": "COMPLETED"}, "job_state must be RUNNING or PENDING"),
        ({"job_state": 3}, "job_state must be RUNNING or PENDING"),
        ({"state_reason": "Dependency"},
         "state_reason must be a wait for GPUs (held, or waits for a dependency or begin time)"),
        ({"tres_req_str": "cpu=1"}, "tres_req_str must name GPUs (a job without GPUs)"),
        ({"tres_req_str": None}, "tres_req_str must name GPUs (a job without GPUs)"),
        ({"time_limit": None}, "time_limit must be given (or set unlimited_s)"),
        ({"time_limit": wrapped(0, infinite=True)},
         "time_limit must be given (or set unlimited_s)"),
        ({"time_limit": wrapped(0, is_set=False)}, "time_limit must be given (or set unlimited_s)"),
        ({"time_limit": "1:00"}, "time_limit must be a number"),
        ({"time_limit": wrapped([1])}, "time_limit must be a number"),
        ({"submit_time": 0}, "submit_time must be known"),
        ({"submit_time": {}}, "submit_time must be a number"),
        ({"job_state": "RUNNING"}, "start_time must be known (the job is running)"),
        ({"job_state": "RUNNING", "start_time": NOW - 9999, "submit_time": 5},
         "remaining time_limit must be positive"),
    ],
)  # fmt: skip
def test_what_does_not_wait_for_gpus_is_counted(tmp_path, given, rule):
    trace = read_queue(tmp_path, queued(1), queued(2, **given))
    assert trace.id.tolist() == [1]
    assert trace.rejects.counts == {rule: 1}


def test_jobs_without_a_limit_may_be_given_one(tmp_path):
    trace = read_queue(
        tmp_path, queued(1, time_limit=None), running(2, time_limit=0), unlimited_s=1200
    )
    assert trace.service_s.tolist() == [600, 1200]


def test_gpus_for_each_node_are_counted_where_the_total_is_not_told(tmp_path):
    given = {"tres_req_str": "cpu=1", "node_count": wrapped(3)}
    trace = read_queue(tmp_path, queued(1, tres_per_node="gres:gpu:v100:2", **given))
    assert (trace.gpus.tolist(), trace.gpus_per_node.tolist()) == ([6], [2])
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
def test_a_wrong_option_is_refused_in_squeue(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        read_queue(tmp_path, queued(1), **options)


def node(name: str, gres: str = "gpu:a100:4(S:0-1)", **given: Any) -> dict[str, Any]:
    return {
        "name": name,
        "gres": gres,
        "cpus": 64,
        "real_memory": 524_288,
        "state": "idle",
        **given,
    }


def write_nodes(folder: Path, *nodes: object, key: str = "nodes") -> Path:
    path = folder / "sinfo.json"
    path.write_text(json.dumps({"meta": {}, "errors": [], key: nodes}, indent=1))
    return path


def read_nodes(folder: Path, *nodes: object, key: str = "nodes", **options: Any) -> gs.Cluster:
    return read_cluster(write_nodes(folder, *nodes, key=key), **options)


def test_servers_have_what_slurm_says_of_them(tmp_path):
    cluster = read_nodes(tmp_path, node("a"), node("b", "gpu:2"), node("c"), node("d", ""))
    assert [(g.count, g.gpus, g.gpu_type, g.cpu, g.memory_gib) for g in cluster.servers] == [
        (2, 4, "a100", 64, 512),
        (1, 2, "gpu", 64, 512),
    ]
    assert cluster.name == "sinfo without 1 servers that have no GPU"


@pytest.mark.parametrize(
    "state",
    [
        {"state": "down"},
        {"state": "idle", "state_flags": ["DRAIN"]},
        {"state": ["MIXED", "DRAIN"]},
        {"state": ["IDLE", "MAINTENANCE"]},
        {"state": ["DOWN", "NOT_RESPONDING"]},
    ],
)
def test_servers_on_which_no_job_starts_are_left_out(tmp_path, state):
    nodes = (node("a", **state), node("b"))
    cluster = read_nodes(tmp_path, *nodes)
    assert cluster.num_servers == 1
    assert cluster.name == "sinfo without 1 unavailable servers"
    assert read_nodes(tmp_path, *nodes, unavailable=True).num_servers == 2


@pytest.mark.parametrize("state", ["idle", "mixed", ["ALLOCATED"], ["IDLE", "POWERED_DOWN"], None])
def test_others_are_kept(tmp_path, state):
    assert read_nodes(tmp_path, node("a", state=state)).num_servers == 1


def test_later_versions_wrap_numbers(tmp_path):
    wrapped = {"set": True, "infinite": False, "number": 524_288}
    assert read_nodes(tmp_path, node("a", real_memory=wrapped)) == read_nodes(tmp_path, node("a"))


def test_gpus_may_stand_among_the_trackable_resources_alone(tmp_path):
    cluster = read_nodes(tmp_path, node("a", "", tres="cpu=64,mem=512G,gres/gpu=8,gres/gpu:h100=8"))
    assert str(cluster.servers[0].gpu_type) == "h100"
    assert cluster.num_gpus == 8


def line(names: list[str], gres: str = "gpu:a100:4", state: str = "IDLE") -> dict[str, Any]:
    return {
        "node": {"state": [state]},
        "nodes": {"total": len(names), "nodes": names},
        "cpus": {"total": 64 * len(names), "idle": 3},
        "memory": {"minimum": 524_288, "maximum": 524_288},
        "gres": {"total": gres, "used": "gpu:a100:0"},
        "partition": {"name": "gpu"},
    }


def test_lines_of_later_versions_stand_for_several_servers(tmp_path):
    cluster = read_nodes(
        tmp_path, line(["a", "b"]), line(["a"]), line(["c"], "gpu:v100:8", "DOWN"), key="sinfo"
    )
    assert cluster == gs.Cluster(
        (gs.ServerGroup(2, 4, "a100", 64, 512),), "sinfo without 1 unavailable servers"
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((node("a"), node("a")), r"line 12, column 'name': 'a' must be unique, line 5 has it too"),
        ((node(""),), r"line 5: a server must have a name"),
        ((node("a", "gpu:a100:999"),), r"line 5, column 'gres': '?999.* must be at most 64"),
        ((node("a", "gpu:a:b:c"),), r"line 5, column 'gres': 'gpu:a:b:c' must be a number"),
        ((node("a", cpus="many"),), r"line 5, column 'cpus': 'many' must be a number"),
        ((node("a", real_memory=None),), r"line 5, column 'memory': '' must not be empty"),
        ((node("a", ""),), r"no server has a GPU"),
        ((node("a", state="down"),), r"none of the 1 servers is available"),
        ((), r"the array 'nodes' is empty"),
        (("a",), r"line 5: an entry of 'nodes' must be an object"),
    ],
)
def test_a_server_that_cannot_be_read_is_an_error(tmp_path, nodes, message):
    with pytest.raises(ValueError, match=rf"sinfo.json.*{message}"):
        read_nodes(tmp_path, *nodes)


def test_an_option_that_is_not_there_is_named(tmp_path):
    for options, message in (
        ({"down": True}, "no option 'down'"),
        ({"unavailable": 1}, "1 must be"),
    ):
        with pytest.raises(TypeError, match=message):
            read_nodes(tmp_path, node("a"), **options)


@given(st.integers(0, 999), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_every_way_of_writing_a_duration_tells_the_same_seconds(days, hours, minutes, seconds):
    expected = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert duration_s(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == expected
    assert duration_s(f"{days * 24 + hours:02}:{minutes:02}:{seconds:02}") == expected
    assert duration_s(f"{(days * 24 + hours) * 60 + minutes:02}:{seconds:02}") == expected
    assert duration_s(f"{days}-{hours:02}:{minutes:02}") == expected - seconds
    assert duration_s(f"{days}-{hours:02}") == expected - minutes * 60 - seconds
    assert duration_s(f"{minutes:02}:{seconds:02}.250") == minutes * 60 + seconds + 0.25


@each("text", ["1:2:3:4", "-5", "1-", "x", "1.5h", "00:00:00:00", "1-2-3"])
def test_what_is_no_duration_is_nan(text):
    assert math.isnan(duration_s(text))


@each(
    ("text", "mib"),
    [
        ("64G", 65_536), ("500000M", 500_000), ("62.50G", 64_000), ("1024K", 1), ("2T", 2 << 20),
        ("300", 300), ("4Gc", 32_768), ("4Gn", 8192),
    ],
)  # fmt: skip
def test_memory_is_counted_in_mib(text, mib):
    assert memory_mib(text, cpus=8, nodes=2) == mib


@each("text", ["", "G", "4X", "-4G", "4GG", "?"])
def test_memory_that_cannot_be_read_is_nan(text):
    assert math.isnan(memory_mib(text))
    assert math.isnan(memory_mib("4Gc"))


@each(
    ("text", "gpus", "types"),
    [
        ("gpu:2", 2, ()),
        ("gpu", 1, ()),
        ("gpu:tesla", 1, ("tesla",)),
        ("gpu:tesla:2,gpu:k80:1", 3, ("k80", "tesla")),
        ("gres:gpu:a100:4(S:0-1),mps:400", 4, ("a100",)),
        ("gpu:1080ti:1(IDX:0),gpu:980:1(IDX:1)", 2, ("1080ti", "980")),
        ("gpu:tesla:no_consume:2", 2, ("tesla",)),
        ("gres/gpu:a100=4", 4, ("a100",)),
        ("gpu:0", 0, ()),
        ("(null)", 0, ()),
        ("gpumem:3,mic:2", 0, ()),
        ("", 0, ()),
    ],
)
def test_gpus_are_found_among_generic_resources(text, gpus, types):
    assert of_gres(text).gpus == gpus
    assert of_gres(text).types == types


def test_trackable_resources_are_those_of_the_job():
    read = of_tres("billing=8,cpu=64,gres/gpu:h100=8,gres/gpu=8,gres/gpumem=1G,mem=512G,node=2")
    assert read == Resources(8, ("h100",), 64, 524_288, 2)
    assert of_tres("").gpus == 0
    assert math.isnan(of_tres("gres/gpu=x").gpus)
    assert of_tres("gres/gpu:a100=0,gres/gpu=0").types == ()


def test_numbers_may_be_wrapped():
    assert slurm.number({"set": True, "infinite": False, "number": 60}) == 60
    assert slurm.number({"set": True, "infinite": True, "number": 0}) == math.inf
    assert slurm.number({"set": False, "infinite": False, "number": 0}) is None
    assert slurm.number(60) == 60
    assert math.isnan(slurm.count("60"))
    assert slurm.tasks("0-6:3,9%4") == [0, 3, 6, 9]
    assert slurm.tasks("0-999999") is not None
    assert slurm.tasks("0-999999,5") is None


def test_a_server_with_several_types_of_gpus_has_them(tmp_path):
    both = "gpu:a100:2(S:0),gpu:v100:4(S:1)"
    cluster = read_nodes(tmp_path, node("a", both), node("b"), node("c", both))
    devices = (("a100", 2), ("v100", 4))
    alone, mixed = gs.ServerGroup(1, 4, "a100", 64, 512), gs.ServerGroup(2, devices=devices, cpu=64)
    assert cluster.servers[0] == alone
    expected = gs.Cluster((alone, msgspec.structs.replace(mixed, memory_gib=512)), "nodes")
    assert msgspec.structs.replace(cluster, name="nodes") == expected


HEADER = "JobID|User|Submit|Start|End|Elapsed|Suspended|State|AllocTRES"
DAY = "2024-05-01T"


def read_text(folder: Path, *rows: str, header: str = HEADER) -> gs.Trace:
    path = folder / "sacct.txt"
    path.write_text("\n".join([header, *rows]))
    return gs.read_trace(path)


@each(
    ("elapsed", "suspended", "service_s"),
    [
        ("02:00:00", "00:00:00", 7200),
        ("01:00:00", "01:00:00", 3600),  # suspensions are no run time
        ("03:00:00", "00:00:00", 10_800),  # the clock was put back
        ("", "00:30:00", 5400),
    ],
)
def test_a_run_takes_what_slurm_counted(elapsed, suspended, service_s, tmp_path):
    times = f"1|ann|{DAY}09:00:00|{DAY}09:00:00|{DAY}11:00:00"
    row = f"{times}|{elapsed}|{suspended}|COMPLETED|gres/gpu=2"
    assert read_text(tmp_path, row).service_s.tolist() == [service_s]
    no_suspended = read_text(
        tmp_path, f"{times}|3600|COMPLETED|gres/gpu=2",
        header="JobID|User|Submit|Start|End|ElapsedRaw|State|AllocTRES",
    )  # fmt: skip
    assert no_suspended.service_s.tolist() == [3600]


@each(
    ("start", "end", "service_s"),
    [
        ("2024-03-31T01:00:00", "2024-03-31T04:00:00", 7200),  # a Sunday: the clock skipped an hour
        ("2024-03-30T23:00:00", "2024-04-02T02:00:00", 7200),
        ("2024-03-28T01:00:00", "2024-03-28T04:00:00", 10_800),  # a Thursday
        ("2024-03-31T05:00:00", "2024-03-31T08:00:00", 10_800),  # after four
    ],
)
def test_a_clock_that_says_more_counts_unless_it_was_put_forward(start, end, service_s, tmp_path):
    elapsed = "3-02:00:00" if end.startswith("2024-04") else "02:00:00"
    row = f"1|ann|{start}|{start}|{end}|{elapsed}|00:00:00|COMPLETED|gres/gpu=2"
    whole = 3 * 86_400 if end.startswith("2024-04") else 0
    assert read_text(tmp_path, row).service_s.tolist() == [service_s + whole]


def test_an_id_that_two_users_had_is_two_jobs(tmp_path):
    rows = [
        f"9|{user}|{DAY}{hour}:00:00|{DAY}{hour}:10:00|{DAY}{hour}:40:00|00:30:00|00:00:00|"
        f"COMPLETED|gres/gpu=2" for user, hour in (("ann", "08"), ("bob", "12"))
    ]  # fmt: skip
    trace = read_text(tmp_path, *rows)
    assert trace.id.tolist() == ["9", "9#2"]
    assert trace.service_s.tolist() == [1800, 1800]
    assert trace.user.values().tolist() == ["ann", "bob"]


def test_a_job_that_was_resized_is_told_of(tmp_path):
    start = f"1|ann|{DAY}09:00:00"
    trace = read_text(
        tmp_path,
        f"{start}|{DAY}09:00:00|{DAY}10:00:00|01:00:00|00:00:00|RESIZING|gres/gpu=8",
        f"{start}|{DAY}10:00:00|{DAY}12:00:00|02:00:00|00:00:00|COMPLETED|gres/gpu=4",
    )
    assert (trace.service_s.tolist(), trace.gpus.tolist()) == ([10_800], [4])
    assert any("1 row of jobs that were resized" in note for note in trace.notes)


def test_steps_and_jobs_without_gpus_are_no_faults_of_a_log(tmp_path):
    ran = f"ann|{DAY}09:00:00|{DAY}09:00:00|{DAY}10:00:00|01:00:00|00:00:00|COMPLETED"
    trace = read_text(tmp_path, *(f"{n}|{ran}|gres/gpu=2" for n in ("1", "1.batch", "1.0")),
                      f"2|{ran}|cpu=2")  # fmt: skip
    verdicts = {one.name: one for one in audit_trace(trace).findings}
    assert verdicts["rows-unreadable"].verdict == "fine"
    assert verdicts["rows-without-gpus"].count == 1


REPORTS = {
    "sacct-dst": ([14_400], [2]), "sacct-jobid-reused": ([3600, 7200], [2, 8]),
    "sacct-suspended": ([3600], [2]),
}  # fmt: skip


@needs_real_data
def test_steps_jobs_without_gpus_and_a_burst_of_few_jobs_are_no_fault():
    found = gs.traces.audit_trace(DATA / "cases" / "reports" / "audit-sacct" / "sacct.txt")
    assert found.ok
    assert (found["rows-without-gpus"].count, found["rows-without-gpus"].verdict) == (20, "fine")


@needs_real_data
@each(("folder", "jobs"), named={name: (name, jobs) for name, jobs in REPORTS.items()})
def test_logs_of_public_reports_are_read_right(folder, jobs):
    trace = gs.read_trace(DATA / "cases" / "reports" / folder / "sacct.txt")
    assert (trace.service_s.tolist(), trace.gpus.tolist()) == jobs
