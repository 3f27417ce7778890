"""What a speed can give each job of a trace on an empty cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched import _core
from gpusched.base.arrays import Float64
from gpusched.plugins.policy import SpeedChoice
from gpusched.specs.core_tables import core_cluster, job_table

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace


def iteration_limits(
    trace: Trace, cluster: Cluster, *, speed: str | SpeedChoice = "stages"
) -> dict[str, Float64]:
    """Return what an iteration of each job can take on the empty cluster.

    Returns
    -------
    dict
        float64[num_jobs] seconds, NaN for jobs that can never run. ``low``: a lower bound,
        whatever the placement; the service of a job is its run time at this. ``min``: where a
        good placement puts it. ``max``: every worker on a server of its own, with no more of the
        network than its GPU's part.

    Raises
    ------
    ValueError
        If the speed is unknown, or the trace or the cluster lacks what it needs.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(2, 8).with_bandwidth(nic_gbps=25, intra_gbps=400)
    >>> trace = gs.Trace.from_columns([0], [60], [16])
    >>> trace = trace.with_profiles([gs.models.zoo()["resnet50"]])
    >>> limits = gs.bounds.iteration_limits(trace, cluster, speed="ring")
    >>> bool(limits["low"][0] <= limits["min"][0] <= limits["max"][0])
    True
    """
    limits: dict[str, Float64] = _core.iteration_limits(*_speed_arguments(trace, cluster, speed))
    return limits


def least_costs(trace: Trace, cluster: Cluster, *, speed: str | SpeedChoice) -> dict[str, Float64]:
    """Bound from below what each job costs over all the widths and GPU types that it may have.

    Returns
    -------
    dict
        float64[num_jobs], as parts of what the job takes at its own width on the best type:
        ``time`` of the run time, ``gpu_time`` of the GPU time. 1 where the speed is not elastic.
        And the least and the greatest number of GPUs on which it can run, ``narrowest`` and
        ``widest``: its own width where the speed is not elastic.

    Raises
    ------
    ValueError
        As :func:`iteration_limits`.
    """
    costs: dict[str, Float64] = _core.least_costs(*_speed_arguments(trace, cluster, speed))
    return costs


def _speed_arguments(trace: Trace, cluster: Cluster, speed: str | SpeedChoice) -> tuple[Any, ...]:
    paces = SpeedChoice.parse(speed) if isinstance(speed, str) else speed
    jobs = job_table(trace, cluster, uses_estimates=False, speed=paces.name)
    return jobs, core_cluster(cluster), paces.name, paces.core_values()
