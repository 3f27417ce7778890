"""A specification can be run again: :func:`gpusched.run`."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

import gpusched as gs
from tests.boundary.workloads import CLUSTER, ShortestFirst, trace
from tests.learners import learner

JOBS = trace()


class Weighed(ShortestFirst):
    def __init__(self, power: float) -> None:
        super().__init__()
        self.power = power

    def rank(self, view: Any, jobs: Any) -> Any:
        return np.asarray(super().rank(view, jobs)) ** self.power


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "2d-las:preset=lucid", "placement": "random", "seed": 2**63},
        {"policy": gs.Policy("easy"), "placement": "best-fit"},
        {"policy": "sjf", "predictor": "group-mean"},
    ],
    ids=str,
)
def test_a_specification_runs_to_the_same_digest(options):
    result = gs.simulate(JOBS, CLUSTER, **options)
    for spec in (result.spec, gs.RunSpec.from_toml(result.spec.to_toml())):
        again = gs.run(spec, JOBS)
        assert (again.digest, again.spec) == (result.digest, result.spec)


def test_a_specification_runs_with_contention():
    zoo = tuple(gs.model.zoo().values())
    cluster = gs.Cluster.uniform(4, 2, nic_gbps=25, intra_gbps=200)
    jobs = JOBS.with_profiles(zoo, seed=1)
    result = gs.simulate(jobs, cluster, policy="srtf", contention="shared")
    assert result.spec.speed == "ring"
    assert gs.run(result.spec, jobs).digest == result.digest


def test_a_specification_runs_with_its_outages():
    outages = gs.Outages.from_columns([0, 1], [5, 9], [20, None], ["fail", "drain"])
    result = gs.simulate(JOBS, CLUSTER, outages=outages)
    plain = gs.simulate(JOBS, CLUSTER)
    assert result.digest != plain.digest
    for spec in (result.spec, gs.RunSpec.from_toml(result.spec.to_toml())):
        again = gs.run(spec, JOBS, outages=outages)
        assert (again.digest, again.spec) == (result.digest, result.spec)
    assert "outages" not in plain.spec.to_json()
    none = gs.Outages.from_columns([], [])
    for nothing in (None, none):
        again = gs.run(plain.spec, JOBS, outages=nothing)
        assert (again.digest, again.spec) == (plain.digest, plain.spec)
        with pytest.raises(ValueError, match="outages: missing; the specification has 2 from col"):
            gs.run(result.spec, JOBS, outages=nothing)
    others = gs.Outages.from_columns([0, 1], [5, 9], [21, None], ["fail", "drain"])
    with pytest.raises(ValueError, match="outages: other ones than 2 from columns, SHA-256"):
        gs.run(result.spec, JOBS, outages=others)
    with pytest.raises(ValueError, match="outages: the specification has none"):
        gs.run(plain.spec, JOBS, outages=others)
    with pytest.raises(TypeError, match="outages: expected Outages, not 5"):
        gs.simulate(JOBS, CLUSTER, outages=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="outages: the replay tool has none"):
        result.save_case("run.case")


def test_remarks_on_outages_and_checkpoints_are_warnings_of_the_result():
    jobs = gs.Trace.from_columns(
        [9, 9], [50, 50], [1, 1], checkpoint_every_s=[5, 5], checkpoint_write_s=[5, 6]
    )
    outages = gs.Outages.from_columns([0, 0], [0, 1], [3, 2])
    with pytest.warns(gs.RunWarning):
        result = gs.simulate(jobs, CLUSTER, outages=outages)
    assert [line for line in result.warnings if "outage" in line or "checkpoint" in line] == [
        "1 job with a checkpoint_write_s above checkpoint_every_s (first: row 1)",
        "outages: 1 row with a start while another outage of the server lasts (first: row 1)",
        "outages: 2 rows with an end before the first submission (first: row 0)",
    ]
    drawn = gs.generate_outages(CLUSTER, until_s=30, mtbf_s=1e9, repair_s=5)
    with pytest.warns(
        gs.RunWarning, match="drawn until 30 s only, and the run ends at 1.* min: no"
    ):
        gs.simulate(jobs, CLUSTER, outages=drawn)


def test_other_jobs_are_refused():
    spec = gs.simulate(JOBS, CLUSTER).spec
    with pytest.raises(ValueError, match=r"trace: .*\(59 jobs, SHA-256 .* is not the trace of the"):
        gs.run(spec, JOBS.head(59))
    gs.run(spec, replace(JOBS, name="by another name"))
    with pytest.raises(TypeError, match="spec: expected a RunSpec"):
        gs.run("fifo", JOBS)


def test_a_python_policy_is_given_again_and_must_be_the_same():
    result = gs.simulate(JOBS, CLUSTER, policy=Weighed(2.0))
    spec = result.spec
    with pytest.raises(ValueError, match="policy: python:Weighed was a Python object"):
        gs.run(spec, JOBS)
    assert gs.run(spec, JOBS, policy=Weighed(2.0)).digest == result.digest
    with pytest.raises(ValueError, match=r"policy: .*Weighed differs .* in state_sha256"):
        gs.run(spec, JOBS, policy=Weighed(-1.0))
    with pytest.raises(ValueError, match=r"policy: is sjf, but .* in the specification"):
        gs.run(spec, JOBS, policy=gs.Policy("sjf"))


def test_a_trained_predictor_is_given_again(tmp_path):
    trained = learner("group-mean").train(JOBS)
    result = gs.simulate(JOBS, CLUSTER, policy="sjf", predictor=trained)
    with pytest.raises(ValueError, match=r"predictor: group-mean@.* had been trained; load it"):
        gs.run(result.spec, JOBS)
    trained.save(tmp_path / "model.npz")
    loaded = gs.prediction.load_predictor(tmp_path / "model.npz")
    assert gs.run(result.spec, JOBS, predictor=loaded).digest == result.digest
    with pytest.raises(ValueError, match=r"predictor: is group-mean, but .* in the specification"):
        gs.run(result.spec, JOBS, predictor=gs.prediction.predictor("group-mean"))


def test_another_version_is_said():
    result = gs.simulate(JOBS, CLUSTER)
    old = msgspec.structs.replace(result.spec, version="0.0.1")
    with pytest.warns(UserWarning, match="the specification is from gpusched 0.0.1"):
        assert gs.run(old, JOBS).digest == result.digest
