"""Decide which jobs can meet their deadlines, and how: :func:`plan_deadlines`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import numpy as np

from gpusched import _core
from gpusched.base.progress import OnProgress
from gpusched.base.supervision import supervised
from gpusched.deciding.deadline_jobs import DeadlineJob, DeadlineTable, number, whole
from gpusched.deciding.deadline_plan import DeadlinePlan, DeadlineStep

_MOST_QUANTA = 100_000
_MOST_CELLS = 10_000_000  # of quanta x segments
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
    """Promise GPUs to jobs as they arrive, so that every job admitted meets its deadline.

    Each job gets the schedule over configurations (a GPU type and a number of GPUs) and slots
    that is cheapest at the present prices, by dynamic programming, and is admitted if it costs
    less than the job's value. The price of a GPU in a slot grows with the GPUs promised. Nothing
    is run, and no plan is changed later: the policy ``dancer`` does both. A
    primal-dual form after the abstract of Zhang, Luo, Sun, Yu, Li, IEEE TCC 13(2), 2025; the
    mathematics is derived here.

    Parameters
    ----------
    jobs
        In any order; those of one arrival are decided on by value per GPU time.
    gpus
        How many GPUs there are of each type.
    slot_s
        Seconds between changes of configuration.
    prices
        ``"density"``: between bounds on the value per GPU slot of the jobs so far; ``"market"``:
        the same, but not from below the price at which the jobs of late would just have been
        served (for ``dancer``, where jobs without promises run too); ``"theory"``: the bounds of
        the competitive ratio; ``"constant"``: the lower one of ``"density"``.
    quanta
        The work of a job is cut into at most so many, 1 to 100,000; what is begun is not counted.
    segments
        The slots of a window are merged into at most so many; times ``quanta`` 10 million at
        most.
    whole_slots
        Windows begin and end with whole slots. None: at theory prices.
    known_bounds
        Prices know all jobs from the start. None: at theory prices.
    progress
        As for :func:`gpusched.simulate`; jobs count once they are decided on.
    stop
        Ends it when it is set, as for :func:`gpusched.simulate`.

    Returns
    -------
    DeadlinePlan
        Who was admitted, and the configuration of each in each slot.

    Raises
    ------
    ValueError
        If a figure is out of its range; the message names the job and the field.
    Cancelled
        If ``stop`` was set, within a second; it tells how many jobs had been decided on.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> job = gs.deciding.DeadlineJob(
    ...     arrival_s=0, deadline_s=3600, work=5000, rates={("V100", 1): 1.2, ("V100", 2): 2.2}
    ... )
    >>> gs.deciding.plan_deadlines([job], {"V100": 8}).explain(0).partition(":")[0]
    'admitted'
    """
    is_theory = prices == "theory"
    types = list(gpus)
    available = np.array([whole(f"gpus[{name!r}]", gpus[name], 0) for name in types], np.int64)
    if not types:
        raise ValueError("gpus: must name a GPU type")
    if prices not in _PRICES:
        raise ValueError(f"prices: {prices!r} is none of {', '.join(_PRICES)}")
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
    """Back into the order and the units of the jobs."""
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
