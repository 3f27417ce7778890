"""Each job's completion time divided among certificates that none could give alone."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.bounds.bounded_jobs import BoundedJobs, JobColumns
from gpusched.bounds.known.mean_busy_time import busy_times
from gpusched.bounds.registry import TOTAL_JCT, register_bound

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
def _of(jobs: BoundedJobs) -> Fraction | None:
    if jobs.is_elastic:
        return None
    try:
        return shared_cost(jobs.pieces, jobs.num_gpus)
    except OverflowError:  # beyond 128 bits; the other bounds are exact there
        return None
