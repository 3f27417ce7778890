"""How many deadlines any schedule can meet, at most: the certificate of a policy for deadlines."""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, freeze_columns
from gpusched.base.ticks import US_PER_S
from gpusched.bounds.bounded_jobs import DeadlineJobs
from gpusched.bounds.deadline_program import Windows
from gpusched.bounds.deadline_rates import rates_of
from gpusched.bounds.registry import DEADLINES_MET, UnsolvedError, known_bounds
from gpusched.plugins.policy import SpeedChoice
from gpusched.traces.deadlines import NO_DEADLINE

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

__all__ = ["DeadlineBound", "deadline_bound"]

# Of more jobs than that a summary gives the first bound alone.
_MOST_JOBS: Final = 100_000
# More than roundings to microseconds amount to, at each change of GPUs.
_ROUNDING: Final = 1e-9
_ROUNDING_S: Final = 2e-5


@dataclass(frozen=True, eq=False)
class DeadlineBound:
    """What no schedule exceeds; see :func:`deadline_bound`.

    Attributes
    ----------
    bounds
        By name: ``alone``, jobs that could meet their deadlines were they alone; ``pooled``, GPU
        time of all types as one; ``typed``, GPU time by type. In deadlines, or in their value.
    num_deadlines
        Jobs that have one.
    total
        What it is worth to meet them all: ``num_deadlines``, or the sum of values.
    is_possible
        Which jobs could meet their deadlines alone, shape ``(jobs,)``.
    unsolved
        Names of bounds that were cut off at their limit of iterations, which are left out.
    """

    bounds: dict[str, float]
    num_deadlines: int
    total: float
    is_possible: Bool = field(repr=False)
    unsolved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    @property
    def best(self) -> tuple[str, float]:
        """The name and the value of the lowest bound; the first one of equals."""
        name = min(self.bounds, key=self.bounds.__getitem__)
        return name, self.bounds[name]

    @property
    def name(self) -> str:
        """Of the lowest bound."""
        return self.best[0]

    @property
    def met(self) -> float:
        """The lowest bound: deadlines, or the value of those, that can be met."""
        return self.best[1]

    @property
    def dsr(self) -> float:
        """The lowest bound over ``total``; NaN without deadlines."""
        return self.met / self.total if self.total else float("nan")


def deadline_bound(
    trace: Trace,
    cluster: Cluster,
    *,
    speed: str | SpeedChoice = "table",
    values: bool = False,
) -> DeadlineBound:
    """Bound from above how many deadlines any schedule of ``trace`` on ``cluster`` can meet.

    It holds for every policy and placement, for jobs that change their widths and types as often
    as they like, and whatever restarts cost. The jobs without a deadline are left out.

    Parameters
    ----------
    speed
        The rates of the jobs. Where it is neither ``table`` nor one that leaves jobs their own
        width, types cannot be told apart.
    values
        Bound the value of the deadlines met instead of their number.

    Returns
    -------
    DeadlineBound
        ``dsr``, the part of the jobs with deadlines, and ``name``, by which bound.

    Raises
    ------
    ValueError
        If the speed is unknown, or the trace or the cluster lacks what it needs.

    Notes
    -----
    ``pooled`` needs no more than NumPy. ``typed`` is a linear program that tells types, widths and
    time apart, and is left out where SciPy is not installed (extra: exact). It decides for each
    job how long it runs on which number of GPUs of which type and when; what is relaxed is that a
    job is met or not, that GPUs come in whole gangs, and the order within a cell of time. Its
    solver may take 10,000 iterations, some twenty are usual; beyond, it is left out and named in
    ``unsolved``. No bound depends on how long anything takes.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 0], [10, 10], [8, 8], deadline_s=[10, 10])
    >>> gs.bounds.deadline_bound(trace, gs.Cluster.uniform(1, 8), speed="fixed").dsr
    0.5
    """
    if trace.deadline_us is None:
        return DeadlineBound({_first(): 0.0}, 0, 0.0, np.zeros(len(trace), dtype=np.bool_))
    windows, is_possible = _possible(trace, cluster, speed, values)
    jobs = DeadlineJobs(windows, values, is_brief=False)
    bounds: dict[str, float] = {}
    unsolved: list[str] = []
    for name, bound in known_bounds(DEADLINES_MET).items():
        if not bounds or len(windows):
            try:
                value = bound.compute(jobs)
            except UnsolvedError:
                unsolved.append(name)
                continue
            if value is not None:
                bounds[name] = float(value)
    has_deadline = trace.deadline_us != NO_DEADLINE
    total = float(_value(trace, values)[has_deadline].sum())
    num_deadlines = int(np.count_nonzero(has_deadline))
    return DeadlineBound(bounds, num_deadlines, total, is_possible, tuple(unsolved))


