"""Gavel's linear programs: what part of the time each job should spend on each GPU type.

Narayanan, Santhanam, Kazhamiaka, Phanishayee, Zaharia, "Heterogeneity-Aware Cluster Scheduling
Policies for Deep Learning Workloads", OSDI 2020. Solved by HiGHS through SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended
from gpusched.plugins.schedulers.gavel_jobs import Array, Jobs

# Among equally good answers the one with more throughput, whatever the units of the objective.
_TIE: Final = 1e-4
_STEPS: Final = 100
_CLOSE: Final = 1e-6
_PLENTY: Final = 1e6
_SMALL: Final = 1e-3


class UnsolvedError(Exception):
    """A program has no solution that the solver could find."""


def solved(objective: str, jobs: Jobs) -> tuple[Array, str]:
    """Return the fractions of the program, and what they come from where it has no solution.

    Instead of the worst finish-time fairness the least share of throughput is maximised; instead
    of all else every job gets the share of each type that everybody can have.
    """
    try:
        return PROGRAMS[objective](jobs), ""
    except UnsolvedError:
        if objective == "ftf":
            fractions, instead = solved("max-min", jobs)
            return fractions, instead or "max-min"
        return _equal(jobs.gpus, np.ones(len(jobs)), jobs.capacity), "equal shares"


def max_min(jobs: Jobs) -> Array:
    """Maximise the least weighted throughput, in units of that of an equal share of all types."""
    alike, group, count = _groups(jobs)
    rates, gpus, weight = jobs.rates[alike], jobs.gpus[alike], jobs.weight[alike]
    share = jobs.capacity / jobs.capacity.sum()
    gain = rates * (gpus / (weight * (rates @ share)))[:, None]
    return _level(gain, np.ones(len(alike)), gpus, count, jobs)[1][group]


def throughput(jobs: Jobs) -> Array:
    """Maximise the sum of the jobs' rates."""
    alike, group, count = _groups(jobs)
    gain = _gain(jobs)[alike]
    return _solve(-(gain * count[:, None]), jobs.gpus[alike], count, jobs.capacity)[group]


def cost(jobs: Jobs) -> Array:
    """Maximise the sum of the jobs' rates, each over the price of a GPU of its type."""
    alike, group, count = _groups(jobs)
    gain = _gain(jobs)[alike] / (1.0 if jobs.price is None else jobs.price)
    return _solve(-(gain * count[:, None]), jobs.gpus[alike], count, jobs.capacity)[group]


def isolated(jobs: Jobs) -> Array:
    """Give every job an equal share of each type."""
    return isolated_share(jobs.gpus, jobs.capacity)


def isolated_share(gpus: Array, capacity: Array) -> Array:
    """Part of the time on each type if each of n jobs has 1/n of its GPUs; at most all time."""
    alone: Array = capacity / (len(gpus) * gpus[:, None])
    alone /= np.maximum(1.0, alone.sum(axis=1))[:, None]
    return alone


def unaware(rates: Array, *, is_of_first: bool) -> Array:
    """Take all types for equally fast: as the first that each job can use, or one and the same."""
    able = rates > 0
    first = (
        rates[np.arange(len(rates)), able.argmax(axis=1)] if is_of_first else np.ones(len(rates))
    )
    return np.where(able, first[:, None], 0.0)


def makespan(jobs: Jobs) -> Array:
    """Minimise the time at which the last job would end."""
    need = jobs.remaining / jobs.remaining.max()
    return _level(jobs.rates, need, jobs.gpus, np.ones(len(jobs)), jobs)[1]


def finish_time_fairness(jobs: Jobs) -> Array:
    """Minimise the worst ratio of a job's time in system to that with 1/n of each type alone.

    A ratio can be had if every job can have the rate that it asks for, which falls with the ratio
    along a convex curve. Newton's method: with the tangents of these curves for the curves the
    least ratio is a linear program, whose solution is never too high and is where the next
    tangents are taken.
    """
    alone = (jobs.rates * isolated_share(jobs.gpus, jobs.capacity)).sum(axis=1)
    isolated = (jobs.served + jobs.remaining) / alone
    if jobs.isolated is not None:
        isolated = jobs.isolated + jobs.remaining / alone
    ones = np.ones(len(jobs))
    # No ratio is below `past`, and where jobs have waited for long it is little above.
    past = float((jobs.elapsed / isolated).max())
    slack = np.maximum(0.0, past * isolated - jobs.elapsed)
    least = float(((jobs.remaining / jobs.rates.max(axis=1) - slack) / isolated).max())
    excess = least
    for _ in range(_STEPS):
        left = excess * isolated + slack
        slope = excess * isolated / left
        gain = jobs.rates * (left / jobs.remaining)[:, None]
        # What a millionth of the time is enough for is no matter, and too much for the solver.
        gain *= np.minimum(1.0, _PLENTY / gain.max(axis=1))[:, None]
        times = _tangent(gain, slope, jobs.gpus, jobs.capacity, least / excess)
        excess *= times
        if abs(times - 1.0) <= _CLOSE:
            break
    left = excess * isolated + slack
    return _level(jobs.rates, jobs.remaining / left, jobs.gpus, ones, jobs)[1]


