"""A column that is handed out cannot be written to, nor made writeable again."""

import copy
import dataclasses
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.labels import Labels
from tests.boundary.workloads import CLUSTER, trace


def rich() -> gs.Trace:
    """Every column there is, but graphs."""
    jobs = gs.generate("philly", 30, cluster=gs.Cluster.uniform(4, 8), seed=2)
    ones = np.ones(len(jobs))
    return gs.Trace.from_polars(
        jobs.to_polars().with_columns(
            **dict.fromkeys(("estimate_s", "predicted_s", "weight", "checkpoint_s"), ones),
            **dict.fromkeys(("restart_s", "source_wait_s", "cpu", "memory_gib"), ones),
            gpu_share=ones, min_gpus=ones, max_gpus=ones * 64, gpu_types=np.array(["gpu", ""] * 15),
        )
    ).with_deadlines()  # fmt: skip


def arrays_of(thing: Any, path: str, depth: int = 3) -> Iterator[tuple[str, np.ndarray]]:
    """Every array that is kept in an object: fields, attributes, entries of mappings."""
    if isinstance(thing, np.ndarray):
        yield path, thing
        return
    if depth == 0:
        return
    inside: Any = {}
    if dataclasses.is_dataclass(thing):
        inside = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    elif isinstance(thing, dict):
        inside = thing
    elif isinstance(thing, gs.Result | type(gs.simulate(trace(), CLUSTER).jobs)):
        inside = vars(thing)
    for name, value in inside.items():
        yield from arrays_of(value, f"{path}.{name}", depth - 1)


def is_fixed(array: np.ndarray) -> bool:
    for part in (array, array[:1], array.view()):
        try:
            part.flags.writeable = True
        except ValueError:
            continue
        return False
    return not array.flags.writeable


def looked_at(result: gs.Result) -> gs.Result:
    """With all that is computed on demand computed."""
    for column in result.jobs:
        _ = result.jobs[column]
    _ = result.intervals, result.events, result.series
    return result


def kept(tmp_path: Path) -> dict[str, Any]:
    jobs = rich()
    result = looked_at(gs.simulate(jobs, gs.Cluster.uniform(8, 8, cpu=64), policy="srtf"))
    result.save(tmp_path / "result.npz")
    loaded = looked_at(gs.load_result(tmp_path / "result.npz"))
    filled = gs.online.fill(gs.traces.Requests.from_trace(jobs), gs.Cluster.uniform(4, 8))
    return {
        "trace": jobs,
        "changed": jobs.head(20).filter(np.arange(20) % 2 == 0).scale_load(2.0),
        "pickled": pickle.loads(pickle.dumps(jobs)),
        "copied": copy.deepcopy(jobs),
        "result": result,
        "events": vars(result.events),
        "loaded": loaded,
        "schedule": loaded.schedule,
        "requests": gs.traces.Requests.from_trace(jobs),
        "filled": filled,
        "matching": gs.online.assign([[1.0, 2.0], [2.0, 1.0]]),
        "plan": gs.online.plan_deadlines([], {"gpu": 1}),
    }


def test_no_array_that_is_kept_can_be_written_to(tmp_path):
    found = {
        path: is_fixed(array)
        for name, thing in kept(tmp_path).items()
        for path, array in arrays_of(thing, name)
    }
    assert len(found) > 100
    assert {path for path, fixed in found.items() if not fixed} == set()


def test_a_trace_does_not_change_with_the_arrays_it_was_made_of():
    jobs = trace()
    gpus, codes = jobs.gpus.copy(), np.zeros(len(jobs), np.int32)
    made = dataclasses.replace(jobs, gpus=gpus, user=Labels(codes, ("a", "b")))
    before = made.gpus.tolist()
    gpus[:], codes[:] = 77, 1
    assert made.gpus.tolist() == before
    assert made.user is not None
    assert set(made.user.values()) == {"a"}


def test_the_memory_of_a_column_is_not_copied_again():
    jobs = rich()
    renamed = dataclasses.replace(jobs, name="other")
    for field in dataclasses.fields(jobs):
        column = getattr(jobs, field.name)
        if isinstance(column, np.ndarray):
            assert np.shares_memory(column, getattr(renamed, field.name))


@pytest.mark.parametrize("dtype", ["m8[us]", "M8[us]", "O"])
def test_what_lends_no_memory_is_read_only_all_the_same(dtype):
    from gpusched.base.arrays import read_only

    assert not read_only(np.array([1, 2], dtype)).flags.writeable
