"""The linear programs under Gavel's objectives, solved by HiGHS through SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended
from gpusched.plugins.schedulers.gavel_jobs import Array

# Among equally good answers the one with more throughput, whatever the units of the objective.
TIE: Final = 1e-4
_SMALL: Final = 1e-3
_BINDING: Final = 1e-7


class UnsolvedError(Exception):
    """A program has no solution that the solver could find."""


@dataclass(frozen=True)
class Level:
    """How far all jobs were raised together.

    Attributes
    ----------
    height
        The level, in units of each job's need.
    fractions
        Of the time on each type, float64[n, types].
    binds
        Which jobs hold it there: they have no more in any solution, bool[n].
    """

    height: float
    fractions: Array
    binds: Array


def level(
    gain: Array,
    need: Array,
    gpus: Array,
    count: Array,
    capacity: Array,
    *,
    floor: Array | None = None,
    tie: float = TIE,
) -> Level:
    """Maximise the height such that each job's gain is at least that times its need.

    Parameters
    ----------
    gain
        On each type, float64[n, types].
    need, floor
        A job without a need is not raised; it gains what its floor says, or more.
    gpus, count
        Width of each job, and how many are like it.
    capacity
        GPUs of each type.
    tie
        What the whole throughput is worth, in heights.
    """
    floor = np.zeros(len(need)) if floor is None else floor
    try:
        return _level_of(gain, need, floor, gpus, count, capacity, tie)
    except UnsolvedError:
        # The solver takes factors below 1e-9 for none, and the program for one without a bound.
        most = float(need.max())
        if not 0 < most < _SMALL:
            raise
        found = _level_of(gain, need / most, floor, gpus, count, capacity, tie)
        return Level(found.height / most, found.fractions, found.binds)


def _level_of(
    gain: Array, need: Array, floor: Array, gpus: Array, count: Array, capacity: Array, tie: float
) -> Level:
    need_library("scipy", "a policy with linear programs", "scipy")
    from scipy import sparse
    from scipy.optimize import linprog

    num, types = gain.shape
    rows = np.repeat(np.arange(num), types)
    limits = _limits(gpus, count, types)
    reach = sparse.csr_array((-gain.ravel(), (rows, np.arange(num * types))), (num, num * types))
    matrix = sparse.vstack(
        [
            sparse.hstack([limits, sparse.csr_array((num + types, 1))]),
            sparse.hstack([reach, sparse.csr_array(need[:, None])]),
        ]
    ).tocsr()
    bound = np.concatenate([np.ones(num), capacity, -floor])
    scale = max(float((gain * count[:, None]).max()), 1e-12) * num
    cost = np.append(-tie * (gain * count[:, None]).ravel() / scale, -1.0)
    found = attended(
        lambda: linprog(cost, A_ub=matrix, b_ub=bound, bounds=(0, None), method="highs")
    )
    if found.x is None:
        raise UnsolvedError
    price = -found.ineqlin.marginals[-num:] * need  # of all jobs 1, unless ties were broken
    binds = price > min(_BINDING, float(price.max()) / 2)
    return Level(float(found.x[-1]), _clean(found.x[:-1].reshape(num, types)), binds)


def tangent(gain: Array, slope: Array, gpus: Array, capacity: Array, least: float) -> float:
    """Minimise t, at least ``least``, such that gain + slope (t - 1) is 1 for each job."""
    need_library("scipy", "a policy with linear programs", "scipy")
    from scipy import sparse
    from scipy.optimize import linprog

    num, types = gain.shape
    rows = np.repeat(np.arange(num), types)
    limits = _limits(gpus, np.ones(num), types)
    reach = sparse.csr_array((-gain.ravel(), (rows, np.arange(num * types))), (num, num * types))
    matrix = sparse.vstack(
        [
            sparse.hstack([limits, sparse.csr_array((num + types, 1))]),
            sparse.hstack([reach, sparse.csr_array(-slope[:, None])]),
        ]
    ).tocsr()
    bound = np.concatenate([np.ones(num), capacity, -1.0 - slope])
    cost = np.append(np.zeros(num * types), 1.0)
    bounds = np.column_stack([np.append(np.zeros(num * types), least), np.full(len(cost), np.inf)])
    found = attended(lambda: linprog(cost, A_ub=matrix, b_ub=bound, bounds=bounds, method="highs"))
    if found.x is None:
        raise UnsolvedError
    return float(found.x[-1])


def solve(
    cost: Array,
    gpus: Array,
    count: Array,
    capacity: Array,
    *,
    need: Array | None = None,
    penalty: Array | None = None,
    gain: Array | None = None,
) -> Array:
    """Minimise the cost of fractions; what ``gain`` lacks of ``need`` is charged ``penalty``."""
    need_library("scipy", "a policy with linear programs", "scipy")
    from scipy import sparse
    from scipy.optimize import linprog

    num, types = cost.shape
    matrix, bound = _limits(gpus, count, types), np.concatenate([np.ones(num), capacity])
    costs, highest = cost.ravel(), np.full(num * types, np.inf)
    if need is not None and penalty is not None and gain is not None:
        rows = np.repeat(np.arange(num), types)
        reach = sparse.csr_array(
            (-gain.ravel(), (rows, np.arange(num * types))), (num, num * types)
        )
        matrix = sparse.vstack(
            [
                sparse.hstack([matrix, sparse.csr_array((num + types, num))]),
                sparse.hstack([reach, -sparse.eye_array(num)]),
            ]
        ).tocsr()
        bound = np.concatenate([bound, -need])
        costs, highest = np.concatenate([costs, penalty]), np.concatenate([highest, need])
    bounds = np.column_stack([np.zeros(len(costs)), highest])
    found = attended(lambda: linprog(costs, A_ub=matrix, b_ub=bound, bounds=bounds, method="highs"))
    if found.x is None:
        raise UnsolvedError
    return _clean(found.x[: num * types].reshape(num, types))


def _limits(gpus: Array, count: Array, types: int) -> Any:
    """Rows: no job more than all the time; no type more than its GPUs."""
    from scipy import sparse

    num = len(gpus)
    entries = np.arange(num * types)
    rows = np.concatenate([entries // types, num + entries % types])
    values = np.concatenate([np.ones(num * types), np.repeat(gpus * count, types)])
    return sparse.csr_array((values, (rows, np.tile(entries, 2))), (num + types, num * types))


def _clean(fractions: Array) -> Array:
    """Drop what is rounding: it must not decide who comes first."""
    cleaned: Array = np.round(np.clip(fractions, 0.0, 1.0), 6)
    return cleaned