def deadlines(jobs: Jobs) -> Array:
    """Maximise throughput once each deadline that can be met is given the rate that it needs.

    What the GPUs do not suffice for is missing where it costs the least value; jobs that no rate
    can save ask for nothing.
    """
    need = np.where(jobs.time_left > 0, jobs.remaining / np.maximum(jobs.time_left, 1e-6), np.inf)
    need[(need > jobs.rates.max(axis=1)) | np.isinf(jobs.time_left)] = 0.0
    return _solve(
        -_TIE * jobs.rates, jobs.gpus, np.ones(len(jobs)), jobs.capacity, need=need,
        penalty=np.where(need > 0, jobs.value / np.maximum(need, 1e-12), 0.0), gain=jobs.rates,
    )  # fmt: skip


PROGRAMS: Final[Mapping[str, Callable[[Jobs], Array]]] = {
    "max-min": max_min,
    "ftf": finish_time_fairness,
    "makespan": makespan,
    "throughput": throughput,
    "deadlines": deadlines,
    "cost": cost,
    "isolated": isolated,
}
"""By objective: from the active jobs to the fraction of time on each type, float64[n, types]."""


def _gain(jobs: Jobs) -> Array:
    """What a job does on each type, in the unit that counts."""
    return jobs.rates if jobs.iterations is None else jobs.rates * jobs.iterations[:, None]


def _groups(jobs: Jobs) -> tuple[Array, Array, Array]:
    """Jobs that the program cannot tell apart: an example of each kind, the kind of each, counts.

    Where the objective is concave and alike in all jobs of a kind, equal fractions lose nothing.
    """
    columns = [jobs.rates, jobs.gpus, jobs.weight]
    if jobs.iterations is not None:
        columns.append(jobs.iterations)
    key = np.column_stack(columns)
    _, alike, group, count = np.unique(
        key, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    return alike, group.reshape(-1), count.astype(float)


def _level(gain: Array, need: Array, gpus: Array, count: Array, jobs: Jobs) -> tuple[float, Array]:
    """Maximise the level t such that each job's gain is at least t times its need."""
    try:
        return _level_of(gain, need, gpus, count, jobs)
    except UnsolvedError:
        # The solver takes factors below 1e-9 for none, and the program for one without a bound.
        most = float(need.max())
        if not 0 < most < _SMALL:
            raise
        level, fractions = _level_of(gain, need / most, gpus, count, jobs)
        return level / most, fractions


def _level_of(
    gain: Array, need: Array, gpus: Array, count: Array, jobs: Jobs
) -> tuple[float, Array]:
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
    bound = np.concatenate([np.ones(num), jobs.capacity, np.zeros(num)])
    scale = max(float((gain * count[:, None]).max()), 1e-12) * num
    tie = _TIE if jobs.breaks_ties else 0.0
    cost = np.append(-tie * (gain * count[:, None]).ravel() / scale, -1.0)
    found = attended(
        lambda: linprog(cost, A_ub=matrix, b_ub=bound, bounds=(0, None), method="highs")
    )
    if found.x is None:
        raise UnsolvedError
    return float(found.x[-1]), _clean(found.x[:-1].reshape(num, types))


def _tangent(gain: Array, slope: Array, gpus: Array, capacity: Array, least: float) -> float:
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


def _solve(
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


def _equal(gpus: Array, count: Array, capacity: Array) -> Array:
    """The share of each type that everybody can have."""
    share = capacity / max(1.0, float((gpus * count).sum()))
    return np.broadcast_to(np.minimum(share, 1 / len(capacity)), (len(gpus), len(capacity))).copy()


def _clean(fractions: Array) -> Array:
    """Drop what is rounding: it must not decide who comes first."""
    cleaned: Array = np.round(np.clip(fractions, 0.0, 1.0), 6)
    return cleaned
