"""Deadlines and elastic jobs: runs that went wrong, one function each."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

import gpusched as gs


def profiled(table: dict[str, dict[int, float]], **columns: Any) -> gs.Trace:
    """Jobs of one profile with this table of throughputs."""
    trace = gs.Trace.from_columns(**columns)
    profile = gs.JobProfile(name="p", throughput=table)
    return trace.with_profiles([profile], index=[0] * len(trace))


def test_a_width_that_saves_nothing_lowers_the_makespan_bound() -> None:
    # Each job on a quarter less of the GPUs than it asks for, both at once: 4.5 s instead of 6.
    trace = profiled(
        {"A": {1: 1.0, 2: 2.0, 3: 3.0}},
        submit_s=[0, 0],
        service_s=[3, 3],
        gpus=[3, 3],
        max_gpus=[3, 3],
    )
    cluster = gs.Cluster.uniform(servers=1, gpus=4, gpu_type="A")
    result = gs.simulate(trace, cluster, policy="optimus:step=one", speed="table")
    summary = result.summary()
    assert summary["makespan_bound_s"] <= 4.5
    assert summary["makespan_gap"] >= 0
    assert summary["gap"] >= 0
    result.audit().raise_if_bad()


def test_public_names_outlive_the_import_of_all_submodules() -> None:
    for module in pkgutil.walk_packages(gs.__path__, "gpusched."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert not [name for name in gs.__all__ if isinstance(getattr(gs, name), ModuleType)]


def test_deadlines_are_bounded_after_a_summary_with_deadlines() -> None:
    trace = gs.Trace.from_columns([0], [5], [1], deadline_s=[9])
    cluster = gs.Cluster.uniform(servers=1, gpus=1)
    gs.simulate(trace, cluster).summary()
    assert gs.deadline_bound(trace, cluster, speed="fixed").met == 1
