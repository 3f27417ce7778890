"""The bounds that every result's certificate takes the best of; each ends in its registration."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from typing import Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.field_checks import unmasked
from gpusched.bounds.deadline_bounds import DeadlineJobs, pooled_bound, upper_bound
from gpusched.bounds.registry import (
    DEADLINES_MET,
    MAKESPAN,
    TOTAL_JCT,
    BoundedJobs,
    JobColumns,
    Jobs,
    register_bound,
)


@register_bound(
    "trivial",
    quantity=TOTAL_JCT,
    summary="No job is done before its service: the sum of p.",
    assumptions="None.",
    source="Elementary.",
    rank=3,
)
def _trivial(jobs: BoundedJobs) -> Fraction:
    return Fraction(int(np.sum(jobs.shortest.service_us, dtype=np.int64)))


@register_bound(
    "longest-job",
    quantity=MAKESPAN,
    summary="The last job cannot end before its submit plus its service: r + p of each job.",
    assumptions="None.",
    source="Elementary.",
    rank=1,
)
def _longest_job(jobs: BoundedJobs) -> Fraction:
    return Fraction(_core.longest_job(jobs.shortest.submit_us, jobs.shortest.service_us))


@register_bound(
    "total-work",
    quantity=MAKESPAN,
    summary="From any r on, all work submitted then or later, on all M GPUs.",
    assumptions="None.",
    source="Elementary.",
    rank=2,
)
def _total_work(jobs: BoundedJobs) -> Fraction:
    # Rounded up to a microsecond, a short gang may be more work than its pieces.
    work = max(_core.total_work(*part, jobs.num_gpus) for part in (jobs.pieces, jobs.shortest))
    return Fraction(work, jobs.num_gpus)


@register_bound(
    "wide-gangs",
    quantity=MAKESPAN,
    summary="From any r on, one after the other, all later jobs wider than M / 2.",
    assumptions="A gang's GPUs are held together.",
    source="Elementary.",
    rank=3,
)
def _wide_gangs(jobs: BoundedJobs) -> Fraction:
    return Fraction(_core.wide_gangs(*jobs.shortest, jobs.num_gpus))


@register_bound(
    "squashed-srpt",
    quantity=TOTAL_JCT,
    summary="Shortest remaining first on one machine that cuts gangs at will.",
    assumptions="None. Strong under high load.",
    source="Schrage, Operations Research 1968.",
    rank=1,
)
def _squashed_srpt(jobs: BoundedJobs) -> Fraction:
    """One machine runs job j for gpus x service / num_gpus: shortest first is optimal there."""
    return Fraction(_core.squashed_srpt(*jobs.pieces, jobs.num_gpus), jobs.num_gpus)


def mean_busy_time(jobs: Jobs, num_gpus: int, *, weight: Float64 | None = None) -> Fraction:
    """Bound the sum of JCT, in microseconds, by the mean busy times of the squashed machine.

    Under static preemptive priority, least ``gpus * service / weight`` first, the machine attains
    the least weighted sum of mean busy times ``M``; and in every schedule a job completes no
    earlier than ``M + service / 2`` (Goemans, "Improved approximation algorithms for scheduling
    with release dates", 1997). Each job's ``M`` is rounded down to half a tick. O(n log n).

    Parameters
    ----------
    weight
        Positive weights, shape ``(n,)``: bounds the weighted sum of JCT. It is then computed in
        double precision and lowered by more than the rounding can amount to.

    Raises
    ------
    OverflowError
        If a job's work times the horizon needs more than 127 bits.
    """
    weights = np.empty(0) if weight is None else unmasked("weight", weight)
    columns = (jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus, weights)
    half_ticks, weighted = _core.mean_busy_time(*columns)
    if weight is not None:
        safe = 1.0 - (len(weights) + 8) * 2.0**-52
        return Fraction(weighted * safe) / (2 * num_gpus)
    return Fraction(half_ticks, 2 * num_gpus)


def busy_times(jobs: Jobs, num_gpus: int, weight: Float64) -> Float64:
    """Return mean busy time - submit + service / 2 of each job, in half ticks.

    They are those of the machine of :func:`mean_busy_time` under these positive weights; so are
    the errors.
    """
    columns = (jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus, weight)
    return _core.busy_times(*columns)


def _where_exact(
    bound: Callable[[JobColumns, int], Fraction], jobs: BoundedJobs
) -> Fraction | None:
    """Return a bound on gangs that keep their widths; None beyond what the core counts.

    That is 127 bits, or 285 years; the other bounds are exact there.
    """
    if jobs.is_elastic:
        return None
    try:
        return bound(jobs.pieces, jobs.num_gpus)
    except OverflowError:
        return None


@register_bound(
    "mean-busy-time",
    quantity=TOTAL_JCT,
    summary="A job ends p / 2 after its mean busy time at the earliest, and least g p first on the "
    "machine that cuts gangs has the least sum of those.",
    assumptions="No job can change its width. Usually the strongest at low and medium load.",
    source="Goemans, SODA 1997.",
    rank=2,
)
def _mean_busy_time(jobs: BoundedJobs) -> Fraction | None:
    return _where_exact(mean_busy_time, jobs)


_LEAST: Final = 1e-3  # of a job's parts: weights are positive
_STEP: Final = 4.0
_NEAR: Final = 2.0


def shared_cost(jobs: JobColumns, num_gpus: int, *, rounds: int = 16) -> Fraction:
    """Bound the sum of JCT, in microseconds, by several certificates at once.

    In any schedule of gangs a job takes at least p, and at least its mean busy time less its
    submit and more by p / 2. On a machine that no schedule overloads the sum of mean busy times
    under any positive weights is least by static priority (:func:`mean_busy_time`). So whatever
    part of each job's time is charged to which certificate, the least of each, added up, is a
    bound. The machines are the squashed one, and one on which gangs that exclude each other have
    all GPUs (:func:`excluding`). Parts begin equal, and grow where a certificate says more of the
    job (mirror ascent: the bound is concave in them); the largest bound of all rounds counts.

    Parameters
    ----------
    rounds
        How often the parts are changed.

    Returns
    -------
    Fraction
        Computed in double precision, and lowered by more than the rounding can amount to.

    Raises
    ------
    OverflowError
        If a job's work times the horizon needs more than 127 bits.
    """
    num = len(jobs.submit_us)
    if num == 0:
        return Fraction(0)
    service = jobs.service_us * (2.0 * num_gpus)  # half ticks
    machines = [(jobs, np.arange(num))]
    narrower = excluding(jobs, num_gpus)
    if narrower is not None:
        machines.append(narrower)
    judges = np.zeros((len(machines) + 1, num), np.bool_)  # which certificate tells of which job
    for judged, (_, members) in zip(judges, machines, strict=False):
        judged[members] = True
    judges[-1] = True  # the service
    said = np.where(judges, service, 0.0)
    parts: Float64 = judges / judges.sum(axis=0)
    best = float(service.sum())
    for step in range(rounds + 1):
        for row, (columns, members) in enumerate(machines):
            said[row, members] = busy_times(columns, num_gpus, parts[row, members])
        best = max(best, float((parts * said).sum()))
        parts = _moved(parts, said / service, judges, _STEP / (1 + step))
    safe = 1.0 - (len(machines) * num + 16) * 2.0**-51
    return Fraction(best * safe) / (2 * num_gpus)


def _moved(parts: Float64, said: Float64, judges: AnyArray, step: float) -> Float64:
    """Let the parts of each job grow where more is said of it; each keeps a little."""
    behind = np.maximum(said - np.where(judges, said, 0.0).max(axis=0), -_NEAR)
    grown = np.where(judges, parts * np.exp(step * behind), 0.0)
    grown *= (1.0 - _LEAST * judges.sum(axis=0)) / grown.sum(axis=0)
    return grown + _LEAST * judges


def excluding(jobs: JobColumns, num_gpus: int) -> tuple[JobColumns, Int64] | None:
    """Return the jobs of a machine on which wide gangs take all GPUs, and who they are.

    With a limit of l GPUs, up to half of all: jobs below l are left out, and who needs more than
    all but l - 1 takes all, since nobody of l or more fits beside. No schedule overloads this
    machine (a dual feasible function; Martello and Toth 1990, Fekete and Schepers 2001). The limit
    with the most work is taken; None if no wide gang leaves GPUs over.
    """
    widths = jobs.gpus.astype(np.int64)
    wide = np.unique(widths[(2 * widths > num_gpus) & (widths < num_gpus)])
    if len(wide) == 0:
        return None
    service: Float64 = jobs.service_us.astype(np.float64)

    def raised(limit: int) -> Int64:
        return np.where(widths > num_gpus - limit, num_gpus, np.where(widths < limit, 0, widths))

    limits = (num_gpus - wide + 1).tolist()
    limit = max(limits, key=lambda limit: float((raised(limit) * service).sum()))
    members = np.flatnonzero(widths >= limit)
    gpus = raised(limit)[members].astype(np.int32)
    return JobColumns(jobs.submit_us[members], jobs.service_us[members], gpus), members


@register_bound(
    "shared-cost",
    quantity=TOTAL_JCT,
    summary="What a job takes is charged in parts to its service, to its mean busy time on the "
    "machine that cuts gangs, and to that where wide gangs exclude each other; the least of each, "
    "added up.",
    assumptions="No job can change its width. Only where it is asked for: 2 ms for 1,500 jobs.",
    source="Ours, of Goemans, SODA 1997, and dual feasible functions (Martello and Toth 1990).",
    rank=4,
    is_thorough=True,
)
def _shared_cost(jobs: BoundedJobs) -> Fraction | None:
    return _where_exact(shared_cost, jobs)


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
    (:func:`~gpusched.bounds.known.excluding`). Prices rise where more is wanted than
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
    price = found_at = np.zeros(len(supply))
    best, aim, idle_rounds = 0.0, _FIRST_AIM, 0
    for _ in range(rounds):
        cost, held = _core.priced_times(*columns, price)
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
def _priced_time(jobs: BoundedJobs) -> Fraction | None:
    return _where_exact(priced_time, jobs)


@register_bound(
    "alone",
    quantity=DEADLINES_MET,
    summary="The jobs that could meet their deadlines were they alone.",
    assumptions="None. For any number of jobs; 0.2 s for 10^5.",
    source="Elementary.",
    rank=1,
)
def _alone(jobs: DeadlineJobs) -> float:
    return float(jobs.windows.value.sum())


_CELLS: Final = 300
_CELLS_OF_MANY: Final = 50
_MANY: Final = 10_000


@register_bound(
    "pooled",
    quantity=DEADLINES_MET,
    summary="Of the jobs of alone as many as fit by GPU time, all types as one.",
    assumptions="In a summary up to 100,000 of them, beyond 10,000 on a coarser grid; 0.3 s for "
    "10^4, 0.6 s for 10^5.",
    source="Ours: knapsacks over windows of time, relaxed.",
    rank=2,
)
def _pooled(jobs: DeadlineJobs) -> float:
    is_coarse = jobs.is_brief and len(jobs.windows) > _MANY
    return jobs.safe(pooled_bound(jobs.windows, _CELLS_OF_MANY if is_coarse else _CELLS))


_TYPED_CELLS: Final = 64
_TYPED_JOBS: Final = 800
_MOST: Final = 10_000


@register_bound(
    "typed",
    quantity=DEADLINES_MET,
    summary="The same type by type, a linear program of types, widths and time.",
    assumptions="SciPy is installed (extra exact); in a summary up to 10,000 jobs. 0.2 s for 200, "
    "0.8 s for 10^4. Left out where its solver takes more than 10,000 iterations; 20 are usual.",
    source="Ours: a time-indexed program, relaxed.",
    rank=3,
)
def _typed(jobs: DeadlineJobs) -> float | None:
    if find_spec("scipy") is None or (jobs.is_brief and len(jobs.windows) > _MOST):
        return None
    return jobs.safe(upper_bound(jobs.windows, most_cells=_TYPED_CELLS, most_jobs=_TYPED_JOBS))
