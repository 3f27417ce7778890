"""What a study cannot mean is refused by the name of its field, and what it may name is read."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import gpusched as gs
from gpusched.base.labels import Labels
from gpusched.studies.plan import expand, file_digest, jobs_of
from gpusched.studies.study import StudyCluster, StudyTrace
from tests.each import each
from tests.unit.studies.studies import a_trace, small

PHILLY = {"generate": "philly", "jobs": 20}
TAU = {"option": "tau", "policy": "a-srpt"}


@each(
    ("changes", "message"),
    [
        ({"traces": [{**PHILLY, "jobs": []}]}, r"jobs: at least one is needed.*\$.traces\[0\]"),
        ({"traces": [{"file": []}]}, r"file: at least one is needed.*\$.traces\[0\]"),
        ({"traces": [{**PHILLY, "sample": 1.5}]}, "sample: 1.5 must be above 0 and at most 1"),
        ({"traces": [{**PHILLY, "member": "a"}]}, "member: belongs to a file, and not to generate"),
        ({"traces": [{"trace": 3}]}, "trace: expected a Trace, not 3"),
        ({"clusters": [{"gpus": 8}]}, "servers, file or cluster: one of them .* neither is given"),
        (
            {"clusters": [{"servers": 4, "gpus": 8, "file": "a.toml"}]},
            "servers, file or cluster: one of them is needed, servers and file are given",
        ),
        (
            {"clusters": [{"servers": [{"count": 1, "gpus": 4}], "nic_gbps": 10.0}]},
            "nic_gbps: belongs to a number of equal servers",
        ),
        ({"clusters": [{"cluster": 3}]}, "cluster: expected a Cluster, not 3"),
        ({"parameters": [{**TAU, "values": []}]}, "values: at least one is needed"),
        ({"parameters": [{**TAU, "values": [1, 1]}]}, "values: one value is listed twice"),
        (
            {"policies": ["a-srpt"], "parameters": [{**TAU, "values": [1], "name": "seeds"}]},
            r"'seeds' is the name of another axis - at `\$.parameters\[0\].name`",
        ),
        ({"name": "n" * 300}, "name: 300 characters are more than"),
        ({"policies": [{"tau": 1.0}]}, r"policy: the name is missing in \{'tau': 1.0\}"),
        ({"policies": [{"policy": "fifo", "label": " "}]}, "label: ' ' must be text"),
        ({"policies": [{"policy": 3, "tau": 1.0}]}, "options go with a name, not with 3"),
        ({"policies": [gs.Order]}, r"; give an instance of it: Order\(\)"),
    ],
)
def test_a_study_that_cannot_be_meant_is_refused(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        expand(gs.Study.of(small(**changes)))


def test_a_study_of_too_many_runs_is_refused(monkeypatch):
    monkeypatch.setattr(sys.modules[expand.__module__], "MOST_RUNS", 7)
    with pytest.raises(ValueError, match="study small: has more than 7 runs"):
        expand(gs.Study.of(small()))


def jobs_with(trace: gs.Trace, **fields: Any) -> gs.Trace:
    """Return the jobs of a run with seed 3."""
    recipe: Any = SimpleNamespace(jobs=fields.get("jobs"), window=None, load=None, seed=3)
    return jobs_of(StudyTrace(trace=trace, **fields), trace, None, recipe)


def test_given_jobs_are_cut_and_given_what_the_study_names(tmp_path):
    trace = a_trace()
    assert jobs_with(trace, jobs=7).service_us.tolist() == trace.service_us[:7].tolist()
    models = tuple(gs.model.zoo().values())
    (tmp_path / "two.json").write_bytes(msgspec.json.encode({"profiles": models[:2]}))
    for named, known in (("zoo", models), (str(tmp_path / "two.json"), models[:2])):
        found, drawn = jobs_with(trace, profiles=named), trace.with_profiles(known, seed=3)
        assert found.profiles == drawn.profiles
        assert found.profile.tolist() == drawn.profile.tolist()
    due = jobs_with(trace, deadlines={"tightness": 2.0})
    assert (
        due.deadline_us.tolist() == trace.with_deadlines(tightness=2.0, seed=3).deadline_us.tolist()
    )
    groups = dataclasses.replace(trace, group=Labels.of([models[0].name] * len(trace)))
    assert set(jobs_with(groups, profiles="zoo").profile.tolist()) == {0}


def test_equal_servers_may_stand_in_racks_and_a_cluster_in_a_file(tmp_path):
    racks = StudyCluster(servers=4, gpus=8, nic_gbps=10.0, servers_per_rack=2, oversubscription=2.0)
    equal = gs.Cluster.uniform(4, 8, nic_gbps=10.0)
    assert racks.made().domains == equal.with_racks(2, 2.0).domains
    path = tmp_path / "cluster.toml"
    path.write_text(equal.to_toml())
    assert StudyCluster(file=str(path)).made().servers == equal.servers


def test_the_content_of_a_folder_is_that_of_its_files_and_names(tmp_path):
    for name, inner in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name / "in").mkdir(parents=True)
        (tmp_path / name / "in" / inner).write_text("1")
    digests = [file_digest(tmp_path / name) for name in "abc"]
    assert digests[0] == digests[1] != digests[2]
    (tmp_path / "b" / "in" / "x").write_text("2")
    assert file_digest(tmp_path / "b") != digests[0]
