"""How many deadlines any schedule can meet, at most: the certificate of a policy for deadlines."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.arrays import Bool
from gpusched.deadline_program import Windows, pooled_bound, upper_bound
from gpusched.deadline_rates import rates_of
from gpusched.deadlines import NO_DEADLINE
from gpusched.policy import SpeedChoice
from gpusched.ticks import US_PER_S

if TYPE_CHECKING:
    from gpusched.cluster import Cluster
    from gpusched.workload import Trace

__all__ = ["DeadlineBound", "deadline_bound"]

POOLED: Final = "pooled"
TYPED: Final = "typed"
ALONE: Final = "alone"
_POOLED_CELLS: Final = 300
_TYPED_CELLS: Final = 64
_TYPED_JOBS: Final = 800
# More than roundings to microseconds amount to, at each change of GPUs.
_ROUNDING: Final = 1e-9
_ROUNDING_S: Final = 2e-5


@dataclass(frozen=True)
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
    """

    bounds: dict[str, float]
    num_deadlines: int
    total: float
    is_possible: Bool = field(repr=False)

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

    Raises
    ------
    ValueError
        If the speed is unknown, or the trace or the cluster lacks what it needs.

    Notes
    -----
    ``pooled`` needs no more than NumPy. ``typed`` is a linear program that tells types, widths and
    time apart, and is left out where SciPy is not installed (extra: exact). It decides for each
    job how long it runs on which number of GPUs of which type and when; what is relaxed is that a
    job is met or not, that GPUs come in whole gangs, and the order within a cell of time.
    """
    speed = SpeedChoice.parse(speed) if isinstance(speed, str) else speed
    num_jobs = len(trace)
    if trace.deadline_us is None:
        return DeadlineBound({ALONE: 0.0}, 0, 0.0, np.zeros(num_jobs, dtype=np.bool_))
    has_deadline = trace.deadline_us != NO_DEADLINE
    weighs = values and trace.value is not None
    value = np.asarray(trace.value, dtype=np.float64) if weighs else np.ones(num_jobs)
    rates = rates_of(trace, cluster, speed)
    work_s = np.maximum(trace.service_us / US_PER_S * (1 - _ROUNDING) - _ROUNDING_S, 0.5 / US_PER_S)
    length_s = (trace.deadline_us - trace.submit_us) / US_PER_S
    greatest = np.where(rates.kind >= 0, rates.rate.max(axis=1)[rates.kind], 0.0)
    is_possible = has_deadline & (length_s > 0) & (work_s <= length_s * greatest)
    origin_us = int(trace.submit_us[0])
    windows = Windows(
        (trace.submit_us - origin_us) / US_PER_S,
        (trace.deadline_us - origin_us) / US_PER_S,
        work_s,
        value,
        rates.kind,
        rates,
    ).part(is_possible)
    bounds = {ALONE: float(windows.value.sum())}
    if len(windows):
        bounds[POOLED] = _safe(pooled_bound(windows, _POOLED_CELLS), values)
        if find_spec("scipy") is not None:
            bounds[TYPED] = _safe(
                upper_bound(windows, most_cells=_TYPED_CELLS, most_jobs=_TYPED_JOBS), values
            )
    total = float(value[has_deadline].sum())
    return DeadlineBound(bounds, int(np.count_nonzero(has_deadline)), total, is_possible)


def _safe(bound: float, values: bool) -> float:
    """Deadlines are whole; and no rounding may make a bound too low."""
    raised = bound * (1 + 1e-9) + 1e-9
    return raised if values else float(np.floor(raised))
