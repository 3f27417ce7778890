"""Gavel's linear programs: the fraction of time of each job on each GPU type.

Narayanan, Santhanam, Kazhamiaka, Phanishayee, Zaharia, "Heterogeneity-Aware Cluster Scheduling
Policies for Deep Learning Workloads", OSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gpusched.base.libraries import need as need_library
from gpusched.base.supervision import attended

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Jobs:
    """The active jobs of a round, one entry or row per job; times in seconds.

    ``rates``: service per second on each GPU type at the job's own number of GPUs, float64[n,
        types]; each row has a positive entry.
    ``gpus``, ``weight``: number of GPUs and weight of each job.
    ``remaining``, ``elapsed``, ``served``: service left, time since the submit, service received.
    ``time_left``: until the deadline; infinite without one.
    ``value``: value of meeting the deadline.
    ``capacity``: GPUs of each type.
    ``iterations``: iterations per second of service, or 1 if services count.
    ``price``: price of a GPU of each type.
    ``breaks_ties``: whether to use the optimal solution with the most throughput.
    ``isolated``: time that the work so far would have taken with an equal share of all GPUs; None:
        computed with the present share.
    """

    rates: Array
    gpus: Array
    weight: Array
    remaining: Array
    elapsed: Array
    served: Array
    time_left: Array
    value: Array
    capacity: Array
    iterations: Array | None = None
    price: Array | None = None
    breaks_ties: bool = True
    isolated: Array | None = None

    def __len__(self) -> int:
        return len(self.gpus)


def iterations(state: Any, jobs: Array) -> Array:
    """Return the iterations of each job per second of service; 1 if it has none."""
    ideal_s: Array = state.ideal_s(jobs)
    return np.where(ideal_s > 0, 1.0 / np.where(ideal_s > 0, ideal_s, 1.0), 1.0)


# Weight of throughput as a tie-breaker, whatever the units of the objective.
TIE: Final = 1e-4
# Factor of objectives that break ties. HiGHS does not scale costs, and treats reduced costs below
# 1e-7 as zero: small gains of throughput would not count.
HEAVY: Final = 1e4
_SMALL: Final = 1e-3
_BINDING: Final = 1e-7


class UnsolvedError(Exception):
    """The solver found no solution of a program."""


@dataclass(frozen=True)
class Level:
    """The level to which all jobs were raised together.

    Attributes
    ----------
    height
        The level, in units of each job's need.
    fractions
        Of the time on each type, float64[n, types].
    Which jobs limit it: they have no more in any solution, bool[n]; empty: not requested.
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
) -> Level:
    """Maximise the height such that each job's gain is at least the height times its need.

    ``gain``: on each type, float64[n, types].
    ``need``, ``floor``: a job without a need is not raised; its gain is at least its floor.
    ``gpus``, ``count``: number of GPUs of each job, and number of jobs like it.
    ``capacity``: GPUs of each type.
    ``tie``: value of the total throughput, in heights.
    """
    least = np.zeros(len(need)) if floor is None else floor
    num, types = gain.shape
    scale = max(float((gain * count[:, None]).max()), 1e-12) * num
    heavy = HEAVY if tie > 0 else 1.0
    cost = -heavy * np.append(tie * (gain * count[:, None]).ravel() / scale, 1.0)
    bound = np.concatenate([np.ones(num), capacity, -least])

    def raised(need: Array) -> Level:
        matrix = _matrix(gpus, count, types, gain, np.zeros(num, dtype=np.int64), need)
        if not asks_who_binds:
            found = _least(cost, matrix, bound)
            return Level(float(found[-1]), _clean(found[:-1].reshape(num, types)))
        found, prices = _least_and_prices(cost, matrix, bound)
        price = prices[-num:] * need / heavy  # 1 over all jobs, unless ties were broken
        binds = price > min(_BINDING, float(price.max()) / 2)
        return Level(float(found[-1]), _clean(found[:-1].reshape(num, types)), binds)

    try:
        return raised(need)
    except UnsolvedError:
        # The solver treats factors below 1e-9 as zero, and the program then as unbounded.
        most = float(need.max())
        if not 0 < most < _SMALL:
            raise
        found = raised(need / most)
        return Level(found.height / most, found.fractions, found.binds)


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
    """Minimise the cost of fractions; ``gain`` short of ``need`` costs ``penalty``."""
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
    """Minimise the cost subject to the rows of the matrix.

    SciPy's ``milp`` passes the same program to the same solver as ``linprog``, with half the
    overhead.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = LinearConstraint(matrix, -np.inf, bound)
    found = attended(lambda: milp(cost, bounds=Bounds(lowest, highest), constraints=rows))
    if found.x is None:
        raise UnsolvedError
    solution: Array = found.x
    return solution


def _least_and_prices(cost: Array, matrix: Any, bound: Array) -> tuple[Array, Array]:
    """Do the same with non-negative variables, and also return the price of each row."""
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
    """Rows: time of each job at most 1; GPUs of each type at most all; gain of each job.

    Columns: the time of each job on each type, then one for each job with a ``value`` in the row of
    its gain. Built at once: SciPy takes as long to join blocks as to solve.
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
    """Round away errors that must not affect the order."""
    cleaned: Array = np.round(np.clip(fractions, 0.0, 1.0), 6)
    return cleaned


