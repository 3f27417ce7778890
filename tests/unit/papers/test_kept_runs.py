"""Finished runs of a study are kept, and taken by the next one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from gpusched.base.arrays import Float64, Int64
from gpusched.cli import app
from gpusched.papers import registry as papers
from gpusched.papers.common import kept_runs
from gpusched.papers.common.kept_runs import forget, kept_in, num_kept, once
from gpusched.papers.common.parallel import run_all

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


def tripled(task: int) -> list[int]:
    return [task] * 3


def logged(task: int) -> int:
    calls.append(task)
    return 2 * task


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    calls.clear()


@pytest.mark.parametrize("size", [0, 1, 3])
def test_what_a_run_made_comes_back_bit_by_bit(size: int, tmp_path: Path) -> None:
    with kept_in(tmp_path):
        first, again = (once(run, "x", size) for _ in range(2))
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


def test_other_arguments_data_and_code_make_other_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    (data / "philly").mkdir(parents=True)
    with kept_in(tmp_path / "kept"):
        once(run, "x", 1)
        once(run, "x", 2)
        (data / "philly" / "philly.csv").write_text("new")
        monkeypatch.setenv("GPUSCHED_DATA", str(data))
        once(run, "x", 1)
        monkeypatch.setattr(kept_runs, "_code", lambda: "another version")
        once(run, "x", 1)
    assert calls == [("x", 1), ("x", 2), ("x", 1), ("x", 1)]


def test_nothing_is_kept_without_a_folder(tmp_path: Path) -> None:
    once(run, "x", 1)
    with kept_in(None):
        once(run, "x", 1)
    assert len(calls) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"\xc1", b"\x93\x01\x02\x03"])
def test_a_damaged_file_is_run_again(damage: bytes, tmp_path: Path) -> None:
    with kept_in(tmp_path):
        once(run, "x", 1)
        (file,) = tmp_path.iterdir()
        file.write_bytes(damage)
        once(run, "x", 1)
        once(run, "x", 1)
    assert len(calls) == 2


@pytest.mark.parametrize("processors", [1, 2])
def test_tasks_that_are_kept_are_not_run(
    processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    with kept_in(tmp_path):
        assert next(run_all(tripled, [1])) == (1, [1, 1, 1])
        assert dict(run_all(tripled, [1, 2, 3])) == {1: [1] * 3, 2: [2] * 3, 3: [3] * 3}
        assert num_kept(tmp_path) == 3


def test_tasks_are_kept_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with kept_in(tmp_path):
        begun = run_all(logged, [1, 2, 3])
        assert [next(begun), next(begun)] == [(1, 2), (2, 4)]
        del begun
        assert dict(run_all(logged, [1, 2, 3])) == {1: 2, 2: 4, 3: 6}
    assert calls == [1, 2, 3]


def test_what_was_kept_is_forgotten_and_nothing_else(tmp_path: Path) -> None:
    with kept_in(tmp_path / "kept"):
        once(run, "x", 1)
    (tmp_path / "kept" / "a.run.12345678.tmp").write_text("of a writer that was killed")
    (tmp_path / "kept" / "mine.txt").write_text("mine")
    forget(tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]
    (tmp_path / "kept" / "mine.txt").unlink()
    forget(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", sorted(papers.known_papers()))
def test_every_paper_keeps_its_runs(name: str, tmp_path: Path) -> None:
    """What a second call takes gives the same tables."""
    paper = papers.paper(name)
    try:
        first = paper.reproduce(seeds=2, quick=True, keep=tmp_path)
    except ValueError as error:
        pytest.skip(str(error))
    kept = num_kept(tmp_path)
    assert kept >= 2
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = paper.reproduce(seeds=2, quick=True, keep=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert repr(again.tables()) == repr(first.tables())


def test_an_interrupted_reproduction_shows_what_is_done_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actual, runs = kept_runs.keep, []

    def stopped(run: Any, given: tuple[Any, ...], made: Any) -> None:
        if given[0] == 3:
            raise KeyboardInterrupt
        actual(run, given, made)

    def counted(run: Any, given: tuple[Any, ...], made: Any) -> None:
        runs.append(given[0])
        actual(run, given, made)

    command = ["reproduce", "sjf-bco", "--quick", "--seeds", "4", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(kept_runs, "keep", stopped)
    cut = CliRunner().invoke(app, command)
    assert cut.exit_code == 130
    assert "SJF-BCO" in cut.stdout
    kept = num_kept(tmp_path / "out" / "unfinished")
    assert kept > 0
    assert f"kept {kept} finished runs in {tmp_path / 'out' / 'unfinished'}" in cut.stderr

    monkeypatch.setattr(kept_runs, "keep", counted)
    whole = CliRunner().invoke(app, command)
    assert whole.exit_code == 0, whole.stderr
    assert f"goes on from {kept} finished runs" in whole.stderr
    assert set(runs) == {3}
    assert (tmp_path / "out" / "tables.md").exists()
    assert not (tmp_path / "out" / "unfinished").exists()
