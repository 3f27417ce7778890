"""Run times on GPU types of unequal speed, and the type on which a trace states them."""

import numpy as np
import pytest

import gpusched as gs
from gpusched.engine.type_speeds import restate_for_types, restate_services, say_run_times
from tests.each import each

V100 = gs.ServerGroup(1, 4, "V100")
A100 = gs.ServerGroup(1, 4, "A100", speed=2.0)
BOTH = gs.Cluster((V100, A100))
TYPES = ["", "V100", "A100", "V100|A100"]
JOBS = gs.Trace.from_columns(
    [0, 1, 2, 3], [100] * 4, [1] * 4, gpu_types=TYPES, estimate_s=[200, float("nan"), 200, 200]
)


def times_on(cluster: gs.Cluster, trace: gs.Trace, **how: str) -> list[float]:
    result = gs.simulate(trace, cluster, policy="fifo", placement="worst-fit", **how)
    return (result.jobs["finish_s"] - result.jobs["start_s"]).tolist()


def test_a_service_is_the_run_time_on_the_one_type_of_a_job_or_on_a_gpu_of_speed_1():
    trace, speed, _ = restate_services(JOBS, BOTH, None, "none")
    assert trace.service_s.tolist() == [50, 100, 100, 50]
    assert trace.estimate_us.tolist() == [100_000_000, -1, 200_000_000, 100_000_000]
    assert speed.name == "table"
    assert times_on(BOTH, JOBS)[1:3] == [100, 100]
    assert "run times restated from those on GPUs of speed 1" in trace.source
    assert restate_services(trace, BOTH, "table", "none")[0] is trace


@each(("reference", "services"), [("V100", [50, 100, 50, 50]), ("A100", [100, 200, 100, 100])])
def test_a_reference_type_that_is_declared_counts_for_all_jobs(reference, services):
    trace = JOBS.with_reference_type(reference)
    assert restate_services(trace, BOTH, None, "none")[0].service_s.tolist() == services
    assert say_run_times(trace, BOTH) == [f"run times: those on {reference}, as declared"]


@each(
    ("types", "said"),
    [
        (None, ["run times assumed: on a GPU of speed 1"]),
        (["V100", "A100"], ["run times assumed: on the only type allowed"]),
        (
            ["V100", ""],
            ["run times assumed: on the only type allowed (1 job), on a GPU of speed 1 (1 job)"],
        ),
    ],
)
def test_what_is_assumed_of_run_times_is_said(types, said):
    trace = gs.Trace.from_columns([0, 0], [1, 1], [1, 1], gpu_types=types)
    assert say_run_times(trace, BOTH) == said
    assert say_run_times(trace, gs.Cluster((V100,))) == []


def test_another_speed_leaves_services_as_they_are_and_says_that_speeds_are_not_read():
    result = gs.simulate(JOBS, BOTH, policy="fifo", speed="fixed")
    assert result.trace is JOBS
    assert "speed fixed ignores the speeds of the cluster's GPU types" in result.warnings
    assert result.digest == gs.simulate(JOBS, BOTH.with_speeds({"A100": 1}), policy="fifo").digest


def test_a_reference_type_counts_under_measured_throughputs():
    model = gs.model.JobProfile("m", throughput={"V100": {1: 4.0, 2: 6.0}, "A100": {1: 10.0}})
    trace = gs.Trace.from_columns([0], [100], [1]).with_profiles([model])
    only_v100, only_a100 = (gs.Cluster((group,)) for group in (V100, A100))
    assert times_on(only_v100, trace, speed="table") == [100]
    assert times_on(only_a100, trace, speed="table") == [100]
    on_v100 = trace.with_reference_type("V100")
    assert times_on(only_v100, on_v100, speed="table") == [100]
    assert times_on(only_a100, on_v100, speed="table") == [40]
    with pytest.raises(ValueError, match="no job has a throughput for 'T4'; known"):
        times_on(only_a100, trace.with_reference_type("T4"), speed="table")


def test_a_job_whose_model_has_no_figure_on_the_reference_type_keeps_its_time_and_is_counted():
    models = [
        gs.model.JobProfile("m", throughput={"V100": {1: 4.0}, "A100": {1: 10.0}}),
        gs.model.JobProfile("n", throughput={"A100": {1: 10.0}}),
    ]
    trace = gs.Trace.from_columns([0, 0], [100, 100], [1, 1]).with_profiles(models, [0, 1])
    trace = trace.with_reference_type("V100")
    result = gs.simulate(trace, gs.Cluster((A100,)), policy="fifo", speed="table")
    assert result.trace.service_s.tolist() == [40, 100]
    assert "except 1 job without a figure there" in result.trace.source


def test_jobs_wider_than_the_table_keep_their_times_without_a_warning_of_numpy():
    profile = gs.model.JobProfile("m", throughput={"A": {1: 1.0, 2: 2.0}, "B": {1: 0.5}})
    jobs = gs.Trace.from_columns([0, 1, 2], [60, 60, 60], [1, 2, 64]).with_profiles([profile])
    for cluster in (gs.Cluster.uniform(16, 8, "B"), gs.Cluster.uniform(1, 8, "B")):
        run = gs.simulate(jobs.with_reference_type("A"), cluster, speed="table")
        assert run.trace.service_s.tolist() == [120, 60, 60]


