"""A study: read, expanded to runs that are named by all that decides them, dealt out in batches."""

import dataclasses
import pickle
import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

import gpusched as gs
from gpusched.base.labels import Labels
from gpusched.studies.plan import Plan, expand, file_digest, jobs_of
from gpusched.studies.study import Study, StudyCluster, StudyTrace, warm_up_time
from gpusched.studies.sweep import Batch, batches, side_by_side
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
        ("jobs = [50, 60]\n", "", r"jobs: a number must be given"),
        ("loads = [0.7, 0.9]", "loads = [0.7, -1.0]", r"loads: -1.0 must be finite and positive"),
        ('file = "jobs.csv"', "", r"neither is given.*\$.traces\[1\]"),
        ('file = "jobs.csv"', 'file = "jobs.csv"\ngenerate = "itp"\njobs = 2', "generate and file"),
        ("seeds = [3, 1]", "seeds = [3, 3]", r"seeds: one is listed twice"),
        ("seeds = [3, 1]", "seeds = [-1]", r"-1 must lie in 0.*\$.seeds\[0\]"),
        ("seeds = [3, 1]", "seeds = []", r"at least one is needed - at `\$.seeds`"),
        ("warm_up_s = 10.0", "warm_up_s = -1.0", r"warm_up_s: -1.0 must lie in 0"),
        ('metrics = ["mean_jct_s"]', 'metrics = ["mean_jct"]', r"did you mean.*\$.metrics\[0\]"),
        ("gpus = 8\nnic", "nic", r"gpus: number of GPUs.*\$.clusters\[0\]"),
        ('policy = "a-srpt"\nvalues', "values", r"one of them is needed.*\$.parameters\[0\]"),
        ('name = "full"', 'name = " "', r"name: ' ' must not be empty"),
    ],
)
def test_a_mistake_is_named_with_its_path(old, new, message):
    assert old in FULL
    with pytest.raises(ValueError, match=f"(?s)study.toml.*{message}"):
        gs.Study.from_toml(FULL.replace(old, new, 1), "study.toml")


def test_a_study_states_speeds_of_types_and_on_which_one_run_times_are(tmp_path):
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "V100"), gs.ServerGroup(1, 4, "A100", speed=3)))
    (tmp_path / "two.toml").write_text(cluster.to_toml())
    study = Study.from_toml(f"""
        name = "speeds"
        seeds = [1]
        [[traces]]
        generate = "philly"
        jobs = 5
        reference_type = "V100"
        [[clusters]]
        file = "{tmp_path / "two.toml"}"
        speeds = {{ A100 = 2.1 }}
        [[clusters]]
        servers = [{{ count = 1, gpus = 4, gpu_type = "V100", speed = 0.5 }}]
    """)
    plan = expand(study)
    assert plan.clusters[0] == cluster.with_speeds({"A100": 2.1})
    assert plan.clusters[1].speeds == {"V100": 0.5}
    jobs = jobs_of(study.traces[0], None, plan.clusters[0], plan.runs[0].recipe)
    assert jobs.reference_type == "V100"
    other = expand(Study.from_toml(study.to_toml().replace("2.1", "2.2")))
    assert [a == b for a, b in zip(plan.names, other.names, strict=True)] == [False, True]


def test_a_study_needs_traces_and_clusters():
    for field in ("traces", "clusters"):
        with pytest.raises(ValueError, match=rf"at least one is needed - at `\$.{field}`"):
            gs.Study.of(small(**{field: []}))


def test_objects_of_python_are_taken_and_not_written():
    trace, cluster = a_trace(), gs.Cluster.uniform(4, 8, name="own")
    study = gs.Study.of(small(traces=[trace], clusters=[cluster], policies=["fifo", NarrowFirst()]))
    assert study.traces[0].trace is trace
    assert study.clusters[0].made() is cluster
    with pytest.raises(ValueError, match=r"small: cannot be written: .* is a Python object"):
        study.to_toml()


