"""Turns the columns a user hands in into checked core columns (ticks, int32 widths, labels).

A wrong type is a ``TypeError`` for the whole column; a bad value is a matter for the
:class:`~gpusched.rejects.Screen`, which raises or counts. Values of bad rows are replaced by 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusched.arrays import AnyArray, Bool, Float64, Int32, Int64
from gpusched.labels import Labels
from gpusched.rejects import Screen
from gpusched.ticks import MAX_SERVICE_US, MAX_SUBMIT_US, US_PER_S, seconds_to_us

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


def numbers(column: str, values: Any, num_rows: int | None = None) -> AnyArray:
    """Return ``values`` as one row of int64 or float64.

    Raises
    ------
    TypeError
        If they are not numbers (text, objects, booleans, dates).
    ValueError
        If they are not one row of ``num_rows``.
    """
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(type(v) in (int, float) for v in array.flat):
        array = array.astype(np.float64)  # Python integers beyond 64 bits: refused by size later
    if array.size == 0 and not isinstance(values, np.ndarray):
        array = array.astype(np.float64)  # an empty list has no type of its own
    if array.dtype.kind not in "iuf":
        raise TypeError(
            f"column {column!r} must hold integers or floats, not {_type_name(array, values)}"
        )
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


def check_length(column: str, array: AnyArray, num_rows: int | None) -> None:
    """Raise ValueError unless ``array`` is one row of ``num_rows`` values."""
    if array.ndim != 1:
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


def identifiers(column: str, values: Any, num_rows: int) -> AnyArray:
    """Return ids as int64 or as text.

    Raises
    ------
    TypeError
        If they are neither all integers nor all text.
    """
    array = np.asarray(values)
    is_text = array.dtype.kind == "O" and all(isinstance(value, str) for value in array.flat)
    if is_text or array.dtype.kind == "T":
        array = array.astype(np.str_)
    if array.dtype.kind not in "iuU":
        raise TypeError(
            f"column {column!r} must hold integers or text, not {_type_name(array, values)}"
        )
    check_length(column, array, num_rows)
    if array.dtype.kind == "U":
        return array
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise ValueError(f"column {column!r} must fit 64-bit signed integers")
    return array.astype(np.int64)


def unique_ids(screen: Screen, ids: AnyArray | None) -> AnyArray:
    """Return the ids, or where None are given the positions of the rows.

    Raises
    ------
    ValueError
        If two good rows have the same id; the message names both.
    """
    if ids is None:
        return np.arange(len(screen.rows), dtype=np.int64)
    _check_unique(screen, ids)
    return ids


def _check_unique(screen: Screen, ids: AnyArray) -> None:
    good = ids[~screen.bad]
    ascending = good.dtype.kind == "i" and bool((good[1:] > good[:-1]).all())
    if ascending or len(set(good.tolist())) == len(good):
        return
    first_use: dict[Any, int] = {}
    for index in np.flatnonzero(~screen.bad).tolist():
        value = ids[index].item()
        if value in first_use:
            raise ValueError(
                f"{screen.place(index, 'id')}: {value!r} must be unique, "
                f"{screen.unit} {screen.rows[first_use[value]]} has it too"
            )
        first_use[value] = index


def labels(column: str, values: Any, num_rows: int) -> Labels:
    """Number the names in ``values`` (text, integers or a :class:`Labels`)."""
    if isinstance(values, Labels):
        named = values
    elif isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"column {column!r} must hold one name per job, not {values!r}")
    else:
        named = Labels.of(values.tolist() if isinstance(values, np.ndarray) else values)
    check_length(column, named.codes, num_rows)
    return named


def allowed_types(values: Any, num_rows: int) -> tuple[tuple[tuple[str, ...], ...], Int32 | None]:
    """Number the distinct sets of allowed GPU types.

    Parameters
    ----------
    values
        Per job a text such as ``"V100|T4"``, or a collection of names; empty or None = any type.

    Returns
    -------
    tuple
        The sets (each sorted, without repeats; ``()`` = any) and one int32 index per job, or
        nothing and None if no job is restricted.
    """
    if values is None:
        return (), None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"column 'gpu_types' must hold one entry per job, not {values!r}")
    entries = [_type_key(entry) for entry in values]
    number: dict[tuple[str, ...], int] = {}
    sets = {entry: _type_set(entry) for entry in dict.fromkeys(entries)}
    for allowed in sets.values():
        number.setdefault(allowed, len(number))
    code_of = {entry: number[allowed] for entry, allowed in sets.items()}
    codes = np.array([code_of[entry] for entry in entries], dtype=np.int32)
    check_length("gpu_types", codes, num_rows)
    return (tuple(number), codes) if any(number) else ((), None)


def _type_key(entry: Any) -> str | tuple[str, ...]:
    if entry is None:
        return ""
    if isinstance(entry, str):
        return entry
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


def _type_name(array: AnyArray, values: Any) -> str:
    names = {"O": "Python objects", "U": "text", "S": "bytes", "b": "booleans", "M": "dates"}
    return names.get(array.dtype.kind, str(array.dtype))
