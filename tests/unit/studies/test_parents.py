"""Worker processes end with the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.time_limit import time_limit

pytestmark = pytest.mark.long

PARENT = """
import signal, sys
from gpusched.studies.executors import opened
from gpusched.studies.driver import run_tasks
from tests.unit.studies import tasks

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
if __name__ == "__main__":
    with opened("processes:2") as backend:
        for _, pid in run_tasks(tasks.pid, range({size}), backend=backend):
            print(pid, flush=True)
        print("done", flush=True)
        for made in run_tasks(tasks.{work}, range(1, 9), backend=backend):
            print(made, flush=True)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def files(tmp_path: Path) -> list[Path]:
    """What processes keep in files."""
    return list(tmp_path.glob("gpusched-*"))


def started(tmp_path: Path, work: str) -> tuple[subprocess.Popen[str], set[int]]:
    """Start a parent that is in the middle of its work; also return its workers."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(size=40, work=work))
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": ":".join(["", *sys.path]), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdout is not None
    workers = set()
    for line in parent.stdout:
        if line.startswith("done"):
            return parent, workers
        workers.add(int(line))
    raise AssertionError(parent.communicate()[1])


@pytest.mark.parametrize("work", ["slow", "long_run"])
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path, work):
    with time_limit(120):
        parent, workers = started(tmp_path, work)
        assert len(workers) == 2
        assert files(tmp_path)
        parent.kill()
        parent.communicate()
        while any(map(is_alive, workers)):
            time.sleep(0.05)
        assert not files(tmp_path)


def test_an_interrupt_of_all_processes_is_heard_by_the_parent_alone(tmp_path):
    with time_limit(120):
        parent, workers = started(tmp_path, "long_run")
        os.killpg(parent.pid, signal.SIGINT)
        messages = parent.communicate()[1]
        assert parent.returncode != 0
        assert messages.count("Traceback") == 1, messages
        assert messages.strip().endswith("KeyboardInterrupt"), messages
        while any(map(is_alive, workers)):
            time.sleep(0.05)
        assert not files(tmp_path)


UNGUARDED = {
    "tasks": PARENT.format(size=3, work="slow").replace('if __name__ == "__main__":', "if True:"),
    "sweep": """
import gpusched as gs

study = {
    "name": "short", "seeds": [1, 2], "policies": ["fifo"],
    "traces": [{"generate": "philly", "jobs": 5}], "clusters": [{"servers": 1, "gpus": 8}],
}
result = gs.sweep(study, folder="runs", executor="processes:2")
print("failed:", result.num_failed)
""",
    "given": """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import gpusched as gs

study = {
    "name": "short", "seeds": [1, 2], "policies": ["fifo"],
    "traces": [{"generate": "philly", "jobs": 5}], "clusters": [{"servers": 1, "gpus": 8}],
}
with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
    print("failed:", gs.sweep(study, executor=pool).num_failed)
""",
}


@pytest.mark.parametrize("script", UNGUARDED)
def test_a_script_without_a_guard_ends_in_one_error_that_says_so(tmp_path, script):
    path = tmp_path / "parent.py"
    path.write_text(UNGUARDED[script])
    ended = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "PYTHONPATH": ":".join(["", *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1, ended
    assert "failed:" not in ended.stdout
    assert ended.stderr.count("BackendLost: ") == 1, ended.stderr
    assert not list(tmp_path.glob("runs/runs/*.parquet"))  # nor did a worker leave failed runs
    assert 'needs its main part under `if __name__ == "__main__":`' in ended.stderr
