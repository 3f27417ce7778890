"""The built-in bounds; a result's certificate takes the best of them."""

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
    summary="No job finishes before its run time has passed: the sum of p.",
    assumptions="None.",
    source="Elementary.",
    rank=3,
)
def _trivial(jobs: BoundedJobs) -> Fraction:
    return Fraction(int(np.sum(jobs.shortest.service_us, dtype=np.int64)))


@register_bound(
    "longest-job",
    quantity=MAKESPAN,
    summary="No job finishes before its submission plus its run time: r + p of each job.",
    assumptions="None.",
    source="Elementary.",
    rank=1,
)
def _longest_job(jobs: BoundedJobs) -> Fraction:
    return Fraction(_core.longest_job(jobs.shortest.submit_us, jobs.shortest.service_us))


@register_bound(
    "total-work",
    quantity=MAKESPAN,
    summary="From any r on, all GPU time submitted then or later, on all M GPUs.",
    assumptions="None.",
    source="Elementary.",
    rank=2,
)
def _total_work(jobs: BoundedJobs) -> Fraction:
    # Rounded up to a microsecond, a short multi-GPU job may be more work than its pieces.
    work = max(_core.total_work(*part, jobs.num_gpus) for part in (jobs.pieces, jobs.shortest))
    return Fraction(work, jobs.num_gpus)


@register_bound(
    "wide-gangs",
    quantity=MAKESPAN,
    summary="From any r on, all later jobs of more than M / 2 GPUs run one after the other.",
    assumptions="A job's GPUs are held together (gang scheduling).",
    source="Elementary.",
    rank=3,
)
def _wide_gangs(jobs: BoundedJobs) -> Fraction:
    return Fraction(_core.wide_gangs(*jobs.shortest, jobs.num_gpus))


@register_bound(
    "squashed-srpt",
    quantity=TOTAL_JCT,
    summary="Shortest remaining time first on one machine that divides jobs freely.",
    assumptions="None. Strong under high load.",
    source="Schrage, Operations Research 1968.",
    rank=1,
)
def _squashed_srpt(jobs: BoundedJobs) -> Fraction:
    """Run job j for gpus x service / num_gpus on one machine, where shortest first is optimal."""
    return Fraction(_core.squashed_srpt(*jobs.pieces, jobs.num_gpus), jobs.num_gpus)


def mean_busy_time(jobs: Jobs, num_gpus: int, *, weight: Float64 | None = None) -> Fraction:
    """Bound the sum of JCT, in microseconds, by the mean busy times of the squashed machine.

    Static preemptive priority, lowest ``gpus * service / weight`` first, minimises the weighted sum
    of mean busy times ``M`` on the machine; in every schedule a job completes no earlier than
    ``M + service / 2`` (Goemans, "Improved approximation algorithms for scheduling with release
    dates", 1997). Each job's ``M`` is rounded down to half a tick. O(n log n).

    ``weight``: positive weights, shape ``(n,)``, to bound the weighted sum of JCT; then computed in
        double precision and lowered by more than the rounding errors.
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

    On the machine of :func:`mean_busy_time` with these positive weights; errors are the same.
    """
    columns = (jobs.submit_us, jobs.service_us, jobs.gpus, num_gpus, weight)
    return _core.busy_times(*columns)


def _where_exact(
    bound: Callable[[JobColumns, int], Fraction], jobs: BoundedJobs
) -> Fraction | None:
    """Return a bound on rigid jobs; None beyond the core's range of 127 bits or 285 years.

    The other bounds are exact there.
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
    summary="A job finishes at least p / 2 after its mean busy time; smallest g p first on a "
    "machine that divides jobs freely minimises their sum.",
    assumptions="Fixed job sizes. Usually the tightest at low and medium load.",
    source="Goemans, SODA 1997.",
    rank=2,
)
def _mean_busy_time(jobs: BoundedJobs) -> Fraction | None:
    return _where_exact(mean_busy_time, jobs)


_LEAST: Final = 1e-3  # lowest share, as weights must be positive
_STEP: Final = 4.0
_NEAR: Final = 2.0


def shared_cost(jobs: JobColumns, num_gpus: int, *, rounds: int = 16) -> Fraction:
    """Bound the sum of JCT, in microseconds, by combining several certificates.

    In any schedule of rigid jobs a JCT is at least p, and at least the mean busy time minus the
    submit plus p / 2. On a machine that no schedule overloads, static priority minimises the sum of
    mean busy times for any positive weights (:func:`mean_busy_time`). So for any division of each
    job's time among certificates, the sum of their minima is a bound. The machines are the
    squashed one, and one on which jobs that exclude each other use all GPUs (:func:`excluding`).
    Shares begin equal and grow for the tighter certificate of a job (mirror ascent: the bound is
    concave in them); the largest bound of all rounds counts.

    Computed in double precision, and lowered by more than the rounding can amount to.

    ``rounds``: number of changes of the shares.
    """
    num = len(jobs.submit_us)
    if num == 0:
        return Fraction(0)
    service = jobs.service_us * (2.0 * num_gpus)  # half ticks
    machines = [(jobs, np.arange(num))]
    narrower = excluding(jobs, num_gpus)
    if narrower is not None:
        machines.append(narrower)
    judges = np.zeros((len(machines) + 1, num), np.bool_)  # which certificate covers which job
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
    """Shift each job's shares to its tighter certificates; each keeps a minimum."""
    behind = np.maximum(said - np.where(judges, said, 0.0).max(axis=0), -_NEAR)
    grown = np.where(judges, parts * np.exp(step * behind), 0.0)
    grown *= (1.0 - _LEAST * judges.sum(axis=0)) / grown.sum(axis=0)
    return grown + _LEAST * judges


