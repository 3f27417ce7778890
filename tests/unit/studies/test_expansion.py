"""The runs of a study: axes crossed, zipped and listed."""

from __future__ import annotations

from typing import Any

import pytest

import gpusched as gs
from gpusched.studies.plan import Plan, expand
from tests.each import each
from tests.unit.studies.studies import NarrowFirst, a_trace, small


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
    plan = expanded()
    by_seed: dict[Any, set[str]] = {}
    for run in plan.runs:
        by_seed.setdefault((run.load, run.seed), set()).add(run.recipe.name)
    assert all(len(names) == 1 for names in by_seed.values())
    assert len(set.union(*by_seed.values())) == len(by_seed)


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
        ([["seeds"]], r"two axes or more"),
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
        ({"policies": [{"label": "x"}]}, r"policy: the name is missing"),
        ({"placements": ["consolidatd"]}, r"did you mean 'consolidated'.*\$.placements\[0\]"),
        ({"baseline": "sjf"}, r"'sjf' is no policy of the study.*\$.baseline"),
        ({"clusters": [{"servers": 4, "gpus": 8}] * 2}, r"two are called.*\$.clusters\[1\].label"),
        (
            {"parameters": [{"option": "tau", "policy": "a-srpt", "values": [1.0]}]},
            r"policy 'a-srpt' is not one of the study's: fifo, srtf",
        ),
        (
            {"parameters": [{"option": "seed", "policy": "fifo", "values": [1]}]},
            r"unknown parameter 'seed'|is the name of another axis",
        ),
    ],
)
def test_a_wrong_entry_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        expanded(**changes)


def test_a_class_in_place_of_an_object_is_named():
    with pytest.raises(TypeError, match=r"give an instance of it: NarrowFirst\(\)"):
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
