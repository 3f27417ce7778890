"""Predictors that learn iterations: exact where these recur and run times do not."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.prediction import predictor
from gpusched.prediction.interface import UNKNOWN_US
from gpusched.prediction.learner import Learner

CLUSTER = gs.Cluster.uniform(3, 4).with_bandwidth(nic_gbps=25, intra_gbps=400)
MODELS = [
    gs.model.JobProfile("light", 1e6, 1, 0.0, 0.1),
    gs.model.JobProfile("heavy", 1e6, 1, 0.0, 0.7),
]


def trace(iterations: int = 100, models: int = 2) -> gs.Trace:
    """Forty jobs of one user and group that train one model or the other, far apart."""
    kinds = np.arange(40) % models
    bare = gs.Trace.from_columns(
        np.arange(40) * 1e5, [60.0] * 40, [1] * 40, user=["ann"] * 40, group=["nightly"] * 40
    ).with_profiles(MODELS, index=kinds)
    per_iteration_s = gs.bounds.iteration_limits(bare, CLUSTER, speed="ring")["low"]
    columns = {"submit_s": bare.submit_s, "service_s": iterations * per_iteration_s}
    return gs.Trace.from_columns(
        **columns, gpus=[1] * 40, user=["ann"] * 40, group=["nightly"] * 40
    ).with_profiles(MODELS, index=kinds)


def run(jobs: gs.Trace, text: str, speed: str = "ring") -> gs.Result:
    return gs.simulate(jobs, CLUSTER, policy="spjf", predictor=text, speed=speed)


def errors(jobs: gs.Trace, text: str) -> float:
    """The median of abs(ln predicted - ln true)."""
    report = run(jobs, text).prediction
    assert report is not None
    found = report.accuracy.median_abs_log_error
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["last-value", "group-mean", "quantile"])
def test_iterations_that_recur_are_predicted_though_run_times_do_not(name):
    assert errors(trace(), f"{name}:counts=iterations,batch_jobs=1") < 1e-6
    assert errors(trace(), f"{name}:batch_jobs=1") > 0.5


def test_a_forest_of_iterations_is_nearer_where_they_recur():
    forest = "forest:trees=4,leaf=3,batch_jobs=1,target=log"
    assert errors(trace(), f"{forest},counts=iterations") < 1e-6
    assert errors(trace(), forest) > 0.1


def test_where_all_iterations_take_as_long_the_unit_does_not_matter():
    jobs = trace(models=1)
    for name in ("last-value", "group-mean"):
        assert errors(jobs, f"{name}:counts=iterations") == pytest.approx(errors(jobs, name))


def test_while_nothing_has_finished_an_hour_of_iterations_of_a_second_is_predicted():
    jobs = trace().head(1)
    report = run(jobs, "last-value:counts=iterations").prediction
    assert report is not None
    per_iteration_s = gs.bounds.iteration_limits(jobs, CLUSTER, speed="ring")["low"][0]
    predicted_s = UNKNOWN_US / 1e6 * per_iteration_s
    assert report.accuracy.bias == pytest.approx(predicted_s / jobs.service_s[0], rel=1e-5)


def test_a_speed_without_iterations_is_refused():
    with pytest.raises(ValueError, match=r"counts=iterations: under speed 'fixed' jobs have no it"):
        run(trace(), "forest:counts=iterations", speed="fixed")


def test_what_knows_no_cluster_is_refused():
    counting = predictor("last-value:counts=iterations")
    assert isinstance(counting, Learner)
    with pytest.raises(ValueError, match="known in a run alone"):
        counting.train(trace())


def test_two_runs_of_one_predictor_do_not_share_what_they_know():
    chosen = predictor("last-value:counts=iterations,batch_jobs=1")
    first, second = (run(trace(n), chosen).digest for n in (100, 200))
    assert first == run(trace(), "last-value:counts=iterations,batch_jobs=1").digest
    assert second != first
