"""Ctrl-C at random moments of every command: exit code 130, or done; and never a traceback.

``python -m tests.campaigns.interrupts --signals 10 [--seed 1]``: so many for each command, each in
a folder in which it has never run. In what the last one left the command must go on to its end.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gpusched as gs

BEGIN = """
import os, sys
from gpusched.base.early_interrupts import listen
listen()
os.write(int(sys.argv.pop(1)), b".")
from gpusched.__main__ import main
main()
"""
"""The command, which tells once it listens: what comes before is the interpreter's to answer."""

STUDY = """
name = "study"
seeds = [1, 2]
policies = ["fifo", "sjf", "srtf"]
baseline = "fifo"

[[traces]]
generate = "philly"
jobs = 500
loads = [0.9]

[[clusters]]
servers = 8
gpus = 8
"""

SPACE = """
[[space]]
policy = "las"
tune = ["period_s"]
"""

COMMANDS = {
    "compare": "compare jobs.csv -p fifo,sjf --servers 8 --out compared",
    "run": "run jobs.csv --policy srtf --servers 8 --out ran --audit",
    "sweep": "sweep study.toml",
    "tune": "tune study.toml --space space.toml --metric mean_jct_s --trials 4",
    "size": "size jobs.csv -p fifo --goal mean_wait_s<=600",
    "fidelity": "fidelity log.csv --servers 8",
    "whatif": "whatif jobs.csv --servers 8 --base fifo --change policy=sjf",
    "decide": "decide --state cluster.json --policy sjf",
    "decide --stream": "decide --stream --policy easy",
    "when": "when 150 --state cluster.json --history jobs.csv --policy sjf --samples 300",
    "export": "export result.npz timeline.json",
    "reproduce": "reproduce sjf-bco --quick --seeds 2 --processes 2 --out again",
    "trace info": "trace info jobs.csv",
    "trace audit": "trace audit jobs.csv",
    "trace convert": "trace convert jobs.csv converted.parquet",
    "trace generate": "trace generate philly made.csv --jobs 20000",
    "policies": "policies",
    "metrics": "metrics",
}


def prepared(folder: Path) -> None:
    """Write what the commands read."""
    jobs = gs.generate("philly", 3_000, load=0.9, cluster=gs.Cluster.uniform(8, 8), seed=2)
    jobs.to_polars().write_csv(folder / "jobs.csv")
    result = gs.simulate(jobs, gs.Cluster.uniform(8, 8))
    result.save(folder / "result.npz")
    wait_s = (result.schedule.start_us - jobs.submit_us) / 1e6
    jobs.to_polars().with_columns(source_wait_s=wait_s).write_csv(folder / "log.csv")
    (folder / "study.toml").write_text(STUDY)
    (folder / "space.toml").write_text(SPACE)
    (folder / "cluster.json").write_text(json.dumps(crowded()))


def crowded() -> dict[str, Any]:
    """Return a cluster on which a job runs on each server, and two hundred wait."""
    running = [
        {
            "id": f"on-{server}", "submit_s": 0, "start_s": 0, "service_s": 3_600 + server,
            "gpus": 6, "held": [{"server": server, "gpus": [0, 1, 2, 3, 4, 5]}],
        }
        for server in range(8)
    ]  # fmt: skip
    waiting = [
        {"id": f"{job}", "submit_s": 10 + job, "service_s": 60 + job, "gpus": 4 + job % 5}
        for job in range(200)
    ]
    servers = [{"count": 8, "gpus": 8}]
    return {"now_s": 1_800, "cluster": {"servers": servers}, "jobs": [*running, *waiting]}


def ended(command: Sequence[str], folder: Path) -> float:
    """Return the seconds that a command takes which nobody interrupts."""
    begin = time.monotonic()
    whole = [sys.executable, "-m", "gpusched", *command]
    done = subprocess.run(
        whole, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: rc {done.returncode}, {done.stderr.strip()}")
    return time.monotonic() - begin


def interrupted(command: Sequence[str], folder: Path, after_s: float) -> str:
    """Interrupt a command; return what is wrong with how it ended, empty if nothing is."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    reads, writes = os.pipe()  # open to the end: who reads it waits
    listening, listens = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(listens), *command], cwd=folder, env=environment,
        pass_fds=[listens], stdin=reads, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(listens)
    os.read(listening, 1)
    time.sleep(after_s)
    is_over = child.poll() is not None
    child.send_signal(signal.SIGINT)
    try:
        _, errors = child.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return "it goes on for 30 s"
    finally:
        for end in (reads, writes, listening):
            os.close(end)
    if "Traceback" in errors or "KeyboardInterrupt" in errors:
        return f"rc {child.returncode}, {errors.strip().splitlines()[-1]}"
    if child.returncode == 130 or is_over or child.returncode == 0:
        return ""  # a command may be over sooner than it hears
    return f"rc {child.returncode}"


def campaign(signals: int, seed: int, names: Sequence[str]) -> tuple[int, list[str]]:
    """Interrupt each command so often; return how often in all, and what went wrong."""
    wrong, count = [], 0
    with tempfile.TemporaryDirectory(prefix="gpusched-interrupts-") as name:
        given, folder = Path(name) / "given", Path(name) / "folder"
        given.mkdir()
        prepared(given)
        for command in names:
            arguments = COMMANDS[command].split()
            took = ended(arguments, afresh(given, folder))
            rng = random.Random(f"{seed}/{command}")
            for _ in range(signals):
                after_s = rng.uniform(0, rng.choice([min(took, 0.5), took]))
                count += 1
                fault = interrupted(arguments, afresh(given, folder), after_s)
                if fault:
                    wrong.append(f"{command} after {after_s:.3f} s: {fault}")
            ended(arguments, folder)
    return count, wrong


def afresh(given: Path, folder: Path) -> Path:
    """Return the folder with nothing in it but what was prepared."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(given, folder)
    return folder


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--signals", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    given = parser.parse_args(arguments)
    count, wrong = campaign(given.signals, given.seed, given.commands.split(","))
    for what in wrong:
        print(what)
    print(f"{count} interrupts of {len(given.commands.split(','))} commands, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
