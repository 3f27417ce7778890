"""The finished runs of a study in a folder: all that was added, nothing that was not."""

from __future__ import annotations

import threading
from typing import Any

import polars as pl

from gpusched.studies.run_store import RUNS, RunStore


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
    for number in range(200):
        store.add([row(number)])
    assert names(store) == set(range(200))
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
    assert "more.parquet: is no part of a study" in store.damaged[0]


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
            for number in range(first, first + 100):
                store.add([row(number)])

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 100, 200)]
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
    assert names(RunStore(tmp_path)) == set(range(300))
