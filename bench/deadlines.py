"""Dancer on 3 x 256 GPUs: time per decision within a run, and memory of the run."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from bench.measure import processor_s
from bench.memory import forget_peak, in_a_process, peak_bytes, resident_bytes
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, SEED
from gpusched import _core
from gpusched.base.real_data import find_data
from gpusched.model.throughputs import Throughputs
from gpusched.schedules.schedule import SCHEDULE_COLUMNS

TYPES = ("V100", "P100", "K80")
SERVERS = 32  # of each type
RESTART_S = 30.0
SLOT_US = 300_000_000  # dancer's own
LOADS = (1.0, 2.0)
GAVEL = "gavel/simulation_throughputs.json"
# A model's speed on each type relative to a V100, and how it scales: GPUs ** exponent.
MODELS = tuple(
    (p100, k80, exponent)
    for p100, k80 in ((0.6, 0.3), (0.5, 0.12), (0.8, 0.5))
    for exponent in (0.95, 0.8, 0.6)
)
RUN_S = 10.0
DECISION_MS = 2.0
OTHER_MB = 16.0
METHOD = (
    "Jobs of the generator `itp` on 32 servers of 8 GPUs of each of three types, at most 8 GPUs "
    "wide, restarts of 30 s, deadlines by ElasticFlow's recipe; tables: {tables}. Processor time "
    "of the thread for each decision within one run. An instant at which jobs arrive is an "
    "`arrival`, one at which a slot begins a `border`, counted until the last job has arrived; the "
    "rest are finishes, and borders while the last jobs run. `all` has every decision of the run."
)
COLUMNS = ("jobs", "load", "decisions", "number", "p50 ms", "p99 ms", "max ms", "together s")
MEMORY_METHOD = (
    "A process of its own for each size, measured as in the section Memory, load 1. `growth`: of "
    "the resident memory from a tenth of the jobs on, a job. `result`: the columns, the interval "
    "log and the decisions as they are handed out, a job; the core keeps as much. What a run needs "
    "besides its result does not grow with the jobs if the two agree."
)
MEMORY_COLUMNS = ("jobs", "peak beyond the trace MB", "growth bytes", "result bytes")


class Timed(_core._testing.TimedScheduler):
    """Dancer, each decision timed."""

    def __init__(self) -> None:
        super().__init__("dancer", {})


def cluster() -> gs.Cluster:
    """Return 3 x 256 GPUs."""
    return gs.Cluster(tuple(gs.ServerGroup(SERVERS, GPUS_PER_SERVER, name) for name in TYPES))


def tables() -> tuple[Throughputs, str]:
    """Return the throughputs of Gavel if they are there, others if not, and which they are."""
    path = find_data(GAVEL)
    if path is not None:
        return gs.model.read_throughputs(path), "those of Gavel"
    widths = (1, 2, 4, 8)
    profiles = [
        gs.model.JobProfile(
            f"model{index}",
            throughput={
                name: {width: speed * width**exponent for width in widths}
                for name, speed in zip(TYPES, (1.0, p100, k80), strict=True)
            },
        )
        for index, (p100, k80, exponent) in enumerate(MODELS)
    ]
    return Throughputs(profiles), f"{len(MODELS)} made-up models"


def workload(jobs: int, load: float) -> gs.Trace:
    """Draw the jobs."""
    trace = gs.generate("itp", jobs, seed=SEED, model=1)
    narrowed = np.minimum(trace.gpus, GPUS_PER_SERVER).astype(np.int32)
    trace = dataclasses.replace(trace, gpus=narrowed).with_throughputs(tables()[0], seed=SEED)
    restart_us = np.full(jobs, RESTART_S * 1e6, dtype=np.int64)
    trace = dataclasses.replace(trace, restart_us=restart_us)
    return trace.with_load(load, cluster().num_gpus).with_deadlines(seed=SEED)


def sections(jobs: int, memory_sizes: tuple[int, ...]) -> Iterator[Section]:
    """Report the times, and the memory if there are sizes for it."""
    yield _times(jobs)
    if memory_sizes:
        yield _memory(memory_sizes)


def _times(jobs: int) -> Section:
    out = Section("Deadlines", METHOD.format(tables=tables()[1]), COLUMNS)
    for load in LOADS:
        trace, policy = workload(jobs, load), Timed()

        def run(trace: gs.Trace = trace, policy: Timed = policy) -> None:
            gs.simulate(trace, cluster(), policy=policy, placement="buddy", speed="table")

        seconds = processor_s(run)
        times = policy.times()
        kinds = _kinds(times, int(trace.submit_us[-1]))
        for kind, found in kinds.items():
            ms = times["decision_ns"][found] / 1e6
            p50, p99 = np.percentile(ms, [50, 99])
            numbers = (f"{p50:.3f}", f"{p99:.3f}", f"{ms.max():.2f}", f"{ms.sum() / 1e3:.1f}")
            out.rows.append((f"{jobs:,}", f"{load:g}", kind, f"{len(ms):,}", *numbers))
            if kind != "all":
                out.bars.append(
                    Bar(f"p99 of a decision: {kind}, load {load:g}", p99, DECISION_MS, "ms")
                )
        out.bars.append(Bar(f"{jobs:,} jobs, load {load:g}", seconds, RUN_S, "s"))
        out.notes.append(f"Load {load:g}: {jobs / seconds:,.0f} jobs/s of processor time.")
    return out


def _kinds(times: dict[str, NDArray[np.int64]], last_us: int) -> dict[str, NDArray[np.bool_]]:
    is_border = times["at_us"] % SLOT_US == 0
    return {
        "arrivals": ~is_border & (times["num_arrived"] > 0),
        "borders": is_border & (times["at_us"] <= last_us),
        "all": np.ones(len(is_border), dtype=np.bool_),
    }


def _memory(sizes: tuple[int, ...]) -> Section:
    out = Section("Deadlines, memory", MEMORY_METHOD, MEMORY_COLUMNS)
    for jobs in sizes:
        peak, growth, result = in_a_process("bench.deadlines", str(jobs))
        out.rows.append((f"{jobs:,}", f"{peak / 1e6:.1f}", f"{growth:,}", f"{result:,}"))
        # In all: what doubles its room now and then is uneven, but not proportional to the jobs.
        other = (growth - result) * 0.9 * jobs / 1e6
        out.bars.append(Bar(f"growth besides the result, {jobs:,} jobs", other, OTHER_MB, "MB"))
    return out


def _child(jobs: int) -> None:
    seen: list[tuple[int, int]] = []

    def run(trace: gs.Trace) -> gs.Result:
        return gs.simulate(
            trace,
            cluster(),
            policy="dancer",
            placement="buddy",
            speed="table",
            progress=lambda now: seen.append((now.done, resident_bytes())),
        )

    run(workload(1_000, 1.0))  # imports and thread stacks are not the run's
    trace = workload(jobs, 1.0)
    seen.clear()
    forget_peak()
    before = peak_bytes()
    schedule = run(trace).schedule
    peak = peak_bytes() - before
    first, at_first = next(entry for entry in seen if entry[0] >= jobs // 10)
    last, at_last = next(entry for entry in seen if entry[0] >= jobs - jobs // 100)
    columns = [getattr(schedule, name) for name in SCHEDULE_COLUMNS]
    columns += [*schedule.intervals().values(), *schedule.decisions().values()]
    result = sum(np.asarray(column).nbytes for column in columns)
    print(peak, (at_last - at_first) // max(1, last - first), result // jobs)


if __name__ == "__main__":
    _child(int(sys.argv[1]))
