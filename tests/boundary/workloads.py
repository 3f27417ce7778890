"""Small workloads for the tests of the boundary between Python and the core."""

from typing import Any

import numpy as np

import gpusched as gs

CLUSTER = gs.Cluster.uniform(servers=3, gpus=4)


def trace(num_jobs: int = 60, seed: int = 0, **columns: Any) -> gs.Trace:
    """Jobs of whole seconds whose load on ``CLUSTER`` is above 1."""
    rng = np.random.default_rng(seed)
    return gs.Trace.from_columns(
        submit_s=np.sort(rng.integers(0, 4 * num_jobs, num_jobs)),
        service_s=rng.integers(1, 40, num_jobs),
        gpus=rng.integers(1, 9, num_jobs),
        **columns,
    )


class ShortestFirst(gs.Order):
    """``sjf`` in Python."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.predicted_us[jobs]


class FirstFit(gs.Placement):
    """``first-fit`` in Python."""

    def place(self, free: Any, request: Any) -> Any:
        counts = free.free_gpus.tolist()
        if sum(counts) < request.gpus:
            return None
        for server, count in enumerate(counts):
            if count >= request.gpus:
                return [(server, free.lowest_free(server, request.gpus))]
        pieces, rest = [], request.gpus
        for server, count in enumerate(counts):
            taken = min(count, rest)
            if taken:
                pieces.append((server, free.lowest_free(server, taken)))
            rest -= taken
        return pieces


class Strict(gs.Scheduler):
    """``fifo`` in Python."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in state.waiting.tolist():
            allocation = state.place(job)
            if allocation is None:
                return
            actions.start(job, allocation)
