"""One run: what goes in, what comes out, and how it ends."""

import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.each import each

ONE_GPU = gs.Cluster.uniform(1, 1)
FOUR_GPUS = gs.Cluster.uniform(1, 4)
TWO_SERVERS = gs.Cluster.uniform(2, 4)

# EASY's own example: the third job may pass the second as long as it does not delay it.
BACKFILL = {"submit_s": [0, 1, 2], "service_s": [10, 10, 8], "gpus": [3, 4, 1]}


def starts(
    policy: Any, cluster: gs.Cluster, placement: Any = "consolidated", **columns: Any
) -> Any:
    """Start times in whole seconds, -1 for a job that never starts."""
    result = gs.simulate(
        gs.Trace.from_columns(**columns), cluster, policy=policy, placement=placement
    )
    result.audit().raise_if_bad()
    return [-1 if np.isnan(start) else round(start) for start in result.jobs.start_s]


@each("placement", ["count", "consolidated", "first-fit", "spread"])
@each(
    ("policy", "service_s", "expected"),
    [
        ("fifo", [10, 10, 8], [0, 10, 20]),
        ("fifo-skip", [10, 10, 8], [0, 10, 2]),
        ("fifo-skip", [10, 10, 9], [0, 11, 2]),  # the third job delays the second
        ("easy", [10, 10, 8], [0, 10, 2]),
        ("easy", [10, 10, 9], [0, 10, 20]),
        ("conservative", [10, 10, 8], [0, 10, 2]),
        ("conservative", [10, 10, 9], [0, 10, 20]),
        ("sjf", [10, 10, 9], [0, 11, 2]),
        ("sjf:scan=strict", [10, 9, 10], [0, 10, 19]),
        ("sgf:scan=strict", [10, 10, 9], [0, 11, 2]),
    ],
)
def test_backfilling_by_hand(policy, service_s, expected, placement):
    columns = BACKFILL | {"service_s": service_s}
    assert starts(policy, FOUR_GPUS, placement, **columns) == expected


@each(
    ("policy", "expected"),
    [
        # (submit, service): (0, 10), (2, 4), (4, 1) on one GPU
        ("fifo", [10, 14, 15]),
        ("sjf", [10, 15, 11]),
        ("srtf", [15, 7, 5]),  # the third runs inside the second, both inside the first
        ("srtf:cost_s=1", [17, 8, 5]),  # 5-6 and 8-9 go by without progress
        ("srtf:cost_s=1,restart=work", [17, 8, 5]),
        ("las:period_s=1", [15, 9, 5]),  # from 5 s on the first two take turns
    ],
)
def test_preemption_by_hand(policy, expected):
    jobs = gs.Trace.from_columns([0, 2, 4], [10, 4, 1], [1, 1, 1])
    result = gs.simulate(jobs, ONE_GPU, policy=policy)
    result.audit().raise_if_bad()
    assert result.jobs.finish_s.tolist() == expected


def test_a_gang_waits_for_whole_servers_where_it_must_be_consolidated():
    columns = {"submit_s": [0, 0, 1], "service_s": [10, 4, 5], "gpus": [3, 3, 2]}
    assert starts("fifo", TWO_SERVERS, "consolidated", **columns) == [0, 0, 4]
    assert starts("fifo", TWO_SERVERS, "first-fit", **columns) == [0, 0, 1]
    assert starts("fifo", TWO_SERVERS, "count", **columns) == [0, 0, 1]


def test_a_job_keeps_to_the_types_it_allows():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "K80"), gs.ServerGroup(1, 2, "V100")))
    columns = {"submit_s": [0, 1, 2], "service_s": [5, 5, 5], "gpus": [2, 2, 2]}
    types = ["V100", "V100", "K80|V100"]
    assert starts("fifo-skip", cluster, **columns, gpu_types=types) == [0, 5, 2]
    assert starts("fifo-skip", cluster, **columns, gpu_types=["T4", "", "T4"]) == [-1, 1, -1]


def test_estimates_decide_only_where_they_are_asked_for():
    columns = {"submit_s": [0, 0, 0], "service_s": [3, 2, 1], "gpus": [1, 1, 1]}
    jobs = gs.Trace.from_columns(**columns, estimate_s=[1, 2, 3])
    truth = gs.simulate(jobs, ONE_GPU, policy="sjf", predictor="oracle")
    assert truth.jobs.start_s.tolist() == [3, 1, 0]
    estimated = gs.simulate(jobs, ONE_GPU, policy="sjf", predictor="estimate")
    assert estimated.jobs.start_s.tolist() == [0, 3, 5]


