"""Admit jobs that can meet their deadlines, and plan their GPUs: :func:`plan_deadlines`."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Bool, Float64, FrozenColumns
from gpusched.base.progress import OnProgress
from gpusched.base.supervision import supervised

# Later times are not exact when converted to slots and microseconds.
_MAX_SECONDS = 2.0**42
# Limits that keep prices and sums of values finite, and work longer than an instant.
_VALUES = (1e-100, 1e100)
_WORK_SECONDS = (1e-9, 1e30)
# Relative to a job's highest rate; slower configurations are useless in any window.
_LEAST_RATE = 1e-100
_MAX_GPUS = 1_000_000


@dataclass(frozen=True)
class DeadlineJob:
    """A job with a deadline.

    Attributes
    ----------
    arrival_s, deadline_s
        In seconds. A deadline before the arrival cannot be met.
    work
        Amount of work in any unit: iterations, samples.
    rates
        Work per second by (GPU type, number of GPUs). 0 or missing: the job cannot run so. Rates
        need not be concave in the number of GPUs.
    value
        Value of meeting the deadline.
    change_s
        Seconds without progress whenever the configuration changes, or the job resumes.
    """

    arrival_s: float
    deadline_s: float
    work: float
    rates: Mapping[tuple[str, int], float]
    value: float = 1.0
    change_s: float = 0.0


class DeadlineTable:
    """The jobs as columns, sorted by arrival; work in microseconds at the job's highest rate."""

    def __init__(
        self, jobs: Sequence[DeadlineJob], rows: list[int], types: list[str], available: np.ndarray
    ) -> None:
        self.jobs = jobs
        self.rows = rows
        self.types = types
        self.configurations: list[tuple[int, int, float]] = []
        first, work = [0], []
        for row in rows:
            own = _configurations(row, jobs[row], types, available)
            most = max((rate for _, _, rate in own), default=1.0)
            self.configurations += [
                (type_, width, rate / most)
                for type_, width, rate in own
                if rate / most >= _LEAST_RATE
            ]
            work.append(_seconds(row, jobs[row], most) * 1e6)
            first.append(len(self.configurations))
        self.columns = (
            self._micros("arrival_s"),
            self._micros("deadline_s"),
            np.array(work, np.float64),
            self._numbers("value", *_VALUES),
            self._micros("change_s"),
            np.array(first, np.int64),
            np.array([c[0] for c in self.configurations], np.int32),
            np.array([c[1] for c in self.configurations], np.int32),
            np.array([c[2] for c in self.configurations], np.float64),
        )

    def _numbers(self, name: str, least: float, most: float = 1e300) -> Float64:
        values = [
            number(f"jobs[{row}].{name}", getattr(self.jobs[row], name), least, most)
            for row in self.rows
        ]
        return np.array(values, np.float64)

    def _micros(self, name: str) -> np.ndarray:
        return np.rint(self._numbers(name, 0.0, _MAX_SECONDS) * 1e6).astype(np.int64)


def _seconds(row: int, job: DeadlineJob, rate: float) -> float:
    """Return the seconds of the job's work at this rate."""
    where = f"jobs[{row}].work"
    work = number(where, job.work, 0.0)
    least, most = _WORK_SECONDS
    if work == 0:
        raise ValueError(f"{where}: must be positive; a job without work meets any deadline")
    if not least <= work / rate <= most:
        raise ValueError(
            f"{where}: {work:g} takes {work / rate:.3g} s at the highest rate, {rate:g}; it must "
            f"take {least:g} to {most:g} s"
        )
    return work / rate


def _configurations(
    row: int, job: DeadlineJob, types: list[str], available: np.ndarray
) -> list[tuple[int, int, float]]:
    """Return the usable configurations, sorted by type and number of GPUs."""
    found = []
    for (name, width), rate in job.rates.items():
        where = f"jobs[{row}].rates[{name!r}, {width}]"
        if name not in types:
            raise ValueError(f"{where}: unknown GPU type {name!r}; known: {', '.join(types)}")
        whole(f"{where}: the number of GPUs", width, 1)
        if number(where, rate, 0.0) > 0 and width <= available[types.index(name)]:
            found.append((types.index(name), int(width), float(rate)))
    return sorted(found)


def number(name: str, value: float, least: float, most: float = 1e300) -> float:
    """Return a number; raise TypeError or ValueError if it is not one or out of range."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: expected a number, not {value!r}")
    if not (math.isfinite(value) and least <= value <= most):
        raise ValueError(f"{name}: {value} must lie between {least:g} and {most:g}")
    return float(value)


def whole(name: str, value: int, least: int, most: int = _MAX_GPUS) -> int:
    """Return an integer; raise TypeError or ValueError if it is not one or out of range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: expected an integer, not {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name}: {value} must lie between {least} and {most}")
    return int(value)


