"""The forest: equal to scikit-learn's, fitted when it is due, better than a mean, repeatable."""

from datetime import datetime

import numpy as np
import pytest

import gpusched as gs
from gpusched.prediction import predictor
from gpusched.prediction.choose import resolve
from gpusched.prediction.forest import FEATURES, FeatureTable, Trees, grow
from gpusched.prediction.interface import UNKNOWN_US
from gpusched.prediction.learner import CompletionLog, JobKeys, Records
from tests.learners import learner
from tests.unit.prediction.predicting import SECOND, predicted, recurring

SMALL = "forest:trees=2,leaf=3"


@pytest.fixture(scope="module")
def regressor():
    """Return the class of scikit-learn, which takes long to import."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor


@pytest.fixture(scope="module")
def grown(regressor):
    """A forest of scikit-learn's and the features it was fitted to."""
    rng = np.random.default_rng(0)
    features = rng.integers(0, 9, (300, 5)).astype(np.float32)
    features[:, 3] = rng.normal(size=300)
    target = features[:, 0] + rng.normal(size=300)
    return regressor(7, random_state=1).fit(features, target), features


def test_the_arrays_predict_what_scikit_learn_predicts(grown):
    forest, features = grown
    trees = Trees.of(forest.estimators_)
    others = np.random.default_rng(1).normal(4, 4, (100, 5)).astype(np.float32)
    for rows in (features, others):
        np.testing.assert_allclose(trees.predict(rows), forest.predict(rows), rtol=1e-12)
    assert trees.problem(5) is None
    assert trees.problem(1).startswith("feature")


def test_a_tree_that_is_one_leaf_predicts_its_value(regressor):
    forest = regressor(2, max_depth=1, random_state=1)
    trees = Trees.of(forest.fit(np.zeros((4, 2)), np.full(4, 2.5)).estimators_)
    assert trees.predict(np.ones((3, 2), np.float32)).tolist() == [2.5, 2.5, 2.5]


def test_a_job_is_predicted_alike_in_every_batch(grown):
    forest, features = grown
    trees = Trees.of(forest.estimators_)
    whole = trees.predict(features)
    alone = [trees.predict(features[row : row + 1])[0] for row in range(20)]
    assert whole[:20].tolist() == alone
    assert trees.predict(features[:0]).tolist() == []


def test_no_value_falls_between_a_threshold_and_what_is_kept_of_it(grown):
    forest, _ = grown
    trees = Trees.of(forest.estimators_)
    exact = np.concatenate([tree.tree_.threshold for tree in forest.estimators_])
    inner = np.concatenate([tree.tree_.children_left for tree in forest.estimators_]) >= 0
    kept = np.sort(trees.threshold[np.isfinite(trees.threshold)])
    assert (kept <= np.sort(exact[inner])).all()
    assert (np.nextafter(kept, np.float32(np.inf)) > np.sort(exact[inner])).all()


