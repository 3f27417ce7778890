"""The same optimum from a mixed-integer program (HiGHS, extra: exact), to check ours."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

from gpusched_papers.matching_instances import BANDWIDTH_GBPS, Instance
from gpusched_papers.study import Float64

# Tangents of work / rate, in parts of the rate of the decision to begin with.
_TANGENTS: Final = np.geomspace(0.4, 2.5, 81)


@dataclass(frozen=True)
class Proof:
    """What the program says.

    Attributes
    ----------
    lower_bound_s
        No decision has a lower mean completion time.
    mean_s
        Of the decision that it found.
    """

    lower_bound_s: float
    mean_s: float


def solve(instance: Instance, estimate: Float64, time_limit_s: float = 60.0) -> Proof:
    """Bound the optimum: who holds which worker is whole, work / rate is above its tangents.

    Parameters
    ----------
    estimate
        Sum of rates of each job, near which the tangents touch.
    """
    optimize: Any = import_module("scipy.optimize")
    sparse: Any = import_module("scipy.sparse")
    num_jobs, num_workers = instance.rates.shape
    sizes = num_workers - num_jobs + 1
    # Variables: holds[i, k], has_size[i, n], computing time of i.
    first_size = num_jobs * num_workers
    first_time = first_size + num_jobs * sizes
    size = first_time + num_jobs
    cost = np.zeros(size)
    cost[first_time:] = 1.0
    width = np.arange(1, sizes + 1)
    bytes_per_s = BANDWIDTH_GBPS * 1e9 / 8
    for job in range(num_jobs):
        ring = 2.0 * (width - 1) / width * instance.gradient_bytes[job] / bytes_per_s
        own = slice(first_size + job * sizes, first_size + (job + 1) * sizes)
        cost[own] = instance.rounds[job] * ring
    rows: list[tuple[Any, Any, float, float]] = []
    for worker in range(num_workers):
        rows.append((np.arange(num_jobs) * num_workers + worker, np.ones(num_jobs), 0.0, 1.0))
    for job in range(num_jobs):
        held = job * num_workers + np.arange(num_workers)
        own_size = first_size + job * sizes + np.arange(sizes)
        rows.append((own_size, np.ones(sizes), 1.0, 1.0))
        columns = np.concatenate([held, own_size])
        rows.append((columns, np.concatenate([np.ones(num_workers), -width]), 0.0, 0.0))
        for at in estimate[job] * _TANGENTS:
            work = instance.work[job]
            columns = np.concatenate([held, [first_time + job]])
            slope = np.concatenate([work / at**2 * instance.rates[job], [1.0]])
            rows.append((columns, slope, 2.0 * work / at, np.inf))
    index = np.concatenate([np.full(len(row[0]), n) for n, row in enumerate(rows)])
    matrix = sparse.csr_matrix(
        (np.concatenate([row[1] for row in rows]), (index, np.concatenate([r[0] for r in rows]))),
        shape=(len(rows), size),
    )
    limits = optimize.LinearConstraint(matrix, [row[2] for row in rows], [row[3] for row in rows])
    whole = np.ones(size)
    whole[first_time:] = 0
    upper = np.where(whole > 0, 1.0, np.inf)
    found = optimize.milp(
        cost,
        constraints=limits,
        integrality=whole,
        bounds=optimize.Bounds(0.0, upper),
        options={"time_limit": time_limit_s, "mip_rel_gap": 1e-6},
    )
    held = np.zeros((num_jobs, num_workers), dtype=np.int32)
    if found.x is not None:
        held = np.rint(found.x[:first_size]).reshape(num_jobs, num_workers).astype(np.int32)
    return Proof(float(found.mip_dual_bound) / num_jobs, instance.mean_s(held))
