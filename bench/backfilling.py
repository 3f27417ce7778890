"""What reservations cost ``conservative``, whose jobs end when expected or earlier."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time

import numpy as np

import gpusched as gs
from bench.table import Bar, Section
from bench.workloads import SEED, philly

SERVERS = 64
ENOUGH = 200.0  # thousands of jobs per second
LOOSE = 4.0  # times the service that an estimate is at most
METHOD = (
    "`conservative` on {servers} servers of 8 GPUs, Philly-like jobs at load 0.9; estimates are "
    "the service (`exact`), or 1 to {loose:g} times as long, uniformly drawn (`loose`): then every "
    "early end lets those that wait move up. Medians of the processor time of a run without its "
    "summary."
)
COLUMNS = ("jobs", "estimates", "placement", "seconds", "k jobs/s")


def section(jobs: int, repeats: int) -> Section:
    """Measure both kinds of estimates, in a pool and on servers."""
    out = Section("Backfilling", METHOD.format(servers=SERVERS, loose=LOOSE), COLUMNS)
    made = philly(jobs, SERVERS)
    for estimates, most in (("exact", 1.0), ("loose", LOOSE)):
        trace = _estimated(made.trace, most)
        for placement in ("count", "consolidated"):
            seconds = _seconds(trace, made.cluster, placement, repeats)
            rate = jobs / seconds / 1e3
            row = (f"{jobs:,}", estimates, placement, f"{seconds:.2f}", f"{rate:,.1f}")
            out.rows.append(row)
            name = f"{estimates} estimates, {placement}"
            out.bars.append(Bar(name, rate, ENOUGH, "k jobs/s", at_least=True))
    return out


def _estimated(trace: gs.Trace, most: float) -> gs.Trace:
    """Return the jobs with estimates of 1 to ``most`` times their service."""
    random = np.random.Generator(np.random.PCG64(SEED))
    times = random.uniform(1.0, most, len(trace))
    estimate_us = np.ceil(trace.service_us * times).astype(np.int64)
    estimate_us.flags.writeable = False
    return dataclasses.replace(trace, estimate_us=estimate_us)


def _seconds(trace: gs.Trace, cluster: gs.Cluster, placement: str, repeats: int) -> float:
    taken = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        gs.simulate(trace, cluster, policy="conservative", placement=placement)
        taken.append(time.process_time() - begin)
    return statistics.median(taken)
