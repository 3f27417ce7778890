"""The description of a study: strict, and the same in TOML, JSON and Python."""

from __future__ import annotations

import pickle

import pytest

import gpusched as gs
from tests.each import each
from tests.unit.studies.studies import NarrowFirst, a_trace, small

FULL = """
name = "full"
title = "All there is"
seeds = [3, 1]
policies = ["fifo", { policy = "a-srpt", label = "A", tau = 0.5 }]
placements = ["consolidated", "count"]
metrics = ["mean_jct_s"]
baseline = "fifo"
warm_up_s = 10.0
zip = [["traces", "clusters"]]

[[traces]]
generate = "philly"
jobs = [50, 60]
loads = [0.7, 0.9]
deadlines = { tightness = 2.0 }

[[traces]]
file = "jobs.csv"
columns = { service_s = "length" }
filter = "gpus >= 2"
windows = [{ from = 0.0, to = 100.0, label = "first" }, { from = 100.0 }]

[[clusters]]
servers = 4
gpus = 8
nic_gbps = 100.0

[[clusters]]
name = "mixed"
servers = [{ count = 2, gpus = 8, gpu_type = "V100" }, { count = 1, gpus = 4 }]

[[parameters]]
option = "tau"
policy = "a-srpt"
values = [0.5, 1.0]

[[runs]]
policy = "fifo"

[[runs]]
policy = "A"
tau = [0.5]
"""


def test_it_is_the_same_in_toml_json_and_python():
    study = gs.Study.from_toml(FULL)
    assert gs.Study.from_toml(study.to_toml()) == study
    assert gs.Study.from_json(study.to_json()) == study
    assert gs.Study.of(study.to_dict()) == study
    assert gs.Study.of(study) is study
    assert pickle.loads(pickle.dumps(study)) == study


def test_what_is_as_by_default_is_not_written():
    assert gs.Study.of(small()).to_dict().keys() == small().keys()


@each(
    ("old", "new", "message"),
    [
        ("title", "tilte", r"unknown field `tilte`; did you mean 'title'\? - at `\$`"),
        ("loads", "lods", r"`lods`; did you mean 'loads'\? - at `\$.traces\[0\]`"),
        ("option", "optoin", r"`optoin`; did you mean 'option'\? - at `\$.parameters\[0\]`"),
        ("{ count = 2", "{ cout = 2", r"did you mean 'count'\? - at `\$.clusters\[1\].servers\["),
        ("seeds = [3, 1]", "qqq = 3", r"`qqq`; known: name, traces, .*, runs - at `\$`"),
        ("count = 2", 'count = "2"', r"Expected `int`, got `str` - at `\$.clusters\[1\].servers"),
        ('generate = "philly"', 'generate = "phily"', r"did you mean 'philly'.*\$.traces\[0\]"),
        ("jobs = [50, 60]", "jobs = [50, 50]", r"jobs: one value is listed twice"),
        ("jobs = [50, 60]", "jobs = 0", r"jobs: 0 must lie in 1.*\$.traces\[0\]"),
        ("jobs = [50, 60]\n", "", r"jobs: a number is needed"),
        ("loads = [0.7, 0.9]", "loads = [0.7, -1.0]", r"loads: -1.0 must be finite and positive"),
        ('file = "jobs.csv"', "", r"neither is given.*\$.traces\[1\]"),
        ('file = "jobs.csv"', 'file = "jobs.csv"\ngenerate = "itp"\njobs = 2', "generate and file"),
        ("seeds = [3, 1]", "seeds = [3, 3]", r"seeds: one is listed twice"),
        ("seeds = [3, 1]", "seeds = [-1]", r"-1 must lie in 0.*\$.seeds\[0\]"),
        ("seeds = [3, 1]", "seeds = []", r"at least one is needed - at `\$.seeds`"),
        ("warm_up_s = 10.0", "warm_up_s = -1.0", r"warm_up_s: -1.0 must lie in 0"),
        ('metrics = ["mean_jct_s"]', 'metrics = ["mean_jct"]', r"did you mean.*\$.metrics\[0\]"),
        ("gpus = 8\nnic", "nic", r"gpus: how many.*\$.clusters\[0\]"),
        ('policy = "a-srpt"\nvalues', "values", r"one of them is needed.*\$.parameters\[0\]"),
        ('name = "full"', 'name = " "', r"name: ' ' must not be empty"),
    ],
)
def test_a_mistake_is_named_with_its_path(old, new, message):
    assert old in FULL
    with pytest.raises(ValueError, match=f"(?s)study.toml.*{message}"):
        gs.Study.from_toml(FULL.replace(old, new, 1), "study.toml")


def test_a_study_needs_traces_and_clusters():
    for field in ("traces", "clusters"):
        with pytest.raises(ValueError, match=rf"at least one is needed - at `\$.{field}`"):
            gs.Study.of(small(**{field: []}))


def test_objects_of_python_are_taken_and_not_written():
    trace, cluster = a_trace(), gs.Cluster.uniform(4, 8, name="own")
    study = gs.Study.of(small(traces=[trace], clusters=[cluster], policies=["fifo", NarrowFirst()]))
    assert study.traces[0].trace is trace
    assert study.clusters[0].made() is cluster
    with pytest.raises(ValueError, match=r"small: cannot be written: .* is an object of Python"):
        study.to_toml()


def test_files_are_looked_for_beside_the_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(FULL)
    assert gs.Study.read(path).traces[1].file == str(tmp_path / "jobs.csv")
    (tmp_path / "study.json").write_text(gs.Study.from_toml(FULL).to_json())
    assert gs.Study.read(tmp_path / "study.json") == gs.Study.read(path)
    with pytest.raises(TypeError, match="expected a Study, a mapping or a file, not 3"):
        gs.Study.of(3)
