"""Turns the columns a user hands in into checked core columns (ticks, int32 widths, labels).

A wrong type is a ``TypeError`` for the whole column; a bad value is a matter for the
:class:`~gpusched.base.rejects.Screen`, which raises or counts. Values of bad rows are replaced
by 0.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int32
from gpusched.base.field_checks import entries, is_missing, kind_name, plain_array
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.rejects import Screen
from gpusched.base.ticks import durations_to_seconds, seconds_to_us
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_A_TIME, JobColumn
from gpusched.traces.job_columns import NOT_GIVEN as NOT_GIVEN

REQUIRED: Final = tuple(name for name, column in JOB_COLUMNS.items() if column.is_required)
LABELS: Final = tuple(name for name, column in JOB_COLUMNS.items() if column.kind == "label")
NUMERIC: Final = tuple(name for name, column in JOB_COLUMNS.items() if column.is_numeric)
ALL: Final = ("id", *NUMERIC, *LABELS, "gpu_types")
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
        is_moment = column in JOB_COLUMNS and JOB_COLUMNS[column].kind == "moment"
        hint = _DATES_HINT if kind == "dates" and is_moment and column != "submit_s" else ""
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


def stored_numbers(
    screen: Screen, column: JobColumn, given: AnyArray, stored: Mapping[str, AnyArray]
) -> AnyArray:
    """Check numbers by the rules of their column and return them as a trace has them.

    NaN stands for none where a job may have none. A positive amount is at least one of the stored
    units. Moments that are missing are ``NOT_A_TIME``. Bad rows have some good value.

    Parameters
    ----------
    stored
        The columns that are checked already, as a trace has them: those beside which rules hold.
    """
    is_known = column.default not in (None, NOT_GIVEN)
    usual = column.default // column.units if is_known else int(column.kind != "moment")
    missing: Bool = np.zeros(len(given), dtype=np.bool_)
    if column.may_miss and given.dtype.kind == "f":
        missing = np.isnan(given)
        given = np.where(missing, usual, given)
    good = _within_bounds(screen, column, given)
    values = np.where(good, given, usual)
    if column.kind in ("duration", "moment"):
        ticks = seconds_to_us(values)
        if column.above is not None:
            ticks = np.maximum(ticks, 1)
        none = NOT_A_TIME if column.kind == "moment" else NOT_GIVEN
        values = np.where(missing, none, ticks) if column.may_miss else ticks
    elif column.kind == "amount":
        counted = np.rint(values * column.units)
        values = np.where(values > 0, np.maximum(counted, 1), counted)  # a little is not nothing
    values = values.astype(column.dtype, copy=False)
    require_beside(screen, column, values, stored)
    return values


def require_beside(
    screen: Screen, column: JobColumn, values: AnyArray, stored: Mapping[str, AnyArray]
) -> None:
    """Require what must hold between the values of a column and those of another."""
    if column.beside is not None:
        holds = column.beside.holds(values, stored[column.beside.other])
        if column.kind == "moment":
            holds = holds | (values == NOT_A_TIME)
        screen.require(holds, column.name, column.beside.rule)


def _within_bounds(screen: Screen, column: JobColumn, given: AnyArray) -> Bool:
    name, good = column.name, ~screen.bad
    if column.kind != "amount":  # of those the upper bound tells more
        good = screen.require(np.isfinite(given), name, "must be a finite number")
    if column.above is not None:
        good = screen.require(given > column.above, name, "must be positive")
    if column.least is not None:
        rule = f"must be at least {column.least:g}" if column.least else "must not be negative"
        good = screen.require(given >= column.least, name, rule)
    if column.kind == "whole":
        screen.require(given == np.rint(given), name, "must be a whole number")
    if column.most is not None:
        size = np.abs(given.astype(np.float64)) if column.kind == "moment" else given
        unit = " s" if column.kind in ("duration", "moment") else ""
        rule = f"must be at most {column.most:.0f}{unit}"
        good = screen.require(size <= column.most, name, rule)
    return good


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
