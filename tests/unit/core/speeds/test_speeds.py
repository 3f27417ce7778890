"""Speeds: the columns they need, ideals to the tick, and what the memory of a worker does."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched.specs.case import job_columns
from tests.bare_speed import bare_speed
from tests.each import each

PROFILE = gs.model.JobProfile(
    "m", 1e8, 32, {"A": 0.001, "B": 0.002}, 0.01,
    throughput={"A": {1: 10.0, 2: 18.0}, "B": {1: 5.0, 2: 9.0}},
    spread_throughput={"A": {2: 15.0}},
    samples_per_s={"A": 10.0, "B": 5.0}, global_batch=64, max_samples={"A": 48},
)  # fmt: skip
GRAPH = gs.model.JobGraph(
    "g", (gs.model.Stage(1, {"A": 0.1, "B": 0.2}, 1e8, 1e6), gs.model.Stage(1, 0.2, 1e8))
)
CLUSTER = gs.Cluster(
    (
        gs.ServerGroup(1, 2, "A", nic_gbps=10, intra_gbps=100),
        gs.ServerGroup(1, 2, "B", nic_gbps=10, intra_gbps=100),
    )
)
TRACE = gs.Trace.from_columns(
    [0, 0], [10, 20], [2, 2], profiles=PROFILE, graphs=GRAPH, gpu_types=["A", None]
)
READ = [(speed.name, name) for speed in gs.speeds().values() for name in speed.columns]
OPTIONAL = [(s.name, name) for s in gs.speeds().values() for name in s.optional_columns]
BY_TYPE = [
    (speed, name)
    for speed, name in READ + OPTIONAL
    if any(column.name == name and "GPU type" in column.per for column in _core.JOB_COLUMNS)
]
ALWAYS = {"submit_us", "service_us", "gpus", "public_columns"}


def given(speed: str) -> dict[str, Any]:
    return job_columns(TRACE, CLUSTER, uses_estimates=False, speed=speed)


def limits(columns: dict[str, Any], speed: str) -> dict[str, Any]:
    servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type, **CLUSTER.core_columns())
    return _core.iteration_limits(_core.JobTable(**columns), servers, speed, {})


@each("speed", list(gs.speeds()))
def test_the_core_is_given_exactly_the_columns_that_a_speed_reads(speed):
    info = gs.speeds()[speed]
    read = {*info.columns, *info.optional_columns}
    of_jobs = {*ALWAYS, "type_set", "type_masks"}
    assert given(speed).keys() == read | of_jobs
    assert (limits(given(speed), speed)["low"] > 0).all()


@each(("speed", "name"), READ)
def test_a_needed_column_that_is_missing_is_named(speed, name):
    columns = given(speed)
    del columns[name]
    # What describes stages is whole or refused before a speed sees it.
    where = "" if speed == "stages" and name != "graph" else f"speed {speed}: "
    ends = "is missing; every job needs .*, " if where else ""
    with pytest.raises(ValueError, match=f"^{where}{name}.*{ends}"):
        limits(columns, speed)


@each(("speed", "name"), OPTIONAL)
def test_an_optional_column_may_be_missing(speed, name):
    columns = given(speed)
    del columns[name]
    assert (limits(columns, speed)["low"] > 0).all()


@each(("speed", "name"), BY_TYPE)
def test_figures_for_other_types_than_the_cluster_has_are_refused(speed, name):
    columns = given(speed)
    length = len(columns[name])
    columns[name] = np.repeat(columns[name], 2)
    message = f"speed {speed}: {name} has {2 * length} entries; .* on 2 GPU types .*need {length}"
    with pytest.raises(ValueError, match=message):
        limits(columns, speed)


@pytest.mark.parametrize(
    ("speed", "name", "whose"),
    [("ring", "compute_s", "profile 0"), ("stages", "stage_compute_s", "stage 0 of graph 0")],
)
def test_a_figure_that_is_not_known_matters_where_a_job_may_run(speed, name, whose):
    columns = given(speed)
    columns[name] = columns[name].copy()
    columns[name][1] = np.nan
    message = f"speed {speed}: {whose} has no {name} for GPU type 1, which job 1 may use"
    with pytest.raises(ValueError, match=message):
        limits(columns, speed)
    on_a = np.zeros(2, np.int32)
    columns |= {"type_set": on_a, "type_masks": np.array([1], np.uint64)}
    assert (limits(columns, speed)["low"] > 0).all()


def test_a_speed_without_a_model_needs_no_column():
    assert gs.speeds()["fixed"].columns == gs.speeds()["fixed"].optional_columns == ()


@each("columns", [
        ("deadline_us",),
        ("profile", "global_batch"),
        ("profile", "samples_per_s", "gradient_bytes"),
        ("graph", "graph_begin", "replicas", "stage_compute_s", "activation_bytes",
         "parameter_bytes", "profile", "max_samples"),
    ])  # fmt: skip
def test_a_speed_gets_whatever_columns_its_registration_lists(columns):
    own = {"deadline_s": [100.0, 100.0]}
    trace = gs.Trace.from_columns(
        [0, 0], [10, 20], [2, 2], profiles=PROFILE, graphs=GRAPH, **own
    )  # fmt: skip
    without = gs.Trace.from_columns([0, 0], [10, 20], [2, 2])
    with bare_speed(columns) as speed:
        made = job_columns(trace, CLUSTER, uses_estimates=False, speed=speed)
        assert made.keys() == {*ALWAYS, "deadline_us", *columns}
        assert gs.simulate(trace, CLUSTER, speed=speed).audit().ok
        with pytest.raises(ValueError, match="trace: the jobs have no "):
            gs.simulate(without, CLUSTER, speed=speed)
        servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type)
        table = _core.JobTable(without.submit_us, without.service_us, without.gpus)
        described = _core.RunDescription(policy="fifo", placement="count", speed=speed)
        first = next(column.name for column in _core.JOB_COLUMNS if column.name in columns)
        message = f"speed bare: {first} is missing; every job needs {', '.join(columns)}"
        with pytest.raises(ValueError, match=message):
            _core.Run(table, servers, described)


def test_what_only_a_speed_reads_is_optional_where_it_says_so():
    with bare_speed((), ("profile", "samples_per_s")) as speed:
        made = job_columns(TRACE, CLUSTER, uses_estimates=False, speed=speed)
        assert {"profile", "samples_per_s"} <= made.keys()
        without = gs.Trace.from_columns([0, 0], [10, 20], [2, 2])
        plain = job_columns(without, CLUSTER, uses_estimates=False, speed=speed)
        assert plain.keys() == ALWAYS
        assert gs.simulate(without, CLUSTER, speed=speed).audit().ok


def test_what_jobs_have_themselves_is_given_whether_or_not_a_speed_reads_it():
    trace = gs.Trace.from_columns([0, 0], [10, 20], [2, 2], deadline_s=[100.0, 100.0])
    with bare_speed(("deadline_us",)):
        columns = job_columns(trace, CLUSTER, uses_estimates=False)
        assert "deadline_us" in columns


RATES = {"slow": 0.1, "middle": 0.3, "fast": 0.5}
"""Their sum is greatest from the fastest on: other orders round to less."""


def test_rates_of_workers_are_added_from_the_fastest_on_wherever_these_are():
    assert 0.5 + 0.3 + 0.1 > 0.1 + 0.5 + 0.3
    service_us = 8 * 10**15  # of which the last bit is a tick
    profile = gs.model.JobProfile("p", samples_per_s=RATES, global_batch=6)
    trace = gs.Trace.from_columns(
        [0, 0], [service_us / 1e6] * 2, [1, 3], gpu_types=[["slow"], None],
        profiles=[profile], profile=[0, 0],
    )  # fmt: skip
    cluster = gs.Cluster(
        tuple(gs.ServerGroup(1, 1, name) for name in ("slow", "middle", "fast", "slow"))
    )
    result = gs.simulate(trace, cluster, policy="fifo", speed="proportional", placement="first-fit")
    assert result.intervals["server"].tolist() == [0, 1, 2, 3]
    assert result.schedule.finish_us.tolist() == [service_us] * 2


def jobs_of(
    profile: gs.model.JobProfile, service_s: list[float], gpus: int, least: int
) -> gs.Trace:
    """Jobs of one profile and width that come at once."""
    count = len(service_s)
    return gs.Trace.from_columns(
        np.zeros(count), service_s, [gpus] * count, min_gpus=[least] * count,
        max_gpus=[2 * gpus] * count, profile=np.zeros(count, np.int32), profiles=(profile,),
    )  # fmt: skip


@each("batches", ["real", "integer"])
@each("split", ["proportional", "equal"])
def test_one_type_beats_the_fastest_mixture_where_that_has_too_little_memory(split, batches):
    # Two of A hold a sample each, and leave 98 of 100 to two of B; four of B have 25 each.
    profile = gs.model.JobProfile(
        "m", samples_per_s={"A": 10.0, "B": 9.0}, global_batch=100, max_samples={"A": 1}
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "A"), gs.ServerGroup(1, 4, "B")))
    columns = job_columns(
        jobs_of(profile, [100.0], 4, 4), cluster, uses_estimates=False,
        speed="proportional",
    )  # fmt: skip
    # From a trace, a type that cannot hold a job's samples is none that it may use.
    del columns["type_set"], columns["type_masks"]
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type)
    values = {"split": split, "batches": batches}
    limits = _core.iteration_limits(_core.JobTable(**columns), servers, "proportional", values)
    assert limits["low"].tolist() == pytest.approx([25 / 9])


def test_jobs_have_as_many_gpus_as_their_memory_needs():
    # A batch of 100 needs four workers of 30: two jobs fill eight GPUs, and none is to have more.
    profile = gs.model.JobProfile(
        "m", samples_per_s={"A": 10.0}, global_batch=100, max_samples={"A": 30}
    )
    cluster = gs.Cluster((gs.ServerGroup(1, 8, "A"),))
    result = gs.simulate(
        jobs_of(profile, [100.0, 100.0], 4, 1), cluster, policy="matching", placement="best-fit",
        speed="proportional",
    )  # fmt: skip
    assert result.schedule.start_us.tolist() == [0, 0]
    assert result.schedule.finish_us.tolist() == [100_000_000, 100_000_000]
