"""Finished runs and what they made are kept, and taken by the next study that needs them."""

import importlib.metadata
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from gpusched.base.arrays import Float64, Int64
from gpusched.engine import code_digest
from gpusched.studies import kept_runs
from gpusched.studies.driver import run_tasks
from gpusched.studies.executors import opened
from gpusched.studies.kept_runs import KeptRuns, forget, num_kept
from gpusched.studies.run_store import RUNS, RunStore

calls: list[object] = []


@dataclass(frozen=True)
class Made:
    """What a run makes."""

    name: str
    curve: Float64
    ratio: float
    by_name: dict[str, float]
    missing: float | None = None


def run(name: str, size: int) -> tuple[list[Made], Int64 | None]:
    calls.append((name, size))
    made = Made(name, np.arange(size) / 7, float("nan"), {"a": np.float64(0.1)})
    return [made] * size, np.arange(size) if size else None


def logged(task: int) -> int:
    calls.append(task)
    return 2 * task


def once(name: str, size: int, folder: Path) -> tuple[list[Made], Int64 | None]:
    """Run as a study would, one task alone."""
    with opened("threads:1") as backend:
        ((_, made),) = run_tasks(
            run, [(name, size)], backend=backend, arguments=lambda task: task, kept=KeptRuns(folder)
        )
    return made


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    calls.clear()


@pytest.mark.parametrize("size", [0, 1, 3])
def test_what_a_run_made_comes_back_bit_by_bit(size, tmp_path):
    first, again = (once("x", size, tmp_path) for _ in range(2))
    assert calls == [("x", size)]
    for one, other in zip(first[0], again[0], strict=True):
        assert one.curve.tobytes() == other.curve.tobytes()
        assert one.curve.dtype == other.curve.dtype
        assert np.isnan(other.ratio)
        assert (one.name, one.by_name, one.missing) == (other.name, other.by_name, other.missing)
    if size:
        assert again[1].dtype == np.int64
        assert again[1].tolist() == list(range(size))
    else:
        assert again[1] is None


def test_other_arguments_data_and_code_make_other_runs(tmp_path, monkeypatch):
    data, kept = tmp_path / "data", tmp_path / "kept"
    (data / "philly").mkdir(parents=True)
    once("x", 1, kept)
    once("x", 2, kept)
    (data / "philly" / "philly.csv").write_text("new")
    monkeypatch.setenv("GPUSCHED_DATA", str(data))
    once("x", 1, kept)
    monkeypatch.setattr(kept_runs, "code_digest", lambda: "another version")
    once("x", 1, kept)
    assert calls == [("x", 1), ("x", 2), ("x", 1), ("x", 1)]


@pytest.mark.parametrize(("now", "runs"), [("some", 1), ("same", 2)])
def test_the_contents_of_data_name_a_run_and_not_their_times(now, runs, tmp_path, monkeypatch):
    for place, text in ("before", "some"), ("after", now):
        file = tmp_path / place / "philly" / "philly.csv"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        os.utime(file, ns=(len(place), len(place)))
        monkeypatch.setenv("GPUSCHED_DATA", str(tmp_path / place))
        once("x", 1, tmp_path / "kept")
    assert len(calls) == runs


@pytest.fixture
def _fresh() -> Iterator[None]:
    code_digest.code_digest.cache_clear()
    yield
    code_digest.code_digest.cache_clear()
    code_digest._version.cache_clear()


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("library", ["numpy", "scipy", "scikit-learn", "polars"])
def test_the_digest_of_the_code_has_the_versions_of_libraries(library, monkeypatch):
    before = code_digest.code_digest()
    actual = importlib.metadata.version

    def other(name: str) -> str:
        return "0.0.1" if name == library else actual(name)

    monkeypatch.setattr(importlib.metadata, "version", other)
    code_digest.code_digest.cache_clear()
    code_digest._version.cache_clear()
    assert code_digest.code_digest() != before


@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x93\x01\x02\x03"])
def test_a_damaged_file_is_run_again(damage, tmp_path):
    once("x", 1, tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)
    once("x", 1, tmp_path)
    once("x", 1, tmp_path)
    assert len(calls) == 2


def test_tasks_are_kept_as_they_come(tmp_path):
    kept: dict[str, Any] = {"kept": KeptRuns(tmp_path)}
    with opened("threads:1") as backend:
        begun = run_tasks(logged, [1, 2, 3], backend=backend, **kept)
        assert [next(begun), next(begun)] == [(1, 2), (2, 4)]
        begun.close()
        assert num_kept(tmp_path) >= 2
        calls.clear()
        assert dict(run_tasks(logged, [1, 2, 3], backend=backend, **kept)) == {1: 2, 2: 4, 3: 6}
    assert calls in ([3], [])


def busy(task: int) -> int:
    """Take some processor time, the longer the greater the task is."""
    until_s = time.process_time() + 0.01 * task
    while time.process_time() < until_s:
        pass
    return task


