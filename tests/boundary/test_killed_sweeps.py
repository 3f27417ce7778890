"""Studies that are killed at random moments: what was reported is kept, and the table is whole."""

import os
import random
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

import gpusched as gs
from gpusched.studies.run_store import RunStore

pytestmark = pytest.mark.long

KILLS = int(os.environ.get("GPUSCHED_KILLS", "8"))
"""Of each study. GPUSCHED_KILLS asks for more."""
LONGEST = {"threads:2": 0.6, "processes:2": 2.5}
"""Seconds until one is killed, at most: about what the whole study takes."""
TIMES = ("wall_s", "total_s", "jobs_per_s")

STUDY = {
    "name": "killed",
    "seeds": list(range(12)),
    "policies": ["fifo", "sjf", "srtf", "easy"],
    "traces": [{"generate": "philly", "jobs": 400, "loads": [0.7, 0.9]}],
    "clusters": [{"servers": 8, "gpus": 8}],
}

# Each part is forked, so that the libraries are loaded once. It writes how many runs it was told
# that are done, into a file that outlives it.
PROGRAM = """
import os, sys
import gpusched as gs
from tests.boundary.test_killed_sweeps import STUDY

executor = sys.argv[1]
if __name__ == "__main__":
    gs.sweep(STUDY | {"seeds": [0]}, executor="threads:1")
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            told = os.open("told", os.O_WRONLY | os.O_CREAT, 0o600)
            os.setsid()
            gs.sweep(
                STUDY,
                folder="folder",
                executor=executor,
                progress=lambda one: os.pwrite(told, b"%9d" % one.done, 0),
            )
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)
"""


def facts(result: gs.studies.SweepResult) -> pl.DataFrame:
    return result.runs.drop(TIMES)


@pytest.mark.parametrize("executor", LONGEST)
def test_a_study_that_is_killed_goes_on(executor, tmp_path):
    whole = facts(gs.sweep(STUDY))
    chance = random.Random(executor)
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, executor], cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": ":".join([os.getcwd(), *sys.path])}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    kept = 0
    with started as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        (tmp_path / "told").write_text("0")
        for _ in range(KILLS):
            program.stdin.write("again\n")
            program.stdin.flush()
            child = int(program.stdout.readline())
            time.sleep(chance.random() * LONGEST[executor])
            os.kill(child, signal.SIGKILL)
            assert program.stdout.readline() == "ended\n"
            if (tmp_path / "folder" / "runs").exists():
                store = RunStore(tmp_path / "folder")
                found = len(store.read())
                assert store.damaged == []
                assert found >= max(kept, int((tmp_path / "told").read_text()))
                kept = found
        program.stdin.close()
        program.wait(timeout=60)
    assert facts(gs.sweep(STUDY, folder=tmp_path / "folder")).equals(whole)
    status = gs.studies.sweep_status(tmp_path / "folder")
    assert status.num_done == status.num_runs == len(whole)