def features_of(trace, finished=()):
    """The features of the last job when ``finished`` jobs have finished, by name."""
    keys = JobKeys.of(Records(), trace)
    log = CompletionLog(keys)
    table = FeatureTable(keys, trace, np.empty((0, len(FEATURES)), np.float32))
    log.observe(np.array(finished, np.int64), trace.service_us[list(finished)])
    row = table.fill(np.array([len(trace) - 1]), log)[0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


def test_features_are_what_is_known_at_submission():
    trace = gs.Trace.from_columns(
        [0, 3600, 7200, 93_600], [10, 40, 90, 1], [8, 8, 8, 4], user=["a", "a", "b", "a"],
        group=["g"] * 4, queue=["q", "q", "r", "q"], gpu_types=["", "V100", "", "V100"],
        estimate_s=[np.nan, np.nan, np.nan, 99], epoch=datetime(2024, 5, 1, 9, 30),
    )  # fmt: skip
    found = features_of(trace, [1, 0, 2])
    expected = {
        "user": 0, "group": 0, "queue": 0, "gpu_types": 0, "model": -1, "log2_gpus": 2,
        "hour": 11.5, "weekday": 3, "log_estimate": np.log(100), "log_submits": np.log(3),
        "log_gap": np.log(90_001), "log_finished": np.log(3), "mean": np.log(20),
        "last": np.log(10), "second_last": np.log(40), "lower_quartile": np.log(10 * 4**0.25),
        "median": np.log(20), "upper_quartile": np.log(10 * 4**0.75),
        "queue_lower_quartile": np.log(10 * 4**0.25), "queue_median": np.log(20),
        "queue_upper_quartile": np.log(10 * 4**0.75), "user_mean": np.log(20),
        "queue_mean": np.log(20), "width_mean": np.log(36_000) / 3,
    }  # fmt: skip
    assert list(expected) == list(FEATURES)
    assert found == pytest.approx(expected, rel=1e-5)


def test_the_mean_of_all_stands_in_where_nothing_else_is_known():
    trace = recurring(3, user=["a", "b", "c"], group=["g", "h", "k"], queue=["q", "r", "s"])
    mean = np.log(trace.service_s[:2]).mean()
    found = features_of(trace, [0, 1])
    assert {found[name] for name in FEATURES[FEATURES.index("mean") : -1]} == {np.float32(mean)}
    assert features_of(trace)["mean"] == pytest.approx(np.log(UNKNOWN_US / SECOND))


def test_a_forest_needs_fifty_jobs_and_is_fitted_again_as_jobs_finish():
    trace = recurring(400)
    few = predicted(trace.head(49), predictor(SMALL))[2]
    assert few.num_fits == 0
    often = predicted(trace, predictor(SMALL + ",refit_jobs=20"))[2]
    seldom = predicted(trace, predictor(SMALL + ",refit_jobs=200,refit_s=1e9"))[2]
    by_share = predicted(trace, predictor(SMALL + ",refit_jobs=20,new_share=0.5"))[2]
    by_time = predicted(trace, predictor(SMALL + ",refit_jobs=10000,refit_s=1500"))[2]
    assert 12 <= often.num_fits <= 18
    assert seldom.num_fits == 2
    assert by_share.num_fits == 3
    assert 2 <= by_time.num_fits <= 5
    assert 0 < often.fit_s < often.predict_s < often.wall_s


def test_before_the_first_fit_the_mean_of_the_kind_is_predicted():
    trace = gs.Trace.from_columns([0, 99, 199], [10, 40, 1], [1] * 3, user=["a"] * 3)
    found = predicted(trace, predictor("forest"))[0]
    assert (found / SECOND).tolist() == pytest.approx([3600, 10, 20])


def test_a_split_forest_is_fitted_once_and_scored_on_the_rest():
    trace = recurring(400)
    chosen = predictor(SMALL + ",mode=split,fraction=0.5")
    _, schedule, report = predicted(trace, chosen)
    second_half = trace.submit_us >= chosen.cut_us
    assert report.num_fits == 1
    assert report.accuracy.num_jobs == np.count_nonzero(second_half & (schedule.status == 0))
    assert abs(np.count_nonzero(second_half) - 200) < 40


def test_a_forest_finds_what_a_mean_does_not():
    # The run time depends on the width within each group.
    rng = np.random.default_rng(3)
    gpus = rng.choice([1, 2, 4], 700)
    trace = recurring(700, gpus=gpus, service_s=np.ceil(15 * gpus**2 * rng.uniform(0.9, 1.1, 700)))
    forest = predicted(trace, predictor("forest:trees=20,refit_jobs=50"))[2].accuracy
    mean = predicted(trace, predictor("group-mean"))[2].accuracy
    assert forest.median_abs_log_error < 0.25 < mean.median_abs_log_error
    assert forest.r2_log > 0.5 > mean.r2_log


def heavy_tailed(num: int) -> gs.Trace:
    """Jobs of four groups whose services are log-normal, one after the other."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 4, num)
    service_s = np.ceil(np.exp(rng.normal(3 + group, 1.5)))
    return gs.Trace.from_columns(
        submit_s=np.cumsum(service_s) * 1.01,
        service_s=service_s,
        gpus=np.ones(num, int),
        group=group,
    )


@pytest.mark.long
def test_the_mean_of_logarithms_is_too_little_and_the_others_are_right_on_the_whole():
    jobs, cluster = heavy_tailed(3000), gs.Cluster.uniform(1, 1)
    bias, order = {}, {}
    for target in ("log", "smeared", "mean"):
        run = gs.simulate(jobs, cluster, policy="sjf", predictor=f"forest:trees=20,target={target}")
        bias[target] = run.prediction.accuracy.bias
        order[target] = run.prediction.accuracy.rank_correlation
    assert bias["log"] < 0.6  # exp(-1.5^2 / 2) is 0.32
    assert 0.75 < bias["smeared"] < 1.35
    assert 0.75 < bias["mean"] < 1.35
    assert order["smeared"] == pytest.approx(order["log"], abs=0.02)


def test_smearing_is_one_factor_of_residuals_under_trees_that_did_not_draw_the_job():
    rng = np.random.default_rng(2)
    features = rng.integers(0, 5, (400, 3)).astype(np.float32)
    log_s = features[:, 0] + rng.normal(size=400)
    options = {"trees": 10, "leaf": 5, "samples": 400, "seed": [1]}
    plain = grow(features, log_s, target="log", **options)
    smeared = grow(features, log_s, target="smeared", **options)
    factor = smeared.value - plain.value
    assert factor == pytest.approx(factor[0])
    assert np.exp(factor[0]) == pytest.approx(np.exp(0.5), rel=0.25)  # of a normal residual
    means = grow(features, log_s, target="mean", **options)
    assert means.predict(features).mean() == pytest.approx(np.exp(log_s).mean(), rel=0.02)


def test_equal_seeds_give_equal_predictions_and_others_do_not():
    trace = recurring(150)
    one, other, different = (
        predicted(trace, resolve(SMALL), seed=seed)[0].tolist() for seed in (1, 1, 2)
    )
    assert one == other != different


def test_an_object_can_be_used_again():
    trace = recurring(120)
    chosen = predictor(SMALL)
    assert predicted(trace, chosen)[0].tolist() == predicted(trace, chosen)[0].tolist()


def test_a_trained_forest_predicts_from_the_first_job_on():
    first, second = recurring(300, seed=1), recurring(100, seed=2)
    trained = learner(SMALL + ",refit_jobs=30").train(first)
    frozen = learner(SMALL + ",mode=frozen").train(first)
    before = predicted(second, predictor(SMALL))[2].accuracy
    after = predicted(second, resolve(trained))[2]
    fixed = predicted(second, resolve(frozen))[2]
    assert after.accuracy.coverage == fixed.accuracy.coverage == 1
    assert fixed.num_fits == 0
    assert after.num_fits > 0
    assert fixed.accuracy.mape < before.mape
    assert trained.predict_trace(second).tolist() == frozen.predict_trace(second).tolist()


def test_a_frozen_forest_must_have_been_trained():
    with pytest.raises(ValueError, match="mode=frozen needs a trained model"):
        predicted(recurring(5), predictor("forest:mode=frozen"))


def test_too_few_jobs_train_no_forest():
    with pytest.raises(ValueError, match="30 jobs have finished, a forest needs 50"):
        learner("forest").train(recurring(30))
