"""Measure the cost of stepping through a run, and of forking one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

import gpusched as gs
from bench.measure import interleave
from bench.table import Bar, Section
from bench.workloads import Workload, philly
from gpusched.base.run_warning import unwarned
from gpusched.plugins.registry import has_flag_of

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
DECIDED_SERVERS, LIST_MS, OTHER_MS = 10_000, 2.0, 10.0
DECISIONS = 200
DECISION_METHOD = (
    f"{DECIDED_SERVERS:,} servers of 8 GPUs, all of them busy but for those of 20 jobs that have "
    f"just ended; {WAITING:,} jobs wait. `gs.decide` on 20 such states in turn, {DECISIONS} times: "
    "processor time, with all that is made of the state. Policies that decide by the state alone."
)
FORECAST_WAITING, FORECAST_S = 1_000, 2.0
FORECAST_METHOD = (
    f"512 GPUs, {FORECAST_WAITING:,} jobs wait; `gs.when` of the last of them, 1,000 samples in "
    "two threads, without alternatives, and with or without the jobs that come later (the cluster "
    "is overloaded, and earlier jobs may be overtaken for weeks): time on the clock."
)
POLICIES = ("fifo", "sjf", "easy", "srtf", "2d-las", "conservative", "a-srpt")


def section(jobs: int, repeats: int) -> Section:
    """Measure each policy."""
    out = Section("Open runs", METHOD, COLUMNS)
    workload = philly(jobs, 64)
    with unwarned():  # some policies lack what they decide by
        _measure(out, workload, repeats)
    return out


def _measure(out: Section, workload: Workload, repeats: int) -> None:
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


def decisions() -> Section:
    """Measure single decisions on a full cluster."""
    out = Section("Decisions", DECISION_METHOD, ("policy", "actions", "median, ms", "p99, ms"))
    states = list(_freed(_full(DECIDED_SERVERS, "fifo"), 20, 20))
    for policy in _decided_by_the_state():
        is_list = has_flag_of("policy", policy, "strict") or has_flag_of("policy", policy, "skip")
        limit_ms = LIST_MS if is_list else OTHER_MS
        seconds = []
        for number in range(DECISIONS):
            begin = time.process_time()
            found = gs.decide(states[number % len(states)], policy=policy)
            seconds.append(time.process_time() - begin)
        median, last = (1e3 * float(np.percentile(seconds, part)) for part in (50, 99))
        out.rows.append((policy, str(len(found.job)), f"{median:.2f}", f"{last:.2f}"))
        out.bars.append(Bar(f"{policy}: p99 of a decision", last, limit_ms, "ms"))
    return out


def _decided_by_the_state() -> Iterator[str]:
    """Yield the registered policies that need no memory."""
    cluster = gs.Cluster.uniform(1, 8)
    state = gs.online.ClusterState(
        cluster, gs.Trace.from_columns([0], [60], [1], deadline_s=[90]), 1
    )
    for policy in sorted(gs.policies()):
        try:
            gs.decide(state, policy=policy)
        except ValueError:
            continue
        yield policy


def forecasts() -> Section:
    """Measure how long it takes to say when a job starts."""
    columns = ("policy", "seconds", "with submissions")
    out = Section("Forecasts of starts", FORECAST_METHOD, columns)
    rng = np.random.default_rng(1)
    trace = gs.Trace.from_columns(
        submit_s=np.arange(3_000) * 60.0,
        service_s=np.exp(rng.normal(8.5, 1.8, 3_000)).clip(1),
        gpus=2 ** rng.integers(0, 5, 3_000),
    )
    run = gs.Simulation(trace, gs.Cluster.uniform(64, 8), policy="fifo-skip")
    while run.state.num_waiting < FORECAST_WAITING and not run.done:
        run.run_until(run.now + 600)
    job = int(run.state.waiting[-1])
    for policy in ("fifo", "fifo-skip", "sjf", "easy", "srtf"):
        seconds, longer = (
            _forecast_seconds(job, run, policy, submits=submits) for submits in (False, True)
        )
        out.rows.append((policy, f"{seconds:.2f}", f"{longer:.2f}"))
        out.bars.append(Bar(f"{policy}: 1,000 samples", seconds, FORECAST_S, "s"))
    return out


def _forecast_seconds(job: int, run: gs.Simulation, policy: str, *, submits: bool) -> float:
    begin = time.perf_counter()
    gs.when(job, run, policy=policy, arrivals=submits, alternatives=False, threads=2)
    return time.perf_counter() - begin


def _freed(run: gs.Simulation, ended: int, count: int) -> Iterator[gs.online.ClusterState]:
    """Yield so many states of a full cluster in which some jobs have just ended."""
    rng = np.random.default_rng(2)
    full = gs.online.ClusterState.of(run)
    for _ in range(count):
        kept = np.ones(len(full.jobs), np.bool_)
        kept[rng.choice(np.flatnonzero(full.is_running), ended, replace=False)] = False
        held = kept[full.held_job]
        yield gs.online.ClusterState(
            full.cluster,
            full.jobs._take(kept),
            full.now_s,
            start_s=full.start_s[kept],
            attained_s=full.attained_s[kept],
            held_job=(np.cumsum(kept) - 1)[full.held_job[held]],
            held_server=full.held_server[held],
            held_mask=full.held_mask[held],
        )


def fork_seconds(policy: str) -> float:
    """Fork a run in which many jobs wait, and return the processor time of one fork."""
    run = _full(SERVERS, policy)
    seconds = []
    for _ in range(100):
        begin = time.process_time()
        fork = run.fork()
        seconds.append(time.process_time() - begin)
        del fork
    return statistics.median(seconds)


def _full(servers: int, policy: str) -> gs.Simulation:
    """Return a run in which all GPUs are busy and many jobs wait."""
    rng = np.random.default_rng(1)
    count = WAITING + 8 * servers
    trace = gs.Trace.from_columns(
        submit_s=np.arange(count) * 1e-3,
        service_s=rng.integers(1_000, 100_000, count),
        gpus=2 ** rng.integers(0, 4, count),
    )
    run = gs.Simulation(trace, gs.Cluster.uniform(servers, 8), policy=policy)
    waits = 0
    while waits < WAITING and not run.done:
        run.run_until(run.now + 0.5)
        waits = run.state.num_waiting
    return run


def _timed(call: Callable[[], None]) -> Callable[[], float]:
    def measure() -> float:
        begin = time.process_time()
        call()
        return time.process_time() - begin

    return measure
