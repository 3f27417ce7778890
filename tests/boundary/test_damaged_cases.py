"""Cases for the replay tool that were cut short or changed are refused, whatever was changed."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

import gpusched as gs
from gpusched.specs.case import sealed, unsealed

TOOL = os.environ.get("GPUSCHED_REPLAY")
needs_tool = pytest.mark.skipif(
    TOOL is None, reason="set GPUSCHED_REPLAY to the native tool gpusched-replay"
)


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, gs.Result]:
    result = gs.simulate(
        gs.generate("philly", jobs=30, load=0.9, seed=1), gs.Cluster.uniform(8, 8), policy="srtf"
    )
    result.save_case(tmp_path / "case")
    return tmp_path / "case", result


def test_a_case_has_a_head_that_its_contents_give(case: tuple[Path, gs.Result]) -> None:
    file = case[0].read_bytes()
    assert file.startswith(b"GPUSCASE")
    assert sealed(unsealed(file)) == file


def replayed(path: Path) -> subprocess.CompletedProcess[str]:
    assert TOOL is not None
    return subprocess.run(
        [TOOL, path], capture_output=True, text=True, errors="replace", check=False, timeout=60
    )


@needs_tool
def test_a_whole_case_is_replayed(case: tuple[Path, gs.Result]) -> None:
    path, result = case
    assert result.digest in replayed(path).stdout


@needs_tool
def test_a_case_that_was_changed_in_any_way_is_refused(case: tuple[Path, gs.Result]) -> None:
    path, _ = case
    file, draw = path.read_bytes(), random.Random(1)
    changed = [file[:length] for length in (0, 7, 30, 87, 88, 200, len(file) - 1)]
    changed += [file + b"\0", b"\0" + file, file + file]
    for place in (*range(0, 100, 5), *(draw.randrange(len(file)) for _ in range(60))):
        changed.append(file[:place] + bytes([file[place] ^ 1]) + file[place + 1 :])
    for content in changed:
        path.write_bytes(content)
        done = replayed(path)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "case" in done.stderr
