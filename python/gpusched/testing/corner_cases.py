"""Workloads that are asked before any is drawn: one job, one too wide, all alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpusched.clusters.cluster import Cluster
from gpusched.testing.trace_code import cluster_of
from gpusched.traces.workload import Trace

Workload = tuple[Trace, Cluster]


def corner_cases(gpu_types: Sequence[str]) -> Iterator[Workload]:
    """Yield small workloads in which a policy has little, or everything, to choose from."""
    one = cluster_of([(1, gpu_types[0])])
    some = cluster_of([(2, name) for name in gpu_types] + [(2, gpu_types[0])])
    yield Trace.from_columns([0], [1], [1]), one
    yield Trace.from_columns([5], [2], [2]), some
    yield Trace.from_columns([0], [1], [2]), one  # wider than the cluster
    yield Trace.from_columns([0, 0, 0, 0], [3, 3, 3, 3], [1, 1, 1, 1]), one
    yield Trace.from_columns([0, 0, 1, 1], [4, 1, 4, 1], [2, 1, 2, 1]), some
    yield Trace.from_columns([0, 1, 2], [10, 1, 1], [1, 2, 1]), some
