"""What the studies on unequal GPUs share: servers, jobs, and the throughputs of Gavel."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

import gpusched as gs
from gpusched.base.real_data import find_data, need_data
from gpusched_papers.study import US_PER_S

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


def servers(counts: Iterable[int], **links: Any) -> gs.Cluster:
    """Return so many servers of each of ``TYPES``; ``links`` as of ``gs.ServerGroup``."""
    groups = (
        gs.ServerGroup(count, SERVER_GPUS, kind, **links)
        for count, kind in zip(counts, TYPES, strict=True)
        if count
    )
    return gs.Cluster(tuple(groups))


def absent(workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Return those whose file is not there."""
    return tuple(of for of in workloads if of.trace and find_data(of.trace) is None)


def there(wanted: Mapping[Any, tuple[Any, ...]]) -> dict[Any, tuple[Any, ...]]:
    """Return the settings whose ``workload`` is there, each with its policies."""
    return {of: arms for of, arms in wanted.items() if not absent([of.workload])}


@lru_cache(maxsize=2)
def jobs_of(workload: Workload) -> gs.Trace:
    """Return all jobs of its file."""
    return gs.read_trace(need_data(workload.trace, workload.name))


@lru_cache(maxsize=1)
def throughputs() -> gs.models.Throughputs:
    """Return the tables of Gavel; ValueError, which names the variable, if they are not there."""
    return gs.models.read_throughputs(need_data(TABLES, "throughputs"))


def window(trace: gs.Trace, jobs: int, first: int) -> gs.Trace:
    """Return consecutive jobs; what is missing at the end is taken from the begin."""
    return narrowed(trace.filter((np.arange(len(trace)) - first) % len(trace) < jobs))


def generated(of: Workload, jobs: int, seed: int) -> gs.Trace:
    """Draw jobs."""
    return narrowed(gs.generate(of.profile, jobs, seed=seed))


def narrowed(trace: gs.Trace) -> gs.Trace:
    """Return the jobs on no more GPUs than the tables tell."""
    gpus = np.minimum(trace.gpus, MAX_GPUS).astype(np.int32)
    return dataclasses.replace(trace, gpus=gpus)


def with_restarts(trace: gs.Trace, restart_s: float) -> gs.Trace:
    """Return the jobs with this cost of a restart."""
    restart_us = np.full(len(trace), restart_s * US_PER_S, dtype=np.int64)
    return dataclasses.replace(trace, restart_us=restart_us)