def test_unless_told_policies_know_the_estimates_that_every_job_has():
    columns = {"submit_s": [0, 0, 0], "service_s": [3, 2, 1], "gpus": [1, 1, 1]}
    for estimate_s, known in (([1, 2, 3], "estimate"), ([1, 2, None], "oracle"), (None, "oracle")):
        jobs = gs.Trace.from_columns(**columns, estimate_s=estimate_s)
        run = gs.simulate(jobs, ONE_GPU, policy="sjf")
        assert run.spec.predictor == known
        assert run.clairvoyant == (known == "oracle")
        assert run.digest == gs.simulate(jobs, ONE_GPU, policy="sjf", predictor=known).digest
        assert gs.compare(jobs, ONE_GPU, ["sjf"]).results["sjf"].spec == run.spec


# What a run says of itself.


def test_a_result_holds_what_led_to_it():
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], name="two jobs")
    result = gs.simulate(jobs, ONE_GPU, policy="2d-las:preset=lucid", placement="count", seed=9)
    assert result.trace is jobs
    assert result.cluster is ONE_GPU
    spec = result.spec
    assert (spec.policy, spec.placement) == ("2d-las:preset=lucid", "count")
    assert (spec.predictor, spec.seed, spec.cluster) == ("oracle", 9, ONE_GPU)
    assert (spec.trace.name, spec.trace.num_jobs) == ("two jobs", 2)
    assert spec.version == gs.__version__
    assert result.wall_s > 0
    assert result.jobs_per_s == 2 / result.wall_s


@each(
    ("policy", "label"),
    [
        ("fifo", "fifo"),
        (" fifo: scan=strict", "fifo:scan=strict"),
        (gs.Policy("srtf", cost_s=3), "srtf:cost_s=3"),
        (gs.Policy("2d-las", limits=[5, 6]), "2d-las:limits=5/6"),
    ],
)
def test_a_policy_is_recorded_by_its_canonical_text(policy, label):
    result = gs.simulate(gs.Trace.from_columns([0], [5], [1]), ONE_GPU, policy=policy)
    assert result.spec.policy == label
    assert result.summary()["policy"] == label


def test_an_instance_is_recorded_by_its_class():
    class Mine(gs.Order):
        """A comment."""

        def rank(self, view: Any, jobs: Any) -> Any:
            return view.submit_us[jobs]

    class Where(gs.Placement):
        """A comment."""

        def place(self, free: Any, request: Any) -> Any:
            return [(0, free.lowest_free(0, 1))] if free.free_gpus[0] else None

    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    spec = gs.simulate(jobs, ONE_GPU, policy=Mine(), placement=Where()).spec
    assert spec.policy.startswith("python:")
    assert spec.policy.endswith("Mine")
    assert spec.placement.endswith("Where")


@each("seed", [0, 1, 2**63, 2**64 - 1, np.int64(7), np.uint64(2**64 - 1)])
def test_a_seed_is_any_64_bits(seed):
    jobs = gs.Trace.from_columns([0] * 9, [5] * 9, [1] * 9)
    result = gs.simulate(jobs, ONE_GPU, policy="random", seed=seed)
    assert result.spec.seed == int(seed)
    assert type(result.spec.seed) is int


def test_the_seed_of_a_run_reaches_both_seams():
    jobs = gs.Trace.from_columns([0] * 9, [5] * 9, [1] * 9)
    digests = {
        gs.simulate(jobs, TWO_SERVERS, policy=policy, placement=placement, seed=seed).digest
        for seed in (1, 2)
        for policy, placement in (("random", "count"), ("fifo", "random"))
    }
    assert len(digests) == 4


@each(
    ("policy", "predictor", "has_estimates", "sees_truth"),
    [
        ("fifo", "oracle", False, False),
        ("sjf", "oracle", False, True),
        ("sjf", "oracle", True, True),
        ("sjf", "estimate", True, False),
        ("srtf", "oracle", False, True),
        ("las", "oracle", False, False),
        ("easy", "oracle", False, True),
        ("easy", "oracle", True, False),
        ("easy", "estimate", True, False),
        ("serverfilling-srpt", "oracle", True, True),
    ],
)
def test_a_run_that_saw_the_truth_is_marked(policy, predictor, has_estimates, sees_truth):
    columns = {"estimate_s": [7, 7]} if has_estimates else {}
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], **columns)
    result = gs.simulate(jobs, ONE_GPU, policy=policy, predictor=predictor)
    assert result.clairvoyant is sees_truth
    assert result.summary()["clairvoyant"] is sees_truth


