"""Commands that are killed while they write: every file is the old one or the new one."""

import hashlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.replacing import PARTIAL
from tests.campaigns.interrupts import SPACE, STUDY

KILLS = int(os.environ.get("GPUSCHED_KILLS", "8"))
"""Of each command. GPUSCHED_KILLS asks for more."""
LIMIT_S = 120 + 20 * KILLS

pytestmark = [pytest.mark.long, pytest.mark.timeout(LIMIT_S + 60)]

# Forked, so that the libraries are loaded once. Three of four are killed after the first change of
# the folder, within the time that the rest takes when nobody kills it.
KILLER = """
import os, random, shutil, signal, sys, time
import gpusched as gs
from gpusched.cli import Commands, app
for name, entry in Commands.entries.items():
    command = entry.load(name)
    for inner, each in getattr(command, "entries", {}).items():
        each.load(inner)
import gpusched.reporting.report, gpusched.reporting.plot, gpusched.traces.reading
import gpusched_papers.sjf_bco, gpusched_papers.study
import altair, polars

def begun(arguments):
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1), os.dup2(null, 2)
        try:
            if arguments[0] == "save":
                result.save("target/result.npz")
            elif arguments[0] == "save a run":
                run.save("target/open.run")
            else:
                app(arguments, standalone_mode=True)
            os._exit(0)
        except SystemExit as leave:
            os._exit(leave.code or 0)
        finally:
            os._exit(99)
    return child

def seen():
    return {
        (path, name, os.stat(os.path.join(path, name)).st_size)
        for path, _, names in os.walk(folder) for name in names
    }

def wait_for_a_change(child):
    before = seen()
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        try:
            if seen() != before:
                break
        except FileNotFoundError:
            break
        if time.monotonic() - start > 60:
            break
    return time.monotonic()  # it has begun to write, or ended in the meantime

folder, kills, *arguments = sys.argv[1:]
if arguments[0].startswith("save"):
    jobs, servers = gs.read_trace("jobs.csv"), gs.Cluster.uniform(8, 8)
    result = gs.simulate(jobs, servers)
    run = gs.Simulation(jobs, servers)
    for _ in range(500):
        run.step()
shutil.copytree("old", folder, dirs_exist_ok=True)
start = time.monotonic()
child = begun(arguments)
changed = wait_for_a_change(child)
_, status = os.waitpid(child, 0)
assert status == 0, status
took, wrote = time.monotonic() - start, time.monotonic() - changed
random.seed(1)
for kill in range(int(kills)):
    shutil.rmtree(folder)
    shutil.copytree("old", folder)
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
    "export to json": ["export", "result.npz", "target/timeline.json"],
    "export to swf": ["export", "result.npz", "target/jobs.swf"],
    "reproduce": ["reproduce", "sjf-bco", "--quick", "--processes", "1", "--out", "target"],
    "run": ["run", "jobs.csv", "-p", "sjf", "--out", "target", "--servers", "8"],
    "save": ["save"],
    "save a run": ["save a run"],
    "size": ["size", "jobs.csv", "-p", "fifo", "--goal", "mean_wait_s<=600", "--out", "target"],
    "sweep": ["sweep", "study.toml", "--out", "target"],
    "tune": [
        "tune", "study.toml", "--space", "space.toml", "--metric", "mean_jct_s", "--trials", "6",
        "--out", "target",
    ],
    "generate": ["trace", "generate", "philly", "target/trace.parquet", "--jobs", "30000"],
}  # fmt: skip


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_killed_command_leaves_whole_files(command, tmp_path):
    prepare(tmp_path)
    made = subprocess.run(
        [sys.executable, "-c", KILLER, "target", str(KILLS), *COMMANDS[command]],
        cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    for kill in range(KILLS):
        for path in (tmp_path / f"after-{kill}").rglob("*"):
            is_ours = path.is_file() and path.suffix != PARTIAL and path.name != ".lock"
            if is_ours and path.read_bytes() != b"old":
                assert_whole(path)


def prepare(folder: Path) -> None:
    """Write what the commands read, and the old files that they replace."""
    servers = gs.Cluster.uniform(8, 8)
    jobs = gs.generate("philly", 6_000, load=0.9, cluster=servers, seed=2)
    jobs.to_polars().write_csv(folder / "jobs.csv")
    gs.simulate(jobs, servers).save(folder / "result.npz")
    (folder / "study.toml").write_text(STUDY)
    (folder / "space.toml").write_text(SPACE)
    old = folder / "old"
    old.mkdir()
    for name in (
        "report.html", "jobs.parquet", "trace.csv", "trace.npz", "trace.parquet", "size.html",
        "result.npz", "open.run", "timeline.json", "jobs.swf", "tables.md", "runs.csv",
        "field.md", "results.json", "figure-6.png",
    ):  # fmt: skip
        (old / name).write_bytes(b"old")


def assert_whole(path: Path) -> None:
    """The file is one that a command wrote to its end."""
    read = WHOLE.get(path.name) or WHOLE.get(path.suffix)
    assert read is not None, f"{path}: nobody knows when it is whole"
    read(path)


def ends_with(end: str) -> Callable[[Path], None]:
    """Return a check that the text of a file has its end."""

    def check(path: Path) -> None:
        assert path.read_text().rstrip().endswith(end), path

    return check


def has_rows(path: Path) -> None:
    """A table of full rows."""
    lines = path.read_text().splitlines()
    assert len(lines) > 1
    assert path.read_text().endswith("\n")


def is_jobs(path: Path) -> None:
    assert len(gs.read_trace(path)) in (6_000, 30_000)


def is_all_jobs(path: Path) -> None:
    assert len(pl.read_parquet(path)) in (6_000, 12_000)


def is_kept(path: Path) -> None:
    """A run of a study, behind its own sum."""
    data = path.read_bytes()
    assert hashlib.sha256(data[32:]).digest() == data[:32], path


WHOLE: dict[str, Callable[[Path], object]] = {
    "jobs.parquet": is_all_jobs,
    "trace.csv": is_jobs,
    "trace.npz": is_jobs,
    "trace.parquet": is_jobs,
    "jobs.swf": is_jobs,
    "result.npz": gs.load_result,
    "open.run": gs.resume,
    ".run": is_kept,
    ".npz": gs.load_result,
    ".html": ends_with("</html>"),
    ".svg": ends_with("</svg>"),
    ".json": lambda path: json.loads(path.read_text()),
    ".toml": lambda path: tomllib.loads(path.read_text()),
    ".parquet": pl.read_parquet,
    ".csv": has_rows,
    ".md": has_rows,
    ".png": lambda path: path.read_bytes().index(b"IEND"),
}
