"""From the options of a command to a trace and a cluster, with all assumptions said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gpusched.cluster import Cluster, smallest_cluster
from gpusched.workload import Trace

GENERATOR: Final = "philly"
NUM_JOBS: Final = 20_000
_LOAD: Final = 0.9
_SERVERS: Final = 64
GPUS_PER_SERVER: Final = 8


@dataclass(frozen=True)
class Workload:
    """What a command runs on.

    Attributes
    ----------
    assumptions
        What the user did not say and we chose, a sentence each.
    """

    trace: Trace
    cluster: Cluster
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A trace file and how to read it; without a path, the embedded workload."""

    path: Path | None
    format: str | None = None
    columns: Mapping[str, str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> Trace:
        """Read the file."""
        from gpusched import read_trace

        assert self.path is not None
        return read_trace(self.path, self.format, columns=self.columns, **self.options)


def load_workload(
    source: Source,
    cluster: Cluster | None,
    *,
    gpus_per_server: int | None = None,
    jobs: int | None = None,
    load: float | None = None,
    seed: int = 0,
) -> Workload:
    """Read or generate the trace, and choose the cluster if there is none.

    A trace is first cut to ``jobs``, then given a cluster, then rescaled to ``load``.
    """
    if load is not None and not (math.isfinite(load) and load > 0):
        raise ValueError(f"--load: {load:g} must be finite and positive")
    gpus = gpus_per_server or GPUS_PER_SERVER
    if source.path is None:
        return _embedded(source, cluster or Cluster.uniform(_SERVERS, gpus), jobs, load, seed)
    trace = source.read()
    if jobs is not None:
        trace = trace.head(jobs)
    assumptions: tuple[str, ...] = ()
    if cluster is None:
        cluster = smallest_cluster(trace, gpus, _LOAD)
        assumptions = (
            f"cluster assumed: the fewest {gpus}-GPU servers with load at most {_LOAD} "
            "and room for the widest job",
        )
    if load is not None:
        trace = trace.with_load(load, cluster.num_gpus)
    return Workload(trace, cluster, assumptions)


def cluster_of(
    servers: int | None, gpus_per_server: int | None, cluster_file: Path | None
) -> Cluster | None:
    """Make the cluster that the options describe, or None if they leave it open."""
    if cluster_file is not None:
        if servers is not None or gpus_per_server is not None:
            raise ValueError("--cluster: cannot be combined with --servers or --gpus-per-server")
        return Cluster.from_toml(cluster_file)
    if servers is not None:
        return Cluster.uniform(servers, gpus_per_server or GPUS_PER_SERVER)
    return None


def _embedded(
    source: Source, cluster: Cluster, jobs: int | None, load: float | None, seed: int
) -> Workload:
    from gpusched import generate

    if source.format is not None or source.columns or source.options:
        raise ValueError("--format, --column and --option: need a TRACE")
    load = _LOAD if load is None else load
    trace = generate(GENERATOR, jobs or NUM_JOBS, load=load, cluster=cluster, seed=seed)
    return Workload(
        trace,
        cluster,
        (f"workload assumed: generated {GENERATOR}-like jobs, as no trace was given",),
    )
