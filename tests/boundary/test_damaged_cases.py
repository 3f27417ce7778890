"""Cases for the replay tool that were cut short or changed are refused, whatever was changed."""

import os
import random
import struct
import subprocess
from pathlib import Path

import pytest

import gpusched as gs
from gpusched import _core
from gpusched.specs.case import sealed, unsealed

TOOL = os.environ.get("GPUSCHED_REPLAY")
needs_tool = pytest.mark.skipif(
    TOOL is None, reason="set GPUSCHED_REPLAY to the native tool gpusched-replay"
)


@pytest.fixture
def case(tmp_path):
    result = gs.simulate(
        gs.generate("philly", jobs=30, load=0.9, seed=1), gs.Cluster.uniform(8, 8), policy="srtf"
    )
    result.save_case(tmp_path / "case")
    return tmp_path / "case", result


def test_a_case_has_a_head_that_its_contents_give(case):
    file = case[0].read_bytes()
    assert file.startswith(b"GPUSCASE")
    assert sealed(unsealed(file)) == file


def replayed(path: Path) -> subprocess.CompletedProcess[str]:
    assert TOOL is not None
    return subprocess.run(
        [TOOL, path], capture_output=True, text=True, errors="replace", check=False, timeout=60
    )


@needs_tool
def test_a_whole_case_is_replayed(case):
    path, result = case
    assert result.digest in replayed(path).stdout


@needs_tool
def test_a_case_from_before_columns_were_counted_is_replayed():
    # Format 5: a run under ring with profiles, types, weights and deadlines.
    done = replayed(Path(__file__).with_name("format_5.case"))
    assert done.stdout.strip() == (
        "4e6c87e64619398ddfd12092776053d33752a069ec90806e842c2a4ff1a2a11a"
    )


@needs_tool
@pytest.mark.parametrize("added", [-1, 1])
def test_a_case_may_lack_the_last_columns_but_has_no_unknown_ones(added, tmp_path):
    trace = gs.generate("philly", jobs=30, load=0.9, seed=1)
    result = gs.simulate(trace, gs.Cluster.uniform(8, 8))
    result.save_case(tmp_path / "case")
    contents = unsealed((tmp_path / "case").read_bytes())
    count = struct.pack("<Q", len(_core.JOB_COLUMNS))
    columns = contents.index(count + struct.pack("<Q", len(trace)))
    servers = contents.index(struct.pack("<Q", 8) + struct.pack("<8i", *[8] * 8))
    assert contents[servers - 8 : servers] == bytes(8)  # the last column, which no job has
    fewer_or_more = contents[columns + 8 : servers + min(added, 0) * 8] + bytes(max(added, 0) * 8)
    written = struct.pack("<Q", len(_core.JOB_COLUMNS) + added)
    path = tmp_path / "other"
    path.write_bytes(sealed(contents[:columns] + written + fewer_or_more + contents[servers:]))
    done = replayed(path)
    if added < 0:
        assert done.stdout.strip() == result.digest
    else:
        assert done.returncode == 2
        assert f"there are {len(_core.JOB_COLUMNS) + 1} columns of jobs" in done.stderr


@needs_tool
def test_a_case_that_was_changed_in_any_way_is_refused(case):
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