def test_files_are_looked_for_beside_the_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(FULL)
    assert gs.Study.read(path).traces[1].file == str(tmp_path / "jobs.csv")
    (tmp_path / "study.json").write_text(gs.Study.from_toml(FULL).to_json())
    assert gs.Study.read(tmp_path / "study.json") == gs.Study.read(path)
    with pytest.raises(TypeError, match="expected a Study, a mapping or a file, not 3"):
        gs.Study.of(3)


PHILLY = {"generate": "philly", "jobs": 20}
TAU = {"option": "tau", "policy": "a-srpt"}


@each(
    ("changes", "message"),
    [
        ({"traces": [{**PHILLY, "jobs": []}]}, r"jobs: at least one is needed.*\$.traces\[0\]"),
        ({"traces": [{"file": []}]}, r"file: at least one is needed.*\$.traces\[0\]"),
        ({"traces": [{**PHILLY, "sample": 1.5}]}, "sample: 1.5 must be positive and at most 1"),
        ({"traces": [{**PHILLY, "member": "a"}]}, "member: only for a file, not for generate"),
        ({"traces": [{"trace": a_trace(), "model": 1}]}, "model: only for generate, not for a"),
        ({"traces": [{"trace": 3}]}, "trace: expected a Trace, not 3"),
        ({"clusters": [{"gpus": 8}]}, "servers, file or cluster: exactly one .* neither is given"),
        ({"clusters": [{"servers": 4, "gpus": 8, "file": "a.toml"}]},
         "servers, file or cluster: exactly one is needed, servers and file are given"),
        ({"clusters": [{"servers": [{"count": 1, "gpus": 4}], "nic_gbps": 10.0}]},
         "nic_gbps: only for a number of equal servers"),
        ({"clusters": [{"cluster": 3}]}, "cluster: expected a Cluster, not 3"),
        ({"parameters": [{**TAU, "values": []}]}, "values: at least one is needed"),
        ({"parameters": [{**TAU, "values": [1, 1]}]}, "values: one value is listed twice"),
        ({"policies": ["a-srpt"], "parameters": [{**TAU, "values": [1], "name": "seeds"}]},
         r"'seeds' is the name of another axis - at `\$.parameters\[0\].name`"),
        ({"name": "n" * 300}, "name: 300 characters, must be at most"),
        ({"policies": [{"tau": 1.0}]}, r"policy: name missing in \{'tau': 1.0\}"),
        ({"policies": [{"policy": "fifo", "label": " "}]}, "label: ' ' must be a non-empty string"),
        ({"policies": [{"policy": 3, "tau": 1.0}]}, "options must go with a name, not with 3"),
        ({"policies": [gs.Order]}, r"; give an instance: Order\(\)"),
    ],
)  # fmt: skip
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


def expanded(**changes: Any) -> Plan:
    return expand(gs.Study.of(small(**changes)))


def rows(**changes: Any) -> list[dict[str, Any]]:
    plan = expanded(**changes)
    return [plan.labels(run) for run in plan.runs]


def test_axes_are_crossed():
    found = {(row["load"], row["policy"], row["seed"]) for row in rows()}
    assert found == {
        (load, policy, seed)
        for load in (0.7, 0.9)
        for policy in ("fifo", "srtf")
        for seed in (1, 2)
    }
    assert len(expanded().runs) == 8


def test_runs_of_the_same_jobs_stand_together():
    changes = {"clusters": [{"servers": 4, "gpus": 8}, {"servers": 8, "gpus": 8}]}
    for trace in ({"generate": "philly", "jobs": [50, 60], "loads": [0.7, 0.9]}, a_trace()):
        names = [run.recipe.name for run in expanded(traces=[trace], **changes).runs]
        blocks = [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]
        assert len(blocks) == len(set(names))


def test_all_policies_have_the_same_jobs_of_a_seed():
    by_seed: dict[Any, set[str]] = {}
    for run in expanded().runs:
        by_seed.setdefault((run.load, run.seed), set()).add(run.recipe.name)
    assert [len(names) for names in by_seed.values()] == [1] * len(set.union(*by_seed.values()))