def dsr_bound(
    trace: Trace, cluster: Cluster, *, speed: str | SpeedChoice, met: int = 0
) -> tuple[float, str]:
    """Return what bounds the deadline satisfactory ratio (DSR), and the name of the bound.

    The lowest of those of :func:`deadline_bound` that so many jobs allow: beyond 10,000 that could
    meet their deadlines no ``typed``, and ``pooled`` on a coarser grid; beyond 100,000 ``alone``.
    Computed once for a trace, a cluster and a speed, and kept while the trace is.

    Parameters
    ----------
    met
        Deadlines that some schedule met. A bound that is equal to it is the lowest, whatever the
        others are: they are not computed. The answer is the same for all schedules.

    Returns
    -------
    tuple
        NaN and an empty name if no job has a deadline.
    """
    deadline_us = trace.deadline_us
    num_deadlines = 0 if deadline_us is None else np.count_nonzero(deadline_us != NO_DEADLINE)
    if num_deadlines == 0:
        return float("nan"), ""
    of_trace = _certificates.setdefault(trace, {})
    found = of_trace.get((cluster, str(speed)))
    if found is None:
        found = of_trace[cluster, str(speed)] = _Certificate(trace, cluster, speed)
    best, name = found.down_to(met)
    return float(best / num_deadlines), name


class _Certificate:
    """Bounds on the number of deadlines met, each computed when it may be the lowest."""

    def __init__(self, trace: Trace, cluster: Cluster, speed: str | SpeedChoice) -> None:
        windows, _ = _possible(trace, cluster, speed, False)
        first, *others = known_bounds(DEADLINES_MET).values()
        jobs = DeadlineJobs(windows, has_values=False, is_brief=True)
        self._found: dict[str, float] = {first.name: float(first.compute(jobs))}
        self._others = others
        self._lock = threading.Lock()
        # A trace of millions is not to be kept twice.
        self._jobs = jobs if len(windows) <= _MOST_JOBS else None

    def down_to(self, met: int) -> tuple[float, str]:
        """Return the lowest bound and its name."""
        with self._lock:
            self._compute_down_to(met)
        name = min(self._found, key=self._found.__getitem__)
        return self._found[name], name

    def _compute_down_to(self, met: int) -> None:
        jobs = self._jobs
        if jobs is None:
            return
        for bound in self._others:
            if min(self._found.values()) <= met:
                return
            if bound.name not in self._found:
                try:
                    value = bound.compute(jobs)
                except UnsolvedError:
                    value = None
                self._found[bound.name] = math.inf if value is None else float(value)
        self._jobs = None


def _first() -> str:
    return next(iter(known_bounds(DEADLINES_MET)))


_certificates: weakref.WeakKeyDictionary[Trace, dict[tuple[Cluster, str], _Certificate]] = (
    weakref.WeakKeyDictionary()
)


def _value(trace: Trace, values: bool) -> Float64:
    if values and trace.value is not None:
        return np.asarray(trace.value, dtype=np.float64)
    return np.ones(len(trace))


def _possible(
    trace: Trace, cluster: Cluster, speed: str | SpeedChoice, values: bool
) -> tuple[Windows, Bool]:
    """Return the jobs that could meet their deadlines alone, and which they are."""
    rates = rates_of(trace, cluster, SpeedChoice.parse(speed) if isinstance(speed, str) else speed)
    deadline_us = np.asarray(trace.deadline_us)
    work_s = np.maximum(trace.service_us / US_PER_S * (1 - _ROUNDING) - _ROUNDING_S, 0.5 / US_PER_S)
    length_s = (deadline_us - trace.submit_us) / US_PER_S
    greatest = np.where(rates.kind >= 0, rates.rate.max(axis=1)[rates.kind], 0.0)
    is_possible: Bool = (
        (deadline_us != NO_DEADLINE) & (length_s > 0) & (work_s <= length_s * greatest)
    )
    origin_us = int(trace.submit_us[0])
    windows = Windows(
        (trace.submit_us - origin_us) / US_PER_S,
        (deadline_us - origin_us) / US_PER_S,
        work_s,
        _value(trace, values),
        rates.kind,
        rates,
    )
    return windows.part(is_possible), is_possible