def excluding(jobs: JobColumns, num_gpus: int) -> tuple[JobColumns, Int64] | None:
    """Return the jobs of a machine on which large jobs take all GPUs, and their indices.

    For a limit of l GPUs, up to half of all: jobs below l are omitted, and jobs that leave fewer
    than l GPUs take all, since no other remaining job fits next to them. No schedule overloads
    this machine (a dual feasible function; Martello and Toth 1990, Fekete and Schepers 2001). Uses
    the limit with the most work; None if no large job leaves GPUs unused.
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
    summary="Divides each JCT among run time, mean busy time on a machine that divides jobs "
    "freely, and mean busy time on one where large jobs exclude each other; sums the minima.",
    assumptions="Fixed job sizes. Only on request: 2 ms for 1,500 jobs.",
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
_EXACT_US: Final = 2**53  # a double is exact up to here


def priced_time(
    jobs: JobColumns, num_gpus: int, *, steps: int = _STEPS, rounds: int = _ROUNDS
) -> Fraction:
    """Bound the sum of JCT, in microseconds, by prices of GPUs over time.

    Each job alone minimises its JCT plus its cost (it may be preempted, and knows all prices). In a
    schedule, the costs sum to at most the price of all GPUs, so the sum over the jobs minus this
    price is a bound for any prices: the Lagrangian of the time-indexed program. Jobs that exclude
    each other also pay on a second machine (:func:`~gpusched.bounds.known.excluding`). Prices rise
    where demand exceeds supply and fall elsewhere, by Polyak's step length towards a target that
    moves closer when there is no progress.

    Computed in double precision, and lowered by more than the rounding can amount to.

    ``steps``: most time steps of the prices; half are equally long, half have equally many submits.
    ``rounds``: most changes of the prices. A round examines the steps in which each job could run.
    """
    num = len(jobs.submit_us)
    if num == 0:
        return Fraction(0)
    jobs = jobs._replace(submit_us=jobs.submit_us - jobs.submit_us[0])
    edge_us = _edges(jobs, num_gpus, steps)
    if int(edge_us[-1]) > _EXACT_US:
        raise OverflowError("the jobs take more microseconds than a double can count")
    # Exceeds one rounding of the costs for each job and each step.
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
    """Return the times at which prices may change, until all jobs could be done."""
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
    summary="Each job alone chooses its cheapest times at prices of GPUs over time; the sum of JCT "
    "and costs, minus the price of all GPUs, at prices that maximise it.",
    assumptions="Fixed job sizes. The tightest; only on request: about a second for some thousand "
    "jobs.",
    source="Time-indexed programs: Dyer and Wolsey 1990; subgradients: Held, Wolfe, Crowder 1974.",
    rank=5,
    is_thorough=True,
)
def _priced_time(jobs: BoundedJobs) -> Fraction | None:
    return _where_exact(priced_time, jobs)


@register_bound(
    "alone",
    quantity=DEADLINES_MET,
    summary="The jobs that could meet their deadlines alone.",
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
    summary="As many jobs of alone as fit by GPU time, all types as one.",
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
    summary="The same by type: a linear program over types, numbers of GPUs and time.",
    assumptions="SciPy is installed (extra exact); in a summary up to 10,000 jobs. 0.2 s for 200, "
    "0.8 s for 10^4. Omitted if its solver takes more than 10,000 iterations; 20 are usual.",
    source="Ours: a time-indexed program, relaxed.",
    rank=3,
)
def _typed(jobs: DeadlineJobs) -> float | None:
    if find_spec("scipy") is None or (jobs.is_brief and len(jobs.windows) > _MOST):
        return None
    return jobs.safe(upper_bound(jobs.windows, most_cells=_TYPED_CELLS, most_jobs=_TYPED_JOBS))
