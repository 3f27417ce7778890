"""Time the summary, audit and tables of a run, and a small run in all."""

from __future__ import annotations

import dataclasses
import re
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import gpusched as gs
from bench.measure import Timing, interleave, processor_s
from bench.table import Bar, Section
from bench.workloads import Workload, philly

SERVERS = 256
SUMMARY_LIMIT, AUDIT_LIMIT = 1.0, 4.0
LARGE_METHOD = (
    "Processor time of all threads, in turn, each step of a new run of `sjf` under `consolidated` "
    "on 256 servers; times the run (`gs.simulate`, of a trace that has run before). The first "
    "summary of a trace computes its bounds, which later ones share."
)
SMALL_METHOD = (
    "Processor time of all threads of `gs.simulate` and `Result.summary` of small traces on 8 "
    "servers that have run before, microseconds: medians (least) of many calls in turn. What the "
    "core and the hash take is without Python's lock; `held` is the rest, of the medians. "
    "`unaudited`: simulate and summary in turn alone, as an audit takes the processor's caches."
)
THREADS_METHOD = (
    "Runs of 1,000 jobs with their summaries, in one thread and in two, wall time. It takes idle "
    "cores: see the control of `--only threads`."
)
DECIDED_JOBS, DECIDED_LIMIT_S = 10_000, 10.0
DECISIONS_METHOD = (
    "Processor time of `Result.audit(level='decisions')` of 10,000 Philly-like jobs: the readable "
    "engine decides again. `shown`: the share of decisions that it checks."
)
TEN_SIMULATE_US, TEN_JUDGED_US, RUNS_PER_S = 60.0, 150.0, 2_000.0
POLICIES = ("fifo", "sjf", "srtf", "easy")
DECIDED = ("fifo", "sjf", "easy", "conservative", "srtf", "las", "2d-las", "a-srpt")