@dataclass(frozen=True)
class DeadlineStep:
    """GPUs of a plan from the start of a slot to the end of a slot, in seconds."""

    from_s: float
    until_s: float
    gpu_type: str
    gpus: int


@dataclass(frozen=True, eq=False)
class DeadlinePlan(FrozenColumns):
    """The decision on each job: the return value of :func:`gpusched.plan_deadlines`.

    Attributes
    ----------
    admitted
        Shape ``(jobs,)``, as the arrays below.
    cost
        Cost of the cheapest schedule at the prices at its arrival; infinite if there was none.
    reason
        ``"admitted"``, ``"too dear"`` (the cost is at least the value), ``"no room"`` (too many
        GPUs are promised), ``"impossible"`` (not even on all GPUs), ``"too long"`` (its window has
        more than 2^22 slots, and no schedule was found in the first 2^22), ``"cannot run"``
        (it has no configuration).
    value
        Total value of the admitted jobs.
    upper_bound
        Upper bound on the value of any schedule in whole slots, for windows of any length; at least
        ``value``. Slots cut by a window count partly, or with ``whole_slots`` (the default at
        theory prices) not at all. Shifting all times by whole slots does not change it.
    dual_objective, initial_objective, ratio, exponent
        The certificate: at theory prices with known bounds, ``dual_objective`` is at most
        ``initial_objective + ratio * value``. ``ratio`` is alpha', derived for ``exponent`` (the
        largest x of a type); a competitive ratio of ``2 * ratio`` is claimed if that is at most 1.
    """

    jobs: tuple[DeadlineJob, ...] = field(repr=False)
    admitted: Bool = field(repr=False)
    cost: Float64 = field(repr=False)
    reason: tuple[str, ...] = field(repr=False)
    value: float
    upper_bound: float
    dual_objective: float
    initial_objective: float
    ratio: float
    exponent: float
    _steps: tuple[tuple[DeadlineStep, ...], ...] = field(repr=False)
    _scarce: tuple[DeadlineStep | None, ...] = field(repr=False)

    def steps(self, job: int) -> tuple[DeadlineStep, ...]:
        """Return the GPUs promised to a job, in order of time; empty if it was not admitted.

        Returns
        -------
        tuple of DeadlineStep
            Each with GPUs of one type for some time.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> job = gs.online.DeadlineJob(
        ...     arrival_s=0, deadline_s=3600, work=3000, rates={("V100", 1): 1.0}
        ... )
        >>> gs.online.plan_deadlines([job], {"V100": 8}).steps(0)[0].gpus
        1
        """
        return self._steps[job]

    def explain(self, job: int) -> str:
        """Explain in one sentence why a job was admitted or turned down.

        Returns
        -------
        str
            Begins with ``admitted`` or ``turned down``.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> job = gs.online.DeadlineJob(
        ...     arrival_s=0, deadline_s=3600, work=30_000, rates={("V100", 1): 1.0}
        ... )
        >>> gs.online.plan_deadlines([job], {"V100": 8}).explain(0)
        'turned down: all GPUs together could not meet the deadline'
        """
        value = self.jobs[job].value
        if self.admitted[job]:
            return f"admitted: the cheapest schedule costs {self.cost[job]:.3g}, value {value:g}"
        text = {
            "too dear": f"the cheapest schedule costs {self.cost[job]:.3g}, value {value:g}",
            "no room": "no schedule meets the deadline on the GPUs not yet promised",
            "impossible": "all GPUs together could not meet the deadline",
            "too long": "no schedule was found in the first 2^22 slots of its window",
            "cannot run": "it has no configuration that can run",
        }[self.reason[job]]
        scarce = self._scarce[job]
        if scarce is None or self.reason[job] not in ("too dear", "no room"):
            return f"turned down: {text}"
        return (
            f"turned down: {text}; at most {scarce.gpus} GPUs of {scarce.gpu_type} are free from "
            f"{scarce.from_s:g} to {scarce.until_s:g} s"
        )


_MOST_QUANTA = 100_000
_MOST_CELLS = 10_000_000  # quanta x segments
_PRICES = ("market", "density", "theory", "constant")


