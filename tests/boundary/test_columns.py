"""Columns cross the boundary as they are or not at all; nobody is left with dangling memory."""

import gc
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.boundary.workloads import CLUSTER, trace
from tests.each import each

INT64 = ("submit_us", "service_us", "predicted_us", "estimate_us", "checkpoint_us", "restart_us")
INT32 = ("gpus", "type_set")
COLUMNS = (*INT64, *INT32, "weight")


def columns(num_jobs: int = 4) -> dict[str, Any]:
    """Every argument of a job table, rightly typed."""
    made: dict[str, Any] = {name: np.arange(1, num_jobs + 1, dtype=np.int64) for name in INT64}
    made |= {"gpus": np.ones(num_jobs, np.int32), "type_set": np.zeros(num_jobs, np.int32)}
    return made | {"weight": np.ones(num_jobs), "type_masks": np.ones(1, np.uint64)}


class Shortest(gs.Order):
    """Shortest service first."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.predicted_us[jobs]


def strided(array: np.ndarray) -> np.ndarray:
    """The same values with a gap after each."""
    wide = np.zeros(2 * len(array), array.dtype)
    wide[::2] = array
    return wide[::2]


def foreign(array: np.ndarray) -> dict[str, Any]:
    """The same values as something else."""
    others = {np.dtype(kind) for kind in ("i4", "i8", "u8", "f4", "f8", "i2", "O", "m8[us]")}
    made = {str(dtype): array.astype(dtype) for dtype in others - {array.dtype}}
    return made | {
        "swapped": array.astype(array.dtype.newbyteorder()),
        "strided": strided(array),
        "backwards": array[::-1],
        "a list": array.tolist(),
        "a table": array.reshape(2, -1),
        "a number": np.array(array[0]),
        "a buffer": memoryview(array.tobytes()),
    }


KINDS = sorted({*foreign(np.ones(4)), *foreign(np.ones(4, np.int64))})


def test_columns_of_the_right_types_are_taken():
    assert len(_core.JobTable(**columns())) == 4


@each("kind", KINDS)
@each("name", COLUMNS)
def test_a_column_of_another_type_is_a_type_error_and_not_a_copy(name, kind):
    given = columns()
    with pytest.raises(TypeError):
        _core.JobTable(**given | {name: foreign(given[name]).get(kind, "no column")})


@pytest.mark.parametrize("name", ["server_gpus", "server_type"])
def test_a_server_column_of_another_type_is_a_type_error(name):
    given = {"server_gpus": np.ones(2, np.int32), "server_type": np.zeros(2, np.int32)}
    assert _core.Cluster(**given).num_gpus == 2
    for array in foreign(given[name]).values():
        with pytest.raises(TypeError):
            _core.Cluster(**given | {name: array})


@each("name", sorted(set(COLUMNS) - {"submit_us"}))
def test_a_column_of_another_length_is_named(name):
    given = columns()
    with pytest.raises(ValueError, match=f"{name}: length 3 differs from submit_us: 4"):
        _core.JobTable(**given | {name: given[name][:3].copy()})


@each(
    ("name", "value", "message"),
    [
        ("submit_us", -1, "submit_us: row 2 is -1; at least 0"),
        ("submit_us", 1, "submit_us: row 2 is 1; the column must be sorted"),
        ("service_us", 0, "service_us: row 2 is 0; 1 to 2\\^53 microseconds are allowed"),
        ("service_us", 2**53 + 1, "service_us: row 2 is 9007199254740993; 1 to 2\\^53"),
        ("predicted_us", 0, "predicted_us: row 2 is 0;"),
        ("estimate_us", -1, "estimate_us: row 2 is -1;"),
        ("checkpoint_us", -1, "checkpoint_us: row 2 is -1; 0 to 2\\^53"),
        ("restart_us", 2**53 + 1, "restart_us: row 2 is 9007199254740993;"),
        ("gpus", 0, "gpus: row 2 is 0; at least 1"),
        ("weight", np.nan, "weight: row 2 is nan; positive and finite"),
        ("weight", np.inf, "weight: row 2 is inf; positive and finite"),
        ("weight", 0.0, "weight: row 2 is 0"),
        ("type_set", 1, "type_set: row 2 is 1; an index into the type sets"),
        ("type_set", -1, "type_set: row 2 is -1; an index into the type sets"),
    ],
)
def test_a_bad_value_is_named_by_column_row_and_rule(name, value, message):
    given = columns()
    given[name][2] = value
    with pytest.raises(ValueError, match=message):
        _core.JobTable(**given)


def test_a_table_needs_a_job_and_a_cluster_a_server():
    nothing = np.array([], np.int64)
    with pytest.raises(ValueError, match="submit_us: a trace needs at least one job"):
        _core.JobTable(nothing, nothing, nothing.astype(np.int32))
    none = np.array([], np.int32)
    with pytest.raises(ValueError, match="server_gpus: a cluster needs at least one server"):
        _core.Cluster(none, none)


@each(
    ("gpus", "gpu_type", "message"),
    [
        (0, 0, "server_gpus: server 1 has 0 GPUs; it must have 1 to 64"),
        (65, 0, "server_gpus: server 1 has 65 GPUs; it must have 1 to 64"),
        (1, -1, "server_type: server 1 has type -1; it must be 0 to 63"),
        (1, 64, "server_type: server 1 has type 64; it must be 0 to 63"),
    ],
)
def test_a_bad_server_is_named(gpus, gpu_type, message):
    with pytest.raises(ValueError, match=message):
        _core.Cluster(np.array([8, gpus], np.int32), np.array([0, gpu_type], np.int32))


def test_a_job_table_keeps_its_columns_alive():
    jobs = trace()
    expected = gs.simulate(jobs, CLUSTER, placement="count").digest
    table = _core.JobTable(jobs.submit_us.copy(), jobs.service_us.copy(), jobs.gpus.copy())
    del jobs
    gc.collect()
    filler = [np.full(60, -1, np.int64) for _ in range(100)]  # would lie where they lay
    servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type)
    described = _core.RunDescription(policy="fifo", placement="count")
    schedule = _core.Run(table, servers, described).finish()
    assert schedule.digest == expected
    del filler


def test_a_result_outlives_the_trace_and_the_cluster_it_was_given():
    def result() -> gs.Result:
        return gs.simulate(trace(seed=1), gs.Cluster.uniform(3, 4), policy="srtf")

    kept = result()
    gc.collect()
    assert kept.audit().ok
    assert kept.digest == result().digest


@each(
    "name", ["start_us", "finish_us", "held_us", "paid_us", "preemptions", "num_servers", "status"]
)
def test_a_column_of_a_schedule_outlives_it_and_is_its_own(name):
    schedule = gs.simulate(trace(), CLUSTER, policy="srtf").schedule
    column, expected = getattr(schedule, name), getattr(schedule, name).tolist()
    column_to_spoil = getattr(schedule, name)
    column_to_spoil[:] = 77
    assert getattr(schedule, name).tolist() == expected
    del schedule, column_to_spoil
    gc.collect()
    filler = [np.full(60, 7, np.int64) for _ in range(100)]
    assert column.tolist() == expected
    del filler


def test_an_interval_log_outlives_its_schedule():
    schedule = gs.simulate(trace(), CLUSTER, policy="srtf").schedule
    rows = schedule.intervals()
    expected = {name: column.tolist() for name, column in schedule.intervals().items()}
    del schedule
    gc.collect()
    assert {name: column.tolist() for name, column in rows.items()} == expected
    dtypes = {name: column.dtype.name for name, column in rows.items()}
    assert dtypes == dict.fromkeys(("job", "start_us", "end_us", "server"), "int64") | {
        "mask": "uint64"
    }


def test_a_schedule_has_the_types_it_documents():
    schedule = gs.simulate(trace(), CLUSTER).schedule
    expected = dict.fromkeys(("start_us", "finish_us", "held_us", "paid_us"), "int64")
    expected |= {"preemptions": "int32", "num_servers": "int32"}
    expected |= {"status": "uint8", "reason": "uint8"}
    for name, dtype in expected.items():
        column = getattr(schedule, name)
        assert column.dtype.name == dtype
        assert column.shape == (60,)
        assert column.flags.c_contiguous
    assert len(schedule.digest) == 64
    assert set(schedule.counters) >= {"instants", "events", "max_running"}


@pytest.mark.parametrize("argument", ["description", "jobs", "cluster"])
def test_none_is_no_argument_of_the_core(argument):
    jobs = trace()
    given: dict[str, Any] = {
        "jobs": _core.JobTable(jobs.submit_us, jobs.service_us, jobs.gpus),
        "cluster": _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type),
        "description": _core.RunDescription(policy="fifo", placement="count"),
        "control": None,
    }
    assert len(_core.Run(**given).finish().digest) == 64
    with pytest.raises(TypeError):
        _core.Run(**given | {argument: None})


@each("argument", ["policy", "placement", "speed", "contention", "seed"])
def test_none_describes_no_run(argument):
    given: dict[str, Any] = {"policy": "fifo", "placement": "count"}
    assert _core.RunDescription(**given) is not None
    with pytest.raises(TypeError):
        _core.RunDescription(**given | {argument: None})


def test_a_description_is_of_names_and_of_no_positions():
    with pytest.raises(TypeError):
        _core.RunDescription("fifo", "count")  # type: ignore[call-arg, misc]


def test_a_run_keeps_the_objects_of_its_description_alive():
    jobs = trace()
    expected = gs.simulate(jobs, CLUSTER, policy=Shortest()).digest
    run = _core.Run(
        _core.JobTable(jobs.submit_us, jobs.service_us, jobs.gpus),
        _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type),
        _core.RunDescription(policy=Shortest(), policy_flags=["skip"], placement="consolidated"),
    )
    gc.collect()
    assert run.finish().digest == expected


ONE_JOB: dict[str, Any] = {
    "arrival_us": np.array([0]), "deadline_us": np.array([10**9]), "work": np.array([10.0]),
    "value": np.array([1.0]), "change_us": np.array([0]), "first": np.array([0, 2]),
    "type": np.array([0, 0], np.int32), "gpus": np.array([1, 2], np.int32),
    "rate": np.array([1.0, 2.0]), "type_gpus": np.array([4]), "slot_us": 10**6,
    "prices": "density", "quanta": 64, "segments": 16, "whole_slots": False, "knows": True,
}  # fmt: skip


def plan(**changed: Any) -> Any:
    return _core.plan_deadlines(**ONE_JOB | changed, control=_core.RunControl())


@pytest.mark.parametrize("column", ["type", "gpus", "rate"])
def test_a_column_of_plans_of_another_length_is_refused(column):
    plan()
    for other in (ONE_JOB[column][:1], np.repeat(ONE_JOB[column], 2)):
        with pytest.raises(ValueError, match="type, gpus and rate must have one length"):
            plan(**{column: other})


TWO_CLAIMS: dict[str, Any] = {
    "num_gpus": 4, "taken": np.zeros(3, np.int32),
    "gpus": np.array([4, 1]), "leases": np.array([2, 1]), "until": np.array([3, 3]),
}  # fmt: skip


def line(**changed: Any) -> _core.LeaseLine:
    return _core.LeaseLine(**TWO_CLAIMS | changed)


@pytest.mark.parametrize("column", ["gpus", "leases", "until"])
def test_a_column_of_claims_of_another_length_is_refused(column):
    for other in (TWO_CLAIMS[column][:1], np.repeat(TWO_CLAIMS[column], 2)):
        with pytest.raises(ValueError, match="gpus, leases and until: lengths differ"):
            line(**{column: other})


@each(
    ("column", "values"),
    [
        ("gpus", [2**32 + 4, 0, -1, 2**30]),
        ("leases", [-1, 2**40]),
        ("until", [-1, 2**40]),
        ("taken", [-1, 2**30]),
    ],
)
def test_what_no_claim_can_ask_for_is_refused_and_not_cut(column, values):
    for value in values:
        changed = TWO_CLAIMS[column].copy()
        changed[-1] = value
        with pytest.raises(ValueError, match=f"{column}: must be from .* is {value}"):
            line(**{column: changed})
    for value in (-1, 2**30, 2**32 + 4):
        with pytest.raises(ValueError, match=f"num_gpus: must be from 0 to .* is {value}"):
            line(num_gpus=value)


@pytest.mark.parametrize("place", [2, 3, 2**40])
def test_a_claim_that_is_not_there_is_refused(place):
    claims = line()
    with pytest.raises(IndexError, match="place: there are fewer claims"):
        claims.try_join(place)
    assert claims.try_join(1)
    assert claims.try_join(0)
    with pytest.raises(IndexError, match="place: there are fewer claims"):
        line(**{name: np.zeros(0, np.int64) for name in ("gpus", "leases", "until")}).try_join(0)