def test_a_warning_counts_the_widths_that_serverfilling_cannot_fill_exactly():
    jobs = gs.Trace.from_columns([0] * 4, [5] * 4, [1, 2, 3, 4])
    (warning,) = gs.simulate(jobs, FOUR_GPUS, policy="serverfilling-srpt").warnings
    assert warning.startswith("1 job")
    exact = gs.Trace.from_columns([0] * 3, [5] * 3, [1, 2, 4])
    assert not gs.simulate(exact, FOUR_GPUS, policy="serverfilling-srpt").warnings


CLUSTER = gs.Cluster.uniform(4, 8)
TRACE = gs.generate("philly", 300, load=0.9, cluster=CLUSTER, seed=3, model=1)


def num_intervals(result: gs.Result) -> int:
    """How often a job held GPUs, on one server or several."""
    table = result.schedule.intervals()
    return len({*zip(table["job"].tolist(), table["start_us"].tolist(), strict=True)})


def limited(most: int | None, **options: Any) -> gs.Result:
    return gs.simulate(TRACE, CLUSTER, policy="srtf", max_intervals=most, **options)


@pytest.mark.parametrize("placement", ["spread", "count"])
def test_a_run_may_have_as_many_intervals_as_its_limit_and_no_more(placement):
    free = limited(None, placement=placement)
    rows = num_intervals(free)
    assert limited(rows, placement=placement).digest == free.digest
    assert limited(rows, placement=placement).spec == free.spec
    with pytest.raises(gs.LogLimitError, match=f"max_intervals is {rows - 1};"):
        limited(rows - 1, placement=placement)


def test_the_error_names_the_time_the_job_and_both_numbers_and_has_what_was_done():
    with pytest.raises(gs.LogLimitError) as caught:
        limited(100)
    result = caught.value.result  # type: ignore[attr-defined]
    rows = result.schedule.intervals()
    end_us = int(result.schedule.finish_us.max())
    last = int(rows["end_us"].max())
    assert f"at {last} us: the log has " in str(caught.value)
    assert "of job " in str(caught.value)
    assert "max_intervals is 100" in str(caught.value)
    assert result.is_partial
    assert end_us <= last
    assert 100 < num_intervals(result) <= 100 + 2 * CLUSTER.num_gpus
    done = result.schedule.status == 0
    free = limited(None).schedule
    assert 0 < done.sum() < len(TRACE)
    assert np.array_equal(result.schedule.finish_us[done], free.finish_us[done])


def test_a_run_in_steps_ends_at_the_same_instant_and_tells_what_was_done():
    with pytest.raises(gs.LogLimitError) as whole:
        limited(100)
    run = gs.Simulation(TRACE, CLUSTER, policy="srtf", max_intervals=100)
    with pytest.raises(gs.LogLimitError) as stepped:
        all(iter(run.step, False))
    assert str(stepped.value) == str(whole.value)
    result = whole.value.result  # type: ignore[attr-defined]
    assert run.result().digest == result.digest


def test_forks_saved_runs_and_other_policies_keep_the_limit(tmp_path):
    run = gs.Simulation(TRACE, CLUSTER, policy="srtf", max_intervals=100)
    run.run_until(3600)
    run.save(tmp_path / "run.npz")
    other = run.fork()
    other.set(policy="fifo")
    for again in (run.fork(), gs.resume(tmp_path / "run.npz"), other):
        with pytest.raises(gs.LogLimitError, match="max_intervals is 100"):
            again.run()


def test_a_policy_of_python_and_a_predictor_that_learns_are_limited_too():
    class First(gs.Order):
        preemptive = True

        def rank(self, view: Any, jobs: Any) -> Any:
            return jobs.astype(float)

    with pytest.raises(gs.LogLimitError):
        gs.simulate(TRACE, CLUSTER, policy=First(), max_intervals=50)
    with pytest.raises(gs.LogLimitError) as caught:
        gs.simulate(TRACE, CLUSTER, policy="sjf", predictor="last-value", max_intervals=50)
    assert caught.value.result.is_partial  # type: ignore[attr-defined]


def test_a_comparison_keeps_the_runs_that_stay_below():
    with pytest.raises(gs.LogLimitError) as caught:
        gs.compare(TRACE, CLUSTER, ["fifo", "las"], placement="count", max_intervals=310)
    assert list(caught.value.comparison.results) == ["fifo"]  # type: ignore[attr-defined]