def plan_deadlines(
    jobs: Sequence[DeadlineJob],
    gpus: Mapping[str, int],
    *,
    slot_s: float = 300.0,
    prices: str = "density",
    quanta: int = 640,
    segments: int = 32,
    whole_slots: bool | None = None,
    known_bounds: bool | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> DeadlinePlan:
    """Promise GPUs to jobs as they arrive, such that all admitted jobs meet their deadlines.

    Dynamic programming finds the job's cheapest schedule over configurations (a GPU type and a
    number of GPUs) and slots at the current prices; the job is admitted if this costs less than
    its value. The price of a GPU in a slot grows with the GPUs promised. Nothing is run, and plans
    do not change later: the policy ``dancer`` does both. A primal-dual form after the abstract of
    Zhang, Luo, Sun, Yu, Li, IEEE TCC 13(2), 2025; the mathematics is derived here.

    Parameters
    ----------
    jobs
        In any order; jobs of one arrival are decided by value per GPU time.
    gpus
        Number of GPUs by type.
    slot_s
        Seconds between changes of configuration.
    prices
        ``"density"``: between bounds on the value per GPU slot of the jobs so far; ``"market"``:
        the same, but at least the price at which recent jobs would just have been served (for
        ``dancer``, where jobs without promises run too); ``"theory"``: the bounds of the
        competitive ratio; ``"constant"``: the lower bound of ``"density"``.
    quanta
        Maximum number of parts of a job's work, 1 to 100,000; partial ones are not counted.
    segments
        Maximum number of segments into which the slots of a window are merged; times ``quanta`` at
        most 10 million.
    whole_slots
        Whether windows begin and end with whole slots. None: only at theory prices.
    known_bounds
        Whether prices know all jobs from the start. None: only at theory prices.
    progress
        As for :func:`gpusched.simulate`; counts decided jobs.
    stop
        Event that cancels the planning, as for :func:`gpusched.simulate`.

    Returns
    -------
    DeadlinePlan
        The admitted jobs, and their configurations by slot.

    Raises
    ------
    ValueError
        If a value is out of range; the message names the job and the field.
    Cancelled
        If ``stop`` was set, within a second; it has the number of decided jobs.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> job = gs.online.DeadlineJob(
    ...     arrival_s=0, deadline_s=3600, work=5000, rates={("V100", 1): 1.2, ("V100", 2): 2.2}
    ... )
    >>> gs.online.plan_deadlines([job], {"V100": 8}).explain(0).partition(":")[0]
    'admitted'
    """
    is_theory = prices == "theory"
    types = list(gpus)
    available = np.array([whole(f"gpus[{name!r}]", gpus[name], 0) for name in types], np.int64)
    if not types:
        raise ValueError("gpus: must name at least one GPU type")
    if prices not in _PRICES:
        raise ValueError(f"prices: {prices!r} must be one of {', '.join(_PRICES)}")
    rows = sorted(range(len(jobs)), key=lambda row: jobs[row].arrival_s)
    table = DeadlineTable(jobs, rows, types, available)
    slot_us = round(number("slot_s", slot_s, 1e-3, 1e9) * 1e6)
    quanta = whole("quanta", quanta, 1, _MOST_QUANTA)
    segments = whole("segments", segments, 1, _MOST_CELLS // quanta)
    control = _core.RunControl()

    def decide() -> _core.DeadlinePlans:
        return _core.plan_deadlines(
            *table.columns,
            available,
            slot_us,
            prices,
            quanta,
            segments,
            is_theory if whole_slots is None else bool(whole_slots),
            is_theory if known_bounds is None else bool(known_bounds),
            control,
        )

    return _read(supervised(decide, control, progress, stop, len(jobs)), table, slot_us / 1e6)


def _read(plans: _core.DeadlinePlans, table: DeadlineTable, slot_s: float) -> DeadlinePlan:
    """Convert the core's plans to the order and units of the jobs."""
    size = len(table.rows)
    place = np.empty(size, np.int64)
    place[table.rows] = np.arange(size)
    first = plans.first.tolist()
    steps = list(
        zip(
            plans.step_begin.tolist(),
            plans.step_end.tolist(),
            plans.step_configuration.tolist(),
            strict=True,
        )
    )
    offset = table.columns[5]

    def steps_of(at: int) -> tuple[DeadlineStep, ...]:
        found = []
        for begin, end, index in steps[first[at] : first[at + 1]]:
            type_, width, _ = table.configurations[offset[at] + index]
            found.append(DeadlineStep(begin * slot_s, end * slot_s, table.types[type_], width))
        return tuple(found)

    scarce_type = plans.scarce_type.tolist()
    scarce_free = plans.scarce_free.tolist()
    scarce_from = (plans.scarce_begin * slot_s).tolist()
    scarce_until = (plans.scarce_end * slot_s).tolist()

    def scarce_of(at: int) -> DeadlineStep | None:
        if scarce_type[at] < 0:
            return None
        name = table.types[scarce_type[at]]
        return DeadlineStep(scarce_from[at], scarce_until[at], name, scarce_free[at])

    return DeadlinePlan(
        jobs=tuple(table.jobs),
        admitted=plans.admitted.astype(bool)[place],
        cost=plans.cost[place],
        reason=tuple(plans.reason[at] for at in place),
        value=plans.value,
        upper_bound=plans.upper_bound,
        dual_objective=plans.final_price_sum + plans.payoff_sum,
        initial_objective=plans.initial_price_sum,
        ratio=plans.ratio,
        exponent=plans.exponent,
        _steps=tuple(steps_of(at) for at in place.tolist()),
        _scarce=tuple(scarce_of(at) for at in place.tolist()),
    )
