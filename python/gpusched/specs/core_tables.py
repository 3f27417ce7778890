"""What the core reads of a trace and of a cluster, made once for all their runs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpusched import _core
from gpusched.base.memo import Memo
from gpusched.plugins.registry import speed_has
from gpusched.specs.case import job_columns
from gpusched.specs.predicted_columns import TRUTH, PredictedBy

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

# Larger ones are not kept: a run on them takes longer than they do.
_MOST_SERVERS = 16_384


def core_cluster(cluster: Cluster) -> _core.Cluster:
    """Return the core's view of a cluster, which runs share."""
    return _kept(cluster) or _made(cluster)


@lru_cache(maxsize=8)
def _kept(cluster: Cluster) -> _core.Cluster | None:
    return _made(cluster) if cluster.num_servers <= _MOST_SERVERS else None


def _made(cluster: Cluster) -> _core.Cluster:
    return _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())


def job_table(
    trace: Trace,
    cluster: Cluster,
    predicted: PredictedBy = TRUTH,
    *,
    uses_estimates: bool,
    speed: str = "fixed",
) -> _core.JobTable:
    """Return the core's view of the jobs for a run; arguments and errors as of ``job_columns``.

    It borrows the trace's columns, and runs share it.
    """
    # Models and sets of GPU types are read as the cluster has them.
    is_plain = trace.type_set is None and speed_has(speed, "steady")
    uses_estimates = uses_estimates and trace.estimate_us is not None
    key = (predicted, uses_estimates, speed, None if is_plain else cluster)
    return _tables.of(
        trace,
        key,
        lambda: _core.JobTable(
            **job_columns(trace, cluster, predicted, uses_estimates=uses_estimates, speed=speed)
        ),
    )


_tables: Memo[Trace, _core.JobTable] = Memo(4)
