"""What it costs to go through a run in steps, and to fork one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

import gpusched as gs
from bench.measure import interleave
from bench.table import Bar, Section
from bench.workloads import philly

STEP_US = 5.0  # an instant, from Python, above a closed run
HALT_US = 1.5  # the same, in a call that does many
FORK_MS = 1.0
WAITING, SERVERS = 10_000, 1_024
METHOD = (
    "Instants: Philly-like jobs at load 0.9 on 64 servers, placement `consolidated`; processor "
    "time of a run to the end (`simulate`), of one call of `run`, and of a call of `step` for each "
    f"instant, in turn; medians. Forks: {WAITING:,} jobs wait on {8 * SERVERS:,} GPUs; the median "
    "of 100 forks of one run."
)
COLUMNS = ("policy", "`run`, us above", "`step`, us above", "fork, ms")
POLICIES = ("fifo", "sjf", "easy", "srtf", "2d-las", "conservative", "a-srpt")


def section(jobs: int, repeats: int) -> Section:
    """Measure each policy."""
    out = Section("Open runs", METHOD, COLUMNS)
    workload = philly(jobs, 64)
    for policy in POLICIES:

        def closed(policy: str = policy) -> None:
            gs.simulate(workload.trace, workload.cluster, policy=policy)

        def opened(policy: str = policy) -> None:
            run = gs.Simulation(workload.trace, workload.cluster, policy=policy)
            run.run()
            run.result()

        def stepped(policy: str = policy) -> None:
            run = gs.Simulation(workload.trace, workload.cluster, policy=policy)
            while run.step():
                pass
            run.result()

        result = gs.simulate(workload.trace, workload.cluster, policy=policy)
        instants = result.schedule.counters["instants"]
        timings = interleave([_timed(call) for call in (closed, opened, stepped)], repeats)
        plain, whole, parts = (timing.median for timing in timings)
        halt_us, step_us = (1e6 * (seconds - plain) / instants for seconds in (whole, parts))
        fork_ms = fork_seconds(policy) * 1e3
        out.rows.append((policy, f"{halt_us:.2f}", f"{step_us:.2f}", f"{fork_ms:.3f}"))
        out.bars.append(Bar(f"{policy}: an instant in `run`", halt_us, HALT_US, "us"))
        out.bars.append(Bar(f"{policy}: an instant by `step`", step_us, STEP_US, "us"))
        out.bars.append(Bar(f"{policy}: a fork", fork_ms, FORK_MS, "ms"))
    return out


def fork_seconds(policy: str) -> float:
    """Fork a run in which many jobs wait, and return the processor time of one fork."""
    rng = np.random.default_rng(1)
    count = WAITING + 8 * SERVERS
    trace = gs.Trace.from_columns(
        submit_s=np.arange(count) * 1e-3,
        service_s=rng.integers(1_000, 100_000, count),
        gpus=2 ** rng.integers(0, 4, count),
    )
    run = gs.Simulation(trace, gs.Cluster.uniform(SERVERS, 8), policy=policy)
    waits = 0
    while waits < WAITING and not run.done:
        run.run_until(run.now + 0.5)
        waits = run.state.num_waiting
    seconds = []
    for _ in range(100):
        begin = time.process_time()
        fork = run.fork()
        seconds.append(time.process_time() - begin)
        del fork
    return statistics.median(seconds)


def _timed(call: Callable[[], None]) -> Callable[[], float]:
    def measure() -> float:
        begin = time.process_time()
        call()
        return time.process_time() - begin

    return measure
