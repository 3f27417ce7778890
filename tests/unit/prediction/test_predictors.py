"""Predictors by name, what they predict, how a run asks them, how good they were."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.ticks import us_to_seconds
from gpusched.prediction import (
    Accuracy,
    Predictor,
    PredictorChoice,
    predictor,
    predictors,
    register_predictor,
)
from gpusched.prediction.choose import resolve
from gpusched.prediction.interface import UNKNOWN_US
from gpusched.prediction.learner import JobKeys, Learner, Records, quantiles
from gpusched.prediction.online import OnlineRun, RecordedRun, batches
from tests.each import each
from tests.learners import learner
from tests.unit.prediction.predicting import SECOND, predicted, recurring

HOUR = 3600.0

# Names and parameters


def test_the_predictors_are_registered_with_what_they_are():
    assert set(predictors()) >= {
        "bias", "column", "estimate", "forest", "group-mean", "last-value", "noise", "oracle",
        "quantile",
    }  # fmt: skip
    for info in predictors().values():
        assert info.summary.endswith(".")
        assert info.source
        assert all(entry["help"] for entry in info.parameters)


@pytest.mark.parametrize(
    "text", ["forest:mode=split,refit_jobs=500,trees=20", "noise:sigma=0.25", "quantile:q=1"]
)
def test_a_predictor_is_written_as_it_is_read(text):
    assert str(predictor(text)) == str(PredictorChoice.parse(text)) == text


def test_default_parameters_are_not_written():
    assert str(predictor("forest:trees=100,mode=online")) == "forest"
    assert repr(predictor("bias")) == "Bias('bias')"


@each(
    ("text", "message"),
    [
        ("forrest", "unknown predictor 'forrest'; did you mean 'forest'"),
        ("forest:tree=3", "unknown parameter 'tree'; did you mean 'trees'"),
        ("forest:trees=0", "parameter trees is 0; allowed: 1 to 10000"),
        ("forest:mode=onlin", "parameter mode is 'onlin'; did you mean 'online'"),
        ("quantile:q=1.5", "parameter q is 1.5; allowed: 0 to 1"),
        ("noise:sigma=x", "expected a number"),
        ("oracle:a=1", "unknown parameter 'a'; it has none"),
    ],
)
def test_a_wrong_text_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        predictor(text)


def test_what_the_core_has_already_needs_no_predictor():
    columns = [resolve(name) for name in ("oracle", "estimate", "column")]
    assert columns == [("service_us", "oracle"), ("estimate_us", "estimate"),
                       ("predicted_us", "column")]  # fmt: skip
    assert resolve(predictor("oracle")) == ("service_us", "oracle")
    assert str(resolve("bias:factor=2")) == "bias:factor=2"
    with pytest.raises(TypeError, match="expected a text, not 3"):
        resolve(3)


def test_an_object_is_copied_for_each_run():
    own = learner("group-mean").train(recurring(60))
    used = resolve(own)
    predicted(recurring(30, seed=1), used)
    assert used is not own
    assert own.trace is None
    assert used.records is own.records


def test_a_predictor_can_be_registered():
    @register_predictor("always")
    class Always(Predictor):
        """Always the same."""

        def __init__(self, seconds: float = 60.0) -> None:
            self.seconds = seconds

        def begin(self, trace, seed=0):
            pass

        def predict(self, jobs):
            return np.full(len(jobs), self.seconds)

    try:
        found, _, report = predicted(recurring(5), predictor("always:seconds=2"))
        assert found.tolist() == [2 * SECOND] * 5
        assert report.predictor == "always:seconds=2"
        assert report.accuracy.coverage is None
        with pytest.raises(ValueError, match="'always' is taken"):
            register_predictor("always")
    finally:
        gs.unregister("always")
    with pytest.raises(ValueError, match="must not be empty or hold"):
        register_predictor("a:b")


# What the simple ones say. Job 2 arrives when jobs 0 and 1 have finished, and so on.


def spaced(service_s, users, groups, submit_s=None):
    """Jobs so far apart that each one finds all others finished, unless told otherwise."""
    num = len(service_s)
    submit_s = [1000 * i for i in range(num)] if submit_s is None else submit_s
    return gs.Trace.from_columns(submit_s, service_s, [1] * num, user=users, group=groups)


def seconds_by(text, trace, **options):
    return (predicted(trace, predictor(text), **options)[0] / SECOND).tolist()


def test_the_mean_is_that_of_the_kind_then_of_the_group_then_of_the_user_then_the_median():
    users = ["a", "a", "b", "a", "c", "a"]
    groups = ["g", "g", "g", "h", "k", "g"]
    trace = spaced([10, 40, 100, 20, 7, 1], users, groups)
    # b has g's mean; h is new, so that a's counts; k and c are new: the median of 10, 40, 100, 20.
    # The last one is of a kind that took 10 and 40, while g took 50 on average, and a 23.
    assert seconds_by("group-mean", trace) == [HOUR, 10, 25, 25, 30, 25]


def test_the_last_value_is_that_of_the_job_that_finished_last():
    trace = spaced([500, 10, 1], ["a"] * 3, ["g"] * 3, submit_s=[0, 0, 1000])
    assert seconds_by("last-value", trace) == [HOUR, HOUR, 500]


def test_the_quantile_is_that_of_the_last_jobs_of_the_kind():
    services = [50, 10, 20, 40, 30]
    trace = spaced(services, ["a"] * 5, ["g"] * 5)
    assert seconds_by("quantile:q=1", trace) == [HOUR, 50, 50, 50, 50]
    assert seconds_by("quantile:q=0,window=2", trace) == [HOUR, 50, 10, 10, 20]
    assert seconds_by("quantile", trace) == [HOUR, 50, 30, 20, 30]


def test_jobs_without_a_group_are_of_one_kind_by_user_queue_and_width():
    trace = gs.Trace.from_columns(
        [0, 1000, 2000, 3000], [10, 20, 30, 40], [1, 2, 1, 2], user=["a"] * 4,
        queue=["q", "q", "q", "r"],
    )  # fmt: skip
    # The last one is of a new kind; a's jobs took 20 on average.
    assert seconds_by("group-mean", trace) == [HOUR, 10, 10, 20]


def test_a_job_that_finishes_as_another_arrives_is_not_known_to_it():
    trace = spaced([10, 10, 10], ["a"] * 3, ["g"] * 3, submit_s=[0, 10, 11])
    assert seconds_by("last-value", trace) == [HOUR, HOUR, 10]


def test_a_factor_and_noise_scale_the_truth():
    trace = recurring(2000)
    assert predicted(trace, predictor("oracle"))[0].tolist() == trace.service_us.tolist()
    assert seconds_by("bias:factor=2", trace) == (2 * trace.service_s).tolist()
    error = np.log(np.array(seconds_by("noise:sigma=0.5", trace)) / trace.service_s)
    assert abs(error.mean()) < 0.05
    assert abs(error.std() - 0.5) < 0.05


def test_noise_depends_on_seed_and_job_alone():
    noise = predictor("noise:sigma=1")
    trace = recurring(50)
    noise.begin(trace, 7)
    whole = noise.predict(np.arange(50))
    backwards = noise.predict(np.arange(50)[::-1])
    assert backwards[::-1].tolist() == whole.tolist()
    noise.begin(trace.head(20), 7)
    assert noise.predict(np.arange(20)).tolist() == whole[:20].tolist()
    noise.begin(trace, 8)
    assert noise.predict(np.arange(50)).tolist() != whole.tolist()


def test_huge_errors_stay_times():
    trace = spaced([1e9], ["a"], ["g"])
    for text in ("noise:sigma=20", "bias:factor=1000000", "bias:factor=0.000001"):
        chosen = predictor(text)
        for seed in range(20):
            chosen.begin(trace, seed)
            assert 1 <= round(chosen.predict(np.arange(1))[0] * SECOND) <= 2**53


def test_estimates_must_be_complete():
    with pytest.raises(ValueError, match="'estimate': the trace has no estimate_s"):
        predicted(recurring(3), predictor("estimate"))
    partial = recurring(3, estimate_s=[1.0, math.nan, math.nan])
    with pytest.raises(ValueError, match=r"job 1 \(row 1\) has no estimate_s \(1 more missing\)"):
        predicted(partial, predictor("estimate"))
    full = recurring(3, estimate_s=[1.0, 2.0, 3.0])
    assert seconds_by("estimate", full) == [1, 2, 3]


@given(
    st.lists(st.lists(st.floats(0, 9), max_size=6), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
)
def test_quantiles_are_those_of_numpy(rows, share):
    padded = np.array([row + [math.nan] * (6 - len(row)) for row in rows])
    for row, found in zip(rows, quantiles(padded, [share])[0], strict=True):
        assert np.isnan(found) if not row else np.isclose(found, np.quantile(row, share))


@given(st.integers(0, 1000))
def test_names_are_numbered_as_jobs_bring_them_up(seed):
    rng = np.random.default_rng(seed)
    users = [f"u{number}" for number in rng.integers(0, 5, 12)]
    trace = spaced([1.0] * 12, users, ["g", ""] * 6)
    keys = JobKeys.of(Records(), trace)
    seen = list(dict.fromkeys(users))
    assert keys.codes["user"].tolist() == [seen.index(user) for user in users]
    assert keys.codes["group"].tolist() == [0, -1] * 6
    twin = [(users[i], i % 2) for i in range(12)]
    for i in range(12):
        assert [k == keys.kind[i] for k in keys.kind] == [t == twin[i] for t in twin]
        earlier = [j for j in range(i) if twin[j] == twin[i]]
        assert keys.times_before()[i] == len(earlier)
        assert keys.gap_s(trace.submit_us)[i] == (1000 * (i - earlier[-1]) if earlier else -1)


# The run


def test_batches_hold_whole_instants_and_do_not_look_ahead():
    submit_us = np.array([0, 0, 1, 2, 2, 2, 3])
    assert list(batches(submit_us, 1)) == [(0, 2), (2, 3), (3, 6), (6, 7)]
    assert list(batches(submit_us, 4)) == [(0, 6), (6, 7)]
    assert list(batches(submit_us, -1)) == [(0, 7)]
    assert list(batches(submit_us, 100, cut_us=2)) == [(0, 3), (3, 7)]
    late = list(batches(np.arange(600_000), 0))
    assert late[0] == (0, 1)
    assert {end - first for first, end in late if 500 < first < 1000} == {1}
    assert {end - first for first, end in late[:-1] if first >= 500_000} == {1000}
    assert [end for _, end in late[:-1]] == [first for first, _ in late[1:]]


def test_a_larger_batch_knows_what_had_finished_before_its_first_arrival():
    trace = spaced([10, 20, 30, 40], ["a"] * 4, ["g"] * 4)
    assert seconds_by("last-value:batch_jobs=2", trace) == [HOUR, HOUR, 20, 20]
    assert seconds_by("last-value", trace, batch_jobs=3) == [HOUR, HOUR, HOUR, 30]


def test_the_schedule_is_that_of_a_run_with_the_same_predictions():
    trace = recurring(150)
    found, schedule, _ = predicted(trace, predictor("group-mean"), "sjf")
    _, again, _ = predicted(trace, Given(found / SECOND), "sjf")
    assert again.digest == schedule.digest
    assert again.digest != predicted(trace, predictor("oracle"), "sjf")[1].digest


class Given(Predictor):
    """Predictions made elsewhere."""

    learns = False

    def __init__(self, values):
        self.values = values

    def begin(self, trace, seed=0):
        pass

    def predict(self, jobs):
        return self.values[jobs]


def test_missing_estimates_are_filled_by_predictions():
    trace = spaced([10, 20, 30], ["a"] * 3, ["g"] * 3)
    estimate_us = np.array([-1, 5, -1])
    OnlineRun(recorded(trace), trace, predictor("last-value"), estimate_us=estimate_us).finish()
    assert estimate_us.tolist() == [UNKNOWN_US, 5, 20 * SECOND]


def recorded(trace):
    """Make runs in which every job starts at once, and the last one does not finish."""

    class Recorded(RecordedRun):
        def finish(self):
            return Finished(np.array([0] * (len(trace) - 1) + [2]))

    return lambda predicted_us: Recorded(trace, trace.submit_us + trace.service_us)


@dataclasses.dataclass
class Finished:
    status: np.ndarray


def test_jobs_that_do_not_finish_do_not_count():
    trace = spaced([10, 20, 30], ["a"] * 3, ["g"] * 3)
    _, report = OnlineRun(recorded(trace), trace, predictor("oracle")).finish()
    assert report.accuracy.num_jobs == 2
    assert report.accuracy.mape == 0


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.zeros(5, bool), TypeError, "expected numbers of seconds, not bool"),
        (np.zeros((5, 2), int), ValueError, r"expected 5 times, not shape \(5, 2\)"),
        (np.array([1.0, np.nan, 3.0, 4.0, 5.0]), ValueError, "the time of job 1 is NaN"),
    ],
)
def test_a_predictor_must_return_a_time_for_each_job(values, error, message):
    class Wrong(Given):
        def predict(self, jobs):
            return self.values

    with pytest.raises(error, match=message):
        predicted(recurring(5), Wrong(values))


@pytest.mark.parametrize("large", [2**60, 1e300, np.inf])
def test_predictions_are_kept_within_what_a_time_may_be(large):
    found, _, _ = predicted(recurring(3), Given(np.array([-5, 0, large])))
    assert found.tolist() == [1, 1, 2**53]


@given(st.lists(st.integers(1, 2**52), min_size=1, max_size=20))
def test_a_prediction_in_seconds_is_exact_to_the_microsecond(ticks):
    trace = spaced([1.0] * len(ticks), ["a"] * len(ticks), ["g"] * len(ticks))
    online = OnlineRun(recorded(trace), trace, Given(us_to_seconds(np.array(ticks))))
    online.finish()
    assert online.predicted_us.tolist() == ticks


def test_the_report_tells_errors_and_costs():
    trace = recurring(80)
    _, _, report = predicted(trace, predictor("group-mean"))
    summary = report.summary()
    assert summary["prediction_num_jobs"] == 80
    assert 0 < summary["prediction_mape"] < 10
    assert 0.8 < summary["prediction_coverage"] < 1
    assert 0 < summary["prediction_share"] <= 1
    assert summary["prediction_num_fits"] == 0
    assert repr(report).startswith("PredictionReport(group-mean: 80 jobs, MAPE ")


def test_training_on_another_trace_is_remembered_by_name():
    first = spaced([10, 30, 50], ["a", "a", "b"], ["g", "g", "h"])
    second = spaced([1, 1, 1], ["b", "c", "a"], ["h", "k", "g"])
    trained = learner("group-mean").train(first)
    assert trained.predict_trace(second).tolist() == [50, 30, 20]
    assert trained.predict_trace(second).tolist() == trained.predict_trace(second).tolist()
    assert seconds_by("group-mean", second)[0] == HOUR
    assert trained.label.startswith("group-mean@")
    assert trained.label != learner("group-mean").train(second).label
    both = trained.train(spaced([80], ["a"], ["g"]))
    assert both.predict_trace(second).tolist() == [50, 40, 40]


def test_training_takes_only_jobs_that_finished():
    trace = spaced([10, 30], ["a", "a"], ["g", "g"])
    trained = learner("group-mean").train(trace, [10.0, np.nan])
    assert trained.predict_trace(trace.head(1)).tolist() == [10]
    with pytest.raises(ValueError, match="finish_s: expected 2 numbers"):
        learner("group-mean").train(trace, np.array([1]))
    with pytest.raises(ValueError, match=r"finish_s\[1\]: -1.0 must be a time, or NaN for never"):
        learner("group-mean").train(trace, [10, -1.0])


# Accuracy, by hand


def test_accuracy_by_hand():
    found = Accuracy.of(np.array([2, 4, 3]), np.array([1, 4, 6]), np.array([True, False, True]))
    log2 = math.log(2)
    logs = np.log([1, 4, 6])
    assert found.num_jobs == 3
    assert found.mape == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.bias == pytest.approx(9 / 11)
    assert found.median_abs_log_error == pytest.approx(log2)
    assert found.r2_log == pytest.approx(1 - 2 * log2**2 / ((logs - logs.mean()) ** 2).sum())
    assert found.rank_correlation == pytest.approx(0.5)
    assert found.coverage == pytest.approx(2 / 3)


def test_equal_values_share_their_rank():
    found = Accuracy.of(np.array([1, 1, 2, 3]), np.array([10, 20, 20, 30]))
    # Ranks 1.5 1.5 3 4 and 1 2.5 2.5 4.
    assert found.rank_correlation == pytest.approx(3.75 / 4.5)


def test_accuracy_of_nothing_is_undefined():
    assert Accuracy.of(np.array([], int), np.array([], int)) == Accuracy(
        0, None, None, None, None, None, None
    )
    one = Accuracy.of(np.array([3]), np.array([2]))
    assert one.r2_log is one.rank_correlation is one.coverage is None
    assert one.mape == 0.5


def test_as_many_predictions_as_services_are_compared():
    with pytest.raises(ValueError, match=r"^predicted_us: 1 values for 2 jobs$"):
        Accuracy.of(np.array([3]), np.array([2, 3]))


def test_a_saved_result_keeps_how_good_its_predictions_were(tmp_path):
    jobs = recurring(30)
    result = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="sjf", predictor="group-mean")
    assert result.summary()["prediction_mape"] == result.prediction.accuracy.mape
    result.save(tmp_path / "result.npz")
    assert gs.load_result(tmp_path / "result.npz").prediction == result.prediction


def test_a_trace_is_predicted_without_a_cluster():
    jobs = gs.Trace.from_columns([0, 10, 20, 30], [5, 7, 9, 4], [1] * 4, group=["a"] * 4)
    seen: list[gs.Progress] = []
    predicted_s, accuracy = gs.prediction.predict(
        jobs, "last-value:batch_jobs=1", progress=seen.append
    )
    assert predicted_s.tolist()[1:] == [5, 7, 9]  # nothing known at first
    assert seen[-1] == gs.Progress(4, 4)
    assert accuracy.num_jobs == 4
    late = np.array([25, np.nan, 29, 34])
    predicted_s, accuracy = gs.prediction.predict(jobs, "last-value:batch_jobs=1", finish_s=late)
    assert predicted_s[1] == predicted_s[2] == predicted_s[0]  # the first ends after they come
    assert predicted_s[3] == 9
    assert accuracy.num_jobs == 3
    with pytest.raises(ValueError, match="finish_s: expected 4 numbers"):
        gs.prediction.predict(jobs, "last-value", finish_s=late[:2])


ONE_GPU = gs.Cluster.uniform(1, 1)


def trace(**columns: object) -> gs.Trace:
    return gs.Trace.from_columns([0, 0, 0], [5, 3, 1], [1, 1, 1], **columns)


def test_a_policy_orders_by_the_predictions_of_the_trace():
    jobs = trace(predicted_s=[1, 2, 3])
    result = gs.simulate(jobs, ONE_GPU, policy="sjf", predictor="column")
    assert result.jobs.start_s.tolist() == [0, 5, 8]
    assert result.spec.predictor == "column"
    assert not result.clairvoyant
    assert gs.simulate(jobs, ONE_GPU, policy="sjf").jobs.start_s.tolist() == [4, 1, 0]


def test_predictions_stand_in_where_a_job_has_no_estimate():
    # One job runs; the head of the queue waits for two GPUs, and backfilling asks for estimates.
    jobs = gs.Trace.from_columns(
        [0, 1, 2], [10, 5, 5], [1, 2, 1],
        estimate_s=[10, np.nan, np.nan], predicted_s=[10, 5, 60],
    )  # fmt: skip
    late = gs.simulate(jobs, gs.Cluster.uniform(1, 2), policy="easy", predictor="column")
    assert late.jobs.start_s.tolist() == [0, 10, 15]  # 60 s would delay the head
    early = gs.simulate(jobs, gs.Cluster.uniform(1, 2), policy="easy")
    assert early.jobs.start_s.tolist() == [0, 10, 2]


def test_predictions_are_kept_by_frames_and_files(tmp_path):
    jobs = trace(predicted_s=[1, 2.5, 3])
    assert jobs.to_polars()["predicted_s"].to_list() == [1, 2.5, 3]
    again = gs.Trace.from_polars(jobs.to_polars())
    assert again.predicted_us.tolist() == [1_000_000, 2_500_000, 3_000_000]
    result = gs.simulate(jobs, ONE_GPU, policy="sjf", predictor="column")
    result.save(tmp_path / "result.npz")
    assert (
        gs.load_result(tmp_path / "result.npz").trace.predicted_us.tolist()
        == again.predicted_us.tolist()
    )


def test_a_missing_or_bad_prediction_is_named():
    for columns, message in (
        ({}, "predictor 'column': the trace has no predicted_s"),
        ({"predicted_s": [1, np.nan, np.nan]}, r"job 1 \(row 1\) has no predicted_s \(1 more"),
        ({"predicted_s": [1, 0, 3]}, r"predicted_s.*must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            gs.simulate(trace(**columns), ONE_GPU, policy="sjf", predictor="column")


LINKED = gs.Cluster.uniform(3, 4).with_bandwidth(nic_gbps=25, intra_gbps=400)
MODELS = [
    gs.model.JobProfile("light", 1e6, 1, 0.0, 0.1),
    gs.model.JobProfile("heavy", 1e6, 1, 0.0, 0.7),
]


def trainings(iterations: int = 100, models: int = 2) -> gs.Trace:
    """Forty jobs of one user and group that train one model or the other, far apart."""
    kinds = np.arange(40) % models
    bare = gs.Trace.from_columns(
        np.arange(40) * 1e5, [60.0] * 40, [1] * 40, user=["ann"] * 40, group=["nightly"] * 40
    ).with_profiles(MODELS, index=kinds)
    per_iteration_s = gs.bounds.iteration_limits(bare, LINKED, speed="ring")["low"]
    columns = {"submit_s": bare.submit_s, "service_s": iterations * per_iteration_s}
    return gs.Trace.from_columns(
        **columns, gpus=[1] * 40, user=["ann"] * 40, group=["nightly"] * 40
    ).with_profiles(MODELS, index=kinds)


def run(jobs: gs.Trace, text: str, speed: str = "ring") -> gs.Result:
    return gs.simulate(jobs, LINKED, policy="spjf", predictor=text, speed=speed)


def errors(jobs: gs.Trace, text: str) -> float:
    """The median of abs(ln predicted - ln true)."""
    report = run(jobs, text).prediction
    assert report is not None
    found = report.accuracy.median_abs_log_error
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["last-value", "group-mean", "quantile"])
def test_iterations_that_recur_are_predicted_though_run_times_do_not(name):
    assert errors(trainings(), f"{name}:counts=iterations,batch_jobs=1") < 1e-6
    assert errors(trainings(), f"{name}:batch_jobs=1") > 0.5


def test_a_forest_of_iterations_is_nearer_where_they_recur():
    forest = "forest:trees=4,leaf=3,batch_jobs=1,target=log"
    assert errors(trainings(), f"{forest},counts=iterations") < 1e-6
    assert errors(trainings(), forest) > 0.1


def test_where_all_iterations_take_as_long_the_unit_does_not_matter():
    jobs = trainings(models=1)
    for name in ("last-value", "group-mean"):
        assert errors(jobs, f"{name}:counts=iterations") == pytest.approx(errors(jobs, name))


def test_while_nothing_has_finished_an_hour_of_iterations_of_a_second_is_predicted():
    jobs = trainings().head(1)
    report = run(jobs, "last-value:counts=iterations").prediction
    per_iteration_s = gs.bounds.iteration_limits(jobs, LINKED, speed="ring")["low"][0]
    predicted_s = UNKNOWN_US / 1e6 * per_iteration_s
    assert report.accuracy.bias == pytest.approx(predicted_s / jobs.service_s[0], rel=1e-5)


def test_a_speed_without_iterations_is_refused():
    with pytest.raises(ValueError, match=r"counts=iterations: jobs have no iterations under speed"):
        run(trainings(), "forest:counts=iterations", speed="fixed")


def test_what_knows_no_cluster_is_refused():
    counting = predictor("last-value:counts=iterations")
    assert isinstance(counting, Learner)
    with pytest.raises(ValueError, match="known only in a run"):
        counting.train(trainings())


def test_two_runs_of_one_predictor_do_not_share_what_they_know():
    chosen = predictor("last-value:counts=iterations,batch_jobs=1")
    first, second = (run(trainings(n), chosen).digest for n in (100, 200))
    assert first == run(trainings(), "last-value:counts=iterations,batch_jobs=1").digest
    assert second != first
