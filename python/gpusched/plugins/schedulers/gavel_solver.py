"""The linear programs under Gavel's objectives, solved by HiGHS through SciPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended
from gpusched.plugins.schedulers.gavel_jobs import Array
from gpusched.plugins.schedulers.gavel_warm import WarmStarts

# Among equally good answers the one with more throughput, whatever the units of the objective.
TIE: Final = 1e-4
# What objectives that break ties are multiplied by. HiGHS does not scale costs, and takes reduced
# costs below 1e-7 for none: little more throughput would count for nothing.
HEAVY: Final = 1e4
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
        Which jobs hold it there: they have no more in any solution, bool[n]; empty: nobody asked.
    """

    height: float
    fractions: Array
    binds: Array = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))


def level(
    gain: Array,
    need: Array,
    gpus: Array,
    count: Array,
    capacity: Array,
    *,
    floor: Array | None = None,
    tie: float = TIE,
    asks_who_binds: bool = False,
    starts: WarmStarts | None = None,
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
    starts
        From which the program may begin, where ties are broken: else many answers are the best.
    """
    floor = np.zeros(len(need)) if floor is None else floor
    try:
        return _level_of(gain, need, floor, gpus, count, capacity, tie, asks_who_binds, starts)
    except UnsolvedError:
        # The solver takes factors below 1e-9 for none, and the program for one without a bound.
        most = float(need.max())
        if not 0 < most < _SMALL:
            raise
        need = need / most
        found = _level_of(gain, need, floor, gpus, count, capacity, tie, asks_who_binds, starts)
        return Level(found.height / most, found.fractions, found.binds)


def _level_of(
    gain: Array, need: Array, floor: Array, gpus: Array, count: Array, capacity: Array, tie: float,
    asks_who_binds: bool, starts: WarmStarts | None,
) -> Level:  # fmt: skip
    num, types = gain.shape
    scale = max(float((gain * count[:, None]).max()), 1e-12) * num
    heavy = HEAVY if tie > 0 else 1.0
    cost = -heavy * np.append(tie * (gain * count[:, None]).ravel() / scale, 1.0)
    matrix = _matrix(gpus, count, types, gain, np.zeros(num, dtype=np.int64), need)
    bound = np.concatenate([np.ones(num), capacity, -floor])
    if not asks_who_binds:
        found = starts.answer(gain, gpus, cost, matrix, bound) if starts and tie > 0 else None
        if found is None:
            found = _least(cost, matrix, bound)
        return Level(float(found[-1]), _clean(found[:-1].reshape(num, types)))
    found, prices = _least_and_prices(cost, matrix, bound)
    price = prices[-num:] * need / heavy  # of all jobs 1, unless ties were broken
    binds = price > min(_BINDING, float(price.max()) / 2)
    return Level(float(found[-1]), _clean(found[:-1].reshape(num, types)), binds)


def tangent(gain: Array, slope: Array, gpus: Array, capacity: Array, least: float) -> float:
    """Minimise t, at least ``least``, such that gain + slope (t - 1) is 1 for each job."""
    num, types = gain.shape
    found = _least(
        np.append(np.zeros(num * types), 1.0),
        _matrix(gpus, np.ones(num), types, gain, np.zeros(num, dtype=np.int64), -slope),
        np.concatenate([np.ones(num), capacity, -1.0 - slope]),
        lowest=np.append(np.zeros(num * types), least),
    )
    return float(found[-1])


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
    num, types = cost.shape
    bound = np.concatenate([np.ones(num), capacity])
    costs, highest = cost.ravel(), np.full(num * types, np.inf)
    matrix = _matrix(gpus, count, types)
    if need is not None and penalty is not None and gain is not None:
        matrix = _matrix(gpus, count, types, gain, np.arange(num), -np.ones(num))
        bound = np.concatenate([bound, -need])
        costs, highest = np.concatenate([costs, penalty]), np.concatenate([highest, need])
    found = _least(costs, matrix, bound, highest=highest)
    return _clean(found[: num * types].reshape(num, types))


def _least(
    cost: Array, matrix: Any, bound: Array, *, lowest: Any = 0.0, highest: Any = np.inf
) -> Array:
    """Minimise the cost of what the rows of the matrix allow.

    SciPy's ``milp`` gives the same program to the same solver as its ``linprog``, and takes half
    the time to look at it before and after.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = LinearConstraint(matrix, -np.inf, bound)
    found = attended(lambda: milp(cost, bounds=Bounds(lowest, highest), constraints=rows))
    if found.x is None:
        raise UnsolvedError
    solution: Array = found.x
    return solution


def _least_and_prices(cost: Array, matrix: Any, bound: Array) -> tuple[Array, Array]:
    """Do the same, with nothing below 0, and return the price of each row too."""
    from scipy.optimize import linprog

    found = attended(
        lambda: linprog(cost, A_ub=matrix, b_ub=bound, bounds=(0, None), method="highs")
    )
    if found.x is None:
        raise UnsolvedError
    return found.x, -found.ineqlin.marginals


def _matrix(
    gpus: Array,
    count: Array,
    types: int,
    gain: Array | None = None,
    column: Array | None = None,
    value: Array | None = None,
) -> Any:
    """Rows: no job more than all the time; no type more than its GPUs; what each job gains.

    Columns: the time of each job on each type, and behind them those that have a ``value`` in the
    row of each job's gain. Put together at once: SciPy takes as long to join blocks as to solve.
    """
    need_library("scipy", "a policy with linear programs", "scipy")
    from scipy import sparse

    num = len(gpus)
    job, kind = np.divmod(np.arange(num * types), types)
    rows, values = [job, num + kind], [np.ones(num * types), np.repeat(gpus * count, types)]
    if gain is None or column is None or value is None:
        row, entry = np.stack(rows, axis=1), np.stack(values, axis=1)
        begin = np.arange(0, row.size + 1, 2)
        return sparse.csc_array((entry.ravel(), row.ravel(), begin), (num + types, num * types))
    row, entry = np.stack([*rows, num + types + job], 1), np.stack([*values, -gain.ravel()], 1)
    held = np.flatnonzero(value)
    more = np.bincount(column[held], minlength=int(column.max()) + 1)
    begin = np.concatenate([np.arange(0, row.size, 3), row.size + np.append(0, np.cumsum(more))])
    return sparse.csc_array(
        (
            np.concatenate([entry.ravel(), value[held]]),
            np.concatenate([row.ravel(), num + types + held]),
            begin,
        ),
        (2 * num + types, num * types + len(more)),
    )


def _clean(fractions: Array) -> Array:
    """Drop what is rounding: it must not decide who comes first."""
    cleaned: Array = np.round(np.clip(fractions, 0.0, 1.0), 6)
    return cleaned
