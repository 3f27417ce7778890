"""Shortest remaining first is optimal on one server: no order of priorities ends sooner."""

import itertools
from typing import Final

import numpy as np

import gpusched as gs
from tests.theorems.theorem import Theorem

MOST_JOBS: Final = 5


def least_flow(submit: list[int], service: list[int]) -> int:
    """Return the least sum of completion times less submits, over all orders of priorities.

    Some preemptive schedule of least flow has fixed priorities: SRPT's, by who ends first.
    """
    jobs = range(len(submit))
    best = None
    for priority in itertools.permutations(jobs):
        left, now, flow = list(service), 0, 0
        while any(left):
            here = [job for job in priority if left[job] and submit[job] <= now]
            now += 1
            if here:
                left[here[0]] -= 1
                flow += 0 if left[here[0]] else now - submit[here[0]]
        best = flow if best is None else min(best, flow)
    assert best is not None
    return best


def share(seed: int) -> float:
    """Return 1: the flow of ``srtf`` is the least.

    Raises
    ------
    AssertionError
        If it is not.
    """
    rng = np.random.default_rng([97, seed])
    num_jobs = int(rng.integers(1, MOST_JOBS + 1))
    submit = np.sort(rng.integers(0, 9, num_jobs))
    service = rng.integers(1, 7, num_jobs)
    trace = gs.Trace.from_columns(submit, service, [1] * num_jobs)
    result = gs.simulate(trace, gs.Cluster.uniform(servers=1, gpus=1), policy="srtf")
    flow_us = int((result.schedule.finish_us - trace.submit_us).sum())
    best = least_flow((submit - submit[0]).tolist(), service.tolist())
    assert flow_us == best * 1_000_000, f"seed {seed}: {flow_us} us, and {best} s are possible"
    return 1.0


THEOREM: Final = Theorem(
    name="srpt", says="the sum of JCT of `srtf` on one GPU is the least there is", constant="1",
    against="all orders of priorities", check=share,
)  # fmt: skip
