"""The integer program that plans the leases of all admitted jobs, solved by HiGHS through SciPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended
from gpusched.plugins.schedulers.chronus_plans import Claim


def first_leases(
    claims: Sequence[Claim], capacity: int, start: int, *, spares: bool
) -> list[list[int]] | None:
    """Give each job as many leases as it needs, and look at the first lease alone.

    Parameters
    ----------
    claims
        What each job needs; at least one.
    capacity
        GPUs that there are in each lease.
    start
        Number of the lease that begins.
    spares
        As few GPUs as can be in it instead of as many.

    Returns
    -------
    list or None
        The leases of each job, ascending; None where the solver found no solution.
    """
    need_library("scipy", "a policy with integer programs", "scipy")
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    gpus = np.array([claim.gpus for claim in claims], dtype=float)
    # Of as many leases as all need together and one more, the others leave a job as many as it
    # needs without the first: what it holds later can be held there.
    longest = 1 + sum(claim.leases for claim in claims)
    windows = np.array([min(claim.until - start, longest) for claim in claims])
    if min(windows) < 1:
        return None
    jobs = np.repeat(np.arange(len(claims)), windows)
    leases = np.concatenate([np.arange(window) for window in windows])
    columns = np.arange(len(jobs))
    needs = np.array([claim.leases for claim in claims], dtype=float)
    per_job = sparse.csr_array((np.ones(len(jobs)), (jobs, columns)))
    per_lease = sparse.csr_array((gpus[jobs], (leases, columns)))
    cost = np.where(leases == 0, gpus[jobs] / capacity, 0.0)
    found = attended(
        lambda: milp(
            cost if spares else -cost,
            integrality=np.ones(len(jobs)),
            bounds=Bounds(0, 1),
            constraints=[
                LinearConstraint(per_job, needs, needs),
                LinearConstraint(per_lease, -np.inf, capacity),
            ],
        )
    )
    if found.x is None:
        return None
    is_held = found.x > 0.5
    return [(leases[is_held & (jobs == job)] + start).tolist() for job in range(len(claims))]
