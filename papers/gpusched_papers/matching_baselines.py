"""Other ways to decide who holds which workers, for one decision.

Each takes an instance whose columns are single workers and returns the workers of each job as a
matrix of 0 and 1. Where a policy was made for another setting, what it means here is stated; it is
the reading that suits it best.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched_papers.matching_instances import EQUAL_MARKET, Counts, Instance
from gpusched_papers.study import Float64


def equal_shares(instance: Instance) -> NDArray[np.int64]:
    """K / S workers for each job; the first ones have one more where it leaves a rest."""
    share, more = divmod(instance.num_workers, instance.num_jobs)
    return share + (np.arange(instance.num_jobs) < more)


def fifo_first_fit(instance: Instance) -> Counts:
    """Jobs in the order of their index, each with the first idle workers of an equal share."""
    return _first(instance, np.arange(instance.num_jobs), np.arange(instance.num_workers))


def shortest_first(instance: Instance) -> Counts:
    """SRTF: the job with the least work left first, with the fastest idle workers.

    As many as an equal share.
    """
    order = np.argsort(instance.work / instance.rates.mean(axis=1), kind="stable")
    fastest = np.argsort(-instance.rates.mean(axis=0), kind="stable")
    return _first(instance, order, fastest)


def dealt(instance: Instance) -> Counts:
    """K_i = K / S with workers dealt in turn, the fast ones first: the same mix for every job."""
    counts = np.zeros(instance.rates.shape, dtype=np.int32)
    fastest = np.argsort(-instance.rates.mean(axis=0), kind="stable")
    counts[np.arange(instance.num_workers) % instance.num_jobs, fastest] = 1
    return counts


def equal_shares_and_market(instance: Instance) -> Counts:
    """An equal share for each job; a market decides on the workers."""
    shares = equal_shares(instance)
    return _market(instance, shares)


def random_category_and_market(instance: Instance) -> Counts:
    """One uniform draw of the category; a market decides on the workers."""
    random = np.random.Generator(np.random.PCG64([instance.seed, 1]))
    cuts = np.sort(random.choice(instance.num_workers - 1, instance.num_jobs - 1, False) + 1)
    return _market(instance, np.diff(cuts, prepend=0, append=instance.num_workers))


def marginal_gain(instance: Instance) -> Counts:
    """Optimus: one worker each, then the next one to the job that it helps most.

    Fast workers go first. Peng, Bao, Chen, Wu, Guo, EuroSys 2018.
    """
    counts = np.zeros(instance.rates.shape, dtype=np.int32)
    before = np.full(instance.num_jobs, np.inf)
    for place, worker in enumerate(np.argsort(-instance.rates.mean(axis=0), kind="stable")):
        given = counts.copy()
        given[:, worker] = 1
        after = instance.job_s(given)
        if place < instance.num_jobs:  # everybody's first: the one that needs it most
            need = np.where(np.isinf(before), instance.work, -1.0)
            job = int(np.argmax(need))
        else:
            job = int(np.argmax(before - after))
        counts[job, worker] = 1
        before[job] = after[job]
    return counts


def allox(instance: Instance) -> Counts:
    """AlloX: jobs matched to workers at the least sum of completion times.

    Le, Sun, Chowdhury, Liu, EuroSys 2020, has one worker for each job; here every job is matched
    to one more worker until none is left.
    """
    match = import_module("scipy.optimize").linear_sum_assignment
    counts = np.zeros(instance.rates.shape, dtype=np.int32)
    free = np.ones(instance.num_workers, dtype=bool)
    while free.any():
        idle = np.flatnonzero(free)
        held = (counts * instance.rates).sum(axis=1)
        after = instance.work[:, None] / (held[:, None] + instance.rates[:, idle])
        with np.errstate(divide="ignore"):
            saved = after - np.minimum(instance.work / held, 1e12)[:, None]
        jobs, workers = match(saved)
        counts[jobs, idle[workers]] = 1
        free[idle[workers]] = False
    return counts


def gavel(instance: Instance) -> Counts:
    """Gavel's max-min fairness: shares of time on each type by a linear program.

    Narayanan, Santhanam, Kazhamiaka, Phanishayee, Zaharia, OSDI 2020. Jobs have K / S workers, as
    its jobs have fixed widths; where it would take turns, each job has its largest shares here.
    """
    optimize: Any = import_module("scipy.optimize")
    num_jobs, num_types = instance.num_jobs, len(instance.family.types)
    share = instance.num_workers / num_jobs
    kinds = instance.type_of_column
    room = np.bincount(kinds, minlength=num_types)
    rate = np.array([_mean(instance.rates[:, kinds == kind]) for kind in range(num_types)]).T
    normal = (rate * room).sum(axis=1) / room.sum()
    # Variables: time of job i on type j, and the least normalised throughput.
    size = num_jobs * num_types + 1
    objective = np.zeros(size)
    objective[-1] = -1.0
    rows, limits = [], []
    for job in range(num_jobs):
        own = slice(job * num_types, (job + 1) * num_types)
        less = np.zeros(size)
        less[own] = -rate[job] / normal[job]
        less[-1] = 1.0
        time = np.zeros(size)
        time[own] = 1.0
        rows += [less, time]
        limits += [0.0, 1.0]
    for kind in range(num_types):
        use = np.zeros(size)
        use[kind:-1:num_types] = share
        rows.append(use)
        limits.append(float(room[kind]))
    solved = optimize.linprog(objective, np.array(rows), np.array(limits), method="highs")
    shares = solved.x[:-1].reshape(num_jobs, num_types)
    counts = np.zeros(instance.rates.shape, dtype=np.int32)
    left = equal_shares(instance)
    free = np.ones(instance.num_workers, dtype=bool)
    for cell in np.argsort(-shares, axis=None, kind="stable").tolist():
        job, kind = divmod(cell, num_types)
        wanted = np.flatnonzero(free & (kinds == kind))[: left[job]]
        if shares[job, kind] > 1e-9:
            wanted = wanted[: round(shares[job, kind] * share + 0.5)]
        counts[job, wanted] = 1
        free[wanted] = False
        left[job] -= len(wanted)
    return counts


BASELINES: Final[dict[str, Callable[[Instance], Counts]]] = {
    EQUAL_MARKET: equal_shares_and_market,
    "equal share, dealt": dealt,
    "random category + market": random_category_and_market,
    "Optimus, marginal gain": marginal_gain,
    "AlloX, matched again and again": allox,
    "Gavel, max-min": gavel,
    "SRTF, equal share": shortest_first,
    "FIFO first-fit, equal share": fifo_first_fit,
}


def _first(instance: Instance, jobs: NDArray[np.int64], workers: NDArray[np.int64]) -> Counts:
    counts = np.zeros(instance.rates.shape, dtype=np.int32)
    shares = equal_shares(instance)
    first = 0
    for job in jobs:
        counts[job, workers[first : first + shares[job]]] = 1
        first += shares[job]
    return counts


def _market(instance: Instance, category: NDArray[np.int64]) -> Counts:
    found = gs.deciding.place_jobs(
        **instance.arguments(), min_workers=category, max_workers=category, guard=0.0
    )
    return found.counts


def _mean(rates: Float64) -> Float64:
    """Mean over the workers of a type; 0 where there is none."""
    found: Float64 = rates.mean(axis=1) if rates.size else np.zeros(len(rates))
    return found
