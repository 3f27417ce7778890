"""Standard logs and workloads: SWF and Batsim."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from tests.each import each
from tests.unit.real_data import DATA, counted

TEXT = """\
; Computer: a test
;   UnixStartTime: 1272639895
;
 1    10     5   100    8  -1 -1    16   200 -1  1  3  4 -1  2 -1 -1 -1

 2     7    -1    50   -1  -1 -1     4    -1 -1  5 -1  4 -1  2 -1 -1 -1
 3    12     0    -1    4  -1 -1     4    -1 -1  0  3  4 -1 -1 -1 -1 -1
"""


def test_processors_are_read_as_gpus_and_missing_values_are_known_as_such(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(TEXT)

    trace = read_trace(path)

    assert trace.id.tolist() == [2, 1]
    assert trace.row.tolist() == [6, 4]
    assert trace.gpus.tolist() == [4, 8]
    assert trace.estimate_us.tolist() == [-1, 200_000_000]
    assert trace.source_wait_us.tolist() == [-1, 5_000_000]
    assert trace.user.values().tolist() == ["", "3"]
    assert trace.status.values().tolist() == ["killed", "ok"]
    assert trace.epoch == datetime.fromtimestamp(1272639895 + 7, tz=UTC)
    assert trace.rejects.first == {"run_time must be positive": (7,)}


def test_the_requested_processors_and_several_processors_per_gpu_are_options(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(TEXT)
    assert read_trace(path, processors="requested").gpus.tolist() == [4, 16]
    assert read_trace(path, processors_per_gpu=3).gpus.tolist() == [2, 3]
    assert "allocated processors as GPUs, 3 each" in read_trace(path, processors_per_gpu=3).source
    with pytest.raises(ValueError, match="processors: 'all' must be one of allocated, requested"):
        read_trace(path, processors="all")
    with pytest.raises(ValueError, match="processors_per_gpu: 0 must be at least 1"):
        read_trace(path, processors_per_gpu=0)
    with pytest.raises(TypeError, match="processors_per_gpu: True must be an integer"):
        read_trace(path, processors_per_gpu=True)


def test_the_archive_log_has_the_counted_jobs_and_rejects():
    trace = read_trace(DATA / "swf" / "RICC-2010-first20000.swf.gz")
    num_jobs, rejected = counted(real=(19_991, 9), excerpt=(95, 5))
    assert len(trace) == num_jobs
    assert trace.rejects.counts == {"run_time must be positive": rejected}
    assert trace.gpus.max() == 4_096
    counts = dict(zip(trace.status.names, trace.status.counts().tolist(), strict=True))
    assert counts == counted(real={"ok": 18_510, "killed": 1_481}, excerpt={"ok": 85, "killed": 10})
    assert trace.epoch == datetime.fromtimestamp(1272639895, tz=UTC)
    assert trace.estimate_us is not None
    assert (trace.estimate_us > 0).all()


def test_nodes_may_have_gpus_that_their_processors_share(tmp_path):
    path = tmp_path / "small.swf"
    rows = [f"{n + 1} 0 0 10 {p} -1 -1 {p} -1 -1 1 1 1 1 1 1 -1 -1\n" for n, p in enumerate(WIDTHS)]
    head = "; MaxNodes: 50 (of two kinds)\n;MaxProcs:  800\n"
    path.write_text(head + "".join(rows))
    trace = read_trace(path, gpus_per_node=4)
    assert trace.gpus.tolist() == [1, 1, 2, 4, 5, 8]
    assert "processors as GPUs, 4 for each node of 16" in trace.source
    assert read_trace(path).gpus.tolist() == WIDTHS


WIDTHS = [1, 4, 5, 16, 17, 32]


@pytest.mark.parametrize(
    ("head", "options", "error", "message"),
    [
        ("", {"gpus_per_node": 4}, ValueError, "small.swf: gpus_per_node needs MaxNodes and"),
        ("; MaxNodes: 0\n; MaxProcs: 8\n", {"gpus_per_node": 4}, ValueError,
         "needs MaxNodes and MaxProcs, above 0"),
        ("; MaxNodes: 3\n; MaxProcs: 8\n", {"gpus_per_node": 4}, ValueError,
         "MaxProcs 8 must be a multiple of MaxNodes 3; name processors_per_gpu"),
        ("", {"gpus_per_node": 4, "processors_per_gpu": 2}, ValueError,
         "processors_per_gpu: cannot be combined with gpus_per_node"),
        ("", {"gpus_per_node": 0}, ValueError, "gpus_per_node: 0 must be at least 1"),
        ("", {"gpus_per_node": "4"}, TypeError, "gpus_per_node: '4' must be an integer"),
    ],
)  # fmt: skip
def test_what_the_header_does_not_tell_of_nodes_is_an_error(
    tmp_path, head, options, error, message
):
    path = tmp_path / "small.swf"
    path.write_text(head + "1 0 0 10 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(error, match=message):
        read_trace(path, **options)


PROFILES = {
    "d": {"type": "delay", "delay": 10},
    "new": {"type": "DelayProfile", "delay": 20.25, "ret": 1},
    "p": {"type": "parallel_homogeneous", "cpu": 1e10, "com": 0},
    "bad": {"type": "delay", "delay": "ten"},
    "none": {"type": "delay"},
}


def write(folder: Path, *jobs: object, **given: Any) -> Path:
    path = folder / "workload.json"
    document = {"nb_res": 4, "jobs": list(jobs), "profiles": PROFILES, **given}
    path.write_text(json.dumps(document, indent=1))
    return path


def job(name: object, **given: Any) -> dict[str, Any]:
    return {"id": name, "subtime": 0, "res": 1, "profile": "d", **given}


def read(folder: Path, *jobs: object, **options: Any) -> Trace:
    return read_trace(write(folder, *jobs), **options)


def test_a_delay_is_a_run_time_and_the_wall_time_cuts_it(tmp_path):
    trace = read(
        tmp_path,
        job(1, subtime=5, walltime=100, res=3),
        job(2, subtime=6.5, walltime=4),
        job(3, subtime=7, walltime=-1, profile="new"),
    )

    assert trace.id.tolist() == [1, 2, 3]
    assert trace.submit_s.tolist() == [0, 1.5, 2]
    assert trace.service_s.tolist() == [10, 4, 20.25]
    assert trace.gpus.tolist() == [3, 1, 1]
    assert trace.estimate_us.tolist() == [100_000_000, 4_000_000, -1]
    assert trace.status.values().tolist() == ["ok", "killed", "failed"]
    assert trace.group.values().tolist() == ["d", "d", "new"]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"profile": "p"}, "profile must consist of delays (other profiles need a platform)"),
        ({"profile": "?"}, "profile must be one of the file's profiles"),
        ({"profile": ["d"]}, "profile must be one of the file's profiles"),
        ({"profile": "bad"}, "delay must be a number"),
        ({"profile": "none"}, "delay must not be missing"),
        ({"res": 0}, "res must be positive"),
        ({"res": 1.5}, "res must be a whole number"),
        ({"res": True}, "res must be a number"),
        ({"res": 10**400}, "res must be a finite number"),
        ({"subtime": "now"}, "subtime must be a number"),
        ({"subtime": None}, "subtime must be a finite number"),
        ({"subtime": 1e300}, "subtime must be at most 2305843009214 s"),
        ({"walltime": []}, "walltime must be a number"),
        ({"id": None}, "id must be a text or a number"),
    ],
)
def test_a_job_without_a_run_time_is_counted(tmp_path, given, rule):
    trace = read(tmp_path, job("a"), job("b", **given))
    assert trace.id.tolist() == ["a"]
    assert trace.rejects.counts == {rule: 1}
    assert trace.rejects.first == {rule: (10,)}
    assert trace.rejects.unit == "line"


def test_the_first_bad_job_is_named_with_its_line(tmp_path):
    message = r"workload.json, line 10, column 'profile': 'p' must consist of delays"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, job("a"), job("b", profile="p"), on_bad="error")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"line 1, character 2: expected a name"),
        ("{}", r"the object has no array 'jobs'"),
        ('{"jobs": 3}', r"the object has no array 'jobs'"),
        ('{"jobs": []}', r"the array 'jobs' is empty"),
        ('{"jobs": [3], "profiles": {}}', r"line 1: an entry of 'jobs' must be an object"),
        ('{"jobs": [{}]\n, "jobs": [{}]}', r"line 2, character 11: 'jobs' next to 'jobs'"),
        ('{"jobs": [{}]}', r"'profiles' must be an object"),
        ('{"jobs": [{}], "profiles": []}', r"'profiles' must be an object"),
        ('{"jobs": [{}], "profiles": {}} x', r"character 32: text after the end"),
        ('{"jobs": [{}] "profiles": {}}', r"character 15: expected ','"),
        ("{3: [{}]}", r"character 2: expected a name"),
        ("[]", r"character 1: expected '{'"),
        ('{"a": ' + "[" * 100_000, r"nested too deeply"),
        ('{"jobs": [' + '{"a":' * 100_000, r"nested too deeply"),
    ],
)
def test_a_document_of_another_shape_is_an_error_that_names_the_place(tmp_path, text, message):
    path = tmp_path / "workload.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"workload.json.*{message}"):
        read_trace(path, format="batsim")


SEQUENCE = {"type": "composed"}


@each(
    ("profiles", "service_s"),
    [
        ({"p": SEQUENCE | {"repeat": 2, "seq": ["d", "d"]}}, 40),
        (
            {
                "p": {"type": "composed", "seq": ["q", "d"]},
                "q": {"type": "composed", "seq": ["d"] * 3},
            },
            40,
        ),
        ({"p": SEQUENCE | {"seq": ["p", "p"]}}, None),  # part of itself
        ({"p": SEQUENCE | {"seq": ["d", "m"]}, "m": {"type": "parallel"}}, None),
    ],
)
def test_a_sequence_of_delays_needs_no_platform(profiles, service_s, tmp_path):
    jobs = [{"id": n, "subtime": 0, "res": 1, "profile": p} for n, p in ((1, "p"), (2, "d"))]
    path = tmp_path / "w.json"
    delay = {"d": {"type": "delay", "delay": 10}}
    path.write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles | delay}))
    trace = read_trace(path, on_bad="reject")
    assert trace.service_s.tolist() == [10 if service_s is None else service_s, 10][-len(trace) :]
    assert trace.rejects.total == (service_s is None)