def sections(jobs: int, repeats: int) -> Iterator[Section]:
    """Measure a large run, decisions decided again, small runs, and many in two threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)  # easy lacks the users' estimates
        yield large_section(jobs, repeats)
        yield decisions_section()
        yield small_section(100 * repeats)
        yield threads_section(200 * repeats)


def large_section(jobs: int, repeats: int) -> Section:
    """Compare what follows a run of ``jobs`` with the run."""
    out = Section("Around a large run", LARGE_METHOD, ("what", "s", "times the run"))
    workload = philly(jobs, SERVERS)
    results: list[gs.Result] = []

    def simulate(trace: gs.Trace) -> None:
        results[:] = [gs.simulate(trace, workload.cluster, policy="sjf")]

    def first_summary() -> float:
        simulate(dataclasses.replace(workload.trace))  # of which nothing is known
        return processor_s(results[0].summary)

    def next_summary() -> float:
        simulate(workload.trace)
        return processor_s(results[0].summary)

    def parquet() -> None:
        with tempfile.TemporaryDirectory() as folder:
            results[0].to_parquet(Path(folder) / "jobs.parquet")

    steps: dict[str, Callable[[], float]] = {
        "simulate": lambda: processor_s(lambda: simulate(workload.trace)),
        "first summary": first_summary,
        "next summary": next_summary,
        "digest": lambda: processor_s(lambda: results[0].schedule.digest),
        "intervals": lambda: processor_s(lambda: results[0].schedule.intervals()),
        "audit": lambda: processor_s(lambda: results[0].audit().raise_if_bad()),
        "series": lambda: processor_s(lambda: results[0].series),
        "jobs.to_polars": lambda: processor_s(lambda: results[0].jobs.to_polars()),
        "to_parquet": lambda: processor_s(parquet),
    }
    for step in steps.values():  # loads what is needed
        step()
    found = dict(zip(steps, interleave(list(steps.values()), repeats), strict=True))
    run_s = found["simulate"].median
    for what, timing in found.items():
        out.rows.append((what, f"{timing.median:.3f} ({timing.least:.3f})",
                         f"{timing.median / run_s:.2f}"))  # fmt: skip
    for what, limit in (("first summary", SUMMARY_LIMIT), ("audit", AUDIT_LIMIT)):
        ratio = found[what].median / run_s
        out.bars.append(Bar(f"{what} of {jobs:,} jobs", ratio, limit, "x the run"))
    return out


def decisions_section() -> Section:
    """Say how long the second level of an audit takes, and how much of a run it shows."""
    out = Section("Decisions decided again", DECISIONS_METHOD, ("servers", "policy", "s", "shown"))
    most = 0.0
    for servers in (8, 64):
        workload = philly(DECIDED_JOBS, servers)
        for policy in DECIDED:
            result = gs.simulate(workload.trace, workload.cluster, policy=policy)
            begin = time.process_time()
            report = result.audit(level="decisions")
            took_s = time.process_time() - begin
            report.raise_if_bad()
            shown = re.search(r"the first ([\d,]+) of", str(report))
            part = shown[1] if shown else f"{DECIDED_JOBS:,}"
            out.rows.append((str(servers), policy, f"{took_s:.2f}", part))
            most = max(most, took_s)
    out.bars.append(Bar(f"decisions of {DECIDED_JOBS:,} jobs", most, DECIDED_LIMIT_S, "s"))
    return out


def small_section(calls: int) -> Section:
    """Say what one call costs, by the number of jobs and the policy."""
    columns = (
        "jobs", "policy", "simulate", "summary", "audit", "core", "digest", "held", "unaudited",
    )  # fmt: skip
    out = Section("Small runs", SMALL_METHOD, columns)
    for jobs in (10, 1_000):
        workload = philly(jobs, 8)
        for policy in POLICIES:
            found = _calls(workload, policy, calls)
            alone = _unaudited(workload, policy, calls)
            held, medians = f"{_held(found):.0f}", [f"{1e6 * part.median:.0f}" for part in alone]
            out.rows.append((f"{jobs:,}", policy, *map(_us, found), held, " + ".join(medians)))
            if jobs == 10 and policy == "sjf":
                simulate, summary, audit = (1e6 * part.median for part in found[:3])
                out.bars.append(Bar("simulate of ten jobs", simulate, TEN_SIMULATE_US, "us"))
                judged = summary + audit
                out.bars.append(Bar("summary and audit of them", judged, TEN_JUDGED_US, "us"))
    return out


def _calls(workload: Workload, policy: str, calls: int) -> list[Timing]:
    """Time simulate, summary, audit, the core alone, and the digest alone."""
    samples: list[tuple[float, ...]] = []
    for _ in range(calls + 5):
        begin = time.process_time()
        result = gs.simulate(workload.trace, workload.cluster, policy=policy)
        ran = time.process_time()
        result.summary()
        judged = time.process_time()
        result.audit()
        audited = time.process_time()
        hashing_s = processor_s(lambda result=result: result.schedule.digest)
        parts = (ran - begin, judged - ran, audited - judged)
        samples.append((*parts, min(result.wall_s, ran - begin), hashing_s))
    return [Timing(tuple(part)) for part in zip(*samples[5:], strict=True)]


def _unaudited(workload: Workload, policy: str, calls: int) -> list[Timing]:
    """Time simulate and summary where nothing else is called between."""
    samples: list[tuple[float, float]] = []
    for _ in range(calls + 5):
        begin = time.process_time()
        result = gs.simulate(workload.trace, workload.cluster, policy=policy)
        ran = time.process_time()
        result.summary()
        samples.append((ran - begin, time.process_time() - ran))
    return [Timing(tuple(part)) for part in zip(*samples[5:], strict=True)]


def _us(timing: Timing) -> str:
    return f"{1e6 * timing.median:.0f} ({1e6 * timing.least:.0f})"


def _held(found: list[Timing]) -> float:
    simulate, summary, _, core, hashing = (1e6 * part.median for part in found)
    return simulate + summary - core - hashing


def threads_section(runs: int) -> Section:
    """Count runs and summaries per second, in one thread and in two."""
    out = Section("Many small runs", THREADS_METHOD, ("policy", "one thread", "two threads"))
    workload = philly(1_000, 8)
    rates: list[float] = []
    for policy in POLICIES:
        one, two = (
            statistics.median(_rate(workload, policy, runs, threads) for _ in range(3))
            for threads in (1, 2)
        )
        out.rows.append((policy, f"{one:,.0f} runs/s", f"{two:,.0f} runs/s"))
        rates.append(two)
    mean = len(rates) / sum(1 / rate for rate in rates)
    out.bars.append(
        Bar("runs of all four in two threads", mean, RUNS_PER_S, "a second", at_least=True)
    )
    return out


def _rate(workload: Workload, policy: str, runs: int, threads: int) -> float:
    def work() -> None:
        for _ in range(runs // threads):
            gs.simulate(workload.trace, workload.cluster, policy=policy).summary()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return runs // threads * threads / (time.perf_counter() - begin)
