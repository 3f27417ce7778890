"""Instances of SJF-BCO's model that are small enough to solve exactly."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpusched_papers import exact
from gpusched_papers.sjf_bco_workload import ITERATION_S, SERVICE_S, Calibration, Instance, build

NUM_JOBS: Final = 5
NUM_SERVERS: Final = 3
SERVER_GPUS: Final = (2, 4)
WIDTHS: Final = (1, 2, 3, 4)
# So few rings meet here that they must be longer for contention to count.
CALIBRATION: Final = Calibration(ring_share=0.2, overhead_s=2e-4)
TIME_LIMIT_S: Final = 60.0


def draw(seed: int) -> Instance:
    """Draw an instance of five jobs on three servers."""
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = random.choice(SERVER_GPUS, size=NUM_SERVERS)
    gpus = random.choice(WIDTHS, size=NUM_JOBS)
    service_s = random.uniform(*SERVICE_S, size=NUM_JOBS)
    iteration_s = random.uniform(*ITERATION_S, size=NUM_JOBS)
    return build(seed, gpus, service_s / iteration_s, iteration_s, sizes, CALIBRATION)


def solve(drawn: Instance, best_s: float) -> tuple[exact.Solution, float]:
    """Return the best plan, given the best makespan known, and its makespan in the core."""
    problem = exact.instance(
        drawn.trace,
        drawn.cluster,
        overhead_s=CALIBRATION.overhead_s,
        reduction_bytes_per_s=CALIBRATION.reduction_bytes_per_s,
        degradation=CALIBRATION.degradation,
        scaling=CALIBRATION.scaling,
    )
    upper_s = best_s * (1 + 1e-6)
    solution = exact.solve(problem, time_limit_s=TIME_LIMIT_S, upper_bound_s=upper_s)
    replayed = exact.replay(
        solution,
        drawn.trace,
        drawn.cluster,
        speed=CALIBRATION.speed,
        contention=CALIBRATION.contention,
    )
    return solution, float(replayed.summary()["makespan_s"])
