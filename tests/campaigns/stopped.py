"""Stops runs from another thread while several threads run on the same tables.

    python -m tests.campaigns.stopped build/threads/gpusched-replay [--jobs 300] [--rounds 8]

What Ctrl-C does to a run, many times and at any moment: a case of each native policy and model
runs in four threads, and the tool's watchdog asks each run to stop when its time is over. Each
round has another time, from none to what the slowest needs. A run that got through must have the
digest of the package, and a tool built with ThreadSanitizer must find no race.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np

import gpusched as gs
from tests.campaigns.starved import results

THREADS = 4
FINISHED, STOPPED = 0, 3
SHORTEST_S, LONGEST_S = 1e-4, 1.0


def save_cases(folder: Path, jobs: int) -> dict[str, str]:
    """Write a case of each policy and model; return the digest of each."""
    digests = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)
        for number, result in enumerate(results(jobs)):
            name = f"{number:02}-{result.spec.policy.partition(':')[0]}"
            result.save_case(folder / name)
            digests[name] = result.digest
    return digests


def run_round(tool: Path, folder: Path, limit_s: float, digests: dict[str, str]) -> tuple[int, int]:
    """Run all cases within a time each; return how many were finished, and how many stopped.

    Raises
    ------
    RuntimeError
        If the tool ended by a fault, or a schedule differs from that of the package.
    """
    command = [tool, folder, "--threads", str(THREADS), "--seconds", f"{limit_s:.6f}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (FINISHED, STOPPED):
        raise RuntimeError(f"exit code {done.returncode}\n{done.stderr[-6000:]}")
    found = {Path(path).name: digest for digest, path in map(str.split, done.stdout.splitlines())}
    if found.keys() != digests.keys():
        raise RuntimeError(f"no outcome of {sorted(digests.keys() - found.keys())}")
    finished = {name: digest for name, digest in found.items() if digest != "refused"}
    wrong = sorted(name for name, digest in finished.items() if digest != digests[name])
    if wrong:
        raise RuntimeError(f"another schedule than in the package: {', '.join(wrong)}")
    return len(finished), len(found) - len(finished)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=8)
    given = parser.parse_args()
    finished = stopped = 0
    with tempfile.TemporaryDirectory() as name:
        digests = save_cases(Path(name), given.jobs)
        for limit_s in np.geomspace(SHORTEST_S, LONGEST_S, given.rounds).tolist():
            some, others = run_round(given.tool, Path(name), limit_s, digests)
            finished, stopped = finished + some, stopped + others
    print(f"{len(digests)} cases: finished in all threads {finished:,} times, stopped {stopped:,}")
    if not (finished and stopped):
        raise SystemExit("this shows nothing: some runs must end and some be stopped; see --jobs")


if __name__ == "__main__":
    main()
