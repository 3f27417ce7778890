"""A run is named by all that decides it, and by nothing else."""

from __future__ import annotations

from typing import Any

import gpusched as gs
from gpusched.studies.plan import expand
from tests.each import each
from tests.unit.studies.studies import NarrowFirst, a_trace, small


def names(**changes: Any) -> list[str]:
    return expand(gs.Study.of(small(**changes))).names


def test_runs_that_differ_have_names_that_differ():
    found = names()
    assert len(set(found)) == len(found) == 8
    assert names() == found


@each(
    "changes",
    [
        {"title": "another", "name": "other"},
        {"policies": [{"policy": "fifo", "label": "F"}, "srtf"]},
        {"policies": ["fifo:scan=strict", "srtf"]},  # as it is by default
        {"clusters": [{"servers": 4, "gpus": 8, "label": "small"}]},
        {"clusters": [gs.Cluster.uniform(4, 8, name="another")]},
        {"baseline": "srtf", "metrics": ["mean_jct_s"]},
    ],
)
def test_what_decides_nothing_is_not_in_them(changes):
    assert names(**changes) == names()


@each(
    "changes",
    [
        {"policies": ["fifo:scan=skip", "sjf"]},
        {"placements": ["count"]},
        {"predictors": ["noise"]},
        {"seeds": [3, 4]},
        {"warm_up_s": 1.0},
        {"tail_s": 1.0},
        {"clusters": [{"servers": 5, "gpus": 8}]},
        {"clusters": [{"servers": 4, "gpus": 8, "gpu_type": "V100"}]},
        {"traces": [{"generate": "philly", "jobs": 61, "loads": [0.7, 0.9]}]},
        {"traces": [{"generate": "helios", "jobs": 60, "loads": [0.7, 0.9]}]},
        {"traces": [{"generate": "philly", "jobs": 60, "loads": [0.71, 0.91]}]},
        {"traces": [{"generate": "philly", "jobs": 60, "loads": [0.7], "filter": "gpus > 1"}]},
    ],
)
def test_what_decides_a_run_is(changes):
    assert not set(names(**changes)) & set(names())


def test_a_file_is_known_by_its_content(tmp_path):
    one, other = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("submit_s,service_s,gpus\n0,60,1\n5,60,2\n")
    other.write_text(one.read_text())
    before = names(traces=[{"file": str(one)}])
    assert names(traces=[{"file": str(other), "label": "x"}]) == before
    other.write_text(one.read_text().replace("60,2", "61,2"))
    assert not set(names(traces=[{"file": str(other)}])) & set(before)


def test_objects_are_known_by_what_they_hold():
    assert names(traces=[a_trace()]) == names(traces=[a_trace()])
    assert not set(names(traces=[a_trace()])) & set(names(traces=[a_trace(seed=1)]))
    assert names(policies=[NarrowFirst()]) == names(policies=[NarrowFirst()])
    assert not set(names(policies=[NarrowFirst()])) & set(names(policies=[NarrowFirst(-1.0)]))


def test_another_code_gives_other_names(monkeypatch):
    before = names()
    monkeypatch.setattr("gpusched._core.__version__", "another")
    assert not set(names()) & set(before)
