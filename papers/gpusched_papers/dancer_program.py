"""The integer program of Dancer on small instances.

Slots of equal length, submits and deadlines at their borders, changes cost nothing: in each slot
of its window a job runs in one configuration or not at all, and a job counts if its work is done.
Its linear relaxation is solved as well. In a run jobs may change at any time, so that more than
the optimum of the slots is possible in principle; the fluid bound is one for that too.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

import gpusched as gs
from gpusched_papers.study import US_PER_S
from gpusched_papers.unequal_gpus import throughputs

NUM_JOBS: Final = 22
TYPE_GPUS: Final = {"V100": 8, "P100": 8}
SLOT_S: Final = 300
WITHIN_SLOTS: Final = 16
TIME_LIMIT_S: Final = 60.0


def cluster() -> gs.Cluster:
    """Return the servers of the instances."""
    return gs.Cluster(tuple(gs.ServerGroup(1, gpus, kind) for kind, gpus in TYPE_GPUS.items()))


def instance(seed: int) -> gs.Trace:
    """Draw jobs for twice the work that fits; times are whole slots."""
    rng = np.random.default_rng([2_025, seed])
    submit = np.sort(rng.integers(0, WITHIN_SLOTS, NUM_JOBS))
    submit -= submit[0]
    service_s = np.rint(np.exp(rng.normal(np.log(5 * SLOT_S), 0.8, NUM_JOBS)))
    slots = np.maximum(1, np.ceil(service_s / SLOT_S * rng.uniform(0.5, 1.5, NUM_JOBS)))
    trace = gs.Trace.from_columns(
        submit_s=submit * SLOT_S,
        service_s=service_s,
        gpus=rng.choice([1, 2, 4, 8], NUM_JOBS, p=[0.4, 0.2, 0.2, 0.2]),
        deadline_s=(submit + slots) * SLOT_S,
        name=f"dancer-exact-{seed}",
    )
    return trace.with_throughputs(throughputs(), seed=seed)


def solve(trace: gs.Trace, *, is_integer: bool) -> tuple[float, float]:
    """Return the deadlines met in the best schedule found, and what is proven of the best."""
    try:
        optimize = import_module("scipy.optimize")
        sparse = import_module("scipy.sparse")
    except ImportError:
        raise ImportError("exact: needs SciPy: pip install 'gpusched[exact]'") from None
    assert trace.deadline_us is not None
    begin = (trace.submit_us // (SLOT_S * US_PER_S)).tolist()
    end = (trace.deadline_us // (SLOT_S * US_PER_S)).tolist()
    num_jobs, num_types = len(trace), len(TYPE_GPUS)
    first_row = {}  # of each job and slot
    rows = num_jobs + num_types * max(end)
    entries: list[tuple[int, int, float]] = []
    variables = num_jobs
    for job in range(num_jobs):
        entries.append((job, job, -1.0))
        configurations = rates(trace, job)
        for slot in range(begin[job], end[job]):
            first_row[job, slot] = rows
            entries.append((rows, job, -1.0))
            for column, width, done in configurations:
                entries.append((job, variables, done))
                entries.append((num_jobs + column * max(end) + slot, variables, float(width)))
                entries.append((rows, variables, 1.0))
                variables += 1
            rows += 1
    parts: list[Any] = [np.array(part) for part in zip(*entries, strict=True)]
    row, column, value = parts
    low, high = np.full(rows, -np.inf), np.zeros(rows)
    low[:num_jobs], high[:num_jobs] = 0.0, np.inf
    for place, gpus in enumerate(TYPE_GPUS.values()):
        of_type = num_jobs + place * max(end)
        high[of_type : of_type + max(end)] = gpus
    cost = np.zeros(variables)
    cost[:num_jobs] = -1.0
    found = optimize.milp(
        cost,
        integrality=np.full(variables, int(is_integer)),
        bounds=optimize.Bounds(0.0, 1.0),
        constraints=optimize.LinearConstraint(
            sparse.csr_array((value, (row, column)), shape=(rows, variables)), low, high
        ),
        options={"time_limit": TIME_LIMIT_S},
    )
    if found.x is None:
        raise TimeoutError(f"dancer: no schedule within {TIME_LIMIT_S:g} s ({found.message})")
    proven = found.mip_dual_bound if is_integer else found.fun
    return float(-found.fun), float(-proven)


def rates(trace: gs.Trace, job: int) -> list[tuple[int, int, float]]:
    """Return the configurations of a job: type, GPUs, and the part of its work done in a slot."""
    assert trace.profile is not None
    table = trace.profiles[trace.profile[job]].throughput
    own = int(trace.gpus[job])
    best = max(table[kind].get(own, 0.0) for kind in TYPE_GPUS)
    service_s = float(trace.service_us[job]) / US_PER_S
    found: list[tuple[int, int, Any]] = []
    for column, (kind, gpus) in enumerate(TYPE_GPUS.items()):
        for width, figure in table[kind].items():
            if width <= gpus and figure > 0:
                rate = min(figure, best) if width == own else figure
                found.append((column, width, rate / best * SLOT_S / service_s))
    return found
