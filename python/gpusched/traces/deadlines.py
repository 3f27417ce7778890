"""Deadlines and what it is worth to meet them: checked, or drawn for traces without them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from gpusched.base import draws
from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.rejects import Screen
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_HORIZON_US, MAX_SUBMIT_US, US_PER_S, seconds_to_us
from gpusched.traces.checked_columns import numbers

NO_DEADLINE: Final = -1
NOT_A_TIME: Final = np.iinfo(np.int64).min
"""Stands for none among wall-clock times, of which some may be negative."""
COLUMNS: Final = ("deadline_s", "value")
RECIPES: Final = {"elasticflow": (0.5, 1.5), "constant": (1.0, 1.0)}
"""The run times from submit to deadline, times the tightness: drawn evenly from these ranges.

``elasticflow``: Gu et al., ASPLOS 2023.
"""


def deadline_ticks(screen: Screen, seconds: AnyArray, submit_us: Int64) -> Int64:
    """Check and convert deadlines in seconds; NaN stands for none."""
    given = ~np.isnan(seconds)
    known = np.where(given, seconds, 0)
    screen.require(np.isfinite(known), "deadline_s", "must be a finite number")
    limit_s = MAX_SUBMIT_US / US_PER_S
    rule = f"must be at most {limit_s:.0f} s"
    good = screen.require(np.abs(known.astype(np.float64)) <= limit_s, "deadline_s", rule)
    ticks = seconds_to_us(np.where(good, known, 0))
    return after_submit(screen, np.where(given, ticks, NOT_A_TIME), submit_us)


def after_submit(screen: Screen, ticks: Int64, submit_us: Int64) -> Int64:
    """Require deadlines after the submission, but for ``NOT_A_TIME``."""
    later = (ticks > submit_us) | (ticks == NOT_A_TIME) | screen.bad
    screen.require(later, "deadline_s", "must lie after the submission")
    return ticks


def values(screen: Screen, given: AnyArray) -> Float64:
    """Check what deadlines are worth: finite and positive; NaN stands for 1."""
    worth = np.where(np.isnan(given), 1.0, given)
    screen.require(np.isfinite(worth), "value", "must be a finite number")
    good = screen.require(worth > 0, "value", "must be positive")
    return np.where(good, worth, 1.0).astype(np.float64)


def shifted(deadline_us: Int64, shift_us: Int64 | int, none: int = NO_DEADLINE) -> Int64:
    """Add ``shift_us`` to the deadlines that are given; ``none`` marks the others.

    Raises
    ------
    ValueError
        If one goes beyond the time type.
    """
    moved = np.where(deadline_us == none, NO_DEADLINE, deadline_us + shift_us)
    if moved.size and int(moved.max()) >= MAX_HORIZON_US:
        raise ValueError("column 'deadline_s': a deadline must be below 2^62 us")
    return moved


def drawn_deadlines(
    rows: Int64,
    submit_us: Int64,
    service_us: Int64,
    recipe: str,
    tightness: float,
    seed: int,
    share: float,
    value: Any,
) -> dict[str, Any]:
    """Return the columns of :meth:`gpusched.Trace.with_deadlines` for jobs of these columns."""
    if recipe not in RECIPES:
        raise ValueError(f"recipe: unknown {recipe!r}{nearest(str(recipe), list(RECIPES))}")
    _check_number("tightness", tightness)
    _check_number("share", share)
    if not (np.isfinite(tightness) and tightness > 0):
        raise ValueError(f"tightness: {tightness!r} must be finite and positive")
    if not 0 <= share <= 1:
        raise ValueError(f"share: {share!r} must lie in 0..1")
    seed = draws.check_seed(seed)
    low, high = RECIPES[recipe]
    factor = low + (high - low) * draws.uniform(seed, draws.DEADLINES, rows)
    slack = np.rint(service_us * (factor * tightness))
    latest = float(MAX_SUBMIT_US)
    if slack.max() > latest:
        raise ValueError(f"tightness: {tightness!r} sets deadlines beyond 2^61 us")
    deadline_us = submit_us + np.maximum(slack, 1).astype(np.int64)
    is_chosen = draws.uniform(seed, draws.HAS_DEADLINE, rows) < share
    worth: Float64 | None = None
    if not (isinstance(value, int | float) and value == 1):
        each = np.full(len(rows), value) if np.ndim(value) == 0 else value
        screen = Screen("with_deadlines", rows)
        given = numbers("value", each, len(rows))
        screen.show("value", "value", given)
        worth = values(screen, given)
        screen.finish("error")
    return {"deadline_us": np.where(is_chosen, deadline_us, NO_DEADLINE), "value": worth}


def _check_number(name: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: {number!r} must be a number")
