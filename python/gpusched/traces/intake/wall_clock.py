"""Wall-clock times: convert dates in common forms to ISO 8601 and to ticks since 1970."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from gpusched.base.arrays import Int64
from gpusched.base.libraries import polars
from gpusched.base.rejects import Screen
from gpusched.base.suggest import HintedError
from gpusched.base.ticks import US_PER_S

UNIX_EPOCH: Final = datetime(1970, 1, 1)
"""Origin of naive times, which are counted without a zone."""
EXAMPLE: Final = "2017-10-09 07:01:55"
_FIRST_US: Final = (datetime.min - UNIX_EPOCH) // timedelta(microseconds=1)
_LAST_US: Final = (datetime.max - UNIX_EPOCH) // timedelta(microseconds=1)
_BEGINS: Final = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}(?!\d)")
_OFFSET: Final = r":\d{2}.*(?:[Zz]|[+-]\d{2}(?::?\d{2})?)$"
_SECONDS: Final = r"^\d{1,12}$"
_DATED: Final = r"^\d{4}-\d{1,2}-\d{1,2}"
ORDERS: Final = ("dmy", "mdy")
_YEAR_FIRST: Final = r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})"
_YEAR_LAST: Final = r"^(\d{1,2})([./-])(\d{1,2})[./-](\d{4})"
_ORDER_SAID: Final = {"dmy": "day.month.year", "mdy": "month/day/year"}
_COMPACT: Final = r"^((?:19|20)\d\d)(\d\d)(\d\d)$"
_FIRST_S, _LAST_S = 1e9, 4e9  # the years 2001 to 2096
_COUNTED: Final = (("seconds", 1), ("milliseconds", 10**3), ("microseconds", 10**6))
_BATCH: Final = 1000
# The first reads most files, and four times as fast as the one with fractions.
_NAIVE: Final = (
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d",
    "%Y-%m-%d %I:%M %p", "%Y-%m-%d %I:%M:%S %p",
)  # fmt: skip
_AWARE: Final = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")


class LocalZone:
    """The zone for times without one.

    ``is_used``: whether there were such times.
    ``num_twice``: how many were ambiguous (the hour repeated when summer time ends).
    """

    def __init__(self, name: str) -> None:
        self.name, self.is_used, self.num_twice = name, False, 0

    def in_utc(self, times: polars.Series) -> polars.Series:
        """Return times of this zone in UTC; null for times skipped by its clocks."""
        try:
            first, second = (
                times.dt.replace_time_zone(self.name, ambiguous=which, non_existent="null")
                for which in ("earliest", "latest")
            )
        except polars.exceptions.ComputeError:
            raise ValueError(
                f"time_zone: {self.name!r} must be a name such as Europe/Berlin"
            ) from None
        self.is_used = True
        self.num_twice += int((first != second).sum())
        return first

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the times."""
        said = f"dates are read as times of {self.name}"
        if self.num_twice:
            said += f"; {self.num_twice:,} are ambiguous and read as the earlier time"
        return (said,)


_LOCAL: Final[ContextVar[LocalZone | None]] = ContextVar("local_zone", default=None)


