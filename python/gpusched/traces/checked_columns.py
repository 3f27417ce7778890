"""Check columns from users and convert them to those of a trace (ticks, int32, labels).

A wrong type is a ``TypeError`` for the whole column; a bad value goes to the
:class:`~gpusched.base.rejects.Screen`, which raises or counts it and replaces it by 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int32, Int64, read_only
from gpusched.base.field_checks import entries, is_missing, kind_name, masked_rows, plain_array
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.rejects import OnBad, Rejects, Screen
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_HORIZON_US, durations_to_seconds, seconds_to_us
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_A_TIME, JobColumn, is_blank, moved
from gpusched.traces.job_columns import NOT_GIVEN as NOT_GIVEN

REQUIRED: Final = tuple(name for name, column in JOB_COLUMNS.items() if column.is_required)
LABELS: Final = tuple(name for name, column in JOB_COLUMNS.items() if column.kind == "label")
NUMERIC: Final = tuple(name for name, column in JOB_COLUMNS.items() if column.is_numeric)
ALL: Final = ("id", *NUMERIC, *LABELS, "gpu_types")
_NAMES: Final = (str, int, float, np.integer, np.floating)
_FIRST: Final = ("gpus", "service_s", "submit_s")  # checked first: others are compared to them
_KEEPS_DUPLICATES: Final = ContextVar("keeps duplicate ids", default=False)
_DATES_HINT: Final = "; the submit times must be dates, too"


def numbers(column: str, values: Any, num_rows: int | None = None) -> AnyArray:
    """Return ``values`` as one row of int64 or float64."""
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


def left_out(where: str, names: Collection[str]) -> dict[str, None]:
    """Return columns to leave out, for :meth:`gpusched.Trace.with_columns`."""
    for name in names:
        if name in REQUIRED:
            raise ValueError(f"{where}: a trace needs the column {name!r}")
        if name not in ALL:
            optional = [known for known in ALL if known not in REQUIRED]
            raise ValueError(f"{where}: unknown column {name!r}{nearest(name, optional)}")
    return dict.fromkeys(names)


def check_length(column: str, array: Any, num_rows: int | None) -> None:
    """Raise ValueError unless ``array`` is one row of ``num_rows`` values."""
    if getattr(array, "ndim", 1) != 1:
        raise ValueError(f"column {column!r} must be one-dimensional, not {array.ndim}-dimensional")
    if num_rows is not None and len(array) != num_rows:
        raise ValueError(f"column {column!r} has length {len(array):,}, not {num_rows:,}")


def stored_numbers(
    screen: Screen, column: JobColumn, given: AnyArray, stored: Mapping[str, AnyArray]
) -> AnyArray:
    """Check numbers by the rules of their column and return them as stored in a trace.

    NaN means missing where values may be missing. A positive amount is at least one stored unit.
    Missing times are ``NOT_A_TIME``. Bad rows get some valid value.

    ``stored``: the columns checked so far, as stored in a trace, to which rules compare this one.
    """
    is_known = column.default not in (None, NOT_GIVEN)
    usual = column.default // column.units if is_known else int(column.kind != "moment")
    none = NOT_A_TIME if column.kind == "moment" else column.default
    if usual == column.above:  # 0 stands for none
        usual = 1
    missing: Bool = np.zeros(len(given), dtype=np.bool_)
    if column.may_miss and given.dtype.kind == "f":
        missing = np.isnan(given)
        given = np.where(missing, usual, given)
    endless: Bool = np.zeros_like(missing)
    if column.infinite is not None:
        endless = np.isposinf(given)
        given = np.where(endless, usual, given)
    good = _within_bounds(screen, column, given)
    values = np.where(good, given, usual)
    if column.kind in ("duration", "moment"):
        ticks = seconds_to_us(values)
        if column.above is not None:
            ticks = np.maximum(ticks, 1)
        values = ticks
    elif column.kind == "amount":
        counted = np.rint(values * column.units)
        values = np.where(values > 0, np.maximum(counted, 1), counted)  # never round down to 0
    if missing.any():
        values = np.where(missing, none, values)
    if column.infinite is not None:
        values = np.where(endless, column.infinite, values)
    values = values.astype(column.dtype, copy=False)
    require_beside(screen, column, values, stored)
    return values


def require_beside(
    screen: Screen, column: JobColumn, values: AnyArray, stored: Mapping[str, AnyArray]
) -> None:
    """Check the rule between the values of a column and those of another."""
    if column.beside is not None:
        other = stored.get(column.beside.other)
        if other is None:  # optional, and 0 where it is missing
            other = np.zeros_like(values)
        holds = column.beside.holds(values, other)
        if column.kind == "moment":
            holds = holds | (values == NOT_A_TIME)
        screen.require(holds, column.name, column.beside.rule)


def _within_bounds(screen: Screen, column: JobColumn, given: AnyArray) -> Bool:
    name, good = column.name, ~screen.bad
    if column.kind != "amount":  # for these the message about the upper bound says more
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
    """Check that statuses are among :data:`STATUSES`; an empty one becomes ``"unknown"``."""
    good = np.array([name in ("", *STATUSES) for name in named.names], dtype=np.bool_)
    screen.show("status", "status", named)
    screen.require(good[named.codes], "status", f"must be one of {', '.join(STATUSES)}")
    return named.among(STATUSES, "unknown")


def allowed_types(values: Any, num_rows: int) -> tuple[tuple[tuple[str, ...], ...], Int32 | None]:
    """Number the distinct sets of allowed GPU types.

    The sets (each sorted, without repeats; ``()`` = any) and one int32 index per job, or nothing
    and None if no job is restricted.

    ``values``: per job a text such as ``"V100|T4"``, or a collection of names; empty or None = any
        type. Texts may come as :class:`Labels`.
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


