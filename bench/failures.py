"""Measure runs with failing servers and time limits against the same runs without."""

from __future__ import annotations

import gc
import statistics
import time

import gpusched as gs
from bench.table import Bar, Section
from bench.workloads import Workload, philly

DAY_S = 86_400.0
# Jobs per second that a policy is to reach, of a million jobs on 512 servers.
RATES = {"fifo-skip": 1e6, "easy": 5e5}
METHOD = (
    "Philly-like jobs at load 0.9, `consolidated`, servers of 8 GPUs. Each server fails on average "
    "once in 30 days and is repaired in 4 hours; the time limit is twice the run time. Medians of "
    "the processor time of a run without its summary, with and without failures in turn."
)
COLUMNS = ("servers", "policy", "outages", "interruptions", "k jobs/s", "times without")


def section(jobs: int, servers: int, repeats: int) -> Section:
    """Measure on a cluster of so many servers."""
    out = Section("Failing servers", METHOD, COLUMNS)
    workload = philly(jobs, servers)
    for policy, least in RATES.items():
        _measure(out, workload, policy, least, repeats)
    return out


def _measure(out: Section, workload: Workload, policy: str, least: float, repeats: int) -> None:
    """Add the row of one policy."""
    plain = workload.trace.with_columns(time_limit_s=None)
    limited = plain.with_columns(time_limit_s=2 * plain.service_us / 1e6)
    outages = gs.generate_outages(
        workload.cluster,
        until_s=float(plain.submit_us[-1]) / 1e6,
        mtbf_s=30 * DAY_S,
        repair_s=DAY_S / 6,
    )
    seconds: tuple[list[float], list[float]] = ([], [])
    hits = 0
    for _ in range(repeats):
        for known, trace, drawn in zip(seconds, (plain, limited), (None, outages), strict=True):
            gc.collect()
            begin = time.process_time()
            result = gs.simulate(trace, workload.cluster, policy=policy, outages=drawn)
            known.append(time.process_time() - begin)
        hits = int(result.schedule.failures.sum())
    without_s, with_s = map(statistics.median, seconds)
    rate = len(plain) / with_s
    out.rows.append(
        (
            f"{workload.servers:,}",
            policy,
            f"{len(outages):,}",
            f"{hits:,}",
            f"{rate / 1e3:,.0f}",
            f"{with_s / without_s:.1f}",
        )
    )
    out.bars.append(Bar(policy, rate / 1e3, least / 1e3, "k jobs/s", at_least=True))
