"""Count the instructions of runs: ``python bench/instructions.py build/release/gpusched-replay``.

Needs valgrind. Instructions do not depend on what else the machine does, so two trees can be
compared on a busy one: run each tree's replay tool with the package of the same tree.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

if __package__ in (None, ""):  # as a script: the checkout's root holds the package `bench`
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import gpusched as gs
from bench.workloads import philly
from gpusched.base.run_warning import unwarned

CASES = (
    ("fifo-skip", "count"), ("fifo-skip", "consolidated"), ("sjf", "count"),
    ("sjf", "consolidated"), ("sjf", "first-fit"), ("sjf", "spread"), ("srtf", "count"),
    ("srtf", "consolidated"), ("easy", "count"), ("easy", "consolidated"),
)  # fmt: skip


def count(replay: str, case: Path) -> int:
    """Return the instructions of one replay, without those of reading and checking its case."""
    return of_runs(replay, case, 2) - of_runs(replay, case, 1)


def of_runs(replay: str, case: Path, num_runs: int) -> int:
    """Return the instructions of a process that replays the case so many times."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*tool, replay, str(case), str(num_runs)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = re.search(r"Collected : (\d+)", told)
    if found is None:
        raise RuntimeError(f"no instruction count in the output of valgrind: {told}")
    return int(found[1])


def main() -> None:
    """Print a line per policy and placement: Philly-like jobs on 64 servers of 8, load 0.9."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("replay", help="the native replay tool")
    parser.add_argument("--jobs", type=int, default=100_000)
    arguments = parser.parse_args()
    made = philly(arguments.jobs, 64)
    with tempfile.TemporaryDirectory() as folder:
        case = Path(folder) / "case.bin"
        for policy, placement in CASES:
            with unwarned():  # of the estimates that the jobs lack
                result = gs.simulate(made.trace, made.cluster, policy=policy, placement=placement)
            result.save_case(case)
            print(f"{policy:10} {placement:14} {count(arguments.replay, case):16,}", flush=True)


if __name__ == "__main__":
    main()
