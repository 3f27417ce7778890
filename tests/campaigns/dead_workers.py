"""The same study in every place, and through the deaths of processes and of Dask workers.

    python -m tests.campaigns.dead_workers [places] [processes] [workers] [--kills 20] [--seed 1]

Each line is a claim that was tried, and how often; the command fails with the first table that is
another one than that of an undisturbed study in threads.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

import gpusched as gs

LIMIT_S = 300
"""What takes longer hangs."""

PARTS = ("places", "processes", "workers")
PARTS_HELP = "Which of places, processes (killed) and workers (of Dask, killed). Default: all."

# Times, and where the study is.
OF_THE_RUN = ("wall_s", "total_s", "jobs_per_s", "repeat")


def study_of(num_jobs: int) -> dict[str, Any]:
    """Return the study: 80 runs."""
    return {
        "name": "dead-workers",
        "seeds": list(range(1, 9)),
        "policies": ["fifo", "sjf", "srtf", "easy", "2d-las"],
        "baseline": "fifo",
        "traces": [{"generate": "philly", "jobs": num_jobs, "loads": [0.7, 0.9]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    }


def table_of(result: Any) -> pl.DataFrame:
    """Return the runs without what differs from one time to the next."""
    assert result.num_failed == 0, result.runs.filter(pl.col("error").is_not_null())
    return result.runs.drop(OF_THE_RUN, strict=False)


def check(expected: pl.DataFrame, result: Any) -> None:
    """Compare row for row, digests and all metrics included, to the last bit."""
    assert_frame_equal(expected, table_of(result), check_exact=True)


@contextlib.contextmanager
def dask_workers(*, has_nanny: bool, size: int = 3) -> Iterator[Any]:
    """Start a scheduler and workers of one thread each, started again by a nanny or not."""
    import distributed

    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    number = size if has_nanny else 0
    with (
        distributed.LocalCluster(n_workers=number, threads_per_worker=1, **quiet) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        contextlib.ExitStack() as started,
    ):
        for _ in range(size - number):
            command = [sys.executable, "-m", "distributed.cli.dask_worker"]
            options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
            worker = subprocess.Popen(
                [*command, cluster.scheduler_address, *options],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            started.callback(worker.wait)
            started.callback(worker.kill)
        client.wait_for_workers(size, timeout=LIMIT_S)
        yield client


@contextlib.contextmanager
def ray_cpus() -> Iterator[str]:
    """Start Ray with two CPUs."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        yield "ray"
    finally:
        ray.shutdown()


def same_everywhere(study: dict[str, Any], expected: pl.DataFrame) -> None:
    """Run the study in every place."""
    places: dict[str, Callable[[], Any]] = {
        "processes": lambda: contextlib.nullcontext("processes:2"),
        "dask": lambda: dask_workers(has_nanny=True, size=2),
        "ray": ray_cpus,
    }
    for name, opened in places.items():
        with opened() as executor:
            begin = time.monotonic()
            check(expected, gs.sweep(study, executor=executor))
        print(f"{name}: {len(expected)} equal rows in {time.monotonic() - begin:.1f} s", flush=True)


def begun(
    study: dict[str, Any], executor: str, folder: Path, num_done: int
) -> tuple[subprocess.Popen[str], float]:
    """Start the study in a process of its own; return when so many runs are kept, or all.

    With it comes how long it took from one run to the next, seconds.
    """
    arguments = ["--child", executor, str(folder), str(study["traces"][0]["jobs"])]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.campaigns.dead_workers", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    pace = Pace()
    for line in process.stdout:
        pace.note(int(line))
        if pace.done >= num_done:
            break
    return process, pace.between_s


@dataclass
class Pace:
    """How many runs are done, and how long it took from one to the next since the first ones."""

    done: int = 0
    between_s: float = 0.0
    _first: tuple[float, int] | None = None

    def note(self, done: int) -> None:
        """Take in how many are done now."""
        self.done = done
        self._first = self._first or (time.monotonic(), done)
        begin, before = self._first
        self.between_s = (time.monotonic() - begin) / max(1, done - before)