@contextmanager
def local_zone(name: str | None) -> Iterator[LocalZone | None]:
    """Interpret times without a zone in this zone within the context."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"time_zone: {name!r} must be a name such as Europe/Berlin")
    zone = None if name is None else LocalZone(name)
    token = _LOCAL.set(zone)
    try:
        yield zone
    finally:
        _LOCAL.reset(token)


def is_iso(text: str) -> bool:
    """Whether a text begins with an ISO 8601 date."""
    return _BEGINS.match(text) is not None


def first_text(values: polars.Series) -> str:
    """Return the first non-empty text of a column, stripped."""
    if values.dtype == polars.String:
        for begin in range(0, len(values), _BATCH):
            texts = values[begin : begin + _BATCH].str.strip_chars().to_list()
            if (first := next(filter(None, texts), None)) is not None:
                return str(first)
    return ""


def is_wall_clock(values: polars.Series) -> bool:
    """Whether a column holds dates, judged by its type or its first text."""
    return values.dtype in (polars.Date, polars.Datetime) or is_iso(first_text(values))


def date_order(source: str, columns: Mapping[str, polars.Series], asked: str | None) -> str | None:
    """Return the order of day and month in dates that end in the year; None without such dates."""
    if asked is not None and asked not in ORDERS:
        raise ValueError(f"date_order: {asked!r} must be one of {', '.join(ORDERS)}")
    dates = {
        label: values
        for label, values in columns.items()
        if re.match(_YEAR_LAST, first_text(values))
    }
    if not dates or asked is not None:
        return asked
    parts = polars.concat(
        [
            values.str.strip_chars().str.extract_groups(_YEAR_LAST).struct.unnest()
            for values in dates.values()
        ]
    )
    is_dmy, is_mdy = (bool((parts[place].cast(polars.Int8) > 12).any()) for place in ("1", "3"))
    if is_dmy and is_mdy:
        raise ValueError(
            f"{source}: dates in the file have two orders: some begin with the day, others with "
            f"the month (columns {', '.join(dates)})"
        )
    if is_dmy != is_mdy:
        return "dmy" if is_dmy else "mdy"
    if not is_dmy and (parts["2"] == ".").all():
        return "dmy"
    label, values = next(iter(dates.items()))
    raise HintedError(
        f"{source}: column {label!r}: {first_text(values)!r} may begin with the day or with the "
        "month, and no date in the file shows which; choose one",
        " with date_order='dmy' or date_order='mdy'",
        " with --option date_order=dmy or --option date_order=mdy",
    )


def plain_dates(values: polars.Series, order: str | None, unit: float) -> tuple[polars.Series, str]:
    """Return dates as ISO texts or datetimes, other columns unchanged, and the original form.

    Numbers in the years 2001 to 2096 are read as seconds, milliseconds or microseconds since 1970;
    0 and -1 among them are unknown times. Eight digits may be a date.

    ``unit``: seconds per unit of the numbers; 0 if they do not count from 1970.
    """
    first = first_text(values)
    if is_iso(first):
        return values, "dates"
    if re.match(_YEAR_FIRST, first):
        return values.str.strip_chars().str.replace(_YEAR_FIRST, "$1-$2-$3"), "dates"
    if order is not None and re.match(_YEAR_LAST, first):
        iso = "${4}-${3}-${1}" if order == "dmy" else "${4}-${1}-${3}"
        said = f"dates, {_ORDER_SAID[order]}"
        return values.str.strip_chars().str.replace(_YEAR_LAST, iso), said
    if not unit or not (values.dtype == polars.String or values.dtype.is_numeric()):
        return values, ""
    if unit == 1 and re.match(_COMPACT, first):
        texts = values.str.strip_chars()
        dates = texts.str.replace(_COMPACT, "$1-$2-$3")
        is_read = dates.str.to_date("%Y-%m-%d", strict=False).is_not_null() & (dates != texts)
        if (is_read | (texts == "")).fill_null(True).all():
            return dates, "dates, yearmonthday"
    counted = values.cast(polars.Float64, strict=False).fill_null(np.nan).to_numpy() * unit
    counted[(counted == 0) | (counted == -unit)] = np.nan
    known = counted[np.isfinite(counted)]
    for name, parts in _COUNTED:
        if len(known) and known.min() >= _FIRST_S * parts and known.max() < _LAST_S * parts:
            ticks = polars.Series(np.rint(counted * (US_PER_S / parts)), nan_to_null=True)
            whole = ticks.cast(polars.Int64, strict=False)
            said = f"{name} since 1970" if unit == 1 else "since 1970"
            return whole.cast(polars.Datetime("us", "UTC")), said
    return values, ""


def ticks_of(
    screen: Screen,
    column: str,
    label: str,
    values: polars.Series,
    *,
    missing: int | None = None,
    may_count: bool = False,
) -> Int64:
    """Parse ISO 8601 times to microseconds since 1970: ``T`` or a blank, fractions, ``Z``, offsets.

    Naive times are counted without a zone, aware ones in UTC; ``screen.is_aware`` records which. A
    bare date is its midnight, and a final ``" UTC"`` means ``Z``.

    int64; rows that failed hold 0.

    ``column``, ``label``: gpusched's name of the column, and the file's.
    ``missing``: value for empty entries; None: they are errors.
    ``may_count``: whether texts may be seconds since 1970 (then in UTC).
    """
    screen.show(column, label, values)
    if values.dtype == polars.String:
        text = values.str.strip_chars()
        if may_count and _counts(text):
            parsed, is_aware = text.cast(polars.Int64, strict=False) * US_PER_S, True
        else:
            parsed, is_aware = _parsed(screen, label, text)
        is_empty = text.fill_null("") == ""
    else:
        is_aware = getattr(values.dtype, "time_zone", None) is not None
        parsed = values.cast(polars.Datetime("us", "UTC" if is_aware else None)).to_physical()
        is_empty = values.is_null()
    rule = f"must be a time like {EXAMPLE}"
    zone = _LOCAL.get()
    if zone is not None and not is_aware:
        parsed = zone.in_utc(parsed.cast(polars.Datetime("us"))).to_physical()
        rule, is_aware = f"{rule} that {zone.name} has", True
    if parsed.null_count() < len(parsed):
        _agree(screen, column, is_aware)
    ticks: Int64 = parsed.fill_null(0).to_numpy()
    # Years 1 to 9999, as in the calendar of datetime.
    known = (ticks >= _FIRST_US) & (ticks <= _LAST_US)
    good = parsed.is_not_null().to_numpy() & known
    ticks = np.where(known, ticks, 0)
    if missing is not None:
        empty = is_empty.to_numpy()
        good, ticks = good | empty, np.where(empty, missing, ticks)
    screen.require(good, column, rule)
    return ticks


def _parsed(screen: Screen, label: str, text: polars.Series) -> tuple[polars.Series, bool]:
    """Return ticks, null where invalid, and whether the times are aware."""
    spaced = text.str.replace(" UTC", "Z", literal=True).str.replace("T", " ", literal=True)
    is_aware = spaced.str.contains(_OFFSET)
    has_zone = bool(is_aware.any())
    if has_zone:
        is_naive = (~is_aware & text.str.contains(_DATED)).fill_null(False)
        if is_naive.any():
            raise _mixed(screen, label, is_aware, is_naive)
    patterns: tuple[str, ...] = _AWARE if has_zone else _NAIVE
    parsed = _by(spaced, patterns[0])
    rest = patterns[1:]
    if parsed.null_count() and spaced.str.contains(",", literal=True).any():
        spaced, rest = spaced.str.replace(",", ".", literal=True), patterns
    for pattern in rest:
        left = parsed.is_null().arg_true()
        if not len(left):
            break
        if len(left) < len(parsed):
            parsed = parsed.scatter(left, _by(spaced.gather(left), pattern))
        else:
            parsed = _by(spaced, pattern)
    return parsed, has_zone


def _counts(text: polars.Series) -> bool:
    """Whether more texts of a column are seconds than dates."""
    return int(text.str.contains(_SECONDS).sum()) > int(text.str.contains(_DATED).sum())


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
