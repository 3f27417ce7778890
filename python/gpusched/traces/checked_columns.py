"""Turns the columns a user hands in into checked core columns (ticks, int32 widths, labels).

A wrong type is a ``TypeError`` for the whole column; a bad value is a matter for the
:class:`~gpusched.base.rejects.Screen`, which raises or counts. Values of bad rows are replaced
by 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64
from gpusched.base.field_checks import entries, is_missing, kind_name, plain_array
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.rejects import Screen
from gpusched.base.ticks import (
    MAX_SERVICE_US,
    MAX_SUBMIT_US,
    US_PER_S,
    durations_to_seconds,
    seconds_to_us,
)

REQUIRED: Final = ("submit_s", "service_s", "gpus")
LABELS: Final = ("user", "queue", "group", "status")
NUMERIC: Final = (
    *REQUIRED, "estimate_s", "predicted_s", "weight", "checkpoint_s", "restart_s", "source_wait_s",
    "gpu_share", "cpu", "memory_gib", "deadline_s", "value", "min_gpus", "max_gpus",
)  # fmt: skip
ALL: Final = ("id", *NUMERIC, *LABELS, "gpu_types")
NOT_GIVEN: Final = -1
"""Marks a job without an estimate (or a source wait) in a column that has some."""
MAX_GPUS: Final = 2**31 - 1
_NAMES: Final = (str, int, float, np.integer, np.floating)
_DATES_HINT: Final = "; the submit times must be dates, too"


def numbers(column: str, values: Any, num_rows: int | None = None) -> AnyArray:
    """Return ``values`` as one row of int64 or float64.

    Raises
    ------
    TypeError
        If they are not numbers (complex ones, text, objects, booleans, dates). Durations are, in
        a column of seconds.
    ValueError
        If they are not one row of ``num_rows``.
    """
    what = f"column {column!r}"
    array = plain_array(what, values)
    if array.dtype.kind == "m" and column.endswith("_s"):
        check_length(column, array, num_rows)
        return durations_to_seconds(what, array)
    if array.dtype.kind not in "iuf":
        kind = kind_name(array, values)
        hint = _DATES_HINT if kind == "dates" and column == "deadline_s" else ""
        raise TypeError(f"{what} must hold integers or floats, not {kind}{hint}")
    check_length(column, array, num_rows)
    if array.dtype.kind == "f" or array.dtype == np.uint64:
        return array.astype(np.float64)
    return array.astype(np.int64)


def given_numbers(
    columns: Mapping[str, Any], num_rows: int, required: Collection[str] = ()
) -> dict[str, AnyArray]:
    """Return :func:`numbers` of the columns that are not None; ``required`` ones must not be."""
    return {
        column: numbers(column, values, num_rows)
        for column, values in columns.items()
        if values is not None or column in required
    }


def check_length(column: str, array: Any, num_rows: int | None) -> None:
    """Raise ValueError unless ``array`` is one row of ``num_rows`` values."""
    if getattr(array, "ndim", 1) != 1:
        raise ValueError(f"column {column!r} must be one-dimensional, not {array.ndim}-dimensional")
    if num_rows is not None and len(array) != num_rows:
        raise ValueError(f"column {column!r} has length {len(array):,}, not {num_rows:,}")


def submit_ticks(screen: Screen, seconds: AnyArray, *, may_be_negative: bool = False) -> Int64:
    """Check and convert submit times in seconds."""
    good = _finite(screen, "submit_s", seconds)
    if not may_be_negative:
        good = screen.require(seconds >= 0, "submit_s", "must not be negative")
    good &= _at_most(screen, "submit_s", np.abs(seconds.astype(np.float64)), MAX_SUBMIT_US)
    return seconds_to_us(np.where(good, seconds, 0))


def service_ticks(screen: Screen, seconds: AnyArray) -> Int64:
    """Check and convert service times in seconds; a positive one lasts at least one tick."""
    return _positive_ticks(screen, "service_s", seconds)


def estimate_ticks(screen: Screen, column: str, seconds: AnyArray) -> Int64:
    """Check and convert estimates in seconds; NaN stands for "none" and becomes ``NOT_GIVEN``."""
    given = ~np.isnan(seconds)
    ticks = _positive_ticks(screen, column, np.where(given, seconds, 1))
    return np.where(given, ticks, NOT_GIVEN)


def cost_ticks(screen: Screen, column: str, seconds: AnyArray) -> Int64:
    """Check and convert costs in seconds, 0 or more."""
    _finite(screen, column, seconds)
    screen.require(seconds >= 0, column, "must not be negative")
    good = _at_most(screen, column, seconds, MAX_SERVICE_US)
    return seconds_to_us(np.where(good, seconds, 0))


def wait_ticks(screen: Screen, seconds: AnyArray) -> Int64:
    """Check and convert waits seen in the source; NaN becomes ``NOT_GIVEN``."""
    given = ~np.isnan(seconds)
    ticks = cost_ticks(screen, "source_wait_s", np.where(given, seconds, 0))
    return np.where(given, ticks, NOT_GIVEN)


def gang_widths(screen: Screen, gpus: AnyArray, *, may_be_none: bool = False) -> Int32:
    """Check GPU counts: whole and positive, or 0 where they ``may_be_none``."""
    _finite(screen, "gpus", gpus)
    if may_be_none:
        screen.require(gpus >= 0, "gpus", "must not be negative")
    else:
        screen.require(gpus > 0, "gpus", "must be positive")
    screen.require(gpus == np.rint(gpus), "gpus", "must be a whole number")
    good = screen.require(gpus <= MAX_GPUS, "gpus", f"must be at most {MAX_GPUS}")
    return np.where(good, gpus, 0).astype(np.int32)


def weights(screen: Screen, values: AnyArray) -> Float64:
    """Check weights: finite and positive."""
    _finite(screen, "weight", values)
    good = screen.require(values > 0, "weight", "must be positive")
    return np.where(good, values, 1).astype(np.float64)


def labels(column: str, values: Any, num_rows: int) -> Labels:
    """Number the names in ``values`` (text, integers or a :class:`Labels`)."""
    named: Labels = values
    if not isinstance(values, Labels):
        given = entries(f"column {column!r}", values, "one name per job")
        for value in {type(value): value for value in given}.values():
            kind = type(value)
            if not (isinstance(value, _NAMES) or is_missing(value)):
                raise TypeError(
                    f"column {column!r} must hold text or integers, not {kind.__name__} {value!r}"
                )
        named = Labels.of(given)
    check_length(column, named.codes, num_rows)
    return named


def statuses(screen: Screen, named: Labels) -> Labels:
    """Check how jobs ended: one of :data:`STATUSES`; one that is not given is ``"unknown"``."""
    good = np.array([name in ("", *STATUSES) for name in named.names], dtype=np.bool_)
    screen.show("status", "status", named)
    screen.require(good[named.codes], "status", f"must be one of {', '.join(STATUSES)}")
    return named.among(STATUSES, "unknown")


def allowed_types(values: Any, num_rows: int) -> tuple[tuple[tuple[str, ...], ...], Int32 | None]:
    """Number the distinct sets of allowed GPU types.

    Parameters
    ----------
    values
        Per job a text such as ``"V100|T4"``, or a collection of names; empty or None = any type.
        Such texts may come as :class:`Labels`.

    Returns
    -------
    tuple
        The sets (each sorted, without repeats; ``()`` = any) and one int32 index per job, or
        nothing and None if no job is restricted.
    """
    if values is None:
        return (), None
    if isinstance(values, Labels):
        sets_of, codes_of = allowed_types(list(values.names), len(values.names))
        return sets_of, None if codes_of is None else codes_of[values.codes]
    given = [
        _type_key(entry) for entry in entries("column 'gpu_types'", values, "one entry per job")
    ]
    number: dict[tuple[str, ...], int] = {}
    sets = {entry: _type_set(entry) for entry in dict.fromkeys(given)}
    for allowed in sets.values():
        number.setdefault(allowed, len(number))
    code_of = {entry: number[allowed] for entry, allowed in sets.items()}
    codes = np.array([code_of[entry] for entry in given], dtype=np.int32)
    check_length("gpu_types", codes, num_rows)
    return (tuple(number), codes) if any(number) else ((), None)


def _type_key(entry: Any) -> str | tuple[str, ...]:
    if isinstance(entry, str):
        return entry
    if is_missing(entry):
        return ""
    if isinstance(entry, Sequence | set | frozenset) and all(isinstance(t, str) for t in entry):
        return tuple(entry)
    raise TypeError(f"column 'gpu_types' must hold text or collections of text, not {entry!r}")


def _type_set(entry: str | tuple[str, ...]) -> tuple[str, ...]:
    names = entry.split("|") if isinstance(entry, str) else entry
    return tuple(sorted({name.strip() for name in names} - {""}))


def _positive_ticks(screen: Screen, column: str, seconds: AnyArray) -> Int64:
    _finite(screen, column, seconds)
    screen.require(seconds > 0, column, "must be positive")
    good = _at_most(screen, column, seconds, MAX_SERVICE_US)
    return np.maximum(seconds_to_us(np.where(good, seconds, 1)), 1)


def _finite(screen: Screen, column: str, values: AnyArray) -> Bool:
    return screen.require(np.isfinite(values), column, "must be a finite number")


def _at_most(screen: Screen, column: str, seconds: AnyArray, limit_us: int) -> Bool:
    limit_s = limit_us / US_PER_S
    return screen.require(seconds <= limit_s, column, f"must be at most {limit_s:.0f} s")
