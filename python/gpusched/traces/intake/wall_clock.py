"""Wall-clock times: ISO 8601 text and the dates of every library, as ticks since 1970."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.intake import entries, is_missing
from gpusched.base.rejects import Screen
from gpusched.traces.checked_columns import check_length
from gpusched.traces.deadlines import NOT_A_TIME

if TYPE_CHECKING:
    import polars

UNIX_EPOCH: Final = datetime(1970, 1, 1)
"""Origin of naive times: they are counted as they stand, without a zone."""
EXAMPLE: Final = "2017-10-09 07:01:55"
_FIRST_US: Final = (datetime.min - UNIX_EPOCH) // timedelta(microseconds=1)
_LAST_US: Final = (datetime.max - UNIX_EPOCH) // timedelta(microseconds=1)
_BEGINS: Final = re.compile(r"\s*\d{4}-\d{2}-\d{2}(?!\d)")
_OFFSET: Final = r"(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$"
_DATE_LENGTH: Final = 10
_BATCH: Final = 1000
# The first one alone reads most files; it is four times as fast as the one with fractions.
_NAIVE: Final = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M")
_AWARE: Final = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")


def is_iso(text: str) -> bool:
    """Whether a text begins with a date as ISO 8601 writes it."""
    return _BEGINS.match(text) is not None


def is_wall_clock(values: polars.Series) -> bool:
    """Whether a column holds dates, judged by its type or its first text."""
    import polars

    if values.dtype == polars.String:
        for begin in range(0, len(values), _BATCH):
            texts = values[begin : begin + _BATCH].str.strip_chars().to_list()
            first = next((text for text in texts if text), None)
            if first is not None:
                return is_iso(first)
        return False
    return values.dtype in (polars.Date, polars.Datetime)


def ticks_of(
    screen: Screen,
    column: str,
    label: str,
    values: polars.Series,
    *,
    pattern: str | None = None,
    missing: int | None = None,
) -> Int64:
    """Read ISO 8601 times as microseconds since 1970: ``T`` or a blank, fractions, ``Z``, offsets.

    Naive times are counted as they stand, aware ones in UTC; which of the two they are is left in
    ``screen.is_aware``. A bare date is its midnight.

    Parameters
    ----------
    column, label
        Our name of the column, and its author's.
    pattern
        Of naive times in another spelling, in the terms of ``strptime``.
    missing
        What an empty value becomes; it is a fault if there is no such number.

    Returns
    -------
    numpy.ndarray
        int64; rows that failed hold 0.

    Raises
    ------
    ValueError
        If naive and aware times stand in one column, or in two of the same input.
    """
    import polars

    screen.show(column, label, values)
    if values.dtype == polars.String:
        text = values.str.strip_chars()
        parsed, is_aware = (
            _parsed(screen, label, text) if pattern is None else (_by(text, pattern), False)
        )
        is_empty = text.fill_null("") == ""
    else:
        is_aware = getattr(values.dtype, "time_zone", None) is not None
        parsed = values.cast(polars.Datetime("us", "UTC" if is_aware else None)).to_physical()
        is_empty = values.is_null()
    _agree(screen, column, is_aware)
    ticks: Int64 = parsed.fill_null(0).to_numpy()
    # Years 1 to 9999, as in the calendar of datetime.
    known = (ticks >= _FIRST_US) & (ticks <= _LAST_US)
    good = parsed.is_not_null().to_numpy() & known
    ticks = np.where(known, ticks, 0)
    if missing is not None:
        absent = is_empty.to_numpy()
        good, ticks = good | absent, np.where(absent, missing, ticks)
    screen.require(good, column, f"must be a time like {pattern or EXAMPLE}")
    return ticks


def _parsed(screen: Screen, label: str, text: polars.Series) -> tuple[polars.Series, bool]:
    """Return ticks, null where there are none, and whether the times are aware."""
    import polars

    spaced = text.str.replace("T", " ", literal=True)
    is_date = text.str.len_bytes() == _DATE_LENGTH
    is_aware = spaced.str.contains(_OFFSET) & ~is_date
    if is_aware.any():
        is_naive = (~is_aware & text.str.contains(r"^\d{4}-\d{2}-\d{2}")).fill_null(False)
        if is_naive.any():
            raise _mixed(screen, label, is_aware, is_naive)
        patterns: tuple[str, ...] = _AWARE
    else:
        patterns = _NAIVE
    parsed = _by(spaced, patterns[0])
    for pattern in patterns[1:]:
        if not parsed.null_count():
            return parsed, patterns is _AWARE
        parsed = parsed.zip_with(parsed.is_not_null(), _by(spaced, pattern))
    if parsed.null_count() and is_date.any():
        days = text.str.to_date("%Y-%m-%d", strict=False).cast(polars.Datetime("us")).to_physical()
        parsed = parsed.zip_with(parsed.is_not_null(), days)
    return parsed, patterns is _AWARE


def _by(text: polars.Series, pattern: str) -> polars.Series:
    return text.str.to_datetime(pattern, strict=False, time_unit="us").to_physical()


def _mixed(
    screen: Screen, label: str, is_aware: polars.Series, is_naive: polars.Series
) -> ValueError:
    aware, naive = (
        screen.rows[int(np.argmax(kind.fill_null(False).to_numpy()))]
        for kind in (is_aware, is_naive)
    )
    return ValueError(
        f"{screen.source}, column {label!r}: times with a zone ({screen.unit} {aware}) and without "
        f"({screen.unit} {naive}) must not be mixed"
    )


def _agree(screen: Screen, column: str, is_aware: bool) -> None:
    for other, was_aware in screen.is_aware.items():
        if was_aware != is_aware:
            first, second = screen.label(other), screen.label(column)
            with_zone, without = (first, second) if was_aware else (second, first)
            raise ValueError(
                f"{screen.source}: column {with_zone!r} has times with a zone and column "
                f"{without!r} has times without; they must not be mixed"
            )
    screen.is_aware[column] = is_aware


def dated(screen: Screen, submit_s: polars.Series, deadline_s: Any) -> dict[str, Int64]:
    """Read submit times that are dates, and deadlines if those are: ``submit_us``, ``deadline_us``.

    Raises
    ------
    ValueError
        If there are not as many of both, or as :func:`ticks_of`.
    """
    read = {"submit_us": ticks_of(screen, "submit_s", "submit_s", submit_s)}
    due = dates_in("deadline_s", deadline_s)
    if due is not None:
        check_length("deadline_s", due, len(submit_s))
        label = "deadline_s"
        read["deadline_us"] = ticks_of(screen, label, label, due, missing=NOT_A_TIME)
    return read


def dates_in(column: str, values: Any) -> polars.Series | None:
    """Return a column that a user hands in as one of Polars if it holds dates; None if not.

    Taken are dates of Python, NumPy, pandas, Polars and Arrow, and ISO 8601 texts.

    Raises
    ------
    ValueError
        If dates with and without a zone stand in it, or one is beyond the years 1 to 9999.
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
    """Take a column of Polars or Arrow, or one of pandas on Arrow."""
    import polars

    if type(dtype).__name__ == "ArrowDtype":
        values = values.array.__arrow_array__()
    series = polars.Series(values)
    return series if is_wall_clock(series) else None