def test_a_reference_type_without_a_speed_is_an_error():
    with pytest.raises(
        ValueError, match=r"reference_type: the cluster has no 'T4', .* known: A100"
    ):
        gs.simulate(JOBS.with_reference_type("T4"), gs.Cluster((A100,)))
    with pytest.raises(ValueError, match="reference_type: '' must not be empty"):
        JOBS.with_reference_type("")


def test_traces_of_several_reference_types_are_not_put_together():
    with pytest.raises(ValueError, match="different reference types"):
        gs.Trace.concat([JOBS.with_reference_type("V100"), JOBS])


def test_a_result_and_its_specification_bring_the_run_back(tmp_path):
    trace = JOBS.with_reference_type("A100")
    result = gs.simulate(trace, BOTH, policy="easy")
    result.save(tmp_path / "result.npz")
    loaded = gs.load_result(tmp_path / "result.npz")
    assert loaded.cluster.speeds == {"V100": 1.0, "A100": 2.0}
    assert loaded.audit().ok
    spec = gs.RunSpec.from_toml(result.spec.to_toml())
    assert spec == result.spec
    for jobs in (trace, loaded.trace):
        assert gs.run(spec, jobs).digest == result.digest
    with pytest.raises(ValueError, match="is not the trace of the specification"):
        gs.run(spec, JOBS)


def test_a_reference_type_is_kept_with_the_jobs(tmp_path):
    trace = JOBS.with_reference_type("A100")
    plain = gs.simulate(trace, gs.Cluster((V100, gs.ServerGroup(1, 4, "A100"))), policy="fifo")
    plain.save(tmp_path / "result.npz")
    assert gs.load_result(tmp_path / "result.npz").trace.reference_type == "A100"
    assert trace.head(2).reference_type == "A100"


def test_an_open_run_takes_jobs_forks_and_is_saved(tmp_path):
    first, late = JOBS.head(2), JOBS.filter("submit_s >= 2")
    run = gs.Simulation(first, BOTH, policy="srtf")
    run.submit(late)
    run.run_until(30)
    run.save(tmp_path / "run.npz")
    other = run.fork()
    for each_run in (run, other, gs.resume(tmp_path / "run.npz")):
        each_run.run()
        assert each_run.result().digest == run.result().digest
    again = gs.simulate(JOBS, BOTH, policy="srtf", predictor="oracle")
    assert run.result().jobs["finish_s"].tolist() == again.jobs["finish_s"].tolist()


def test_a_job_wider_than_the_cluster_is_rejected_as_ever():
    trace = gs.Trace.from_columns([0, 0], [10, 10], [2_000_000, 8])  # more than a table may name
    result = gs.simulate(trace, BOTH, policy="fifo", placement="first-fit")
    assert result.jobs["status"].tolist() == ["rejected", "finished"]
    assert result.jobs["finish_s"][1] == 10  # a gang of both runs as fast as its slowest GPU
    assert np.isnan(gs.bounds.iteration_limits(result.trace, BOTH, speed="table")["low"][0])


def test_environments_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="environments do not support speeds"):
        gs.gym.QueueEnv(JOBS, BOTH)


def test_the_type_that_a_job_ran_on_is_that_of_its_run_time():
    trace = gs.Trace.from_columns(
        [0, 1, 2, 3], [100] * 4, [1] * 4, gpu_types=["", "A100", "V100", ""],
        ran_on=["A100", "V100", "", "T4"],
    )  # fmt: skip
    assert restate_services(trace, BOTH, None, "none")[0].service_s.tolist() == [100, 50, 100, 50]
    assert say_run_times(trace, BOTH) == [
        "run times assumed: on the type used (2 jobs), on the only type "
        "allowed (1 job), on a GPU of speed 1 (1 job)"
    ]
    declared = trace.with_reference_type("A100")
    assert restate_services(declared, BOTH, None, "none")[0].service_s.tolist() == [
        100, 100, 200, 100,
    ]  # fmt: skip


def test_run_times_on_types_that_are_not_on_offer_are_restated_for_those_that_are():
    trace = gs.Trace.from_columns(
        [0, 0, 0], [100] * 3, [1] * 3, gpu_types=["", "A100", ""], ran_on=["T4", "T4", "A100"]
    )
    fast = {"T4": 0.5, "A100": 2.0}
    offered = restate_for_types(trace, fast, ["A100"])
    only = gs.Cluster((A100,))
    assert restate_services(offered, only, None, "none")[0].service_s.tolist() == [25, 25, 100]
    all_there = gs.Cluster((A100, gs.ServerGroup(1, 1, "T4", speed=0.5)))
    both = restate_services(trace, all_there, None, "none")[0]
    assert both.service_s.tolist() == [25, 25, 100]
    assert restate_for_types(trace, fast, ["T4", "A100"]) is trace
