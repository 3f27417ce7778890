"""What the studies on unequal GPUs share: where jobs come from, and the throughputs of Gavel."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from gpusched.base.real_data import find_data, need_data
from gpusched.base.ticks import US_PER_S
from gpusched.generator.synthetic_traces import generate
from gpusched.models.throughput_files import read_throughputs
from gpusched.models.throughputs import Throughputs
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace

TABLES: Final = "gavel/simulation_throughputs.json"
TYPES: Final = ("V100", "P100", "K80")
SERVER_GPUS: Final = 8
MAX_GPUS: Final = 8
"""The tables go up to this many GPUs; wider jobs are narrowed to it."""


@dataclass(frozen=True)
class Workload:
    """Where jobs come from: a generator, or a file below the data folder."""

    name: str
    profile: str = ""
    trace: str = ""


PHILLY: Final = Workload("Philly", trace="philly/philly.csv")
GENERATED_ITP: Final = Workload("ITP, generated", profile="itp")
GENERATED_PHILLY: Final = Workload("Philly, generated", profile="philly")


def absent(workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Return those whose file is not there."""
    return tuple(of for of in workloads if of.trace and find_data(of.trace) is None)


@lru_cache(maxsize=2)
def jobs_of(workload: Workload) -> Trace:
    """Return all jobs of its file."""
    return read_trace(need_data(workload.trace, workload.name))


@lru_cache(maxsize=1)
def throughputs() -> Throughputs:
    """Return the tables of Gavel; ValueError, which names the variable, if they are not there."""
    return read_throughputs(need_data(TABLES, "throughputs"))


def window(trace: Trace, jobs: int, first: int) -> Trace:
    """Return consecutive jobs; what is missing at the end is taken from the begin."""
    return narrowed(trace.filter((np.arange(len(trace)) - first) % len(trace) < jobs))


def generated(of: Workload, jobs: int, seed: int) -> Trace:
    """Draw jobs."""
    return narrowed(generate(of.profile, jobs, seed=seed))


def narrowed(trace: Trace) -> Trace:
    """Return the jobs on no more GPUs than the tables tell."""
    gpus = np.minimum(trace.gpus, MAX_GPUS).astype(np.int32)
    return dataclasses.replace(trace, gpus=gpus)


def with_restarts(trace: Trace, restart_s: float) -> Trace:
    """Return the jobs with this cost of a restart."""
    restart_us = np.full(len(trace), restart_s * US_PER_S, dtype=np.int64)
    return dataclasses.replace(trace, restart_us=restart_us)