def _of_numpy(column: str, values: Any, dtype: Any) -> polars.Series:
    """Take what NumPy or pandas counts in ticks of their own."""
    import polars

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
    # NumPy wraps around where a coarse unit reaches further than microseconds.
    finer = np.datetime_data(given.dtype)[0] in ("ns", "ps", "fs", "as", "us")
    if not finer and not (missing | (ticks.astype(given.dtype) == given)).all():
        raise ValueError(f"column {column!r}: times must lie in the years 1 to 9999")
    made = polars.Series(ticks.astype(np.int64)).set(polars.Series(missing), None)
    return made.cast(polars.Datetime("us", None if zone is None else "UTC"))


def _of_objects(column: str, values: Any) -> polars.Series | None:
    """Take Python's dates, or ISO 8601 texts, judged by the first one that is there."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return None
    first = _first(values)
    if not (isinstance(first, date) or (isinstance(first, str) and is_iso(first))):
        return None
    import polars

    given = entries(f"column {column!r}", values, "dates")
    present = [value for value in given if not is_missing(value)]
    if isinstance(first, str):
        if not all(isinstance(value, str) for value in present):
            raise TypeError(f"column {column!r} must hold dates or texts, not both")
        texts = [None if is_missing(value) else str(value) for value in given]
        return polars.Series(texts, dtype=polars.String)
    if not all(isinstance(value, date) for value in present):
        raise TypeError(f"column {column!r} must hold dates, and nothing else")
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
    """Return the first entry that is not missing; None if there is none, or it cannot be told."""
    for value in values:
        value = value.as_py() if hasattr(value, "as_py") else value
        if not is_missing(value):
            return value
    return None
