"""The reader of Slurm's accounting."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import gpusched as gs
from gpusched.traces.workload import Trace

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
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [10_000_000, 5_000_000]
    assert trace.gpus.tolist() == [2, 2]
    assert trace.epoch == datetime(2024, 5, 1, 9)
    assert trace.cpu is not None
    assert trace.cpu.tolist() == [4, 4]
    assert trace.memory_gib is not None
    assert trace.memory_gib.tolist() == [32, 32]
    assert trace.queue is not None
    assert trace.queue[0] == "gpu"


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"JobID": "9.batch"}, "JobID must be a job (a step)"),
        ({"JobID": "9.0"}, "JobID must be a job (a step)"),
        ({"JobID": "9_2.extern"}, "JobID must be a job (a step)"),
        ({"JobID": "9_[1-9%2]"}, "JobID must be one job (tasks of an array that wait)"),
        ({"JobID": "x"}, "JobID must be like 123, 123_4 or 123+1"),
        ({"Start": "Unknown"}, "Start must be known (a job that has not started)"),
        ({"Start": "None"}, "Start must be known (a job that has not started)"),
        ({"End": "Unknown"}, "End must be known (a job that still runs)"),
        ({"End": DAY + "09:00:10"}, "End - Start must be positive"),
        ({"End": DAY + "08:00:10"}, "End - Start must be positive"),
        ({"AllocTRES": "cpu=8,mem=64G"}, "AllocTRES must name GPUs (a job without)"),
        (
            {"AllocTRES": "gres/gpumem=8G,gres/gpuutil=5"},
            "AllocTRES must name GPUs (a job without)",
        ),
        ({"AllocTRES": "gres/gpu=two"}, "AllocTRES must tell the number of GPUs"),
    ],
)
def test_what_is_no_finished_job_on_gpus_is_counted(tmp_path, given, rule):
    trace = read(tmp_path, ONE, {**row("9", "09:00:00", "09:00:10", "10:00:10"), **given})

    assert trace.id.tolist() == [1]
    assert trace.rejects.counts == {rule: 1}
    assert trace.rejects.first == {rule: (3,)}


def test_a_time_that_is_none_is_counted_and_named(tmp_path):
    broken = {**ALSO, "Submit": "yesterday"}
    trace = read(tmp_path, ONE, broken)

    assert trace.rejects.total == 1
    with pytest.raises(
        ValueError, match=r"jobs.txt, line 3, column 'Submit': 'yesterday' must be a time like"
    ):
        read(tmp_path, ONE, broken, on_bad="error")


def test_array_tasks_and_parts_of_heterogeneous_jobs_are_jobs(tmp_path):
    times = ("09:00:00", "09:00:10", "10:00:10")
    trace = read(tmp_path, row("7_1", *times), row("7_2", *times), row("8+0", *times))

    assert trace.id.tolist() == ["7_1", "7_2", "8+0"]


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


def test_the_types_may_be_those_that_were_asked_for(tmp_path):
    head = (*HEAD, "ReqTRES")
    job = {**ONE, "AllocTRES": "gres/gpu=1,gres/gpu:a100=1", "ReqTRES": "gres/gpu=1"}

    assert read(tmp_path, job, head=head).allowed_types == [("a100",)]
    assert read(tmp_path, job, head=head, gpu_types="requested").allowed_types is None


def test_where_nothing_is_allocated_the_request_counts(tmp_path):
    head = (*HEAD[:-1], "ReqTRES", "AllocTRES")
    job = {**ONE, "AllocTRES": "", "ReqTRES": "cpu=4,gres/gpu=4"}

    assert read(tmp_path, job, ALSO, head=head).gpus.tolist() == [4, 2]


def test_the_older_columns_count_gpus_for_each_node(tmp_path):
    head = (*HEAD[:-1], "AllocGRES", "NNodes", "ReqMem", "NCPUS")
    job = {**ONE, "AllocGRES": "gpu:tesla:2(S:0)", "NNodes": "3", "ReqMem": "4Gn", "NCPUS": "12"}
    trace = read(tmp_path, job, {**ALSO, **job, "JobID": "2", "ReqMem": "2Gc"}, head=head)

    assert trace.gpus.tolist() == [6, 6]
    assert trace.allowed_types == [("tesla",), ("tesla",)]
    assert trace.cpu is not None
    assert trace.cpu.tolist() == [2, 2]
    assert trace.memory_gib is not None
    assert trace.memory_gib.tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"AllocGRES counts GPUs for each node, and none of"):
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

    assert trace.estimate_us is not None
    expected = -1 if estimate_s is None else round(estimate_s * 1e6)
    assert trace.estimate_us.tolist() == [expected, 300_000_000]


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

    assert trace.status is not None
    assert trace.status[0] == status


REQUEUED = (
    row("5", "09:00:00", "09:00:30", "09:01:00", State="PREEMPTED"),
    row("5", "09:01:00", "09:02:00", "09:02:05"),
)
JOINED = "JobID must be that of a last attempt (a requeue, joined with it)"


def test_attempts_of_one_job_are_joined(tmp_path):
    trace = read(tmp_path, *REQUEUED, ALSO)

    assert trace.id.tolist() == [5, 2]
    assert trace.submit_s.tolist() == [0, 5]
    assert trace.service_s.tolist() == [35, 60]
    assert trace.source_wait_us is not None
    assert trace.source_wait_us[0] == 30_000_000
    assert trace.status is not None
    assert trace.status[0] == "ok"
    assert trace.rejects.counts == {JOINED: 1}


def test_attempts_may_be_jobs_each(tmp_path):
    trace = read(tmp_path, *REQUEUED, requeues="separate")

    assert trace.id.tolist() == ["5", "5#2"]
    assert trace.service_s.tolist() == [30, 5]
    assert not trace.rejects


@pytest.mark.parametrize("end", ["Unknown", "soon"])
def test_a_job_of_which_an_attempt_has_no_end_is_rejected(tmp_path, end):
    first = {**REQUEUED[0], "End": end}
    trace = read(tmp_path, first, REQUEUED[1], ALSO)

    assert trace.id.tolist() == [2]
    assert trace.rejects.total == 2


def test_a_job_may_arrive_when_it_is_eligible(tmp_path):
    head = (*HEAD, "Eligible")
    jobs = ({**ONE, "Eligible": DAY + "09:00:04"}, {**ALSO, "Eligible": "Unknown"})

    trace = read(tmp_path, *jobs, head=head, arrival="eligible")
    assert trace.submit_s.tolist() == [0, 1]
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [6_000_000, 5_000_000]
    assert read(tmp_path, *jobs, head=head).submit_s.tolist() == [0, 5]


def test_queue_and_group_are_the_columns_that_are_named(tmp_path):
    head = (*HEAD, "QOS", "Account")
    job = {**ONE, "QOS": "high", "Account": "vision"}
    trace = read(tmp_path, job, head=head, queue="QOS")

    assert trace.queue is not None
    assert trace.queue[0] == "high"
    assert trace.group is not None
    assert trace.group[0] == "vision"
    with pytest.raises(ValueError, match=r"line 1: no column 'QoS' for the group; did you mean"):
        read(tmp_path, job, head=head, group="QoS")


@pytest.mark.parametrize("delimiter", ["|", ",", ";", "\t", "^", "@@", " | ", "~|~"])
def test_any_delimiter_is_found_in_the_header(tmp_path, delimiter):
    path = write(tmp_path, [{**ONE, "AllocTRES": "gres/gpu=2"}], delimiter)

    assert len(gs.read_trace(path)) == 1
    assert len(gs.read_trace(path, format="sacct", delimiter=delimiter)) == 1


def test_every_line_may_end_in_a_delimiter(tmp_path):
    path = write(tmp_path, [ONE, ALSO])
    path.write_text(path.read_text().replace("\n", "|\n"))

    assert gs.read_trace(path).service_s.tolist() == [3600, 60]


def test_a_name_may_hold_quotes_and_the_delimiter(tmp_path):
    trace = read(tmp_path, {**ONE, "JobName": 'a|b|"c'}, ALSO)

    assert trace.id.tolist() == [1, 2]
    assert trace.gpus.tolist() == [2, 2]


def test_a_comma_is_not_taken_for_part_of_a_name(tmp_path):
    # It is as likely to stand between the resources: then other columns would be read for these.
    path = write(tmp_path, [{**ONE, "JobName": "train"}], ",")

    with pytest.raises(ValueError, match="holds the delimiter: print with another --delimiter"):
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


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("arrival", "start", "arrival: 'start' must be one of submit, eligible"),
        ("requeues", "no", "requeues: 'no' must be one of join, separate"),
        ("gpu_types", "a100", "gpu_types: 'a100' must be one of allocated, requested, any"),
        ("delimiter", "", "delimiter: '' must be a text"),
        ("arrival", "eligible", "line 1: arrival: 'eligible' needs the column 'Eligible'"),
        ("gpu_types", "requested", "line 1: gpu_types: 'requested' needs the column 'ReqTRES'"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path, option, value, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, ONE, **{option: value})


def test_a_column_is_named_by_a_text(tmp_path):
    with pytest.raises(TypeError, match="group: 5 must be a text"):
        read(tmp_path, ONE, group=5)