def test_given_jobs_are_the_same_for_all_seeds_and_clusters_unless_a_load_is_set():
    two = {"clusters": [{"servers": 4, "gpus": 8}, {"servers": 8, "gpus": 8}]}
    assert len({run.recipe.name for run in expanded(traces=[a_trace()], **two).runs}) == 1
    loaded = {"trace": a_trace(), "loads": [0.8]}
    assert len({run.recipe.name for run in expanded(traces=[loaded], **two).runs}) == 2
    sampled = {"trace": a_trace(), "sample": 0.5}
    assert len({run.recipe.name for run in expanded(traces=[sampled], **two).runs}) == 2


def test_zipped_axes_are_walked_together():
    found = rows(zip=[["seeds", "policies"]])
    assert {(row["seed"], row["policy"]) for row in found} == {(1, "fifo"), (2, "srtf")}
    assert len(found) == 4


@each(
    ("zip", "message"),
    [
        ([["seeds", "polices"]], r"unknown axis 'polices'; did you mean 'policies'"),
        ([["seeds", "clusters"]], r"equally long: seeds has 2, clusters has 1"),
        ([["seeds"]], r"at least two axes must be zipped"),
        ([["seeds", "seeds"]], r"'seeds' is zipped twice"),
        ([["seeds", "policies"], ["policies", "seeds"]], r"zipped twice - at `\$.zip\[1\]`"),
    ],
)
def test_a_wrong_group_is_named(zip, message):
    with pytest.raises(ValueError, match=message):
        expanded(zip=zip)


def test_listed_runs_are_those_alone():
    found = rows(runs=[{"policy": "fifo", "load": 0.7}, {"policy": "srtf", "seed": [2]}])
    assert {(row["policy"], row["load"], row["seed"]) for row in found} == {
        ("fifo", 0.7, 1), ("fifo", 0.7, 2), ("srtf", 0.7, 2), ("srtf", 0.9, 2),
    }  # fmt: skip
    assert len(found) == 4


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([{"polcy": "fifo"}], r"unknown axis 'polcy'; did you mean 'policy'.*\$.runs\[0\]"),
        ([{"policy": "sjf"}], r"policy: 'sjf' is not in the study"),
        ([{"load": 0.7}, {"load": 0.8}], r"load: 0.8 is not in the study.*\$.runs\[1\]"),
    ],
)
def test_a_wrong_list_is_named(runs, message):
    with pytest.raises(ValueError, match=message):
        expanded(runs=runs)


def test_a_parameter_is_an_axis_of_the_policies_that_have_it():
    axis = {"option": "tau", "policy": "a-srpt", "values": [0.25, 0.5, 1.0]}
    plan = expanded(policies=["fifo", "a-srpt"], parameters=[axis], seeds=[1])
    found = [(row["policy"], row["tau"]) for row in map(plan.labels, plan.runs)]
    assert sorted(set(found), key=str) == [
        ("a-srpt", 0.25), ("a-srpt", 0.5), ("a-srpt", 1.0), ("fifo", None),
    ]  # fmt: skip
    assert len(found) == 2 * 4
    choices = {str(plan.choice(run, 0)) for run in plan.runs}
    assert choices == {"fifo", "a-srpt:tau=0.25", "a-srpt:tau=0.5", "a-srpt:tau=1"}


@each(
    ("changes", "message"),
    [
        ({"policies": ["fifo", "fifo"]}, r"'fifo' is listed twice.*\$.policies\[1\]"),
        ({"policies": ["fifo", "sjff"]}, r"unknown policy 'sjff'.*\$.policies\[1\]"),
        ({"policies": [{"policy": "fifo", "tau": 1}]}, r"unknown parameter 'tau'"),
        ({"policies": [{"label": "x"}]}, r"policy: name missing"),
        ({"placements": ["consolidatd"]}, r"did you mean 'consolidated'.*\$.placements\[0\]"),
        ({"baseline": "sjf"}, r"'sjf': not a policy of the study.*\$.baseline"),
        ({"clusters": [{"servers": 4, "gpus": 8}] * 2}, r"two are called.*\$.clusters\[1\].label"),
        (
            {"parameters": [{"option": "tau", "policy": "a-srpt", "values": [1.0]}]},
            r"policy 'a-srpt' is not in the study: fifo, srtf",
        ),
    ],
)
def test_a_wrong_entry_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        expanded(**changes)


