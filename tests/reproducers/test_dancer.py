"""Deadlines and elastic jobs: runs that went wrong, one function each."""

import importlib
import pkgutil
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.time_limit import time_limit


def profiled(table: dict[str, dict[int, float]], **columns: Any) -> gs.Trace:
    """Jobs of one profile with this table of throughputs."""
    trace = gs.Trace.from_columns(**columns)
    profile = gs.model.JobProfile(name="p", throughput=table)
    return trace.with_profiles([profile], index=[0] * len(trace))


def test_a_width_that_saves_nothing_lowers_the_makespan_bound():
    # Each job on a quarter less of the GPUs than it asks for, both at once: 4.5 s instead of 6.
    trace = profiled(
        {"A": {1: 1.0, 2: 2.0, 3: 3.0}}, submit_s=[0, 0], service_s=[3, 3], gpus=[3, 3],
        max_gpus=[3, 3],
    )  # fmt: skip
    cluster = gs.Cluster.uniform(servers=1, gpus=4, gpu_type="A")
    result = gs.simulate(trace, cluster, policy="optimus:step=one", speed="table")
    summary = result.summary()
    assert summary["makespan_bound_s"] <= 4.5
    assert summary["makespan_gap"] >= 0
    assert summary["gap"] >= 0
    result.audit().raise_if_bad()


def test_public_names_outlive_the_import_of_all_submodules():
    for module in pkgutil.walk_packages(gs.__path__, "gpusched."):
        if not module.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):  # of an extra
                importlib.import_module(module.name)
    assert not [name for name in gs.__all__ if isinstance(getattr(gs, name), ModuleType)]


def test_deadlines_are_bounded_after_a_summary_with_deadlines():
    trace = gs.Trace.from_columns([0], [5], [1], deadline_s=[9])
    cluster = gs.Cluster.uniform(servers=1, gpus=1)
    gs.simulate(trace, cluster).summary()
    assert gs.bounds.deadline_bound(trace, cluster, speed="fixed").met == 1


def simulated(trace: gs.Trace, cluster: gs.Cluster, policy: str, speed: str = "table") -> gs.Result:
    """A run that ends, and whose log is right."""
    with time_limit(60, policy):
        result = gs.simulate(trace, cluster, policy=policy, placement="buddy", speed=speed)
    result.audit().raise_if_bad()
    return result


def finish_s(result: gs.Result) -> list[float]:
    return (result.schedule.finish_us / 1e6).tolist()


ONE_SERVER = gs.Cluster.uniform(servers=1, gpus=4, gpu_type="A")
TWO_TYPES = gs.Cluster((gs.ServerGroup(1, 4, "A"), gs.ServerGroup(1, 4, "B")))


def test_a_job_whose_own_width_is_the_narrowest_that_runs_ends():
    trace = profiled({"A": {3: 1.0, 4: 2.0}}, submit_s=[0], service_s=[100], gpus=[3])
    assert finish_s(simulated(trace, ONE_SERVER, "dancer")) == [100.0]


def test_a_job_that_one_type_runs_at_its_own_width_does_not_wait_for_an_empty_cluster():
    profiles = [
        gs.model.JobProfile(name="wide", throughput={"A": {1: 0.0, 3: 1.0}}),
        gs.model.JobProfile(name="narrow", throughput={"A": {1: 1.0}}),
    ]
    trace = gs.Trace.from_columns([0, 0], [2000, 100], [1, 3])
    trace = trace.with_profiles(profiles, index=[1, 0])
    assert finish_s(simulated(trace, ONE_SERVER, "dancer")) == [2000.0, 100.0]


def test_jobs_shorter_than_a_tenth_of_a_slot_are_admitted():
    submit_s = [1000.0 * i for i in range(20)]
    for prices in ("market", "density", "constant", "theory"):
        trace = gs.Trace.from_columns(
            submit_s, [29] * 20, [1] * 20, deadline_s=[s + 500 for s in submit_s]
        )
        summary = simulated(trace, ONE_SERVER, f"dancer:prices={prices}", "fixed").summary()
        assert summary["num_admitted"] == 20, prices


def test_a_gang_on_several_types_is_forgotten_when_it_ends():
    trace = gs.Trace.from_columns([0, 100], [50, 500], [8, 1])
    assert finish_s(simulated(trace, TWO_TYPES, "dancer", "fixed")) == [50.0, 600.0]


def test_gangs_on_several_types_do_not_keep_others_from_starting():
    num_gangs = 40
    trace = gs.Trace.from_columns(
        [0.0] * num_gangs + [0.0, 50.0], [10] * num_gangs + [400, 30], [8] * num_gangs + [1, 1]
    )
    result = simulated(trace, TWO_TYPES, "dancer", "fixed")
    # At the boundary of a slot and within it.
    assert finish_s(result)[num_gangs:] == [400.0, 80.0]


def test_a_gang_on_several_types_makes_room_for_a_promise():
    trace = gs.Trace.from_columns([0, 100], [1000, 100], [8, 1], deadline_s=[float("nan"), 250])
    result = simulated(trace, TWO_TYPES, "dancer", "fixed")
    assert result.schedule.finish_us[1] == 200_000_000
    assert result.summary()["deadlines_met"] == 1


def test_an_empty_cluster_admits_a_short_job_with_a_long_restart():
    # The plan holds its GPUs for the work and for a migration: four slots for a tenth of one.
    for policy in ("dancer", "dancer:prices=density", "elasticflow", "chronus:lease_s=300"):
        trace = gs.Trace.from_columns([0], [30], [1], deadline_s=[3000], restart_s=[1000])
        assert simulated(trace, ONE_SERVER, policy, "fixed").summary()["num_admitted"] == 1, policy


def test_elasticflow_does_not_deny_that_a_longer_plan_meets_the_deadline():
    trace = gs.Trace.from_columns([0], [40_000], [1], deadline_s=[80_000])
    result = simulated(trace, ONE_SERVER, "elasticflow:slot_s=1", "fixed")
    reason = result.schedule.decisions()["reason"][0]
    assert reason == "no plan of at most 32768 slots meets the deadline"


def test_finish_time_fairness_is_found_for_jobs_that_waited_far_longer_than_they_run():
    # Its program had no solution for the solver, and all got equal shares without a word.
    programs = pytest.importorskip("gpusched.plugins.schedulers.gavel_programs")
    pytest.importorskip("scipy")
    jobs = programs.Jobs(
        rates=np.ones((3, 1)), gpus=np.ones(3), weight=np.ones(3), remaining=np.full(3, 2e-4),
        elapsed=np.array([2e8, 1e8, 1e8]), served=np.zeros(3), time_left=np.full(3, np.inf),
        value=np.ones(3), capacity=np.ones(1),
    )  # fmt: skip
    assert programs.finish_time_fairness(jobs)[0, 0] > 0.9


def test_a_gang_that_the_fastest_type_is_too_small_for_may_run_narrower_on_it():
    # Six GPUs of B would be four times as fast as six of C; there are four, 8/3 times as fast.
    trace = profiled(
        {"B": {3: 6.0, 6: 12.0}, "C": {6: 3.0}}, submit_s=[0], service_s=[60], gpus=[6],
        deadline_s=[24],
    )  # fmt: skip
    cluster = gs.Cluster((gs.ServerGroup(1, 4, "B"), gs.ServerGroup(1, 8, "C")))
    result = simulated(trace, cluster, "elasticflow")
    assert finish_s(result) == [22.5]
    assert gs.bounds.deadline_bound(trace, cluster).met == 1
    assert result.summary()["dsr_gap"] == 0
