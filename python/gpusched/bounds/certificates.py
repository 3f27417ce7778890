"""Lower bounds on what any schedule of a trace can reach: the certificate of a result.

Every bound is exact: it is computed in integers, in *ticks* of ``1 / num_gpus`` microseconds, of
which a job on the squashed machine takes exactly ``gpus * service_us``. A schedule that attains a
bound equals it; none falls below by a rounding error. All of them hold whatever the placement,
contention and restart costs, because these only make a schedule worse.

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
    """Bounds on the sum of all completion times less submits, by name."""
    makespans_us: dict[str, Fraction]
    """Bounds on the last completion less the first submit, by name."""

    @cached_property
    def best(self) -> tuple[str, Fraction]:
        """The name and the value of the largest bound on the sum; the first one of equals."""
        name = max(self.total_jct_us, key=self.total_jct_us.__getitem__)
        return name, self.total_jct_us[name]

    @cached_property
    def completion_us(self) -> Fraction:
        """The larger one of the bounds on the sum that are of completion times as well."""
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
    """Bound the sum of job completion times (JCT) and the makespan on ``cluster`` from below.

    Parameters
    ----------
    trace
        Jobs whose services are the least run times that they can have on the cluster. Where types
        differ in speed, those of a result are.
    jobs
        The jobs that count, shape ``(len(trace),)``; by default all. A result passes the
        finished ones. (That others are left out can only lower a bound.)
    costs
        Where jobs may change their widths: what that can save of the run time (``time``) and of
        the GPU time (``gpu_time``) of each job, float64[num_jobs] up to 1, and the widths between
        which it can run (``narrowest``, ``widest``); see
        :func:`gpusched.specs.case.least_costs`.
    thorough
        Compute those bounds as well that are strong and take long: about a second for some
        thousand jobs, several for 10^5.

    Returns
    -------
    LowerBounds
        Each known bound by name, and the greatest of the sum of JCT and of the makespan.

    Raises
    ------
    ValueError
        If ``jobs`` is no mask of the jobs.

    Notes
    -----
    Jobs that hold a share of a GPU count as gangs of thousandths, on as many times more GPUs.
    Where some job may change its width, all are cut into GPU time: those bounds are the weaker
    two, even if no other width saves anything.

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
    """Do as :func:`lower_bounds`, once for all who ask of all jobs: it must not be changed."""
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
        # A width that saves nothing fills gaps all the same.
        if ((least["narrowest"] < columns.gpus) | (least["widest"] > columns.gpus)).any():
            return _all_of(BoundedJobs.elastic(columns, num_gpus, least), thorough=thorough)
    if trace.share_milli is not None:
        columns = columns._replace(gpus=columns.gpus * trace.share_milli[chosen])
        num_gpus *= WHOLE_GPU
    return _all_of(BoundedJobs.gangs(columns, num_gpus), thorough=thorough)


def makespan_bound(jobs: Jobs, num_gpus: int) -> Fraction:
    """Bound the last completion less the first submit of gangs, in microseconds."""
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
