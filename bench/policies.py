"""Every policy of the registry on the same jobs: jobs per second, and the longest decisions."""

from __future__ import annotations

import dataclasses
import gc
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, LOAD, SEED
from gpusched import _core
from gpusched.model.throughputs import Throughputs

ENOUGH = 50.0  # thousands of jobs per second
DECISION_MS = 50.0
STOP_S = 1.0
WATCH_S = 0.05
NEXT = 200  # decisions after the first that count
# How fast three models are on each type, and how they scale: GPUs ** exponent.
TYPES = ("V100", "P100", "K80")
MODELS = ((1.0, 0.6, 0.3, 0.95), (1.0, 0.5, 0.12, 0.8), (1.0, 0.8, 0.5, 0.6))
WIDTHS = tuple(1 << power for power in range(9))
METHOD = (
    "Philly-like jobs at load 0.9, servers of 8 GPUs, `consolidated`, every policy with its own "
    "defaults. `plain`: GPUs of one type, fixed speeds, deadlines by ElasticFlow's recipe. "
    "`typed`: the schedulers that move running jobs once more, on three types and with jobs of "
    "three models, whose speed depends on type and width: there the load is "
    "about 1.2, and thousands wait. Processor time of `gs.simulate`, from "
    "one run each. A run that takes longer than the limit is ended: `<` says that its rate is "
    "that of the jobs that had finished. Policies below {enough:g} thousand jobs/s that are "
    "schedulers are run again with every decision timed."
)
COLUMNS = ("workload", "policy", "k jobs/s", "decisions", "mean ms", "p99 ms", "most ms")
WAITING_METHOD = (
    "Decisions of the schedulers that move running jobs while so many jobs wait, which all arrive "
    "at the first instant ({servers:,} servers; workloads as for the table of all policies). "
    "`first` is the decision at which they arrive; the others are the next {count} at most. "
    "Processor time of the thread. `stop s`: from asking the run to stop to its end."
)
WAITING_COLUMNS = (
    "workload",
    "policy",
    "waiting",
    "first ms",
    "next",
    "mean ms",
    "most ms",
    "stop s",
)


@dataclass(frozen=True)
class Run:
    """One run: seconds of processor time, jobs that finished, whether the limit cut it short.

    ``changes``: starts, preemptions, resumes and resizes; ``instants``: at which anything was.
    """

    seconds: float
    finished: int
    is_cut: bool
    stop_s: float = 0.0
    changes: int = 0
    instants: int = 0

    @property
    def rate(self) -> float:
        """Thousands of jobs per second."""
        return self.finished / self.seconds / 1e3 if self.seconds > 0 else 0.0


def names() -> list[str]:
    """Return every registered policy except aliases."""
    return [name for name, info in gs.policies().items() if not info.alias_of]


def moves_jobs(name: str) -> bool:
    """Whether the policy is a scheduler that moves running jobs, so that GPU types matter to it."""
    info = gs.policies()[name]
    return info.kind == "scheduler" and "preemptive" in info.flags


@lru_cache(maxsize=4)
def plain(jobs: int, servers: int, load: float = LOAD) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs with deadlines, and servers of one type."""
    cluster = gs.Cluster.uniform(servers=servers, gpus=GPUS_PER_SERVER, gpu_type=TYPES[0])
    trace = gs.generate("philly", jobs=jobs, load=load, cluster=cluster, seed=SEED, model=1)
    return trace.with_deadlines(seed=SEED), cluster


@lru_cache(maxsize=4)
def typed(jobs: int, servers: int) -> tuple[gs.Trace, gs.Cluster]:
    """Draw the same jobs as three models, and servers of three types, half of them of the first."""
    trace, _ = plain(jobs, servers)
    return on_types(trace, servers)


def on_types(trace: gs.Trace, servers: int) -> tuple[gs.Trace, gs.Cluster]:
    """Return the jobs as three models, and servers of three types, half of them of the first."""
    counts = (servers - 2 * (servers // 4), servers // 4, servers // 4)
    groups = tuple(
        gs.ServerGroup(count, GPUS_PER_SERVER, name)
        for count, name in zip(counts, TYPES, strict=True)
    )
    profiles = [
        gs.model.JobProfile(
            f"model{index}",
            throughput={
                name: {width: speed * width**exponent for width in WIDTHS}
                for name, speed in zip(TYPES, speeds, strict=True)
            },
        )
        for index, (*speeds, exponent) in enumerate(MODELS)
    ]
    return trace.with_throughputs(Throughputs(profiles), seed=SEED), gs.Cluster(groups)


WORKLOADS = {"plain": (plain, "fixed"), "typed": (typed, "table")}


def at_once(trace: gs.Trace) -> gs.Trace:
    """Return the jobs as if they all arrived at the first instant."""
    submit_us = np.full_like(trace.submit_us, trace.submit_us[0])
    submit_us.flags.writeable = False
    return dataclasses.replace(trace, submit_us=submit_us).with_deadlines(seed=SEED)


def cases() -> Iterator[tuple[str, str]]:
    """Every workload and policy of the table."""
    for workload in WORKLOADS:
        for name in names():
            if workload == "plain" or moves_jobs(name):
                yield workload, name


def run(trace: gs.Trace, cluster: gs.Cluster, speed: str, policy: Any, limit_s: float) -> Run:
    """Run the policy, for at most so many seconds of the process's processor time."""
    stop, is_over = threading.Event(), threading.Event()
    asked: list[float] = []

    def watch() -> None:
        while not is_over.wait(WATCH_S):
            if not stop.is_set() and time.process_time() - begin > limit_s:
                asked.append(time.perf_counter())
                stop.set()

    gc.collect()
    begin = time.process_time()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.RunWarning)
            made = gs.simulate(trace, cluster, policy=policy, speed=speed, stop=stop).schedule
        seconds = time.process_time() - begin
        started = int(np.count_nonzero(made.start_us >= 0))
        changes = started + int(2 * made.preemptions.sum() + made.resizes.sum())
        instants = made.counters["instants"]
        return Run(seconds, len(trace), is_cut=False, changes=changes, instants=instants)
    except gs.Cancelled as cut:
        seconds = time.process_time() - begin
        return Run(seconds, cut.num_finished, True, time.perf_counter() - asked[0])
    finally:
        is_over.set()
        watcher.join()


