"""Gavel's linear programs: what part of the time each job should spend on each GPU type.

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

    Attributes
    ----------
    rates
        Service per second on each GPU type at the job's own width, float64[n, types]; each row
        has a positive entry.
    gpus, weight
        Width and weight of each job.
    remaining, elapsed, served
        Service left, time since the submit, service received.
    time_left
        Until the deadline; infinite without one.
    value
        What it is worth to meet the deadline.
    capacity
        GPUs of each type.
    iterations
        Iterations for a second of service, or 1 where services are what counts.
    price
        Of a GPU of each type.
    breaks_ties
        Whether of equally good answers the one with more throughput is wanted.
    isolated
        Time that what was done would have taken with an equal share of all GPUs; None: as much as
        it would with the present share.
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
    """Return how many iterations of each job a second of service is; 1 if it knows none."""
    ideal_s: Array = state.ideal_s(jobs)
    return np.where(ideal_s > 0, 1.0 / np.where(ideal_s > 0, ideal_s, 1.0), 1.0)


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
        price = prices[-num:] * need / heavy  # of all jobs 1, unless ties were broken
        binds = price > min(_BINDING, float(price.max()) / 2)
        return Level(float(found[-1]), _clean(found[:-1].reshape(num, types)), binds)

    try:
        return raised(need)
    except UnsolvedError:
        # The solver takes factors below 1e-9 for none, and the program for one without a bound.
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


_STEPS: Final = 100
_CLOSE: Final = 1e-6
_PLENTY: Final = 1e6
_LESS: Final = 1 - 1e-9  # what rounding may take from a level that was reached


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
    gain, gpus = _weighted(jobs)[alike], jobs.gpus[alike]
    found = level(gain, np.ones(len(alike)), gpus, count, jobs.capacity, tie=_tie(jobs))
    return found.fractions[group]


def water_filling(jobs: Jobs) -> Array:
    """Maximise the least weighted throughput, then the next least, and so on.

    Who holds the level where it is has no more in any solution, and keeps it while the others rise.
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
    """Maximise the sum of the jobs' rates, each over the price of a GPU of its type."""
    return _most(jobs, _gain(jobs) / _price(jobs))


def _most(jobs: Jobs, gain: Array) -> Array:
    """Maximise the sum of what the jobs gain."""
    alike, group, count = _groups(jobs)
    return solve(-(gain[alike] * count[:, None]), jobs.gpus[alike], count, jobs.capacity)[group]


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
    ones = np.ones(len(jobs))
    return level(jobs.rates, need, jobs.gpus, ones, jobs.capacity, tie=_tie(jobs)).fractions


def finish_time_fairness(jobs: Jobs) -> Array:
    """Minimise the worst ratio of a job's time in system to that with 1/n of each type alone.

    A ratio can be had if every job can have the rate that it asks for, which falls with the ratio
    along a convex curve. Newton's method: with the tangents of these curves for the curves the
    least ratio is a linear program, whose solution is never too high and is where the next
    tangents are taken.

    Mostly one job cannot do better whatever it gets, and the rest can do as well: then no tangent
    is taken, and the program that comes last is the only one.
    """
    alone = (jobs.rates * isolated_share(jobs.gpus, jobs.capacity)).sum(axis=1)
    isolated = (jobs.served + jobs.remaining) / alone
    if jobs.isolated is not None:
        isolated = jobs.isolated + jobs.remaining / alone
    # No ratio is below `past`, and where jobs have waited for long it is little above.
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
        # What a millionth of the time is enough for is no matter, and too much for the solver.
        gain *= np.minimum(1.0, _PLENTY / gain.max(axis=1))[:, None]
        times = tangent(gain, slope, jobs.gpus, jobs.capacity, least / excess)
        excess *= times
        if abs(times - 1.0) <= _CLOSE:
            break
    return _ending_within(jobs, excess * isolated + slack).fractions


def _if_all_can(jobs: Jobs, left: Array) -> Array | None:
    """Return fractions with which each job ends in the time that it has left, if it is seen to."""
    if float(_gain_within(jobs, left).max()) > _PLENTY:
        return None
    try:
        found = _ending_within(jobs, left)
    except UnsolvedError:
        return None
    return found.fractions if found.height >= _LESS else None


def _gain_within(jobs: Jobs, left: Array) -> Array:
    """What part of its work each job does on each type in the time that it has left."""
    gain: Array = jobs.rates * (left / jobs.remaining)[:, None]
    return gain


def _ending_within(jobs: Jobs, left: Array) -> Level:
    """Raise all jobs together towards the rates with which each ends in the time it has left."""
    need, ones = jobs.remaining / left, np.ones(len(jobs))
    return level(jobs.rates, need, jobs.gpus, ones, jobs.capacity, tie=_tie(jobs))


def deadlines(jobs: Jobs) -> Array:
    """Maximise throughput over prices once each deadline that can be met has the rate it needs.

    What the GPUs do not suffice for is missing where it costs the least value; jobs that no rate
    can save ask for nothing.
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
    """Throughput over the weight, in units of that of an equal share of all types."""
    share = jobs.capacity / jobs.capacity.sum()
    scale: Array = jobs.gpus / (jobs.weight * (jobs.rates @ share))
    return jobs.rates * scale[:, None]


def _tie(jobs: Jobs) -> float:
    return TIE if jobs.breaks_ties else 0.0


def _price(jobs: Jobs) -> Array:
    return np.ones(len(jobs.capacity)) if jobs.price is None else jobs.price


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
    order = np.lexsort(key.T[::-1])  # stable: of each kind the first job comes first
    key = key[order]
    is_first = np.append(True, (key[1:] != key[:-1]).any(axis=1))
    begin = np.flatnonzero(is_first)
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(is_first) - 1
    return order[begin], group, np.diff(begin, append=len(order)).astype(float)


def _equal(gpus: Array, count: Array, capacity: Array) -> Array:
    """The share of each type that everybody can have."""
    share = capacity / max(1.0, float((gpus * count).sum()))
    return np.broadcast_to(np.minimum(share, 1 / len(capacity)), (len(gpus), len(capacity))).copy()