_STEPS: Final = 100
_CLOSE: Final = 1e-6
_PLENTY: Final = 1e6
_LESS: Final = 1 - 1e-9  # tolerance for a level that was reached


def solved(objective: str, jobs: Jobs) -> tuple[Array, str]:
    """Return the fractions of the program, and the name of a substitute if it has no solution.

    The substitute for the worst finish-time fairness is the smallest share of throughput; for all
    else it is an equal share of each type.
    """
    try:
        return PROGRAMS[objective](jobs), ""
    except UnsolvedError:
        if objective == "ftf":
            fractions, instead = solved("max-min", jobs)
            return fractions, instead or "max-min"
        share = np.minimum(jobs.capacity / max(1.0, float(jobs.gpus.sum())), 1 / len(jobs.capacity))
    return np.broadcast_to(share, jobs.rates.shape).copy(), "equal shares"


def max_min(jobs: Jobs) -> Array:
    """Maximise the smallest weighted throughput, in units of an equal share of all types."""
    alike, group, count = _groups(jobs)
    gain, gpus = _weighted(jobs)[alike], jobs.gpus[alike]
    found = level(gain, np.ones(len(alike)), gpus, count, jobs.capacity, tie=_tie(jobs))
    return found.fractions[group]


def water_filling(jobs: Jobs) -> Array:
    """Maximise the smallest weighted throughput, then the next smallest, and so on.

    Jobs that limit a level have no more in any solution, and keep it while the others rise.
    """
    alike, group, count = _groups(jobs)
    gain, gpus = _weighted(jobs)[alike], jobs.gpus[alike]
    floor, rises = np.zeros(len(alike)), np.ones(len(alike), np.bool_)
    while True:
        found = level(
            gain, rises.astype(float), gpus, count, jobs.capacity, floor=floor * _LESS, tie=0.0,
            asks_who_binds=True,
        )  # fmt: skip
        stays = found.binds & rises
        floor[stays] = found.height
        rises &= ~stays
        if not rises.any():
            return found.fractions[group]


def throughput(jobs: Jobs) -> Array:
    """Maximise the sum of the jobs' rates."""
    return _most(jobs, _gain(jobs))


def cost(jobs: Jobs) -> Array:
    """Maximise the sum of the jobs' rates, each divided by the price of a GPU of its type."""
    return _most(jobs, _gain(jobs) / _price(jobs))


def _most(jobs: Jobs, gain: Array) -> Array:
    """Maximise the sum of the jobs' gains."""
    alike, group, count = _groups(jobs)
    return solve(-(gain[alike] * count[:, None]), jobs.gpus[alike], count, jobs.capacity)[group]


def isolated(jobs: Jobs) -> Array:
    """Give every job an equal share of each type."""
    return isolated_share(jobs.gpus, jobs.capacity)


def isolated_share(gpus: Array, capacity: Array) -> Array:
    """Return the time on each type if each of n jobs has 1/n of its GPUs; at most 1."""
    alone: Array = capacity / (len(gpus) * gpus[:, None])
    alone /= np.maximum(1.0, alone.sum(axis=1))[:, None]
    return alone


def unaware(rates: Array, *, is_of_first: bool) -> Array:
    """Treat all types as equally fast: as the first that each job can use."""
    able = rates > 0
    first = (
        rates[np.arange(len(rates)), able.argmax(axis=1)] if is_of_first else np.ones(len(rates))
    )
    return np.where(able, first[:, None], 0.0)


def makespan(jobs: Jobs) -> Array:
    """Minimise the completion time of the last job."""
    need = jobs.remaining / jobs.remaining.max()
    ones = np.ones(len(jobs))
    return level(jobs.rates, need, jobs.gpus, ones, jobs.capacity, tie=_tie(jobs)).fractions


