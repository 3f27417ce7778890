"""Convert dates of any library to Polars columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.field_checks import entries, is_missing
from gpusched.base.libraries import polars
from gpusched.base.rejects import Screen
from gpusched.traces.checked_columns import check_length, numbers
from gpusched.traces.intake.wall_clock import (
    UNIX_EPOCH,
    is_iso,
    is_wall_clock,
    plain_dates,
    ticks_of,
)
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_A_TIME


def dated(screen: Screen, submit_s: polars.Series, moments: Mapping[str, Any]) -> dict[str, Int64]:
    """Convert submit times and other ``moments`` that are dates to ticks: ``submit_us`` ..."""
    read = {"submit_us": ticks_of(screen, "submit_s", "submit_s", submit_s)}
    for name, values in moments.items():
        dates = dates_in(name, values)
        if dates is not None:
            check_length(name, dates, len(submit_s))
            stored = JOB_COLUMNS[name].stored
            read[stored] = ticks_of(screen, name, name, dates, missing=NOT_A_TIME)
    return read


def since_1970(columns: Mapping[str, Any]) -> tuple[dict[str, polars.Series], tuple[str, ...]]:
    """Return times of a frame that count from 1970 as dates, with notes on their units.

    Other times are converted only if submit times are.
    """
    found, said = {}, []
    for name, column in JOB_COLUMNS.items():
        if column.kind == "moment" and name in columns and dates_in(name, columns[name]) is None:
            counted = polars.Series(numbers(name, columns[name]))
            dates, how = plain_dates(counted, None, 1)
            if how:
                found[name] = dates
                said.append(f"{name}: {how}")
    return (found, tuple(said)) if "submit_s" in found else ({}, ())


def dates_in(column: str, values: Any) -> polars.Series | None:
    """Return a column as Polars dates; None if it does not hold dates.

    Accepts dates of Python, NumPy, pandas, Polars and Arrow, and ISO 8601 texts.
    """
    dtype = getattr(values, "dtype", getattr(values, "type", None))
    if dtype is None or getattr(dtype, "kind", "O") in "OTU":
        named = str(dtype)
        if named.startswith(
            ("Datetime", "Date", "timestamp", "date32", "date64", "String", "string")
        ):
            return _of_frame(values, dtype)
        return _of_objects(column, values)
    if getattr(dtype, "kind", "") != "M":
        return None
    return _of_numpy(column, values, dtype)


def _of_frame(values: Any, dtype: Any) -> polars.Series | None:
    """Convert a column of Polars or Arrow, or of pandas on Arrow."""
    if type(dtype).__name__ == "ArrowDtype":
        values = values.array.__arrow_array__()
    series = polars.Series(values)
    return series if is_wall_clock(series) else None


def _of_numpy(column: str, values: Any, dtype: Any) -> polars.Series:
    """Convert datetime64 columns of NumPy or pandas."""
    zone = getattr(dtype, "tz", None)
    if type(dtype).__name__ == "ArrowDtype":
        return polars.Series(values.array.__arrow_array__())
    if zone is not None:
        place = getattr(values, "dt", values)
        values = place.tz_convert("UTC")
        values = getattr(values, "dt", values).tz_localize(None)
    given = np.asarray(values)
    missing: Bool = np.isnat(given)
    if np.ma.isMaskedArray(values):
        missing = missing | np.ma.getmaskarray(values)
    ticks = given.astype("M8[us]")
    # NumPy overflows silently if a coarse unit exceeds the range of microseconds.
    finer = np.datetime_data(given.dtype)[0] in ("ns", "ps", "fs", "as", "us")
    if not finer and not (missing | (ticks.astype(given.dtype) == given)).all():
        raise ValueError(f"column {column!r}: times must lie in the years 1 to 9999")
    made = polars.Series(ticks.astype(np.int64)).set(polars.Series(missing), None)
    return made.cast(polars.Datetime("us", None if zone is None else "UTC"))


def _of_objects(column: str, values: Any) -> polars.Series | None:
    """Convert Python dates or ISO 8601 texts, as the first present value shows."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return None
    first = _first(values)
    if not (isinstance(first, date) or (isinstance(first, str) and is_iso(first))):
        return None
    given = entries(f"column {column!r}", values, "dates")
    present = [value for value in given if not is_missing(value)]
    if isinstance(first, str):
        if not all(isinstance(value, str) for value in present):
            raise TypeError(f"column {column!r} must hold dates or texts, not both")
        texts = [None if is_missing(value) else str(value) for value in given]
        return polars.Series(texts, dtype=polars.String)
    if not all(isinstance(value, date) for value in present):
        raise TypeError(f"column {column!r} must hold only dates")
    moments = [
        None if is_missing(value)
        else value if isinstance(value, datetime)
        else datetime(value.year, value.month, value.day)
        for value in given
    ]  # fmt: skip
    aware = {moment.tzinfo is not None for moment in moments if moment is not None}
    if len(aware) > 1:
        raise ValueError(f"column {column!r}: times with a zone and without must not be mixed")
    origin = UNIX_EPOCH.replace(tzinfo=UTC) if True in aware else UNIX_EPOCH
    tick = timedelta(microseconds=1)
    ticks = [None if moment is None else (moment - origin) // tick for moment in moments]
    counted = polars.Series(ticks, dtype=polars.Int64)
    return counted.cast(polars.Datetime("us", "UTC" if True in aware else None))


def _first(values: Iterable[Any]) -> Any:
    """Return the first entry that is not missing, or None."""
    for value in values:
        value = value.as_py() if hasattr(value, "as_py") else value
        if not is_missing(value):
            return value
    return None