def given_labels(screen: Screen, columns: Mapping[str, Any], num_rows: int) -> dict[str, Labels]:
    """Return the :func:`labels` of the columns that are not None, with checked statuses."""
    found = {
        column: labels(column, values, num_rows)
        for column, values in columns.items()
        if values is not None
    }
    if "status" in found:
        found["status"] = statuses(screen, found["status"])
    return found


class Jobs(msgspec.Struct, frozen=True):
    """The good rows of an input, sorted by submission.

    ``columns``: read-only, by the attributes of a trace.
    ``origin_us``: what was subtracted from all times.
    ``rejects``: the rejected rows.
    """

    columns: dict[str, Any]
    origin_us: int
    rejects: Rejects


def checked_jobs(
    screen: Screen,
    numeric: Mapping[str, AnyArray],
    *,
    ids: AnyArray | None = None,
    labels: Mapping[str, Labels] | None = None,
    indices: Mapping[str, Int32 | None] | None = None,
    on_bad: OnBad = "error",
    rebase: bool = False,
) -> Jobs:
    """Check columns, drop the rows that ``screen`` refuses, and sort the rest.

    ``screen``: holds line numbers, and rows already found bad by a reader.
    ``numeric``: int64 or float64 columns under the names of :meth:`gpusched.Trace.from_columns`; or
        as stored in a trace, under its attributes, such as ``deadline_us``: wall-clock times and
        times already in ticks.
    ``indices``: further columns, filtered and sorted like the jobs.
    ``rebase``: shift the first submit to 0 (the traces that come from files).
    """
    screen.show_others({**numeric, "id": ids})
    stored: dict[str, AnyArray] = {}
    for name in dict.fromkeys((*_FIRST, *NUMERIC)):
        column = JOB_COLUMNS[name]
        if name in numeric:
            if name == "submit_s" and rebase:
                column = msgspec.structs.replace(column, least=None)
            stored[column.stored] = stored_numbers(screen, column, numeric[name], stored)
        elif column.stored in numeric:
            stored[column.stored] = numeric[column.stored]
            require_beside(screen, column, numeric[column.stored], stored)
    rejects = screen.finish(on_bad)
    stored["id"] = unique_ids(screen, ids)
    stored["row"] = screen.rows
    stored |= {name: index for name, index in (indices or {}).items() if index is not None}
    good = np.flatnonzero(~screen.bad)
    order = good[np.argsort(stored["submit_us"][good], kind="stable")]
    stored = {name: values[order] for name, values in stored.items()}
    origin_us = int(stored["submit_us"][0]) if rebase and len(order) else 0
    stored["submit_us"] = stored["submit_us"] - origin_us
    stored |= moved(stored, -origin_us, NOT_A_TIME)
    stored = {name: values for name, values in stored.items() if not is_blank(name, values)}
    check_horizon(screen.source, stored["submit_us"], stored["service_us"])
    # All arrays were created here and have no other owner: a trace need not copy them.
    columns: dict[str, Any] = {name: read_only(values) for name, values in stored.items()}
    names = {name: named.take(order) for name, named in (labels or {}).items()}
    columns |= {name: named for name, named in names.items() if not is_blank(name, named)}
    return Jobs(columns, origin_us, rejects)


