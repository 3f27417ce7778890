"""Commands that are killed while they write: every file is the old one or the new one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.replacing import PARTIAL

KILLS = int(os.environ.get("GPUSCHED_KILLS", "8"))
"""Of each command. GPUSCHED_KILLS asks for more."""

# Forked, so that the libraries are loaded once. Three of four are killed after the first change of
# the folder, within the time that the rest takes when nobody kills it.
KILLER = """
import os, random, shutil, signal, sys, time
from gpusched.cli import app
import gpusched.cli.compare, gpusched.cli.trace_convert, gpusched.cli.trace_generate
import gpusched.reporting.report, gpusched.reporting.plotting, gpusched.traces.reading
import polars, plotly.graph_objects

def begun(arguments):
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        try:
            app(arguments, standalone_mode=True)
        except SystemExit as leave:
            os._exit(leave.code or 0)
        finally:
            os._exit(99)
    return child

def seen():
    return {(file.name, file.stat().st_size, file.stat().st_ino) for file in os.scandir(folder)}

def wait_for_a_change(child):
    before = seen()
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        try:
            if seen() != before:
                break
        except FileNotFoundError:
            break
    return time.monotonic()  # it has begun to write, or ended in the meantime

folder, kills, *arguments = sys.argv[1:]
shutil.copytree("old", folder, dirs_exist_ok=True)
start = time.monotonic()
child = begun(arguments)
changed = wait_for_a_change(child)
_, status = os.waitpid(child, 0)
assert status == 0, status
took, wrote = time.monotonic() - start, time.monotonic() - changed
random.seed(1)
for kill in range(int(kills)):
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    shutil.copytree("old", folder, dirs_exist_ok=True)
    child = begun(arguments)
    if kill % 4:
        wait_for_a_change(child)
        time.sleep(random.uniform(0, 1) ** 2 * wrote)
    else:
        time.sleep(random.uniform(0, 1) * took)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    shutil.copytree(folder, f"after-{kill}")
"""

COMMANDS = {
    "compare": ["compare", "jobs.csv", "-p", "fifo,sjf", "--out", "target", "--servers", "8"],
    "convert to csv": ["trace", "convert", "jobs.csv", "target/trace.csv"],
    "convert to npz": ["trace", "convert", "jobs.csv", "target/trace.npz"],
    "generate": ["trace", "generate", "philly", "target/trace.parquet", "--jobs", "30000"],
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_killed_command_leaves_whole_files(command: str, tmp_path: Path) -> None:
    new = gs.generate("philly", 6_000, load=0.9, cluster=gs.Cluster.uniform(8, 8), seed=2)
    new.to_polars().write_csv(tmp_path / "jobs.csv")
    old = tmp_path / "old"
    old.mkdir()
    (tmp_path / "target").mkdir()
    for name in ("report.html", "jobs.parquet", "trace.csv", "trace.npz", "trace.parquet"):
        (old / name).write_bytes(b"old")
    made = subprocess.run(
        [sys.executable, "-c", KILLER, "target", str(KILLS), *COMMANDS[command]],
        cwd=tmp_path, capture_output=True, text=True, timeout=120 + 20 * KILLS,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    for kill in range(KILLS):
        for path in (tmp_path / f"after-{kill}").iterdir():
            if path.suffix != PARTIAL and path.read_bytes() != b"old":
                assert_whole(path)


def assert_whole(path: Path) -> None:
    """The file is one that a command wrote to its end."""
    if path.name == "report.html":
        assert path.read_text().rstrip().endswith("</html>")
    elif path.name == "jobs.parquet":
        assert len(pl.read_parquet(path)) == 12_000
    else:
        assert len(gs.read_trace(path)) in (6_000, 30_000)
