"""ServerFilling-SRPT leaves no GPU idle that a job could use, where widths are powers of two."""

from typing import Final

import numpy as np

import gpusched as gs
from tests.theorems.theorem import Theorem


def drawn(seed: int) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs whose widths divide the GPUs of one server; ties and full queues are likely."""
    rng = np.random.default_rng([31, seed])
    num_gpus = int(rng.choice([1, 2, 4, 8, 16]))
    num_jobs = int(rng.integers(1, 25))
    trace = gs.Trace.from_columns(
        submit_s=np.sort(rng.integers(0, int(rng.choice([1, 10, 40])), num_jobs)),
        service_s=rng.integers(1, 10, num_jobs),
        gpus=2 ** rng.integers(0, num_gpus.bit_length(), num_jobs),
    )
    return trace, gs.Cluster.uniform(servers=1, gpus=num_gpus)


def share(seed: int) -> float:
    """Return the greatest part of the GPUs that was held; all that are asked for must be.

    Raises
    ------
    AssertionError
        If at some instant fewer GPUs are held than asked for and there.
    """
    trace, cluster = drawn(seed)
    result = gs.simulate(trace, cluster, policy="serverfilling-srpt")
    rows = [np.asarray(result.intervals[name]) for name in ("job", "start_us", "end_us")]
    job, start_us, end_us = rows
    finish_us = result.schedule.finish_us
    most = 0
    for instant in np.unique(np.concatenate((start_us, end_us, trace.submit_us))):
        is_there = (trace.submit_us <= instant) & (instant < finish_us)
        asked = int(trace.gpus[is_there].sum())
        is_held = (start_us <= instant) & (instant < end_us)
        held = int(trace.gpus[job[is_held]].sum())
        assert held == min(cluster.num_gpus, asked), f"seed {seed}: {held} of {asked} at {instant}"
        most = max(most, held)
    return most / cluster.num_gpus


THEOREM: Final = Theorem(
    name="serverfilling",
    says="min(M, GPUs asked for) are held at every instant, widths powers of two that divide M",
    constant="1",
    against="the log of the run",
    check=share,
)
