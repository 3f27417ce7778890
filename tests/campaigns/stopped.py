"""Stops runs from another thread while several threads run on the same tables.

    python -m tests.campaigns.stopped build/threads/gpusched-replay [--jobs 300] [--rounds 8]
    python -m tests.campaigns.stopped --large [--policies optimus,las] [--seconds 8]

What Ctrl-C does to a run, many times and at any moment: a case of each native policy and model
runs in four threads, and the tool's watchdog asks each run to stop when its time is over. Each
round has another time, from none to what the slowest needs. A run that got through must have the
digest of the package, and a tool built with ThreadSanitizer must find no race.

With `--large` the package runs each policy on 16,384 servers and 100,000 jobs for so many seconds
of the processor: no second of it may pass between two looks at whether the run is to stop.
"""

import argparse
import subprocess
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

import gpusched as gs
from tests.campaigns.starved import is_elastic, policies, results, trace_of

THREADS = 4
FINISHED, STOPPED = 0, 3
SHORTEST_S, LONGEST_S = 1e-4, 1.0
SOON_S = 1.0
MANY_JOBS = 100_000
LARGE = gs.Cluster(
    (
        gs.ServerGroup(8_192, 8, "V100", cpu=32, nic_gbps=10, intra_gbps=200),
        gs.ServerGroup(8_192, 8, "T4", cpu=32, nic_gbps=10, intra_gbps=200),
    )
)


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


class Looks(threading.Event):
    """A stop that is asked for after some time, and the longest time between two looks at it."""

    def __init__(self, limit_s: float) -> None:
        super().__init__()
        self.begin_s = self.last_s = time.process_time()
        self.limit_s, self.longest_s = limit_s, 0.0

    def is_set(self) -> bool:
        now_s = time.process_time()
        self.longest_s = max(self.longest_s, now_s - self.last_s)
        self.last_s = now_s
        return now_s - self.begin_s > self.limit_s


def run_large(names: list[str], limit_s: float) -> list[str]:
    """Run each policy on many servers and jobs; return those that did not look in time."""
    plain = trace_of(MANY_JOBS, elastic=False, many=True)
    elastic = trace_of(MANY_JOBS, elastic=True, many=True)
    deaf = []
    for name in names:
        info, looks = policies()[name], Looks(limit_s)
        has_cpu = not is_elastic(info) and "places" not in info.flags
        with suppress(gs.Cancelled):
            gs.simulate(
                plain if has_cpu else elastic, LARGE, policy=name, stop=looks,
                placement="buddy" if is_elastic(info) else "best-fit",
                speed="table" if is_elastic(info) else "fixed",
            )  # fmt: skip
        looks.is_set()
        print(f"{name:24} {looks.longest_s:.2f} s", flush=True)
        if looks.longest_s > SOON_S:
            deaf.append(name)
    return deaf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool", type=Path, nargs="?")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--policies", default=",".join(sorted(policies())))
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=8)
    given = parser.parse_args()
    if given.large:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.RunWarning)
            deaf = run_large(given.policies.split(","), given.seconds)
        raise SystemExit(f"did not look within {SOON_S:g} s: {', '.join(deaf)}" if deaf else 0)
    if given.tool is None:
        parser.error("name the tool, or say --large")
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
