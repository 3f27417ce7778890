"""Gavel's linear programs: what part of the time each job should spend on each GPU type.

Narayanan, Santhanam, Kazhamiaka, Phanishayee, Zaharia, "Heterogeneity-Aware Cluster Scheduling
Policies for Deep Learning Workloads", OSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from gpusched.plugins.schedulers.gavel_jobs import Array, Jobs
from gpusched.plugins.schedulers.gavel_solver import (
    HEAVY,
    TIE,
    Level,
    UnsolvedError,
    level,
    solve,
    tangent,
)

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
    found = level(
        gain, np.ones(len(alike)), gpus, count, jobs.capacity, tie=_tie(jobs), starts=jobs.starts
    )
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
    alike, group, count = _groups(jobs)
    gain = _gain(jobs)[alike]
    return solve(-(gain * count[:, None]), jobs.gpus[alike], count, jobs.capacity)[group]


def cost(jobs: Jobs) -> Array:
    """Maximise the sum of the jobs' rates, each over the price of a GPU of its type."""
    alike, group, count = _groups(jobs)
    gain = _gain(jobs)[alike] / _price(jobs)
    return solve(-(gain * count[:, None]), jobs.gpus[alike], count, jobs.capacity)[group]


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
