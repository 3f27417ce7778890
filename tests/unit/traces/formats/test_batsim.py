"""The reader of Batsim's workloads, and what a JSON document must be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace

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
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [100_000_000, 4_000_000, -1]
    assert trace.status is not None
    assert trace.status.values().tolist() == ["ok", "killed", "failed"]
    assert trace.group is not None
    assert trace.group.values().tolist() == ["d", "d", "new"]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"profile": "p"}, "profile must be a delay (others need a platform)"),
        ({"profile": "?"}, "profile must be one of the file's profiles"),
        ({"profile": ["d"]}, "profile must be one of the file's profiles"),
        ({"profile": "bad"}, "delay must be a number"),
        ({"profile": "none"}, "delay must be there"),
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
    message = r"workload.json, line 10, column 'profile': 'p' must be a delay"
    with pytest.raises(ValueError, match=message):
        read(tmp_path, job("a"), job("b", profile="p"), on_bad="error")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"line 1, character 2: expected a name"),
        ("{}", r"no array 'jobs' in the object"),
        ('{"jobs": 3}', r"no array 'jobs' in the object"),
        ('{"jobs": []}', r"the array 'jobs' is empty"),
        ('{"jobs": [3], "profiles": {}}', r"line 1: an entry of 'jobs' must be an object"),
        ('{"jobs": [{}]\n, "jobs": [{}]}', r"line 2, character 11: 'jobs' occurs beside 'jobs'"),
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
