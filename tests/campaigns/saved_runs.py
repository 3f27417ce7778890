"""Runs that are cut at random instants, saved, and resumed by other processes.

    python -m tests.campaigns.saved_runs [--cuts 1000] [--seed 1]

The cuts go round over every registered policy, placement, speed, contention and predictor. Before
its cut a run in three is changed: a job is taken back, or another policy decides. Each must
come to the digest that it comes to here, unsaved; the command fails with those that do not.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.golden import workload as golden

AT_ONCE: Final = 100
"""Runs that one process resumes."""

PROGRAM: Final = """
import json, sys, warnings
import gpusched as gs
warnings.simplefilter("ignore")
found = {}
for path in json.load(sys.stdin):
    try:
        run = gs.resume(path)
        run.run()
        found[path] = run.result().digest
    except Exception as error:
        found[path] = f"{type(error).__name__}: {error}"
json.dump(found, sys.stdout)
"""


class Case(NamedTuple):
    """A run by its names; ``kind`` is that of the name that it is there for."""

    kind: str
    policy: str
    placement: str = "consolidated"
    speed: str | None = None
    contention: str = "none"
    predictor: str = "oracle"

    def opened(self) -> gs.Simulation:
        """Begin it, on the golden workload."""
        jobs, cluster, speed = self._fitting()
        return gs.Simulation(
            jobs, cluster, policy=self.policy, placement=self.placement, speed=speed,
            contention=self.contention, predictor=self.predictor, seed=7,
        )  # fmt: skip

    def _fitting(self) -> tuple[gs.Trace, gs.Cluster, str]:
        if self.speed is not None:
            return golden.networked(), golden.networked_cluster(), self.speed
        workload, speed = golden.fitting(self.policy)
        is_typed = "pooled" not in gs.placements()[self.placement].flags
        jobs = {"plain": golden.trace, "urgent": golden.urgent}[workload]
        if self.kind == "predictor":
            predicted_s = golden.trace(is_typed=True).service_s[::-1]
            return golden.trace(is_typed=True, predicted_s=predicted_s), golden.cluster(), speed
        return jobs(is_typed=is_typed), golden.cluster(), speed if is_typed else "fixed"


def cases() -> list[Case]:
    """Every registered name, once or more."""
    speeds = [name for name, info in gs.speeds().items() if "steady" not in info.flags]
    return [
        *(Case("policy", name) for name in gs.policies()),
        *(Case("placement", policy, name) for name in gs.placements() for policy in OF_PLACEMENTS),
        *(
            Case("speed", "srtf", "spread", speed, contention)
            for speed in speeds
            for contention in gs.contentions()
        ),
        *(Case("predictor", name, predictor=p) for p in gs.predictors() for name in OF_PREDICTORS),
    ]


OF_PLACEMENTS: Final = ("fifo", "srtf")
OF_PREDICTORS: Final = ("sjf", "srtf", "a-srpt")
OTHERS: Final = ("fifo", "sjf", "srtf", "las", "easy", "conservative")


def saved(case: Case, path: Path, draw: random.Random) -> str:
    """Save the run at a random instant; return the digest that it comes to."""
    run = case.opened()
    whole = 2 * len(run.trace)
    for _ in range(draw.randrange(whole)):
        if not run.step():
            break
    if draw.random() < 0.3:
        run.run_until(run.now + draw.choice((0.0, 1e-6, 0.5, 100.0)))
    if draw.random() < 1 / 3:
        change(run, draw)
    run.save(path)
    run.run()
    return run.result().digest


def change(run: gs.Simulation, draw: random.Random) -> None:
    """Change the course of a run, and let it go on for a few instants."""
    lot, state = draw.random(), run.state
    if len(state.running) and lot < 0.4:
        run.cancel(int(draw.choice(state.running)))
    elif len(state.waiting) and lot < 0.7:
        with contextlib.suppress(ValueError):  # not every policy can do without it
            run.cancel(int(draw.choice(state.waiting)))
    else:
        flag = "estimate"
        reads = flag in gs.policies()[run.result().spec.policy].flags
        others = [name for name in OTHERS if (flag in gs.policies()[name].flags) == reads]
        run.set(policy=draw.choice(others))
    for _ in range(draw.randrange(5)):
        run.step()


def resumed(paths: Iterable[Path], hash_seed: int = 0) -> dict[str, str]:
    """Resume the runs in another process; return the digest of each, or its error."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": ":".join(sys.path)},
        input=json.dumps([str(path) for path in paths]), capture_output=True, text=True, check=True,
        timeout=600,
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return found


def batch(numbers: Iterable[int], every: list[Any], seed: int) -> dict[int, str]:
    """Save and resume some runs; return what is wrong with which."""
    with tempfile.TemporaryDirectory(prefix="gpusched-runs-") as folder, unwarned():
        paths = {number: Path(folder) / f"{number}.run" for number in numbers}
        expected = {
            number: saved(every[number % len(every)], path, random.Random(f"{seed}/{number}"))
            for number, path in paths.items()
        }
        found = resumed(paths.values(), seed + max(paths))
    return {
        number: f"{found[str(paths[number])]}, not {digest}"
        for number, digest in expected.items()
        if found[str(paths[number])] != digest
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    every = cases()
    begin = time.monotonic()
    wrong: dict[int, str] = {}
    for first in range(0, given.cuts, AT_ONCE):
        part = range(first, min(first + AT_ONCE, given.cuts))
        wrong |= batch(part, every, given.seed)
    for number, what in wrong.items():
        print(f"--seed {given.seed}, cut {number}, {every[number % len(every)]}: {what}")
    seconds = time.monotonic() - begin
    print(
        f"{given.cuts:,} cuts of {len(every)} runs, resumed in other processes in {seconds:.0f} s, "
        f"{len(wrong)} failed"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