def check_horizon(source: str, submit_us: Int64, service_us: Int64) -> None:
    """Raise ValueError if running all jobs in sequence would overflow the time type."""
    # Two sums, because a single one could itself overflow.
    total = (int(np.sum(service_us >> 32)) << 32) + int(np.sum(service_us & (2**32 - 1)))
    horizon = int(submit_us.max(initial=0)) + total
    if horizon >= MAX_HORIZON_US:
        raise ValueError(
            f"{source}: column 'service_s': the last submit plus the sum of all services is "
            f"{horizon:,} us and must be below 2^62 us"
        )


def identifiers(column: str, values: Any, num_rows: int) -> AnyArray:
    """Return ids as int64 or as text."""
    what = f"column {column!r}"
    missing, is_both = masked_rows(values), False
    array = plain_array(what, values)
    if array.dtype.kind in "OT" or isinstance(values, list | tuple):
        given = entries(what, values, "integers or text")
        types = set(map(type, given))
        if types - {int, str}:
            missing = np.array([is_missing(value) for value in given], dtype=np.bool_)
        is_text = str in types and types <= {str, np.str_}
        if is_text and array.dtype.kind != "U":
            array = np.array(given, dtype=np.str_)
        is_both = not is_text and array.dtype.kind in "UT"
    elif array.dtype.kind == "f":
        missing = np.isnan(array)
    if missing is not None and missing.any():
        raise ValueError(f"{what}, row {int(np.argmax(missing))}: an id must not be missing")
    if is_both:
        raise TypeError(f"{what} must hold integers or text, not both")
    if array.dtype.kind not in "iuU" and array.size:
        raise TypeError(f"{what} must hold integers or text, not {kind_name(array, values)}")
    check_length(column, array, num_rows)
    if array.dtype.kind == "U":
        return array
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        raise ValueError(f"{what} must fit 64-bit signed integers")
    return array.astype(np.int64)


def unique_ids(screen: Screen, ids: AnyArray | None) -> AnyArray:
    """Return the ids, or the positions of the rows if ``ids`` is None."""
    if ids is None:
        return np.arange(len(screen.rows), dtype=np.int64)
    if not _KEEPS_DUPLICATES.get():
        _check_unique(screen, ids)
    return ids


@contextmanager
def duplicate_ids_kept() -> Iterator[None]:
    """Accept duplicate ids within this context (an audit reports them)."""
    token = _KEEPS_DUPLICATES.set(True)
    try:
        yield
    finally:
        _KEEPS_DUPLICATES.reset(token)


def _check_unique(screen: Screen, ids: AnyArray) -> None:
    good = ids[~screen.bad]
    if good.dtype.kind == "i":
        is_unique = bool((good[1:] > good[:-1]).all()) or len(np.unique(good)) == len(good)
    else:
        is_unique = len(set(good.tolist())) == len(good)
    if is_unique:
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
