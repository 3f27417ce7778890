"""Prices of GPUs over time, at which each job chooses for itself when to run."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.bounds.bounded_jobs import BoundedJobs, JobColumns
from gpusched.bounds.known.shared_cost import excluding
from gpusched.bounds.native import native
from gpusched.bounds.registry import TOTAL_JCT, register_bound

_STEPS: Final = 2_000
_ROUNDS: Final = 300
_FIRST_AIM: Final = 0.2
_LAST_AIM: Final = 1e-5
_PATIENCE: Final = 8
_EXACT_US: Final = 2**53  # up to which a double holds each microsecond


def priced_time(
    jobs: JobColumns, num_gpus: int, *, steps: int = _STEPS, rounds: int = _ROUNDS
) -> Fraction:
    """Bound the sum of JCT, in microseconds, by prices of GPUs over time.

    Each job alone runs when its time in system and what it pays are least together (it may be
    preempted, and knows all prices). In a schedule all pay no more than the price of all GPUs, so
    that the sum over the jobs less this price is a bound, at any prices: the Lagrangian of the
    time-indexed program. Gangs that exclude each other pay on a second machine as well
    (:func:`~gpusched.bounds.known.shared_cost.excluding`). Prices rise where more is wanted than
    there is, and fall elsewhere, in steps of Polyak's length towards an aim that comes nearer when
    nothing is gained.

    Parameters
    ----------
    steps
        Of the prices, at most; half of them are equally long, half have equally many submits.
    rounds
        How often prices change, at most. A round looks at the steps that each job could run in.

    Returns
    -------
    Fraction
        Computed in double precision, and lowered by more than the rounding can amount to.

    Raises
    ------
    OverflowError
        If the last job could not end within 2^53 microseconds of the first submit.
    """
    num = len(jobs.submit_us)
    if num == 0:
        return Fraction(0)
    jobs = jobs._replace(submit_us=jobs.submit_us - jobs.submit_us[0])
    edge_us = _edges(jobs, num_gpus, steps)
    if int(edge_us[-1]) > _EXACT_US:
        raise OverflowError("the jobs take more microseconds than a double counts")
    # Of what is paid, a rounding for each job and each time that it looks at, and more.
    rounding = 1e-9 + num * 2.0**-50
    length_us = np.diff(edge_us).astype(np.float64)
    widths = [jobs.gpus]
    narrower = excluding(jobs, num_gpus)
    if narrower is not None:
        raised = np.zeros(num, np.int32)
        raised[narrower[1]] = narrower[0].gpus
        widths.append(raised)
    columns = (jobs.submit_us, jobs.service_us, np.concatenate(widths), edge_us)
    supply = num_gpus * np.tile(length_us, len(widths))
    length_us = np.tile(length_us, len(widths))
    compute = native("priced_times") or priced_times
    price = found_at = np.zeros(len(supply))
    best, aim, idle_rounds = 0.0, _FIRST_AIM, 0
    for _ in range(rounds):
        cost, held = compute(*columns, price)
        paid = float((supply * price).sum())
        bound = cost - paid - rounding * (cost + paid)
        idle_rounds = 0 if bound > best * (1 + _LAST_AIM) else idle_rounds + 1
        if bound > best:
            best, found_at = bound, price
        if idle_rounds >= _PATIENCE:
            aim, idle_rounds, price = aim / 2, 0, found_at
        excess = held - supply
        excess[(price <= 0) & (excess < 0)] = 0.0
        norm = float((excess**2 / length_us).sum())
        if aim < _LAST_AIM or norm == 0.0:
            break
        raised_by = (best * (1 + aim) - bound) / norm * excess / length_us
        price = np.maximum(0.0, price + raised_by)
    return Fraction(best)


def _edges(jobs: JobColumns, num_gpus: int, steps: int) -> Int64:
    """Return where prices may change: up to when all could be done."""
    submit_us = jobs.submit_us  # the first is 0
    work_us = float((jobs.service_us * jobs.gpus.astype(np.float64)).sum())
    last = max(int((submit_us + jobs.service_us).max()), int(work_us / num_gpus)) + 1
    half = max(1, steps // 2)
    even = np.linspace(0.0, last, half + 1)
    crowded = np.quantile(submit_us, np.linspace(0.0, 1.0, half))
    edges = np.concatenate(([0, last], even, crowded)).astype(np.int64)
    return np.unique(np.clip(edges, 0, last))


def priced_times(
    submit_us: Int64, service_us: Int64, widths: Int32, edge_us: Int64, price: Float64
) -> tuple[float, Float64]:
    """Compute in plain Python what the native twin does: see ``gpusched._core.priced_times``."""
    num, steps = len(submit_us), len(edge_us) - 1
    by_machine, prices = widths.reshape(-1, num), price.reshape(-1, steps)
    held = np.zeros(prices.shape)
    total = 0.0
    for job in range(num):
        submit, service = int(submit_us[job]), float(service_us[job])
        rate = by_machine[:, job] @ prices  # what a microsecond costs the job in each step
        first = int(np.searchsorted(edge_us, submit, side="right")) - 1
        pieces = [
            (float(rate[step]), float(edge_us[step + 1] - max(submit, edge_us[step])), step)
            for step in range(first, steps)
        ]
        cost, chosen = _best([*pieces, (0.0, 2 * service, steps)], service)
        total += cost
        for _, taken, step in chosen:
            if step < steps:
                held[:, step] += by_machine[:, job] * taken
    return total, held.reshape(-1)


_Piece = tuple[float, float, int]  # price, length, step


def _best(pieces: list[_Piece], service: float) -> tuple[float, list[_Piece]]:
    """Return what a job costs at least, and the time that it takes then."""
    found = []
    for place, (price, length, step) in enumerate(pieces):
        before = pieces[:place]
        elapsed = sum(piece[1] for piece in before)
        # The cost is linear up to where the whole of a dearer piece has been given up.
        short = max(0.0, service - elapsed)
        dearest_first = (piece[1] for piece in reversed(_cheapest(before, service)))
        ends = [*accumulate(dearest_first, initial=short), length]
        for end in ends:
            if 0 < end <= length and elapsed + end >= service:
                chosen = _cheapest([*before, (price, end, step)], service)
                found.append((elapsed + end + sum(p * taken for p, taken, _ in chosen), chosen))
    return min(found, key=lambda one: one[0])


def _cheapest(pieces: list[_Piece], service: float) -> list[_Piece]:
    """Return so much time of these pieces, or all, the cheapest first."""
    chosen = []
    for price, length, step in sorted(pieces):
        taken = min(length, service)
        service -= taken
        if taken > 0:
            chosen.append((price, taken, step))
    return chosen


@register_bound(
    "priced-time",
    quantity=TOTAL_JCT,
    summary="Each job alone chooses when to run at prices of GPUs over time; what that costs all, "
    "less the price of all GPUs, at prices that make it large.",
    assumptions="No job can change its width. The strongest; only where it is asked for: about a "
    "second for some thousand jobs.",
    source="Time-indexed programs: Dyer and Wolsey 1990; subgradients: Held, Wolfe, Crowder 1974.",
    rank=5,
    is_thorough=True,
)
def _of(jobs: BoundedJobs) -> Fraction | None:
    if jobs.is_elastic:
        return None
    try:
        return priced_time(jobs.pieces, jobs.num_gpus)
    except OverflowError:  # 285 years; the other bounds are exact there
        return None
