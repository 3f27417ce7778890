"""What the core reads is made once, and is that of the run all the same."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from itertools import product

import numpy as np
import pytest

import gpusched as gs
from gpusched.specs.case import PredictedBy, core_cluster, job_table

CLUSTERS = (
    gs.Cluster((gs.ServerGroup(2, 4, "V100"), gs.ServerGroup(2, 4, "T4"))),
    gs.Cluster((gs.ServerGroup(2, 4, "T4"), gs.ServerGroup(2, 4, "V100"))),
    gs.Cluster((gs.ServerGroup(3, 4, "T4"),)),
)


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    """Jobs of which some may only run on one type, and with estimates that are wrong."""
    rng = np.random.default_rng(7)
    count = 60
    service_s = rng.integers(1, 100, count).astype(float)
    return gs.Trace.from_columns(
        np.sort(rng.integers(0, 300, count)).astype(float),
        service_s,
        rng.integers(1, 5, count),
        gpu_types=[[frozenset({"V100"}), frozenset({"T4"}), None][k % 3] for k in range(count)],
        estimate_s=service_s * rng.uniform(1, 3, count),
    )


def test_a_run_after_others_of_its_trace_is_that_of_a_fresh_trace(trace):
    settings = list(product(CLUSTERS, ("sjf", "easy", "srtf"), ("oracle", "estimate")))
    for cluster, policy, predictor in settings + settings[::-1]:
        fresh = dataclasses.replace(trace)
        chosen = {"policy": policy, "predictor": predictor}
        with pytest.warns(gs.RunWarning) if cluster is CLUSTERS[2] else _nothing():
            seen = gs.simulate(trace, cluster, **chosen)
            alone = gs.simulate(fresh, cluster, **chosen)
        assert seen.digest == alone.digest
        assert seen.spec == alone.spec


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...


def test_tables_are_shared_by_runs_that_read_the_same(trace):
    one = job_table(trace, CLUSTERS[0], uses_estimates=False)
    assert job_table(trace, CLUSTERS[0], uses_estimates=False) is one
    assert job_table(trace, CLUSTERS[1], uses_estimates=False) is not one
    assert job_table(trace, CLUSTERS[0], uses_estimates=True) is not one
    by_estimates = PredictedBy("estimate_us", "estimate")
    assert job_table(trace, CLUSTERS[0], by_estimates, uses_estimates=False) is not one


def test_jobs_that_run_anywhere_have_one_table_for_all_clusters():
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 2])
    tables = {id(job_table(jobs, cluster, uses_estimates=True)) for cluster in CLUSTERS}
    assert len(tables) == 1


def test_equal_clusters_have_one_table_and_large_ones_none_that_is_kept():
    assert core_cluster(gs.Cluster.uniform(3, 4)) is core_cluster(gs.Cluster.uniform(3, 4))
    assert core_cluster(gs.Cluster.uniform(3, 4)) is not core_cluster(gs.Cluster.uniform(4, 3))
    large = gs.Cluster.uniform(20_000, 1)
    assert core_cluster(large) is not core_cluster(large)


def test_a_trace_and_what_is_kept_of_it_go_with_its_last_run():
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 2])
    result = gs.simulate(jobs, CLUSTERS[0], policy="easy", predictor="oracle")
    result.summary()
    kept = weakref.ref(jobs), weakref.ref(result)
    del jobs, result
    gc.collect()
    assert [thing() for thing in kept] == [None, None]