class TimedPolicy:
    """A scheduler with timed decisions, native or written in Python."""

    def __init__(self, name: str) -> None:
        made = gs.policies()[name].python_class
        ns = list[int]()

        class Native(_core._testing.TimedScheduler):
            def __init__(self) -> None:
                super().__init__(name, {})

        class Written(made or _core.Scheduler):  # type: ignore[misc, valid-type]
            def decide(self, *arguments: Any) -> None:
                begin = time.thread_time_ns()
                super().decide(*arguments)
                ns.append(time.thread_time_ns() - begin)

        self.policy: Any = Written() if made else Native()
        self._ns = ns if made else None

    def decisions_ms(self) -> NDArray[np.float64]:
        """Milliseconds of each decision of the run."""
        ns = self.policy.times()["decision_ns"] if self._ns is None else self._ns
        return np.asarray(ns, dtype=np.float64) / 1e6


def section(jobs: int, servers: int, limit_s: float, only: frozenset[str] = frozenset()) -> Section:
    """Report every policy, with the bar of a plain rate for those that solve no programs."""
    out = Section("Every policy", METHOD.format(enough=ENOUGH), COLUMNS)
    run(*plain(100, servers), "fixed", "fifo", limit_s)  # loads the rest
    out.notes.append(f"{jobs:,} jobs, {servers:,} servers; the limit is {limit_s:g} s a run.")
    for workload, name in cases():
        if only and name not in only:
            continue
        make, speed = WORKLOADS[workload]
        trace, cluster = make(jobs, servers)
        found = run(trace, cluster, speed, name, limit_s)
        cells = ["-"] * 4
        if found.rate < ENOUGH and gs.policies()[name].kind == "scheduler":
            timed = TimedPolicy(name)
            run(trace, cluster, speed, timed.policy, limit_s)
            ms = timed.decisions_ms()
            if len(ms):
                cells = [f"{len(ms):,}", *_numbers(ms.mean(), np.percentile(ms, 99), ms.max())]
        sign = "<" if found.is_cut else ""
        out.rows.append((workload, name, f"{sign}{found.rate:,.1f}", *cells))
        out.bars.append(Bar(f"{name}, {workload}", found.rate, ENOUGH, "k jobs/s", at_least=True))
        print(f"  {' '.join(out.rows[-1])}", file=sys.stderr, flush=True)
    return out


def waiting_section(
    waiting: int, servers: int, limit_s: float, only: frozenset[str] = frozenset()
) -> Section:
    """Report decisions of the schedulers that move jobs while many wait, and how fast they stop."""
    method = WAITING_METHOD.format(count=NEXT, servers=servers)
    title = f"Decisions while {waiting:,} jobs wait for {servers:,} servers"
    out = Section(title, method, WAITING_COLUMNS)
    for workload, name in cases():
        if not moves_jobs(name) or (only and name not in only):
            continue
        make, speed = WORKLOADS[workload]
        trace, cluster = make(waiting, servers)
        timed = TimedPolicy(name)
        found = run(at_once(trace), cluster, speed, timed.policy, limit_s)
        ms = timed.decisions_ms()
        later = ms[1 : 1 + NEXT]
        first = _numbers(ms[0]) if len(ms) else ["-"]
        shown = _numbers(later.mean(), later.max()) if len(later) else ["-", "-"]
        stop = f"{found.stop_s:.2f}" if found.is_cut else "-"
        out.rows.append((workload, name, f"{waiting:,}", *first, f"{len(later)}", *shown, stop))
        what = f"{name}, {workload}"
        if len(later):
            out.bars.append(Bar(f"{what}: next decisions", float(later.max()), DECISION_MS, "ms"))
        if found.is_cut:
            out.bars.append(Bar(f"{what}: from stop to end", found.stop_s, STOP_S, "s"))
        print(f"  {' '.join(out.rows[-1])}", file=sys.stderr, flush=True)
    return out


def _numbers(*values: float) -> list[str]:
    return [f"{value:,.3g}" for value in values]