def test_a_kept_task_tells_the_processor_time_that_it_took_when_it_was_run(tmp_path):
    told: list[list[float]] = []
    for tasks in ([1], [1, 2]):
        told.append([])
        with opened("threads:1") as backend:
            kept = KeptRuns(tmp_path)
            done = run_tasks(busy, tasks, backend=backend, kept=kept, on_spent=told[-1].append)
            assert sorted(task for task, _ in done) == tasks
    (first,), (kept_s, second) = told
    assert kept_s == first >= 0.01
    assert second >= 0.02


def test_what_is_done_is_kept_where_the_caller_leaves(tmp_path):
    with opened("threads:1") as backend:
        begun = run_tasks(logged, [1, 2, 3], backend=backend, kept=KeptRuns(tmp_path))
        next(begun)
        while len(calls) < 3:
            time.sleep(0.01)
        time.sleep(0.1)  # the last one returns
        begun.close()
    assert num_kept(tmp_path) == 3


def test_what_was_kept_is_forgotten_and_nothing_else(tmp_path):
    once("x", 1, tmp_path / "kept")
    (tmp_path / "kept" / "a.run.12345678.tmp").write_text("of a writer that was killed")
    (tmp_path / "kept" / "mine.txt").write_text("mine")
    forget(tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]
    (tmp_path / "kept" / "mine.txt").unlink()
    forget(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def row(number: int, **more: Any) -> dict[str, Any]:
    return {"run": f"{number:032x}", "mean_jct_s": float(number), "wall_s": 0.1, **more}


def names(store: RunStore) -> set[int]:
    return {int(name, 16) for name in store.read()["run"]}


def test_what_was_added_is_there_for_all(tmp_path):
    store = RunStore(tmp_path)
    assert len(store.read()) == 0
    store.add([row(1), row(2, warnings=["careful"])])
    store.add([row(3, num_jobs=2)])
    store.add([])
    found = RunStore(tmp_path).read().sort("run")
    assert found["mean_jct_s"].to_list() == [1.0, 2.0, 3.0]
    assert found["warnings"].to_list() == [None, ["careful"], None]
    assert found["num_jobs"].to_list() == [None, None, 2]


def test_many_parts_become_few(tmp_path):
    store = RunStore(tmp_path)
    for number in range(100):
        store.add([row(number)])
    assert names(store) == set(range(100))
    assert len(list((tmp_path / RUNS).glob("*.parquet"))) < 40


def test_parts_that_others_left_are_joined(tmp_path):
    for number in range(50):
        RunStore(tmp_path).add([row(number)])
    (tmp_path / RUNS / "part-x.parquet.12345678.tmp").write_text("killed")
    store = RunStore(tmp_path)
    with store.writing():
        store.tidy()  # somebody writes
        assert len(list((tmp_path / RUNS).glob("*"))) > 50
    store.tidy()
    assert names(store) == set(range(50))
    assert len(list((tmp_path / RUNS).glob("*.parquet"))) == 1
    assert not list((tmp_path / RUNS).glob("*.tmp"))


def test_a_run_that_failed_gives_way_to_one_that_did_not(tmp_path):
    store = RunStore(tmp_path)
    store.add([{"run": "0" * 32, "error": "ValueError: x"}, row(1)])
    store.add([row(0)])
    store.add([{"run": "0" * 32, "error": "ValueError: y"}])
    found = store.read().sort("run")
    assert found["error"].to_list() == [None, None]
    assert len(found) == 2


def test_a_damaged_part_is_told_and_not_believed(tmp_path):
    store = RunStore(tmp_path)
    store.add([row(1)])
    (part,) = (tmp_path / RUNS).glob("*.parquet")
    store.add([row(2)])
    data = bytearray(part.read_bytes())
    for at in range(0, len(data), 97):  # also where Parquet itself sees nothing
        changed = bytearray(data)
        changed[at] ^= 1
        part.write_bytes(changed)
        assert names(store) == {2}
        assert [str(part) in line and "damaged" in line for line in store.damaged] == [True]
    part.write_bytes(data[:50])
    assert names(store) == {2}
    part.write_bytes(data)
    assert names(store) == {1, 2}
    assert store.damaged == []


def test_a_foreign_file_is_told_and_not_believed(tmp_path):
    store = RunStore(tmp_path)
    store.add([row(1)])
    pl.DataFrame({"run": ["9" * 32]}).write_parquet(tmp_path / RUNS / "more.parquet")
    assert names(store) == {1}
    assert "more.parquet: not part of a study" in store.damaged[0]


def test_damage_is_not_joined_away(tmp_path):
    for number in range(40):
        RunStore(tmp_path).add([row(number)])
    part = next((tmp_path / RUNS).glob("*.parquet"))
    part.write_bytes(b"x")
    store = RunStore(tmp_path)
    store.tidy()
    assert len(names(store)) == 39
    assert part.exists()


def test_several_writers_lose_nothing_while_others_read(tmp_path):
    def write(first: int) -> None:
        store = RunStore(tmp_path)
        store.tidy()
        with store.writing():
            for number in range(first, first + 50):
                store.add([row(number)])

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 50, 100)]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        store = RunStore(tmp_path)
        found = len(store.read())
        assert found >= seen
        assert store.damaged == []
        seen = found
    for writer in writers:
        writer.join()
    assert names(RunStore(tmp_path)) == set(range(150))
