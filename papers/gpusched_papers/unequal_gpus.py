"""What the studies on unequal GPUs share: servers, jobs, and the throughputs of Gavel."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
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
class Place:
    """Servers of 8 GPUs of each of ``TYPES``, and how many jobs come."""

    name: str
    servers: tuple[int, int, int]
    jobs: int
    nic_gbps: float | None = None
    intra_gbps: float | None = None

    def cluster(self) -> gs.Cluster:
        """Return the servers."""
        links: dict[str, Any] = {"nic_gbps": self.nic_gbps, "intra_gbps": self.intra_gbps}
        groups = (
            gs.ServerGroup(count, SERVER_GPUS, kind, **links)
            for count, kind in zip(self.servers, TYPES, strict=True)
            if count
        )
        return gs.Cluster(tuple(groups))


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


def there(wanted: Mapping[Any, tuple[Any, ...]]) -> dict[Any, tuple[Any, ...]]:
    """Return the settings whose ``workload`` is there, each with its policies."""
    return {of: arms for of, arms in wanted.items() if not absent([of.workload])}


@lru_cache(maxsize=2)
def jobs_of(workload: Workload) -> gs.Trace:
    """Return all jobs of its file."""
    return gs.read_trace(need_data(workload.trace, workload.name))


@lru_cache(maxsize=1)
def throughputs() -> gs.model.Throughputs:
    """Return the tables of Gavel; ValueError, which names the variable, if they are not there."""
    return gs.model.read_throughputs(need_data(TABLES, "throughputs"))


@lru_cache(maxsize=8)
def drawn_jobs(of: Workload, jobs: int, seed: int, first: Callable[[int, int], int]) -> gs.Trace:
    """Return the jobs of a seed, on no more GPUs than the tables tell.

    Of a generator another draw; of a file consecutive jobs, where ``first(seed, jobs there)`` says:
    what is missing at the end is taken from the begin.
    """
    if of.profile:
        trace = gs.generate(of.profile, jobs, seed=seed, model=1)
    else:
        every = jobs_of(of)
        trace = every.filter((np.arange(len(every)) - first(seed, len(every))) % len(every) < jobs)
    gpus = np.minimum(trace.gpus, MAX_GPUS).astype(np.int32)
    return dataclasses.replace(trace, gpus=gpus)


def with_restarts(trace: gs.Trace, restart_s: float) -> gs.Trace:
    """Return the jobs with this cost of a restart."""
    restart_us = np.full(len(trace), restart_s * US_PER_S, dtype=np.int64)
    return dataclasses.replace(trace, restart_us=restart_us)
