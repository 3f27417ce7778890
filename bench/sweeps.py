"""Measure sweeps: overhead per run, throughput of short runs, and memory."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

import gpusched as gs
from bench import bare_runs
from bench.table import Bar, Section

SHARE: Final = 1.15
RUNS_PER_S: Final = 2_000
GROWTH: Final = 1.1
WORKERS: Final = 2
LONG: Final = 100_000
SHORT: Final = 1_000
POLICIES: Final = [
    "fifo", "fifo-skip", "sjf", "swf", "srtf", "las", "2d-las", "easy", "srsf", "spjf",
]  # fmt: skip
EXAMPLE: Final = ["fifo", "sjf", "srtf", "easy"]
METHOD = (
    "Studies of 10 policies, and of the 4 of the first example, of generated philly jobs, on 64 "
    "servers (long runs) and 8 (short runs, under two placements), every finished run kept in a "
    "folder, two workers. `own` is what the same runs take one after the other in one thread; "
    "making the jobs is no part of it, but of the wall time. `bare` is the floor: two processes "
    "that share nothing each do half of the runs, jobs and summaries included, without any sweep; "
    "`bare / one` is what such a process takes longer than alone, which no sweep can help. Both "
    "are measured on some of the seeds and taken for all: seeds differ. Memory is what the process "
    "that sweeps holds when a quarter of the runs is done and at the end. It needs two idle cores."
)
COLUMNS = (
    "policies", "runs", "jobs", "workers", "wall s", "own s / 2", "bare s", "bare / one", "runs/s",
    "MiB at 1/4", "at the end",
)  # fmt: skip


def section(quick: bool, sizes: tuple[int, ...] | None = None) -> Section:
    """Measure long runs, then short ones on threads and on processes.

    Parameters
    ----------
    sizes
        The numbers of jobs to measure, of ``LONG`` (with ``quick`` a tenth of it) and ``SHORT``;
        None: both.
    """
    out = Section("Studies", METHOD, COLUMNS)
    wanted = sizes or (SHORT, LONG)
    if LONG in wanted:
        seeds = 2 if quick else 34
        jobs = LONG // 10 if quick else LONG
        long = _study(POLICIES, jobs, [0.7, 0.8, 0.9], seeds, servers=64)
        measured = _measure(out, long, f"threads:{WORKERS}", _floor(long, 2))
        out.bars.append(Bar("long runs: wall time / own time over two", measured.ratio, SHARE))
        out.bars.append(Bar("long runs: memory at the end / at a quarter", measured.growth, GROWTH))
    if SHORT in wanted:
        loads = [0.6, 0.7, 0.8, 0.9, 0.95]
        for policies, seeds in ((POLICIES, 100), (EXAMPLE, 250)):
            short = _study(policies, SHORT, loads, 4 if quick else seeds, servers=8)
            short["placements"] = ["consolidated", "count"]
            floor = _floor(short, 4 if quick else 20)
            for executor in (f"threads:{WORKERS}", f"processes:{WORKERS}"):
                measured = _measure(out, short, executor, floor)
                what = f"short runs/s, {len(policies)} policies, {executor}"
                out.bars.append(Bar(what, measured.runs_per_s, RUNS_PER_S, at_least=True))
    if not out.rows:
        raise ValueError(f"--sizes: studies are of {SHORT:,} and {LONG:,} jobs")
    return out


class _Measured(NamedTuple):
    """Wall time over own time shared out, memory at the end over that at a quarter, runs/s."""

    ratio: float
    growth: float
    runs_per_s: float


class _Floor(NamedTuple):
    """Wall time of all runs in bare processes, and the slowdown of parallel runs."""

    wall_s: float
    slowdown: float


def _study(
    policies: list[str], jobs: int, loads: list[float], seeds: int, servers: int
) -> dict[str, Any]:
    return {
        "name": "bench",
        "seeds": list(range(seeds)),
        "policies": policies,
        "traces": [{"generate": "philly", "model": 1, "jobs": jobs, "loads": loads}],
        "clusters": [{"servers": servers, "gpus": 8}],
    }


def _floor(study: dict[str, Any], num_seeds: int) -> _Floor:
    seeds = study["seeds"][:num_seeds]
    one_s = bare_runs.seconds(study, seeds[::WORKERS], 1)
    all_s = bare_runs.seconds(study, seeds, WORKERS)
    return _Floor(all_s * len(study["seeds"]) / len(seeds), all_s / one_s)


def _measure(out: Section, study: dict[str, Any], executor: str, floor: _Floor) -> _Measured:
    one_seed = study | {"seeds": [0]}
    gs.sweep(one_seed | {"policies": study["policies"][:1]}, executor=executor)  # loads all
    alone = gs.sweep(study, executor="threads:1").runs
    assert alone["error"].null_count() == len(alone), alone["error"].drop_nulls()[0]
    own_s = float(alone["total_s"].sum())
    held: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        result = gs.sweep(
            study,
            folder=Path(folder),
            executor=executor,
            progress=lambda told: held.append((told.done, _resident_mib())),
        )
        wall_s = time.perf_counter() - begin
    assert result.num_failed == 0
    runs = len(result.runs)
    quarter = next(mib for done, mib in held if 4 * done >= runs)
    jobs = study["traces"][0]["jobs"]
    out.rows.append(
        (
            str(len(study["policies"])), f"{runs:,}", f"{jobs:,}", executor, f"{wall_s:.1f}",
            f"{own_s / WORKERS:.1f}", f"{floor.wall_s:.1f}", f"{floor.slowdown:.2f}",
            f"{runs / wall_s:,.0f}", f"{quarter:,.0f}", f"{held[-1][1]:,.0f}",
        )
    )  # fmt: skip
    if len(study["policies"]) == len(POLICIES) and executor.startswith("threads"):
        out.notes.append(_by_policy(alone, jobs))
    return _Measured(wall_s / (own_s / WORKERS), held[-1][1] / quarter, runs / wall_s)


def _by_policy(alone: Any, jobs: int) -> str:
    """Say what a run of each policy takes, and which part of that is the core's."""
    import polars as pl

    means = alone.group_by("policy", maintain_order=True).agg(pl.mean("wall_s", "total_s"))
    told = ", ".join(
        f"{policy} {1e3 * total_s:.3g} ({1e3 * wall_s:.3g})"
        for policy, wall_s, total_s in means.iter_rows()
    )
    return f"Own milliseconds of a run of {jobs:,} jobs, in brackets those of the core: {told}."


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
