"""ISO 8601 times with or without an offset from UTC, and times counted in seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.rejects import Screen
from gpusched.traces.text_columns import UNIX_EPOCH

if TYPE_CHECKING:
    import polars

_PATTERN: Final = (
    r"^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$"
)
_SECONDS: Final = r"^\d{1,12}$"
_LAST_S: Final = 253_402_300_799  # the last second of the year 9999
_PLAIN_LENGTH: Final = len("2024-05-01T09:00:00")
_RULE: Final = "must be a time like 2024-05-01T09:00:00 or 2024-05-01 09:00:00+08:00"


class IsoTimes:
    """The columns of times of one table, which tell the time in one way.

    The first time that can be read decides: if it has an offset from UTC, or counts seconds since
    1970, then all must, and times are UTC; else none may, and they are taken as they stand.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._is_utc: bool | None = None

    @property
    def epoch(self) -> datetime:
        """What the ticks count from."""
        return UNIX_EPOCH.replace(tzinfo=UTC) if self._is_utc else UNIX_EPOCH

    def ticks(
        self, column: str, label: str, values: polars.Series, absent: Bool | None = None
    ) -> Int64:
        """Return microseconds since 1970; 0 in rows that failed, and in those that are absent.

        Parameters
        ----------
        column, label
            Our name of the column, and its author's.
        absent
            Rows in which no time is needed.
        """
        ticks, readable, is_utc = _parsed(values)
        if absent is None:
            absent = np.zeros(len(ticks), dtype=np.bool_)
        self._screen.show(column, label, values)
        self._screen.require(readable | absent, column, _RULE)
        wanted = readable & ~absent
        if self._is_utc is None and wanted.any():
            self._is_utc = bool(is_utc[np.argmax(wanted)])
        rule = f"must {'' if self._is_utc else 'not '}have an offset from UTC, as the first has"
        rule = rule if self._is_utc else rule.replace("as the first has", "as the first has none")
        alike = is_utc == bool(self._is_utc)
        self._screen.require(alike | ~wanted, column, rule)
        return np.where(wanted & alike, ticks, 0)


def _parsed(values: polars.Series) -> tuple[Int64, Bool, Bool]:
    """Return ticks, which of them could be read, and which are UTC."""

    plain = values.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, exact=True, time_unit="us")
    ticks: Int64 = plain.to_physical().fill_null(0).to_numpy().copy()
    readable = (plain.is_not_null() & (values.str.len_bytes() == _PLAIN_LENGTH)).to_numpy().copy()
    is_utc = np.zeros(len(ticks), dtype=np.bool_)
    others = np.flatnonzero(~readable)
    if others.size:
        # All other ways of writing times are slow to read: equal ones once.
        distinct = values[others].unique(maintain_order=True)
        place = dict(zip(distinct.to_list(), range(len(distinct)), strict=True))
        codes = np.array([place[value] for value in values[others].to_list()], dtype=np.int64)
        for whole, part in zip((ticks, readable, is_utc), _parsed_slowly(distinct), strict=True):
            whole[others] = part[codes]
    return ticks, readable, is_utc


def _parsed_slowly(distinct: polars.Series) -> tuple[Int64, Bool, Bool]:
    import polars

    text = distinct.str.strip_chars()
    parts = [text.str.extract(_PATTERN, group) for group in (1, 2, 3, 4)]
    day, clock, fraction, offset = parts
    when = (day + "T" + clock).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="us")
    ticks = when.to_physical().fill_null(0).to_numpy()
    part_us = (fraction.fill_null("0") + "000000").str.head(6).cast(polars.Int64).to_numpy()
    known = when.is_not_null().to_numpy()
    shift, has_offset, good_offset = _offsets(offset)
    ticks = ticks + part_us - shift
    seconds = text.str.extract(f"({_SECONDS})", 1).cast(polars.Int64, strict=False)
    is_count = ((seconds > 0) & (seconds <= _LAST_S)).fill_null(False).to_numpy()
    ticks = np.where(is_count, seconds.fill_null(0).to_numpy() * 1_000_000, ticks)
    return ticks.astype(np.int64), (known & good_offset) | is_count, has_offset | is_count


def _offsets(offset: polars.Series) -> tuple[AnyArray, Bool, Bool]:
    """Return offsets in microseconds, which times have one, and which are below a day."""
    import polars

    digits = offset.fill_null("").str.replace("Z", "+00").str.replace_all(":", "")
    digits = (digits + "0000").str.head(5)
    hours = digits.str.slice(1, 2).cast(polars.Int64, strict=False).fill_null(0).to_numpy()
    minutes = digits.str.slice(3, 2).cast(polars.Int64, strict=False).fill_null(0).to_numpy()
    sign = np.where(digits.str.starts_with("-").to_numpy(), -1, 1)
    has_offset = offset.is_not_null().to_numpy()
    shift = np.where(has_offset, sign * (hours * 60 + minutes) * 60_000_000, 0)
    return shift, has_offset, ~has_offset | ((hours < 24) & (minutes < 60))
