"""Ctrl-C at random moments of every command: exit code 130, or done; and never a traceback.

``python -m tests.campaigns.interrupts --signals 10 [--seed 1]``: so many for each command.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import gpusched as gs

FIRST_S = 0.06
"""The interpreter itself takes as long to begin; what comes before is not ours to answer."""

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
    "fidelity": "fidelity jobs.csv --servers 8",
    "whatif": "whatif jobs.csv --servers 8 --base fifo --change policy=sjf",
    "decide": "decide --help",
    "when": "when --help",
    "export": "export result.npz timeline.json",
    "reproduce": "reproduce sjf-bco",
    "field": "field --help",
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
    gs.simulate(jobs, gs.Cluster.uniform(8, 8)).save(folder / "result.npz")
    (folder / "study.toml").write_text(STUDY)
    (folder / "space.toml").write_text(SPACE)


def ended(command: Sequence[str], folder: Path) -> float:
    """Return the seconds that a command takes which nobody interrupts."""
    begin = time.monotonic()
    whole = [sys.executable, "-m", "gpusched", *command]
    done = subprocess.run(whole, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: rc {done.returncode}, {done.stderr.strip()}")
    return time.monotonic() - begin


def interrupted(command: Sequence[str], folder: Path, after_s: float) -> str:
    """Interrupt a command; return what is wrong with how it ended, empty if nothing is."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "gpusched", *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(after_s)
    is_over = child.poll() is not None
    child.send_signal(signal.SIGINT)
    try:
        _, errors = child.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return "it goes on for 30 s"
    if "Traceback" in errors or "KeyboardInterrupt" in errors:
        return f"rc {child.returncode}, {errors.strip().splitlines()[-1]}"
    if child.returncode == 130 or is_over or child.returncode == 0:
        return ""  # a command may be over sooner than it hears
    return f"rc {child.returncode}"


def campaign(signals: int, seed: int, names: Sequence[str]) -> tuple[int, list[str]]:
    """Interrupt each command so often; return how often in all, and what went wrong."""
    wrong, count = [], 0
    with tempfile.TemporaryDirectory(prefix="gpusched-interrupts-") as name:
        folder = Path(name)
        prepared(folder)
        for command in names:
            arguments = COMMANDS[command].split()
            took = ended(arguments, folder)
            rng = random.Random(f"{seed}/{command}")
            for _ in range(signals):
                most = rng.choice([min(took, 0.5), took])
                after_s = rng.uniform(FIRST_S, max(most, FIRST_S))
                count += 1
                fault = interrupted(arguments, folder, after_s)
                if fault:
                    wrong.append(f"{command} after {after_s:.3f} s: {fault}")
    return count, wrong


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
