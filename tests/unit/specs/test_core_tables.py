"""The specification of a run: strict, the same after a round trip, and what the core reads."""

import dataclasses
import gc
import json
import weakref
from itertools import product

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.specs.case import PredictedBy, core_cluster, job_table
from gpusched.specs.run_spec import RunSpec, TraceSource
from tests.each import each
from tests.unit.small_runs import job, trace_of

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


SPEC = RunSpec(
    policy="2d-las:limits=3250.0/7200.0,preset=lucid",
    placement="consolidated-relaxed:kappa=1.5",
    predictor="oracle",
    seed=2**64 - 1,
    cluster=Cluster(
        (ServerGroup(2, 8, "V100", cpu=96.0), ServerGroup(1, 4, 'T4 "new"')), name="a\\b\nc é"
    ),
    trace=TraceSource.of(trace_of([job(1, 2, 3), job(4, 5, 6)])),
    version="0.1.0",
)


def test_a_specification_survives_json_and_toml():
    assert RunSpec.from_json(SPEC.to_json()) == SPEC
    assert RunSpec.from_toml(SPEC.to_toml()) == SPEC


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1)


@given(names, names, names)
def test_any_name_survives_json_and_toml(policy, name, source):
    spec = msgspec.structs.replace(
        SPEC, policy=policy, trace=msgspec.structs.replace(SPEC.trace, name=name, source=source)
    )
    assert RunSpec.from_json(spec.to_json()) == spec
    assert RunSpec.from_toml(spec.to_toml()) == spec


def changed(path, value):
    record = json.loads(SPEC.to_json())
    *parents, last = path
    table = record
    for key in parents:
        table = table[key]
    table[last] = value
    return json.dumps(record)


@each(
    ("path", "value", "message"),
    [
        (["extra"], 1, "unknown field `extra`"),
        (["trace", "extra"], 1, r"unknown field `extra` - at `\$.trace`"),
        (
            ["cluster", "servers", 1, "gpu"],
            1,
            r"unknown field `gpu` - at `\$.cluster.servers\[1\]`",
        ),
        (["seed"], "1", r"Expected `int`, got `str` - at `\$.seed`"),
        (["seed"], -1, "seed: -1 must not be negative"),
        (["policy"], "", "policy: must not be empty"),
        (["trace", "num_jobs"], 0, r"num_jobs: 0 must be at least 1 - at `\$.trace`"),
        (["trace", "sha256"], "xyz", "sha256: 'xyz' must be 64 hexadecimal digits"),
        (["cluster", "servers", 0, "count"], 0, "count"),
    ],
)
def test_a_mistake_is_named_with_file_and_path(path, value, message):
    with pytest.raises(ValueError, match=message) as raised:
        RunSpec.from_json(changed(path, value), "run.json")
    assert str(raised.value).startswith("run.json: ")


def test_a_missing_field_and_broken_text_are_named():
    with pytest.raises(ValueError, match=r"run\.json: .*missing required field `policy`"):
        RunSpec.from_json("{}", "run.json")
    with pytest.raises(ValueError, match=r"run\.json: "):
        RunSpec.from_json(b"\xff{", "run.json")
    with pytest.raises(ValueError, match=r"run\.toml: "):
        RunSpec.from_toml("policy = ", "run.toml")
    with pytest.raises(ValueError, match=r"run\.toml: .*missing required field"):
        RunSpec.from_toml(SPEC.to_toml().replace("seed", "# seed"), "run.toml")


def test_what_was_specified_stays():
    trace = gs.Trace.from_columns([0], [5], [1])
    spec = gs.simulate(trace, gs.Cluster.uniform(1, 4)).spec
    for frozen, field in ((spec, "policy"), (spec.trace, "name")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(frozen, field, "another")
