"""The bounds by name. A new one stands in a module of ``known/`` and ends in its registration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from gpusched.base.registry import Registry, among, told
from gpusched.base.suggest import nearest

_Compute = TypeVar("_Compute", bound=Callable[..., Any])

TOTAL_JCT: Final = "total-jct"
MAKESPAN: Final = "makespan"
DEADLINES_MET: Final = "deadlines-met"
QUANTITIES: Final = {TOTAL_JCT: "lower", MAKESPAN: "lower", DEADLINES_MET: "upper"}
"""What is bounded, and from which side."""


class UnsolvedError(Exception):
    """What a bound raises whose solver was cut off: it is then left out, and named as such.

    Solvers are cut off after so many steps, never after a time: a bound is a function of the jobs.
    """


@dataclass(frozen=True)
class Bound:
    """A value that no schedule of some jobs is better than.

    Attributes
    ----------
    quantity
        ``"total-jct"``, the sum of job completion times, or ``"makespan"``, the last completion
        less the first submit: both in microseconds, bounded from below. ``"deadlines-met"``: their
        number or value, bounded from above.
    summary
        Why no schedule is better, in a sentence.
    assumptions
        What it takes for granted, and when there is none.
    source
        Where it was published.
    compute
        ``compute(jobs)`` of :class:`~gpusched.bounds.bounded_jobs.BoundedJobs`, or of
        :class:`~gpusched.bounds.bounded_jobs.DeadlineJobs` where deadlines are bounded; a number,
        or None where it does not apply. A fraction or an integer is exact. Of those of deadlines
        all but the first may raise :class:`UnsolvedError`.
    rank
        Bounds of one quantity are computed in this order, then by name; of equals the first is
        named.
    is_thorough
        Whether it takes so long that it is computed only where it is asked for.
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
    """Register a function as the bound ``name``; the parameters are those of :class:`Bound`.

    Every result's certificate takes the best of the bounds of its quantity that are not thorough.

    Raises
    ------
    ValueError
        If the name is taken, a text is missing or the quantity unknown.
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
    """Every bound by name, or those of one quantity, in the order in which they are computed."""
    if quantity is not None and quantity not in QUANTITIES:
        raise ValueError(f"unknown quantity {quantity!r}{nearest(quantity, list(QUANTITIES))}")
    return {
        name: bound
        for name, bound in BOUNDS.all().items()
        if quantity is None or bound.quantity == quantity
    }
