"""What a study will take, from a few short runs of it: :func:`estimate`."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.wording import duration, plural
from gpusched.sweeping.planned import PlannedStudy, names_of
from gpusched.sweeping.recipes import jobs_of
from gpusched.sweeping.run_store import RUNS, RunStore
from gpusched.sweeping.running import RunContext, context_of, jobs_of_run, row_of
from gpusched.sweeping.study import Study

if TYPE_CHECKING:
    from gpusched.sweeping.expansion import PlannedRun
    from gpusched.traces.workload import Trace

_PILOT_JOBS: Final = 20_000
_PILOT_SECONDS: Final = 15.0
_LEAST_BYTES_PER_JOB: Final = 400.0
_KIB: Final = 1_024  # of ru_maxrss
_GIB: Final = 2**30


@dataclass(frozen=True)
class SweepEstimate:
    """What a study will take.

    Attributes
    ----------
    num_runs, num_kept
        All runs, and those that are in the folder.
    num_jobs
        Of all runs that are left, together.
    runs_s
        Time of all runs that are left, one after the other, seconds.
    wall_s
        The same on ``num_slots`` workers.
    memory_bytes
        At most in use at a time, about.
    pilots
        Per policy that was tried the seconds for a thousand jobs.
    errors
        Of runs that were tried and failed.
    """

    num_runs: int
    num_kept: int
    num_jobs: int
    num_slots: int
    runs_s: float
    wall_s: float
    memory_bytes: float
    pilots: Mapping[str, float]
    errors: tuple[str, ...] = ()

    def __str__(self) -> str:
        kept = f", {self.num_kept:,} of them are kept" if self.num_kept else ""
        return (
            f"{plural(self.num_runs, 'run')}{kept}; {plural(self.num_jobs, 'job')} to simulate, "
            f"about {duration(self.wall_s)} on {plural(self.num_slots, 'worker')}, "
            f"{self.memory_bytes / _GIB:.1f} GiB of memory"
        )


def estimate(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    num_slots: int | None = None,
    has_processes: bool = False,
) -> SweepEstimate:
    """Try each policy of a study once, on its first jobs, and say what all runs will take.

    A run is taken to be as long as it has jobs, which is too little for policies whose decisions
    get slower with the queue.

    Parameters
    ----------
    folder
        Runs that are kept there are not counted.
    num_slots
        How many runs at a time; None: one per CPU.
    has_processes
        Whether each of them is in a process of its own.

    Raises
    ------
    OSError, ValueError, TypeError
        As :func:`gpusched.sweep`.
    """
    planned = PlannedStudy.of(Study.of(study))
    done: set[str] = set()
    if folder is not None and (Path(folder) / RUNS).is_dir():
        done = names_of(RunStore(folder).read(), planned.names)
    left = planned.left(done)
    slots = num_slots or len(os.sched_getaffinity(0))
    if not left:
        return SweepEstimate(len(planned.by_name), len(done), 0, slots, 0.0, 0.0, _resident(), {})
    context = context_of(planned.expansion)
    pilots = _Pilots(context, _resident())
    begin = time.perf_counter()
    for name, run in _one_of_each(left):
        if pilots.seconds and time.perf_counter() - begin > _PILOT_SECONDS:
            break
        pilots.run(name, run)
    jobs = [jobs_of_run(context, run) for _, run in left]
    runs_s = sum(pilots.of(run) * number for (_, run), number in zip(left, jobs, strict=True))
    recipes = {run.recipe.name: number for (_, run), number in zip(left, jobs, strict=True)}
    making_s = pilots.making * sum(recipes.values())
    sources = sum(map(_bytes_of, context.sources))
    memory = pilots.base * (1 + (slots if has_processes else 0)) + sources
    memory += pilots.bytes_per_job * max(jobs) * min(slots, len(left))
    labels = [one.label for one in planned.expansion.named[0]]
    return SweepEstimate(
        len(planned.by_name),
        len(done),
        sum(jobs),
        slots,
        runs_s,
        (runs_s + making_s) / min(slots, len(left)),
        memory,
        {labels[policy]: 1e3 * seconds for policy, seconds in pilots.seconds.items()},
        tuple(pilots.errors),
    )


class _Pilots:
    """Short runs, and what they took per job."""

    def __init__(self, context: RunContext, base: float) -> None:
        self._context = context
        self._trace: dict[str, Trace] = {}
        self.base = base
        self.seconds: dict[int, float] = {}
        self.errors: list[str] = []
        self.making = 0.0
        self.bytes_per_job = _LEAST_BYTES_PER_JOB

    def run(self, name: str, run: PlannedRun) -> None:
        """Do the first jobs of a run."""
        try:
            trace = self._jobs(run)
        except (ValueError, TypeError, OSError) as error:
            self.errors.append(str(error))
            return
        row_of(self._context, trace.head(min(len(trace), 100)), name, run)  # loads what it needs
        begin = time.perf_counter()
        row = row_of(self._context, trace, name, run)
        took = (time.perf_counter() - begin) / len(trace)
        if row.get("error"):
            self.errors.append(f"{name}: {row['error']}")
            return
        self.seconds[run.choices[0]] = took
        grown = (_resident() - self.base) / len(trace)
        if len(trace) >= _PILOT_JOBS // 2:
            self.bytes_per_job = max(self.bytes_per_job, grown)

    def _jobs(self, run: PlannedRun) -> Trace:
        context, recipe = self._context, run.recipe
        if recipe.name not in self._trace:
            from dataclasses import replace

            begin = time.perf_counter()
            entry, source = context.entries[recipe.trace], context.sources[recipe.trace]
            cluster = None if recipe.cluster < 0 else context.clusters[recipe.cluster]
            most = None if recipe.jobs is None else min(recipe.jobs, _PILOT_JOBS)
            made = jobs_of(entry, source, cluster, replace(recipe, jobs=most))
            self.making = (time.perf_counter() - begin) / len(made)
            self._trace = {recipe.name: made.head(_PILOT_JOBS)}
        return self._trace[recipe.name]

    def of(self, run: PlannedRun) -> float:
        """Seconds per job of a run: of its policy, or of those that were tried on average."""
        if not self.seconds:
            return 0.0
        mean = sum(self.seconds.values()) / len(self.seconds)
        return self.seconds.get(run.choices[0], mean)


def _one_of_each(left: list[tuple[str, PlannedRun]]) -> list[tuple[str, PlannedRun]]:
    """Take the longest run of each policy, those on the same jobs first."""
    found: dict[int, tuple[str, PlannedRun]] = {}
    for name, run in left:
        known = found.get(run.choices[0])
        if known is None or (run.recipe.load or 0) > (known[1].recipe.load or 0):
            found[run.choices[0]] = (name, run)
    return list(found.values())


def _resident() -> float:
    """Most memory that this process has had, bytes."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB)


def _bytes_of(trace: Trace | None) -> int:
    if trace is None:
        return 0
    return sum(getattr(value, "nbytes", 0) for value in vars(trace).values())
