"""Lower bounds on any schedule of a trace: the certificate of a result.

Bounds are exact: computed in integers, in *ticks* of ``1 / num_gpus`` microseconds, of which a job
on the squashed machine takes exactly ``gpus * service_us``. An optimal schedule may equal a bound,
but never falls below by a rounding error. Bounds hold for any placement, contention and restart
costs, because these only make a schedule worse.

The bounds are in :mod:`gpusched.bounds.known`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpusched.base.arrays import Bool, Float64
from gpusched.base.memo import Memo
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds.registry import (
    BOUNDS,
    MAKESPAN,
    TOTAL_JCT,
    BoundedJobs,
    JobColumns,
    Jobs,
    known_bounds,
)

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds on one set of jobs, in exact microseconds."""

    total_jct_us: dict[str, Fraction]
    """Bounds on the sum of JCT (completion minus submit), by name."""
    makespans_us: dict[str, Fraction]
    """Bounds on the makespan (last completion minus first submit), by name."""

    @cached_property
    def best(self) -> tuple[str, Fraction]:
        """Name and value of the largest bound on the sum; the first of equals."""
        name = max(self.total_jct_us, key=self.total_jct_us.__getitem__)
        return name, self.total_jct_us[name]

    @cached_property
    def completion_us(self) -> Fraction:
        """The larger of the bounds on the sum that also bound completion times."""
        return max(self.total_jct_us[name] for name in ("squashed-srpt", "trivial"))

    @cached_property
    def makespan_us(self) -> Fraction:
        """The largest bound on the makespan."""
        return max(self.makespans_us.values())


def lower_bounds(
    trace: Trace,
    cluster: Cluster,
    *,
    jobs: Bool | None = None,
    costs: Mapping[str, Float64] | None = None,
    thorough: bool = False,
) -> LowerBounds:
    """Compute lower bounds on the sum of JCT and on the makespan on ``cluster``.

    Parameters
    ----------
    trace
        Jobs whose services are their shortest possible run times on the cluster. For results with
        type speeds, they are.
    jobs
        Mask of the counted jobs, shape ``(len(trace),)``; default: all. A result passes its
        finished ones. (Omitting jobs can only lower a bound.)
    costs
        For jobs that may change their number of GPUs: lower limits of the run time (``time``) and
        the GPU time (``gpu_time``) relative to their own, float64[num_jobs] up to 1, and of the
        number of GPUs (``narrowest``, ``widest``); see :func:`gpusched.specs.case.least_costs`.
    thorough
        Also compute the strong, slow bounds: about a second for some thousand jobs, several for
        10^5.

    Returns
    -------
    LowerBounds
        Every bound by name, and the largest ones on the sum of JCT and on the makespan.

    Raises
    ------
    ValueError
        If ``jobs`` is not a mask of the jobs.

    Notes
    -----
    Jobs with a share of a GPU count in thousandths of GPUs. If some job may change its number of
    GPUs, only the two weaker bounds, which divide GPU time freely, apply, even if no other number
    saves anything.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> result = gs.simulate(trace, cluster)
    >>> bound = gs.bounds.lower_bounds(trace, cluster)
    >>> bool(bound.makespan_us <= 1e6 * result.metric("makespan_s"))
    True
    """
    found = certificate(trace, cluster, jobs=jobs, costs=costs, thorough=thorough)
    return LowerBounds(dict(found.total_jct_us), dict(found.makespans_us))


def certificate(
    trace: Trace,
    cluster: Cluster,
    *,
    jobs: Bool | None = None,
    costs: Mapping[str, Float64] | None = None,
    thorough: bool = False,
) -> LowerBounds:
    """Return :func:`lower_bounds`, cached if all jobs count; the result must not be changed."""
    if jobs is not None and not jobs.all():
        return _computed(trace, cluster, jobs, costs, thorough=thorough)

    def computed() -> LowerBounds:
        return _computed(trace, cluster, slice(None), costs, thorough=thorough)

    if costs is not None:
        return computed()
    return _of_all_jobs.of(trace, (cluster.num_gpus, BOUNDS.version, thorough), computed)


_of_all_jobs: Memo[Trace, LowerBounds] = Memo(4)


def _computed(
    trace: Trace,
    cluster: Cluster,
    chosen: Any,
    costs: Mapping[str, Float64] | None,
    *,
    thorough: bool,
) -> LowerBounds:
    columns = JobColumns(trace.submit_us[chosen], trace.service_us[chosen], trace.gpus[chosen])
    num_gpus = cluster.num_gpus
    if costs is not None:
        least = {name: part[chosen] for name, part in costs.items()}
        # Another number of GPUs can fill gaps even if it saves nothing.
        if ((least["narrowest"] < columns.gpus) | (least["widest"] > columns.gpus)).any():
            return _all_of(BoundedJobs.elastic(columns, num_gpus, least), thorough=thorough)
    if trace.share_milli is not None:
        columns = columns._replace(gpus=columns.gpus * trace.share_milli[chosen])
        num_gpus *= WHOLE_GPU
    return _all_of(BoundedJobs.gangs(columns, num_gpus), thorough=thorough)


def makespan_bound(jobs: Jobs, num_gpus: int) -> Fraction:
    """Return a lower bound on the makespan of rigid jobs, in microseconds."""
    return max(_of_quantity(MAKESPAN, BoundedJobs.gangs(jobs, num_gpus)).values())


def _all_of(jobs: BoundedJobs, *, thorough: bool) -> LowerBounds:
    return LowerBounds(
        _of_quantity(TOTAL_JCT, jobs, thorough=thorough),
        _of_quantity(MAKESPAN, jobs, thorough=thorough),
    )


def _of_quantity(
    quantity: str, jobs: BoundedJobs, *, thorough: bool = False
) -> dict[str, Fraction]:
    values = {
        name: bound.compute(jobs)
        for name, bound in known_bounds(quantity).items()
        if thorough or not bound.is_thorough
    }
    return {name: Fraction(value) for name, value in values.items() if value is not None}
