"""A prediction knows nothing of what comes after the arrival that it is made for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.labels import Labels
from gpusched.prediction import Predictor, predictor, predictors
from tests.examples import examples
from tests.learners import learner
from tests.unit.prediction.predicting import predicted, recurring

pytestmark = pytest.mark.long

FOREST = "forest:trees=3,leaf=2,refit_jobs=30,refit_s=600"
TEXTS = {
    "bias": ["bias:factor=1.5"],
    "forest": [FOREST, FOREST + ",mode=split,fraction=0.4", FOREST + ",batch_jobs=7"],
    "group-mean": ["group-mean", "group-mean:batch_jobs=5"],
    "noise": ["noise:sigma=1"],
    "quantile": ["quantile:q=0.9,window=5"],
}
NAMES = [name for name in predictors() if name != "column" or hasattr(gs.Trace, "predicted_us")]
EVERY = [text for name in NAMES for text in TEXTS.get(name, [name])]
POLICIES = ("fifo", "sjf", "srtf", "easy")


def workload(seed, num_jobs):
    """Recurring jobs that also have estimates and predictions of their own."""
    rng = np.random.default_rng(seed)
    trace = recurring(num_jobs, seed, estimate_s=rng.integers(1, 500, num_jobs))
    own = {"predicted_us": trace.estimate_us} if hasattr(trace, "predicted_us") else {}
    return dataclasses.replace(trace, **own)


def with_another_future(trace, cut, seed):
    """The same first ``cut`` jobs; of all others everything is different.

    The last submission stays: a predictor may ask to be trained on the first part of the time.
    """
    rng = np.random.default_rng(seed)
    rest = len(trace) - cut
    submit_us = trace.submit_us.copy()
    submit_us[cut:] = np.sort(rng.integers(submit_us[cut - 1], submit_us[-1] + 1, rest))
    submit_us[-1] = trace.submit_us[-1]
    changed = {"submit_us": submit_us}
    for column in ("service_us", "gpus", "estimate_us"):
        values = getattr(trace, column).copy()
        values[cut:] = rng.integers(1, 5, rest) * (1 if column == "gpus" else 17_000_000)
        changed[column] = np.minimum(values, 4) if column == "gpus" else values
    for column in ("user", "group", "queue"):
        names = getattr(trace, column).values()
        names[cut:] = [f"other{number}" for number in rng.integers(0, 9, rest)]
        # Numbered from the end, so that old names have new codes as well.
        order = Labels.of(names[::-1])
        changed[column] = Labels(order.codes[::-1], order.names)
    if hasattr(trace, "predicted_us"):
        changed["predicted_us"] = changed["estimate_us"]
    return dataclasses.replace(trace, **changed)


def assert_future_is_unknown(make, policy, seed, cut_share, num_jobs):
    trace = workload(seed, num_jobs)
    cut = max(1, int(cut_share * num_jobs))
    before, _, _ = predicted(trace, make(), policy, seed=3)
    after, _, _ = predicted(with_another_future(trace, cut, seed + 1), make(), policy, seed=3)
    assert before[:cut].tolist() == after[:cut].tolist()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("text", [text for text in EVERY if not text.startswith("forest")])
@examples(5)
@given(seed=st.integers(0, 10**6), cut_share=st.floats(0, 1))
def test_another_future_leaves_the_predictions_before_it(text, policy, seed, cut_share):
    assert_future_is_unknown(lambda: predictor(text), policy, seed, cut_share, num_jobs=60)


@pytest.mark.parametrize(
    ("text", "policy"), list(zip(TEXTS["forest"] * 2, POLICIES * 2, strict=False))
)
@examples(2)
@given(seed=st.integers(0, 10**6), cut_share=st.floats(0.6, 1))
def test_neither_does_it_move_a_forest(text, policy, seed, cut_share):
    assert_future_is_unknown(lambda: predictor(text), policy, seed, cut_share, num_jobs=160)


@pytest.mark.parametrize("text", ["group-mean", "last-value", "quantile", FOREST])
def test_jobs_that_still_run_or_wait_tell_nothing_of_their_service(text):
    trace = workload(5, 160)
    before, schedule, _ = predicted(trace, predictor(text), "sjf", seed=3)
    cut = 130
    unfinished = schedule.finish_us >= trace.submit_us[cut]
    assert 0 < np.count_nonzero(unfinished[:cut]) < cut
    longer = np.where(unfinished, trace.service_us * 3, trace.service_us)
    after, _, _ = predicted(
        dataclasses.replace(trace, service_us=longer), predictor(text), "sjf", seed=3
    )
    assert before[: cut + 1].tolist() == after[: cut + 1].tolist()
    assert before.tolist() != after.tolist()


@pytest.mark.parametrize("text", ["group-mean", "last-value", "quantile", FOREST, "noise"])
def test_the_first_jobs_are_predicted_alike_if_no_others_follow(text):
    trace = workload(6, 160)
    whole, _, _ = predicted(trace, predictor(text), seed=3)
    part, _, _ = predicted(trace.head(110), predictor(text), seed=3)
    assert whole[:110].tolist() == part.tolist()


def test_a_trained_forest_does_not_see_the_future_either():
    trained = learner(FOREST).train(workload(7, 120))
    assert_future_is_unknown(trained.clone, "sjf", 8, 0.7, num_jobs=120)


class Peeking(Predictor):
    """Takes the service of the job after each one for a prediction."""

    def begin(self, trace, seed=0):
        self.trace = trace

    def predict(self, jobs):
        following = np.minimum(jobs + 1, len(self.trace) - 1)
        return np.maximum(self.trace.service_us[following], 7) / 1e6


class PeekingAtTheTruth(Peeking):
    needs_truth = True


def test_a_predictor_that_looks_ahead_finds_nothing():
    found, _, _ = predicted(workload(1, 30), Peeking())
    assert found.tolist() == [7] * 30


def test_the_check_finds_a_predictor_that_sees_ahead():
    with pytest.raises(AssertionError):
        assert_future_is_unknown(PeekingAtTheTruth, "fifo", 1, 0.5, num_jobs=30)


def test_outcomes_are_hidden_from_predictors():
    class Curious(Peeking):
        def begin(self, trace, seed=0):
            super().begin(trace)
            seen.append((trace.status, trace.source_wait_us, trace.service_us.max()))

    seen = []
    trace = recurring(10, status=["ok"] * 10, source_wait_s=[1.0] * 10)
    predicted(trace, Curious())
    assert seen == [(None, None, -1)]