def test_a_study_tells_of_runs_beyond_its_limit_and_does_them_when_it_is_raised(tmp_path):
    study = {
        "name": "limited", "policies": ["fifo", "las"], "placements": ["count"],
        "traces": [{"generate": "philly", "model": 1, "jobs": 300, "loads": [0.9]}],
        "clusters": [{"servers": 4, "gpus": 8}],
    }  # fmt: skip
    first = gs.sweep(study | {"max_intervals": 310}, folder=tmp_path / "out")
    assert first.num_failed == 1
    assert "LogLimitError" in first.runs["error"].drop_nulls()[0]
    free = gs.sweep(study)
    assert free.num_failed == 0
    assert free.runs["run"].to_list() == first.runs["run"].to_list()
    with pytest.raises(ValueError, match="max_intervals: 0 must be at least 1"):
        gs.Study.of(study | {"max_intervals": 0})


@each(
    ("wrong", "error"),
    [
        *((number, ValueError) for number in (0, -1, 2**62 + 1)),
        *((other, TypeError) for other in (True, 1.5, "9")),
    ],
)
def test_a_limit_is_an_integer_of_at_least_one_interval(wrong, error):
    with pytest.raises(error, match="max_intervals: "):
        limited(wrong)


def test_the_error_can_travel_to_another_process():
    with pytest.raises(gs.LogLimitError) as caught:
        limited(100)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.result.digest == caught.value.result.digest  # type: ignore[attr-defined]


CENTURIES_S = 2**53 / 1e6
TWO_GPUS = gs.Cluster.uniform(1, 2)
TWO = gs.Trace.from_columns([0, 0], [CENTURIES_S, CENTURIES_S], [2, 2])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "las:period_s=0.001",
            "jobs 0 and 1 take turns; each of the last 1.05e+06 preemptions and resizes at timers "
            "cost 0 us and gained 1e+03 us of service, and the 1.8e+16 us left would take "
            "1.8e+13 more; decide less often (a longer period_s), lower the restart costs",
        ),
        (
            "srtf:period_s=0.001,epoch=period",
            "the last 1.05e+06 decisions, 1e+03 us apart, were requested only by the scheduler, "
            "and 1.8e+13 more would follow; job 0 held GPUs, 2 jobs are not finished; "
            "decide less often",
        ),
    ],
)
def test_a_run_of_centuries_in_milliseconds_says_what_goes_round(policy, message):
    begin = "at 1048576000 us: no progress (livelock): "
    with pytest.raises(ValueError, match=re.escape(begin + message)):
        gs.simulate(TWO, TWO_GPUS, policy=policy)


def test_turns_that_cost_far_more_than_they_gain_are_refused_before_the_run():
    jobs = gs.Trace.from_columns([0, 0], [1e5, 1e5], [2, 2], restart_s=[1e6, 1e6])
    with pytest.raises(ValueError, match="period_s: job 0 would pay 1000000000000 us per turn"):
        gs.simulate(jobs, TWO_GPUS, policy="las:period_s=0.001")


NAME = "taken-back"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    gs.unregister(NAME)


LISTS: dict[str, tuple[Any, Callable[[], object]]] = {
    "order": (gs.policies, lambda: gs.register_order(NAME)(type("Made", (gs.Order,), {}))),
    "scheduler": (gs.policies,
                  lambda: gs.register_scheduler(NAME)(type("Made", (gs.Scheduler,), {}))),
    "placement": (gs.placements,
                  lambda: gs.register_placement(NAME)(type("Made", (gs.Placement,), {}))),
    "predictor": (gs.predictors,
                  lambda: gs.register_predictor(NAME)(type("Made", (gs.Predictor,), {}))),
    "metric": (gs.metrics,
               lambda: gs.register_metric(NAME, unit="count", summary="One.")(lambda run: 1)),
}  # fmt: skip


@each("kind", LISTS)
def test_what_was_registered_can_be_taken_back_and_registered_again(kind):
    names, register = LISTS[kind]
    for _ in range(2):
        register()
        assert NAME in names()
        with pytest.raises(ValueError, match=f"the name '{NAME}' is taken"):
            register()
        gs.unregister(NAME)
        assert NAME not in names()


def test_names_of_the_package_stay():
    kinds = (gs.policies, gs.placements, gs.predictors, gs.metrics)
    before = [list(kind()) for kind in kinds]
    for name in ("fifo", "gavel", "consolidated", "oracle", "forest", "mean_jct_s", "no such name"):
        gs.unregister(name)
    assert [list(kind()) for kind in kinds] == before
    with pytest.raises(TypeError, match="unregister: expected a name, not 3"):
        gs.unregister(3)
