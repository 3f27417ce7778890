"""What a scheduler is told of the rates of jobs."""

from typing import Any

import numpy as np
import pytest

import gpusched as gs

WIDTHS = (1, 2, 3, 4, 8)


class Asks(gs.Scheduler):
    """Starts nothing before it has asked for the rates of job 0 at some widths of both types."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[list[float]] = []

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        jobs = np.array([0])
        if not self.told:
            self.told = [
                [state.rates(jobs, gpu_type, gpus).item() for gpus in WIDTHS]
                for gpu_type in range(state.num_types)
            ]
        for job in state.waiting.tolist():
            allocation = state.place(job)
            if allocation is not None:
                actions.start(job, allocation)


def test_a_job_has_a_rate_from_its_least_to_its_greatest_width_on_types_it_may_use():
    profile = gs.model.JobProfile(
        "p",
        throughput={
            "A": {gpus: float(gpus) for gpus in WIDTHS},
            "B": {gpus: 2.0 * gpus for gpus in WIDTHS},
        },
    )
    trace = gs.Trace.from_columns(
        [0], [8], [3], min_gpus=[2], max_gpus=[4], gpu_types=[["A"]],
        profiles=[profile], profile=[0],
    )  # fmt: skip
    cluster = gs.Cluster((gs.ServerGroup(1, 8, "A"), gs.ServerGroup(1, 8, "B")))
    asks = Asks()
    gs.simulate(trace, cluster, policy=asks, speed="table", placement="best-fit")
    assert asks.told == [[0, 2 / 3, 1, 4 / 3, 0], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("gpu_type", [-1, 1])
def test_there_are_no_rates_on_types_that_the_cluster_has_not(gpu_type):
    class Wonders(gs.Scheduler):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            state.rates(np.array([0]), gpu_type, 1)

    trace = gs.Trace.from_columns([0], [8], [1])
    with pytest.raises(ValueError, match="type: the cluster has 1 GPU types"):
        gs.simulate(trace, gs.Cluster.uniform(1, 8), policy=Wonders())
