"""Measure the cost of reservations in ``conservative``, with exact and long estimates."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from bench.table import Bar, Section
from bench.workloads import SEED, philly

SERVERS = 64
ENOUGH = 200.0  # thousands of jobs per second
HOUR_US = 3_600_000_000
METHOD = (
    "`conservative` on {servers} servers of 8 GPUs, Philly-like jobs at load 0.9; estimates are "
    "the service (`exact`), up to so many times as long, uniformly drawn, or the next full hour: "
    "then every early end lets those that wait move up. Medians of the processor time of a run "
    "without its summary."
)
LOOSE = {"1 to 3 times": 3.0, "1 to 4 times": 4.0, "1 to 10 times": 10.0}
COLUMNS = ("jobs", "estimates", "placement", "seconds", "k jobs/s")


def section(jobs: int, repeats: int) -> Section:
    """Measure each kind of estimates, in a pool and on servers."""
    out = Section("Backfilling", METHOD.format(servers=SERVERS), COLUMNS)
    made = philly(jobs, SERVERS)
    for estimates, estimate_us in _estimates(made.trace.service_us).items():
        estimate_us.flags.writeable = False
        trace = dataclasses.replace(made.trace, estimate_us=estimate_us)
        for placement in ("count", "consolidated"):
            seconds = _seconds(trace, made.cluster, placement, repeats)
            rate = jobs / seconds / 1e3
            row = (f"{jobs:,}", estimates, placement, f"{seconds:.2f}", f"{rate:,.1f}")
            out.rows.append(row)
            name = f"{estimates} estimates, {placement}"
            out.bars.append(Bar(name, rate, ENOUGH, "k jobs/s", at_least=True))
    return out


def _estimates(service_us: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return what users may have said of each job, by the kind of estimates."""
    out = {"exact": service_us.copy()}
    for kind, most in LOOSE.items():
        random = np.random.Generator(np.random.PCG64(SEED))
        times = random.uniform(1.0, most, len(service_us))
        out[kind] = np.ceil(service_us * times).astype(np.int64)
    out["full hours"] = -(-service_us // HOUR_US) * HOUR_US
    return out


def _seconds(trace: gs.Trace, cluster: gs.Cluster, placement: str, repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        gs.simulate(trace, cluster, policy="conservative", placement=placement)
        taken.append(time.process_time() - begin)
    return statistics.median(taken)
