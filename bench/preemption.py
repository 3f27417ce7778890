"""Measure the cost of preemption on servers: processor time by policy, job and change."""

from __future__ import annotations

import gc
import statistics
import time
import warnings

import numpy as np

import gpusched as gs
from bench.table import Bar, Section
from bench.workloads import Workload, philly

# Jobs per second that a policy is to reach, of a million jobs at load 0.9.
RATES = {"srtf": 1.5e6, "srsf": 1.5e6, "edf": 1.5e6, "2d-las": 5e5, "serverfilling-srpt": 5e5}
# Microseconds for each start, preemption and resume, where these are most of the work.
CHANGES_US = {"las": 1.0, "a-srpt-p": 1.0, "llf": 1.0}
METHOD = (
    "Philly-like jobs at load 0.9, `consolidated`, servers of 8 GPUs; medians of the processor "
    "time of a run without its summary, policies in turn after `sjf`, which does not preempt. A "
    "change is a start, a preemption or a resume."
)
COLUMNS = (
    "servers",
    "policy",
    "k jobs/s",
    "times `sjf`",
    "preemptions",
    "us per change",
    "us per job",
)


def section(jobs: int, servers: tuple[int, ...], repeats: int) -> Section:
    """Measure every preemptive policy on clusters of so many servers."""
    out = Section("Preemption on servers", METHOD, COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)  # llf and edf: some jobs lack deadlines
        for count in servers:
            _measure(out, philly(jobs, count), repeats)
    return out


def _measure(out: Section, workload: Workload, repeats: int) -> None:
    """Add the rows of one cluster."""
    trace = workload.trace.with_deadlines(seed=1)
    policies = ("sjf", *RATES, *CHANGES_US)
    seconds: dict[str, list[float]] = {policy: [] for policy in policies}
    preemptions = dict.fromkeys(policies, 0)
    for _ in range(repeats):
        for policy in policies:
            gc.collect()
            begin = time.process_time()
            result = gs.simulate(trace, workload.cluster, policy=policy)
            seconds[policy].append(time.process_time() - begin)
            preemptions[policy] = int(np.sum(result.schedule.preemptions, dtype=np.int64))
    plain = statistics.median(seconds["sjf"])
    for policy in policies:
        median_s = statistics.median(seconds[policy])
        changes = len(trace) + 2 * preemptions[policy]
        out.rows.append(
            (
                f"{workload.servers:,}",
                policy,
                f"{len(trace) / median_s / 1e3:,.0f}",
                f"{median_s / plain:.1f}",
                f"{preemptions[policy]:,}",
                f"{median_s / changes * 1e6:.2f}",
                f"{median_s / len(trace) * 1e6:.2f}",
            )
        )
        where = f"{policy}, {workload.servers:,} servers"
        if policy in RATES:
            rate = len(trace) / median_s
            out.bars.append(Bar(where, rate / 1e3, RATES[policy] / 1e3, "k jobs/s", at_least=True))
        elif policy in CHANGES_US:
            out.bars.append(Bar(where, median_s / changes * 1e6, CHANGES_US[policy], "us a change"))
