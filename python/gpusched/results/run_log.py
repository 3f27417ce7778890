"""What is read of a result by those who look at its jobs and its log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from gpusched.base.arrays import AnyArray
    from gpusched.clusters.cluster import Cluster
    from gpusched.schedules.schedule import Schedule
    from gpusched.traces.workload import Trace


class RunLog(Protocol):
    """A schedule with its jobs and its cluster, as a :class:`~gpusched.results.result.Result`."""

    @property
    def trace(self) -> Trace: ...
    @property
    def cluster(self) -> Cluster: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def intervals(self) -> Mapping[str, AnyArray]:
        """Who held which GPUs when."""
        ...

    @property
    def is_fixed(self) -> bool:
        """Whether every job ran at its own width for its service, wherever it was."""
        ...