def finish_time_fairness(jobs: Jobs) -> Array:
    """Minimise the worst ratio of a job's time in system to that with 1/n of each type alone.

    A ratio is possible if every job can have the rate that it requires, which falls with the ratio
    along a convex curve. Newton's method: replacing the curves by tangents makes the smallest ratio
    a linear program, whose solution is a lower bound and the point of the next tangents.

    Usually one job limits the ratio whatever it gets, and the rest can match it: then no tangent is
    used, and the last program is the only one.
    """
    alone = (jobs.rates * isolated_share(jobs.gpus, jobs.capacity)).sum(axis=1)
    isolated = (jobs.served + jobs.remaining) / alone
    if jobs.isolated is not None:
        isolated = jobs.isolated + jobs.remaining / alone
    # No ratio is below `past`; if jobs have waited for long it is only slightly larger.
    past = float((jobs.elapsed / isolated).max())
    slack = np.maximum(0.0, past * isolated - jobs.elapsed)
    least = float(((jobs.remaining / jobs.rates.max(axis=1) - slack) / isolated).max())
    fractions = _if_all_can(jobs, least * isolated + slack)
    if fractions is not None:
        return fractions
    excess = least
    for _ in range(_STEPS):
        left = excess * isolated + slack
        slope = excess * isolated / left
        gain = _gain_within(jobs, left)
        # A need met by a millionth of the time is negligible, and too small for the solver.
        gain *= np.minimum(1.0, _PLENTY / gain.max(axis=1))[:, None]
        times = tangent(gain, slope, jobs.gpus, jobs.capacity, least / excess)
        excess *= times
        if abs(times - 1.0) <= _CLOSE:
            break
    return _ending_within(jobs, excess * isolated + slack).fractions


def _if_all_can(jobs: Jobs, left: Array) -> Array | None:
    """Return fractions with which each job ends in its remaining time, after verification."""
    if float(_gain_within(jobs, left).max()) > _PLENTY:
        return None
    try:
        found = _ending_within(jobs, left)
    except UnsolvedError:
        return None
    return found.fractions if found.height >= _LESS else None


def _gain_within(jobs: Jobs, left: Array) -> Array:
    """Return the part of its work that each job does on each type in its remaining time."""
    gain: Array = jobs.rates * (left / jobs.remaining)[:, None]
    return gain


def _ending_within(jobs: Jobs, left: Array) -> Level:
    """Raise all jobs together towards the rates with which each ends in its remaining time."""
    need, ones = jobs.remaining / left, np.ones(len(jobs))
    return level(jobs.rates, need, jobs.gpus, ones, jobs.capacity, tie=_tie(jobs))


def deadlines(jobs: Jobs) -> Array:
    """Maximise throughput over prices once each feasible deadline has the rate it needs.

    If the GPUs do not suffice, the shortage goes to the jobs of the lowest value; jobs that cannot
    meet their deadlines need nothing.
    """
    need = np.where(jobs.time_left > 0, jobs.remaining / np.maximum(jobs.time_left, 1e-6), np.inf)
    need[(need > jobs.rates.max(axis=1)) | np.isinf(jobs.time_left)] = 0.0
    return solve(
        -HEAVY * TIE * jobs.rates / _price(jobs), jobs.gpus, np.ones(len(jobs)), jobs.capacity,
        need=need, gain=jobs.rates,
        penalty=np.where(need > 0, HEAVY * jobs.value / np.maximum(need, 1e-12), 0.0),
    )  # fmt: skip


PROGRAMS: Final[Mapping[str, Callable[[Jobs], Array]]] = {
    "max-min": max_min,
    "water-filling": water_filling,
    "ftf": finish_time_fairness,
    "makespan": makespan,
    "throughput": throughput,
    "deadlines": deadlines,
    "cost": cost,
    "isolated": isolated,
}
"""By objective: from the active jobs to the fraction of time on each type, float64[n, types]."""


def _weighted(jobs: Jobs) -> Array:
    """Throughput over the weight, in units of an equal share of all types."""
    share = jobs.capacity / jobs.capacity.sum()
    scale: Array = jobs.gpus / (jobs.weight * (jobs.rates @ share))
    return jobs.rates * scale[:, None]


def _tie(jobs: Jobs) -> float:
    return TIE if jobs.breaks_ties else 0.0


def _price(jobs: Jobs) -> Array:
    return np.ones(len(jobs.capacity)) if jobs.price is None else jobs.price


def _gain(jobs: Jobs) -> Array:
    """Output of a job on each type, in the unit that counts."""
    return jobs.rates if jobs.iterations is None else jobs.rates * jobs.iterations[:, None]


def _groups(jobs: Jobs) -> tuple[Array, Array, Array]:
    """Classes of jobs that the program treats alike: an example, the class of each job, counts.

    If the objective is concave and symmetric in the jobs of a class, equal fractions are optimal.
    """
    columns = [jobs.rates, jobs.gpus, jobs.weight]
    if jobs.iterations is not None:
        columns.append(jobs.iterations)
    key = np.column_stack(columns)
    order = np.lexsort(key.T[::-1])  # stable: the first job of each class comes first
    key = key[order]
    is_first = np.append(True, (key[1:] != key[:-1]).any(axis=1))
    begin = np.flatnonzero(is_first)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(is_first) - 1
    return order[begin], group, np.diff(begin, append=len(order)).astype(float)
