"""How large a cluster the jobs of a trace need: :func:`smallest_cluster`."""

from __future__ import annotations

import numpy as np

from gpusched.base.field_checks import check_integer
from gpusched.clusters.cluster import Cluster
from gpusched.clusters.server_group import MAX_GPUS_PER_SERVER, MAX_SERVERS
from gpusched.traces.trace_columns import TraceColumns


def smallest_cluster(
    trace: TraceColumns, gpus_per_server: int = 8, max_load: float = 0.9
) -> Cluster:
    """Return the fewest equal servers with load at most ``max_load`` and room for every job.

    Parameters
    ----------
    gpus_per_server
        GPUs of each server.
    max_load
        Bound on :meth:`Trace.load <gpusched.traces.workload.Trace.load>`. Where all jobs arrive at
        one instant no load is defined, and the widest job alone decides.

    Returns
    -------
    Cluster
        Of equal servers, of one GPU type.

    Raises
    ------
    ValueError
        If that takes more than 262,144 servers.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 100], [400, 400], [4, 12])
    >>> gs.traces.smallest_cluster(trace, gpus_per_server=8).num_servers
    9
    """
    check_integer("gpus_per_server", gpus_per_server, 1, MAX_GPUS_PER_SERVER)
    if not (np.isfinite(max_load) and max_load > 0):
        raise ValueError(f"max_load: {max_load!r} must be finite and positive")
    servers = -(-int(trace.gpus.max()) // gpus_per_server)
    load = trace.load(servers * gpus_per_server)
    if np.isfinite(load) and load > max_load:
        wanted = load * servers / max_load
        if wanted > MAX_SERVERS:
            raise ValueError(
                f"{trace.name}: load {max_load:g} takes {wanted:,.0f} servers of "
                f"{gpus_per_server} GPUs; name a cluster, or lower the load"
            )
        # One more or less than the quotient: the division above is rounded.
        servers = max(servers, int(wanted) - 1)
        while trace.load(servers * gpus_per_server) > max_load:
            servers += 1
    return Cluster.uniform(servers, gpus_per_server)
