"""The registry of bounds, and their jobs. Add new ones to ``known.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.base.registry import Registry, among, told
from gpusched.base.suggest import nearest


class Jobs(Protocol):
    """The inputs of a bound, sorted by submit, as in a :class:`~gpusched.Trace`."""

    @property
    def submit_us(self) -> Int64: ...
    @property
    def service_us(self) -> Int64: ...
    @property
    def gpus(self) -> Int32: ...


class JobColumns(NamedTuple):
    """The columns of some jobs of a trace, in its order."""

    submit_us: Int64
    service_us: Int64
    gpus: Int32


@dataclass(frozen=True)
class BoundedJobs:
    """Some jobs on ``num_gpus`` GPUs (thousandths of GPUs if jobs hold shares).

    ``pieces``: the jobs as divisible GPU time: each takes at least ``gpus * service_us``.
    ``shortest``: the jobs as rigid: each runs for at least ``service_us`` on at least ``gpus``.
    ``is_elastic``: whether some job may change its number of GPUs. If not, both are the original
        jobs.
    """

    pieces: JobColumns
    shortest: JobColumns
    num_gpus: int
    is_elastic: bool = False

    @classmethod
    def gangs(cls, jobs: Jobs, num_gpus: int) -> BoundedJobs:
        """Return jobs with fixed numbers of GPUs."""
        columns = JobColumns(jobs.submit_us, jobs.service_us, jobs.gpus)
        return cls(columns, columns, num_gpus)

    @classmethod
    def elastic(
        cls, columns: JobColumns, num_gpus: int, least: Mapping[str, Float64]
    ) -> BoundedJobs:
        """Return jobs with variable numbers of GPUs; ``least`` as ``costs`` of the bounds."""
        below = 1.0 - 2.0**-40  # exceeds the rounding of the shares
        time_us = np.floor(columns.service_us * (least["time"] * below)).astype(np.int64)
        area = columns.service_us * columns.gpus.astype(np.float64) * (least["gpu_time"] * below)
        work = np.maximum(1, np.floor(area)).astype(np.int64)
        pieces = JobColumns(columns.submit_us, work, np.ones(len(area), dtype=np.int32))
        narrowest = least["narrowest"].astype(np.int32)
        shortest = JobColumns(columns.submit_us, np.maximum(1, time_us), narrowest)
        return cls(pieces, shortest, num_gpus, is_elastic=True)


_Compute = TypeVar("_Compute", bound=Callable[..., Any])

TOTAL_JCT: Final = "total-jct"
MAKESPAN: Final = "makespan"
DEADLINES_MET: Final = "deadlines-met"
QUANTITIES: Final = {TOTAL_JCT: "lower", MAKESPAN: "lower", DEADLINES_MET: "upper"}
"""The bounded quantities, and the side of the bound."""


class UnsolvedError(Exception):
    """Raised by a bound whose solver reached its limit; the bound is omitted and named.

    The limit is a number of steps, not a time, so that bounds depend on the jobs only.
    """


@dataclass(frozen=True)
class Bound:
    """A value that no schedule of some jobs can beat.

    Attributes
    ----------
    quantity
        ``"total-jct"``, the sum of job completion times, or ``"makespan"``, the last completion
        minus the first submit: both in microseconds, bounded from below. ``"deadlines-met"``:
        their number or value, bounded from above.
    summary
        Why no schedule is better, in one sentence.
    assumptions
        Its assumptions, and when it does not apply.
    source
        Publication.
    compute
        ``compute(jobs)`` of :class:`~gpusched.bounds.registry.BoundedJobs`, or of
        :class:`~gpusched.bounds.registry.DeadlineJobs` for deadlines; a number, or None if it does
        not apply. Fractions and integers are exact. Deadline bounds except the first may raise
        :class:`UnsolvedError`.
    rank
        Order in which bounds of one quantity are computed, then by name; the first of equals is
        reported.
    is_thorough
        Whether it is slow and computed only on request.
    """

    name: str
    quantity: str
    summary: str
    assumptions: str
    source: str
    compute: Callable[..., Any]
    rank: int = 100
    is_thorough: bool = False

    @property
    def side(self) -> str:
        """``"lower"`` or ``"upper"``."""
        return QUANTITIES[self.quantity]


BOUNDS: Final[Registry[Bound]] = Registry(
    "bound", "gpusched.bounds.known", order=lambda bound: (bound.quantity, bound.rank)
)


def register_bound(
    name: str,
    *,
    quantity: str,
    summary: str,
    assumptions: str,
    source: str,
    rank: int = 100,
    is_thorough: bool = False,
) -> Callable[[_Compute], _Compute]:
    """Register a function as the bound ``name``; parameters as in :class:`Bound`.

    A result's certificate takes the best of the bounds of its quantity that are not thorough.
    """
    told("bound", name, summary=summary, assumptions=assumptions, source=source)
    among("bound", name, "quantity", quantity, QUANTITIES)
    BOUNDS.check_name(name)

    def register(compute: _Compute) -> _Compute:
        bound = Bound(name, quantity, summary, assumptions, source, compute, rank, is_thorough)
        BOUNDS.add(name, bound)
        return compute

    return register


def known_bounds(quantity: str | None = None) -> dict[str, Bound]:
    """Return every bound by name, or those of one quantity, in the order of computation."""
    if quantity is not None and quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}{nearest(quantity, list(QUANTITIES))}")
    return {
        name: bound
        for name, bound in BOUNDS.all().items()
        if quantity is None or bound.quantity == quantity
    }
