"""What predictors that count iterations are told before a run."""

from __future__ import annotations

from gpusched.clusters.cluster import Cluster
from gpusched.plugins.policy import SpeedChoice
from gpusched.prediction.interface import Predictor
from gpusched.specs.speed_limits import iteration_limits
from gpusched.traces.workload import Trace


def tell_iterations(
    predictor: Predictor, trace: Trace, cluster: Cluster, speed: SpeedChoice
) -> None:
    """Tell how long iterations take, if it is asked for.

    Raises
    ------
    ValueError
        If jobs have none under this speed.
    """
    if not predictor.counts_iterations:
        return
    if speed.has("steady"):
        raise ValueError(
            f"predictor {predictor}: under speed '{speed}' jobs have no iterations; name another "
            "speed"
        )
    predictor.iteration_s = iteration_limits(trace, cluster, speed=speed)["low"]