def test_a_class_in_place_of_an_object_is_named():
    with pytest.raises(TypeError, match=r"give an instance: NarrowFirst\(\)"):
        expanded(policies=[NarrowFirst])


def test_labels_stand_for_entries():
    found = rows(
        policies=[{"policy": "fifo", "label": "first"}, NarrowFirst(), NarrowFirst(-1.0)],
        clusters=[gs.Cluster.uniform(4, 8, name="own")],
    )
    labels = {row["policy"] for row in found}
    assert "first" in labels
    assert len(labels) == 3
    assert {row["cluster"] for row in found} == {"own"}


def names(**changes: Any) -> list[str]:
    return expand(gs.Study.of(small(**changes))).names


GENERATED = small()["traces"][0]


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
        {"traces": [GENERATED | {"jobs": 61}]},
        {"traces": [GENERATED | {"generate": "helios"}]},
        {"traces": [GENERATED | {"model": 2}]},
        {"traces": [GENERATED | {"loads": [0.71, 0.91]}]},
        {"traces": [GENERATED | {"loads": [0.7], "filter": "gpus > 1"}]},
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


def planned(num_jobs: int) -> list[Batch]:
    """Return the batches of eight runs on four recipes, of which each has so many jobs."""
    plan = expand(Study.of(small()))
    left = list(zip(plan.names, plan.runs, strict=True))
    return list(batches(left, [num_jobs] * len(left)))


def test_short_runs_on_the_same_jobs_are_one_batch():
    assert [len(batch.runs) for batch in planned(60)] == [2, 2, 2, 2]


@each("most", [1, 2, 3, 4, 9])
def test_batches_of_so_many_recipes_are_dealt_out_in_turn(most):
    in_order = planned(100_000)
    dealt = list(side_by_side(in_order, most))
    assert Counter(map(str, dealt)) == Counter(map(str, in_order))
    recipes = [batch.recipe.name for batch in dealt]
    order = list(dict.fromkeys(batch.recipe.name for batch in in_order))
    for first in range(0, len(order), most):
        together = order[first : first + most]
        assert recipes[2 * first : 2 * first + 2 * len(together)] == 2 * together
    assert most > 1 or dealt == in_order


def test_batches_are_taken_as_they_are_due():
    left = iter(planned(100_000))
    next(side_by_side(left, 2))
    assert len(list(left)) == 8 - 5  # two recipes of two batches, and the first that is of neither


@each(
    ("warm_up", "seconds"),
    [("10%", 1.0), ("50%", 5.0), ("0%", 0.0), ("1m", 60.0), (2.5, 2.5), ("41%", 5.0), ("99%", 9.0)],
)
def test_a_warm_up_is_a_part_of_the_jobs_or_a_time(warm_up, seconds):
    assert warm_up_time(warm_up, np.arange(10.0)) == seconds


@each(
    "wrong",
    [
        {"warm_up": "100%"},
        {"warm_up": "-1%"},
        {"warm_up": "soon"},
        {"warm_up": "5%", "warm_up_s": 1},
    ],
)
def test_a_wrong_warm_up_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match="warm_up"):
        gs.Study.of(small(**wrong))


@pytest.mark.parametrize("zero", ["0", "0.0", '"0s"'])
def test_no_warm_up_may_be_a_number(zero):
    study = gs.Study.from_toml(FULL.replace("warm_up_s = 10.0", f"warm_up = {zero}"))
    assert study.warm_up_cut == "0s"
    assert gs.Study.from_toml(study.to_toml()) == study


def test_a_warm_up_without_a_unit_says_what_to_write():
    with pytest.raises(ValueError, match=r'warm_up: 3600 has no unit; write "3600s", .*"10%", or'):
        gs.Study.from_toml(FULL.replace("warm_up_s = 10.0", "warm_up = 3600"))