def kill_the_process(
    study: dict[str, Any], expected: pl.DataFrame, draw: random.Random, kills: int, executor: str
) -> None:
    """Kill the whole study at random moments, each time one that begins anew, and resume it."""
    kept: list[int] = []
    for _ in range(kills):
        with tempfile.TemporaryDirectory(prefix="dead-workers-") as name:
            folder = Path(name) / "study"
            process, between_s = begun(study, executor, folder, draw.randrange(1, len(expected)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(draw.uniform(0, between_s))
            process.kill()
            process.communicate(timeout=LIMIT_S)
            kept.append(num_kept(folder))
            check(expected, gs.sweep(study, folder=folder, executor="threads:2"))
    report(f"{executor}: process killed", kept, len(expected))


def num_kept(folder: Path) -> int:
    """Return how many runs a killed study had kept."""
    parts = list(folder.rglob("*.parquet"))
    return sum(pl.scan_parquet(part).select(pl.len()).collect().item() for part in parts)


def kill_a_worker(
    study: dict[str, Any],
    expected: pl.DataFrame,
    draw: random.Random,
    kills: int,
    *,
    has_nanny: bool,
) -> None:
    """Kill a Dask worker at random moments of a study each, and compare what comes all the same."""
    done: list[int] = []
    for _ in range(kills):
        with dask_workers(has_nanny=has_nanny) as client:
            victim = draw.choice(list(client.run(os.getpid).values()))
            killer = Killer(victim, draw.randrange(1, len(expected)), draw.random())
            check(expected, gs.sweep(study, executor=client, progress=killer))
            done.append(killer.joined())
    report(f"Dask worker {'with' if has_nanny else 'without'} a nanny killed", done, len(expected))


class Killer:
    """Kills a process when so many runs are done, and a part of the time of one more has gone by.

    It is called with the progress of the study.
    """

    def __init__(self, victim: int, num_done: int, part: float) -> None:
        self._victim, self._num_done, self._part = victim, num_done, part
        self._pace = Pace()
        self._timer: threading.Timer | None = None
        self._killed_at = 0

    def __call__(self, progress: gs.Progress) -> None:
        if progress.done:
            self._pace.note(progress.done)
        if progress.done >= self._num_done and self._timer is None:
            self._timer = threading.Timer(self._part * self._pace.between_s, self._kill)
            self._timer.start()

    def _kill(self) -> None:
        self._killed_at = self._pace.done
        os.kill(self._victim, signal.SIGKILL)

    def joined(self) -> int:
        """Wait until it is done; return how many runs were done then."""
        assert self._timer is not None
        self._timer.join()
        return self._killed_at


def report(what: str, at: list[int], num_runs: int) -> None:
    """Print how often something was done, after how many runs, and that nothing came of it."""
    inside = sum(0 < number < num_runs for number in at)
    print(
        f"{what} {len(at)} times, after {min(at)} to {max(at)} of {num_runs} runs ({inside} times "
        "with some done and some not): the same table",
        flush=True,
    )


def child(executor: str, folder: str, num_jobs: str) -> None:
    """Run the study in a folder, to be killed; print how many runs are kept, time and again."""

    def progress(update: gs.Progress) -> None:
        if update.done:
            print(update.done, flush=True)

    gs.sweep(study_of(int(num_jobs)), folder=folder, executor=executor, progress=progress)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], help=PARTS_HELP)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=40_000, help="Of each run. Default: 40,000.")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return
    study, draw = study_of(given.jobs), random.Random(given.seed)
    begin = time.monotonic()
    expected = table_of(gs.sweep(study, executor="threads:2"))
    print(f"threads: {len(expected)} runs in {time.monotonic() - begin:.1f} s", flush=True)
    parts = given.parts or PARTS
    if "places" in parts:
        same_everywhere(study, expected)
    for executor in ("threads:2", "processes:2") if "processes" in parts else ():
        kill_the_process(study, expected, draw, given.kills, executor)
    for has_nanny in (True, False) if "workers" in parts else ():
        kill_a_worker(study, expected, draw, given.kills, has_nanny=has_nanny)


if __name__ == "__main__":
    main()
